"""The elements of one row, combined by the lanes of a step.

    a long row         in four registers at a time, then one, then the rest with some lanes idle
    one of few steps   elements past the row are read, too, and masked: no branch on its length;
                       so is what four registers at a time leave of a long row

A sum of floats begins with 0.0, so that 0.0 need not be added to each element
(docs/decisions/reductions.md).

Flags of the elements of one row, combined as words: a bit for each of many lanes.

    how many have the flag        add of cast flag              popcount of the word
    the first, the last of them   minimum, maximum of           the index of its lowest, highest bit
                                  select flag index neutral
    the first, the last with the  an operator that chooses by   the same, of the flags of those
    greatest, the least value     one value, then by the index  equal to it, or of NaN if there is
    any, all of them              or, and of flag               whether a bit is set, or none is not

A step compares each register of elements once, and the flags of up to 64 lanes are a word. A 64-bit
number in each lane would take eight registers for each register of bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from itertools import accumulate, pairwise
from math import log2

from flatweave.base.dtypes import i64, u64
from flatweave.kernel_ir.syntax import Lane
from flatweave.kernel_ir.warp_ops import Ballot, InSet, ReduceLanes, ReduceRows
from flatweave.lower.machine import ADDING, NARROWEST
from flatweave.lower.schedule.division import FlagFold, folds_at_once, gathers_along_rows
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.row_lookup import ONE_BIT, RowOf
from flatweave.lower.traverse.steps import Position, State
from flatweave.ops import CombineRows, Index
from flatweave.passes.operators import is_commutative
from flatweave.terms.build import FALSE, Builder, index
from flatweave.terms.operators import begun
from flatweave.terms.syntax import Atom, Const, Lambda, Var, constant, scalar_type
from flatweave.terms.traverse import needed_for

WIDTHS = NARROWEST, 16
"""The least and the greatest number of lanes of a step where they are not threads: fewer would wait
for each other, more would idle at the end of a row. Within these limits, values of the lanes fill
two registers, and one where lanes gather what they read, which idle ones do in vain. With AVX2, ms:
greatest of 2^21 f64 and their indices, 4, 8 and 16 lanes: rows of 4 4.7, 6.6, 11, of 1,000 0.9,
1.7, 2.3. A sparse matrix of 2^21 f64 times a vector of 300,000, 4 and 8 lanes: rows of 4 9.2, 13.7,
of 8 6.3, 8.2, of 40 4.0, 5.0; of f32 and 10^6, 8 and 16 lanes: of 8 8.7, 20, of 1,000 3.6, 6.1."""


class RowElements:
    """The elements of a row of a sweep, and how its sinks combine them. `lanes_agree` where the
    state of a row is the same in all lanes."""

    lanes_agree = False

    def __init__(self, writer: KernelWriter, sinks: Sequence[CombineRows]) -> None:
        self.writer = writer
        self.sinks = sinks
        self.neutral: State = tuple(
            writer.kernel.scalar(atom) for sink in sinks for atom in sink.neutral
        )
        op, located = writer.op, writer.located
        assert located is not None
        self.taken = [atom for taken in op.portions() for atom in taken[2:]]
        self.begun = [
            atom for sink, taken in zip(sinks, op.portions(), strict=True)
            for atom in begun(sink.fn, sink.neutral, op.body.lets, taken[2:])
        ]  # fmt: skip
        self.at_once = folds_at_once(op, located)
        registers = 1 if gathers_along_rows(op, located) else 2
        bytes_ = sum(scalar_type(atom).bytes for atom in self.neutral)
        self.width = self._lanes(registers, bytes_, *WIDTHS)

    def _lanes(self, registers: int, bytes_: int, least: int, most: int) -> int:
        """The number of lanes whose values, of `bytes_` each, nearly fill the `registers`."""
        machine = self.writer.lowering.machine
        lanes = 1 << max(0, round(log2(registers * machine.vector_bytes / bytes_)))
        return machine.fixed_width or max(least, min(most, lanes))

    @property
    def steps(self) -> list[int]:
        """The numbers of steps in which a group of rows may be read: the least that the longest row
        needs, or the most for the last part of each. Their lanes are the bits of a word."""
        most = min(ADDING, u64.bits // self.width)
        return [1 << k for k in range(most.bit_length())]

    @property
    def ahead(self) -> int:
        """How many elements past a row's are read, at most."""
        return self.steps[-1] * self.width

    # -- one row ----------------------------------------------------------------------------------

    def fold(
        self, b: Builder, row: RowOf, lo: Atom, hi: Atom, *, ahead: bool = False
    ) -> State:
        """Each lane's part of the elements from lo to hi of one row, inside of lanes; `ahead` where
        elements past the row can be read."""
        if ahead:
            return self._fold_ahead(b, row, lo, hi)
        state = self.neutral
        if self.at_once:
            state, lo = self._in_chains(b, row, lo, hi)
        whole = b.apply("floordiv", b.sub(hi, lo), index(self.width))
        mid = b.add(lo, b.mul(whole, index(self.width)))
        loop, i, known = b.iteration("i", self.neutral)
        state = loop.close_loop(lo, mid, state, self._step(loop, row, i, known), self.width)
        return self._rest(b, state, row, mid, hi)

    def _in_chains(self, b: Builder, row: RowOf, lo: Atom, hi: Atom) -> tuple[State, Atom]:
        """Whole steps of as many registers as do not wait for each other; and where they end."""
        step, states = index(ADDING * self.width), self.neutral * ADDING
        end = b.add(lo, b.round_down(b.sub(hi, lo), step))
        loop, i, known = b.iteration("i", states)
        out: list[Atom] = []
        for k, mine in enumerate(self._each_chain(known)):
            out.extend(self._step(loop, row, loop.add(i, index(k * self.width)), mine))
        chains = self._each_chain(loop.close_loop(lo, end, states, out, step))
        while len(chains) > 1:
            half = len(chains) // 2
            pairs = zip(chains[:half], chains[half:], strict=True)
            chains = [self.each(b, x, y, lanewise=True) for x, y in pairs]
        return chains[0], end

    def _each_chain(self, states: State) -> list[State]:
        count = len(self.neutral)
        return [states[k : k + count] for k in range(0, len(states), count)]

    def _step(self, b: Builder, row: RowOf, base: Atom, known: State) -> State:
        """One step, all of its lanes inside the row."""
        flat = b.emit(Lane(base))[0]
        values = self.values(b, flat, row, begun=True, ahead=self.at_once)
        return self.each(b, known, values, lanewise=False)

    def _rest(self, b: Builder, state: State, row: RowOf, mid: Atom, hi: Atom) -> State:
        """The remainder of a row after its whole steps."""
        flat = b.emit(Lane(mid))[0]
        found = b.choose(
            b.apply("lt", flat, hi), lambda c: self.values(c, flat, row, begun=True),
            lambda _: self.neutral,
        )  # fmt: skip
        return self.each(b, state, found, lanewise=False)

    def _fold_ahead(self, b: Builder, row: RowOf, lo: Atom, hi: Atom) -> State:
        end = self._last_part(b, lo, hi)
        state = b.choose(
            b.apply("lt", lo, end), lambda c: self._in_chains(c, row, lo, end)[0],
            lambda _: self.neutral,
        )  # fmt: skip
        rest = self.fold_short(b, row, end, b.sub(hi, end), self.steps[-1])
        return self.each(b, state, rest, lanewise=True)

    def _last_part(self, b: Builder, lo: Atom, hi: Atom) -> Atom:
        """Where a row's last part begins, which has some elements if the row does."""
        before = b.apply("maximum", b.sub(b.sub(hi, lo), index(1)), index(0))
        return b.add(lo, b.round_down(before, index(self.ahead)))

    def fold_short(self, b: Builder, row: RowOf, lo: Atom, length: Atom, steps: int) -> State:
        """Up to 64 elements from lo on in a number of `steps`, where all of these can be read."""
        there = _lowest(b, length, steps * self.width)
        state: State = ()
        for base in range(0, steps * self.width, self.width):
            flat = b.emit(Lane(b.add(lo, index(base))))[0]
            (inside,) = b.emit(InSet(b.apply("shr", there, constant(base, u64))))
            found = self.values(b, flat, row, ahead=True)
            pairs = zip(found, self.neutral, strict=True)
            values = [b.apply("select", inside, value, idle) for value, idle in pairs]
            state = self.each(b, state, values, lanewise=True) if state else tuple(values)
        return state

    # -- a step -----------------------------------------------------------------------------------

    def values(
        self, b: Builder, flat: Atom, row: RowOf, *, begun: bool = False, ahead: bool = False
    ) -> list[Atom]:
        """The inputs of the sinks from the elements of a step; `begun` where they are combined with
        a value that begins with the neutral element, `ahead` to prefetch for later steps."""
        taken = self.begun if begun else self.taken
        return self.at(b, Position(flat, (flat,), self.width, row=row), taken, ahead=ahead)

    def at(
        self, b: Builder, position: Position, taken: Sequence[Atom], *, ahead: bool = False
    ) -> list[Atom]:
        """What the sweep computes at a position."""
        elements = self.writer.elements(position)
        elements.ahead = ahead
        b.hoists, hoists = False, b.hoists
        elements.emit(b, needed_for(self.writer.op.body.lets, taken))
        b.hoists = hoists
        return [elements.atom(atom) for atom in taken]

    def of_sinks(self, state: Sequence[Atom]) -> list[Sequence[Atom]]:
        """The part of each sink."""
        ends = [*accumulate((len(sink.neutral) for sink in self.sinks), initial=0)]
        return [state[first:end] for first, end in pairwise(ends)]

    def each(
        self, b: Builder, state: Sequence[Atom], values: Sequence[Atom], *, lanewise: bool
    ) -> State:
        """For each sink its part combined with the state: `lanewise` where each lane has a separate
        row, else in order across the lanes unless the operator commutes."""
        out: list[Atom] = []
        for sink in self.sinks:
            part = slice(len(out), len(out) + len(sink.neutral))
            mine: Sequence[Atom] = values[part]
            if not (lanewise or is_commutative(sink.fn)):
                mine = self._across(b, sink, mine)
            out.extend(self.writer.call(b, sink.fn, [*state[part], *mine]))
        return tuple(out)

    def joined(self, b: Builder, state: State) -> State:
        """The combined values of the lanes of a row."""
        if self.lanes_agree:
            return state
        out: list[Atom] = []
        for sink in self.sinks:
            mine = state[len(out) : len(out) + len(sink.neutral)]
            out.extend(self._across(b, sink, mine) if is_commutative(sink.fn) else mine)
        return tuple(out)

    def rows_joined(self, b: Builder, rooms: Sequence[Var]) -> State:
        """The combined values of each of as many rows as lanes; `rooms` hold them as squares."""
        out: list[Atom] = []
        for sink in self.sinks:
            mine = tuple(rooms[len(out) : len(out) + len(sink.neutral)])
            out.extend(b.emit(ReduceRows(self._operator(b, sink), mine, index(0))))
        return tuple(out)

    def _across(self, b: Builder, sink: CombineRows, values: Sequence[Atom]) -> Sequence[Atom]:
        return b.emit(ReduceLanes(self._operator(b, sink), tuple(values)))

    def _operator(self, b: Builder, sink: CombineRows) -> Lambda:
        return self.writer.elements(Position(index(0), (index(0),), 1)).function(b, sink.fn)


# -- sinks that combine flags, which are words ---------------------------------


NO_BITS = constant(0, u64)


def _lowest(b: Builder, count: Atom, most: int) -> Atom:
    """The lowest bits of a word, `count` of them, or `most`. No shift is by all 64."""
    places = b.cast(count, u64)
    if most < u64.bits:
        shifted = b.apply("shl", ONE_BIT, b.apply("and", places, constant(63, u64)))
    else:
        half = b.apply("shr", places, ONE_BIT)
        shifted = b.apply("shl", b.apply("shl", ONE_BIT, half), b.apply("sub", places, half))
    return b.apply("sub", shifted, ONE_BIT)


class RowFlags(RowElements):
    """The flags of the elements of a row, and how sinks combine them. A word gives its result at
    once, and with it the lanes' state is one for all."""

    lanes_agree = True

    def __init__(
        self, writer: KernelWriter, sinks: Sequence[CombineRows], folds: Sequence[FlagFold]
    ) -> None:
        super().__init__(writer, sinks)
        self.folds = folds
        neutral = zip(folds, self.of_sinks(self.neutral), strict=True)
        self.idle = [mine[1 - fold.place] if fold.extreme else FALSE for fold, mine in neutral]
        reads = [let for let in writer.op.body.lets if isinstance(let.op, Index)]
        widest = max((scalar_type(let.vars[0]).bytes for let in reads), default=1)
        self.width = self._lanes(2, widest, WIDTHS[0], u64.bits)

    def fold(
        self, b: Builder, row: RowOf, lo: Atom, hi: Atom, *, ahead: bool = False
    ) -> State:
        """Those from lo to hi of one row, inside of lanes: whole words of flags, and a part."""
        steps, mid = self.steps[-1], self._last_part(b, lo, hi)
        loop, i, known = b.iteration("i", self.neutral)
        seen = [self._seen(loop, row, loop.add(i, base)) for base in self._bases(steps)]
        every = constant((1 << self.ahead) - 1, u64)
        found = self._combine(loop, row, i, known, seen, every)
        state = loop.close_loop(lo, mid, self.neutral, found, self.ahead)
        return self.fold_short(b, row, mid, b.sub(hi, mid), steps, state, ahead=ahead)

    def fold_short(
        self, b: Builder, row: RowOf, lo: Atom, length: Atom, steps: int, state: State = (), *,
        ahead: bool = True,
    ) -> State:  # fmt: skip
        """The state, and up to a word of flags of elements from lo on."""
        there = _lowest(b, length, steps * self.width)
        seen: list[Sequence[Atom]] = []
        for base in self._bases(steps):
            (inside,) = b.emit(InSet(b.apply("shr", there, b.cast(base, u64))))
            read = self._read_ahead if ahead else self._read_inside
            seen.append(read(b, inside, row, b.add(lo, base)))
        return self._combine(b, row, lo, state, seen, there)

    def _bases(self, steps: int) -> list[Const]:
        """Where the steps of a word begin in it."""
        return [index(base) for base in range(0, steps * self.width, self.width)]

    def _seen(self, b: Builder, row: RowOf, base: Atom) -> Sequence[Atom]:
        """What is seen of the elements from `base` on."""
        flat, seen = b.emit(Lane(base))[0], [fold.seen for fold in self.folds]
        return self.at(b, Position(flat, (flat,), self.width, row=row), seen, ahead=True)

    def _read_ahead(self, b: Builder, inside: Atom, row: RowOf, base: Atom) -> Sequence[Atom]:
        """The same, of other elements than those inside nothing. Words leave flags out."""
        pairs = zip(self._seen(b, row, base), self.idle, strict=True)
        return [x if idle is FALSE else b.apply("select", inside, x, idle) for x, idle in pairs]

    def _read_inside(self, b: Builder, inside: Atom, row: RowOf, base: Atom) -> Sequence[Atom]:
        """The same, where no element but those inside is read."""
        return b.choose(inside, lambda c: self._seen(c, row, base), lambda _: self.idle)

    def _combine(
        self, b: Builder, row: RowOf, base: Atom, state: State, seen: Sequence[Sequence[Atom]],
        there: Atom,
    ) -> State:  # fmt: skip
        """The state, and what is seen in the steps of a word, combined for each sink."""
        out: list[Atom] = []
        neutral = self.of_sinks(self.neutral)
        for k, (sink, fold) in enumerate(zip(self.sinks, self.folds, strict=True)):
            mine = [step[k] for step in seen]
            if fold.extreme:
                word = self._extreme(b, fold.extreme, mine, there)
            else:
                word = self._word(b, mine, there)
            new = self._result(b, row, base, fold, neutral[k], word, there)
            old = self.of_sinks(state)[k] if state else ()
            out.extend(self.writer.call(b, sink.fn, [*old, *new]) if state else new)
        return tuple(out)

    def _word(self, b: Builder, flags: Sequence[Atom], there: Atom) -> Atom:
        """The flags of the elements there."""
        word: Atom = NO_BITS
        for base, flag in zip(self._bases(len(flags)), flags, strict=True):
            more = b.apply("shl", b.emit(Ballot(flag))[0], b.cast(base, u64))
            word = b.apply("or", word, more)
        return b.apply("and", word, there)

    def _extreme(self, b: Builder, extreme: str, values: Sequence[Atom], there: Atom) -> Atom:
        """Which elements there have the extreme value: NaN if some have it."""
        better = "gt" if extreme == "maximum" else "lt"

        def best(c: Builder, one: Atom, other: Atom) -> Atom:
            return c.apply("select", c.apply(better, one, other), one, other)

        type_ = values[0].type
        join = b.function([type_, type_], lambda c, *pair: [best(c, *pair)])
        (found,) = b.emit(ReduceLanes(join, (reduce(partial(best, b), values),), any_order=True))
        word = self._word(b, [b.apply("eq", value, found) for value in values], there)
        if not scalar_type(values[0]).is_float:
            return word
        nans = self._word(b, [b.apply("ne", value, value) for value in values], there)
        return b.apply("select", b.apply("ne", nans, NO_BITS), nans, word)

    def _result(
        self, b: Builder, row: RowOf, base: Atom, fold: FlagFold, neutral: Sequence[Atom],
        word: Atom, there: Atom,
    ) -> Sequence[Atom]:  # fmt: skip
        """What the flags of a word give to a sink."""
        match fold.fn:
            case "add":
                return (b.cast(b.apply("popcount", word), scalar_type(neutral[0])),)
            case "or":
                return (b.apply("ne", word, NO_BITS),)
            case "and":
                return (b.apply("eq", word, there),)
        assert fold.index is not None
        lane = b.cast(b.apply("ctz" if fold.fn == "minimum" else "clz", word), i64)
        lane = lane if fold.fn == "minimum" else b.sub(index(u64.bits - 1), lane)
        flat = b.add(base, lane)
        some = b.apply("ne", word, NO_BITS)
        taken = [fold.index, fold.seen] if fold.place == 0 else [fold.seen, fold.index]
        taken = taken[: len(neutral)]
        return b.choose(
            some, lambda c: self.at(c, Position(flat, (flat,), 1, row=row), taken),
            lambda _: tuple(neutral),
        )  # fmt: skip
