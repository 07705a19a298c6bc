"""The elements of one row, combined by the lanes of a step.

    a long row         in four registers at a time, then one, then the rest with some lanes idle
    one of two steps   elements past the row are read, too, and masked: no branch on its length

A sum of floats begins with 0.0, so that 0.0 need not be added to each element
(docs/decisions/reductions.md).

Flags of the elements of one row, combined as words: a bit for each of many lanes.

    how many have the flag        add of cast flag              popcount of the word
    the first, the last of them   minimum, maximum of           the index of its lowest, highest bit
                                  select flag index neutral
    any, all of them              or, and of flag               whether a bit is set, or none is not

A step compares each register of elements once, and their flags are a word. A 64-bit number in each
lane would take eight registers for each register of bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flatweave.access.analyse import Accesses
from flatweave.access.value import ONE
from flatweave.base.dtypes import bool_, i64, u64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Lane
from flatweave.kernel_ir.warp_ops import Ballot, InSet, ReduceLanes, ReduceRows
from flatweave.lower.schedule.division import along_rows, folds_at_once
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.row_lookup import ONE_BIT, RowOf
from flatweave.lower.traverse.steps import Position, State
from flatweave.ops import CombineRows, Index, Sweep
from flatweave.passes.operators import is_commutative
from flatweave.terms.build import FALSE, Builder, index
from flatweave.terms.control import Apply, Cast
from flatweave.terms.operators import component_functions
from flatweave.terms.rules import scalar_type
from flatweave.terms.syntax import Atom, Const, Lambda, Op, Var, constant
from flatweave.terms.traverse import needed_for

WIDTH = 16
"""Lanes of a step where they are no threads: fewer would wait for each other, more would idle at
the end of a row."""
CHAINS = 4
"""Independent steps of a long row: as many as the cycles that an addition takes; and loads under
way at a time."""


class RowElements:
    """The elements of a row of a sweep, and how its sinks combine them."""

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
            for atom in _begun(op, sink, taken[2:])
        ]  # fmt: skip
        self.at_once = folds_at_once(op, located)
        self.width = writer.lowering.machine.fixed_width or WIDTH
        self.short = 2 * self.width
        """A row of this many elements or fewer is read at once."""

    # -- one row ----------------------------------------------------------------------------------

    def fold(self, b: Builder, row: RowOf, lo: Atom, hi: Atom) -> State:
        """Each lane's part of the elements from lo to hi of one row, inside of lanes."""
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
        step, states = index(CHAINS * self.width), self.neutral * CHAINS
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

    def fold_short(self, b: Builder, row: RowOf, lo: Atom, length: Atom) -> State:
        """Up to `short` elements from lo on, where as many can be read."""
        count = b.apply("and", b.cast(length, u64), constant(63, u64))
        one = b.apply("shl", ONE_BIT, count)
        there = b.apply("sub", one, ONE_BIT)
        state: State = ()
        for base in range(0, self.short, self.width):
            flat = b.emit(Lane(b.add(lo, index(base))))[0]
            (inside,) = b.emit(InSet(b.apply("shr", there, constant(base, u64))))
            found = self.values(b, flat, row, ahead=not base)
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


def _begun(op: Sweep, sink: CombineRows, taken: Sequence[Atom]) -> list[Atom]:
    """The values to combine with one that begins with the neutral element: x of an element 0.0 + x,
    or of maximum -1 x where the neutral element is -1.

    A sum that begins with 0.0 is never -0.0, the only value that adding 0.0 changes.
    """
    names = component_functions(sink.fn) or [""] * len(taken)
    made = {var: let.op for let in op.body.lets for var in let.vars[:1]}
    found = []
    for name, neutral, atom in zip(names, sink.neutral, taken, strict=True):
        begins = _is_zero(neutral) if name == "add" else name in ("minimum", "maximum")
        joined = made.get(atom) if begins and isinstance(atom, Var) else None
        found.append(_joined_with(neutral, name, joined) or atom)
    return found


def _joined_with(neutral: Atom, name: str, op: Op | None) -> Atom | None:
    """x of 0.0 + x, x + 0.0 or maximum -1 x."""
    if not isinstance(op, Apply) or op.fn != name or neutral not in op.args:
        return None
    return op.args[op.args[0] == neutral]


def _is_zero(atom: Atom) -> bool:
    """Whether this is 0.0, and not -0.0."""
    return isinstance(atom, Const) and atom.value == 0 and not np.signbit(atom.value)


# -- sinks that combine flags, which are words ---------------------------------


@record
class FlagFold:
    """What a sink combines of its elements: their flags by a function, of the index if there is."""

    fn: str
    flag: Atom
    index: Atom | None = None


def flag_folds(elements: RowElements) -> list[FlagFold] | None:
    """How each sink combines flags; None if one of them combines anything else."""
    op, located = elements.writer.op, elements.writer.located
    assert located is not None
    known, made = along_rows(op, located), {let.vars[0]: let.op for let in op.body.lets}
    found = []
    for sink, value in zip(elements.sinks, elements.begun, strict=False):
        fold = _flag_fold(sink, value, made, known, op.body.params[0])
        if fold is None:
            return None
        found.append(fold)
    return found


def _flag_fold(
    sink: CombineRows, value: Atom, made: dict[Var, Op], known: Accesses, position: Var
) -> FlagFold | None:
    names = component_functions(sink.fn)
    if names is None or len(names) != 1:
        return None
    (name,), (neutral,) = names, sink.neutral
    if name in ("or", "and") and value.type is bool_:
        return FlagFold(name, value)
    match name, made.get(value) if isinstance(value, Var) else None:
        case "add", Cast(arg=flag) if flag.type is bool_ and scalar_type(value).is_integer:
            return FlagFold(name, flag)
        case "minimum" | "maximum", Apply(fn="select", args=(flag, at, other)):
            if isinstance(other, Const) and other == neutral and known.step(at, position) == ONE:
                return FlagFold(name, flag, at)
    return None


NO_BITS = constant(0, u64)


class RowFlags(RowElements):
    """The flags of the elements of a row, and how sinks combine them: each state is one value."""

    def __init__(
        self, writer: KernelWriter, sinks: Sequence[CombineRows], folds: Sequence[FlagFold]
    ) -> None:
        super().__init__(writer, sinks)
        self.folds = folds
        reads = [let for let in writer.op.body.lets if isinstance(let.op, Index)]
        widest = max((scalar_type(let.vars[0]).bytes for let in reads), default=1)
        # 2^21 f32 in rows of 10: 0.62 ms with 32 lanes, 0.98 with 16, 0.89 with 64; bytes in
        # rows of 32: 0.19 ms with 64 lanes, 0.46 with 32 (one core of a Zen 4)
        registers = 2 * writer.lowering.machine.vector_bytes
        self.width = min(max(registers // widest, 32), u64.bits)

    def fold(self, b: Builder, row: RowOf, lo: Atom, hi: Atom) -> State:
        """The elements from lo to hi of one row, inside of lanes."""
        mid = b.add(lo, b.round_down(b.sub(hi, lo), index(self.width)))
        loop, i, known = b.iteration("i", self.neutral)
        words = [loop.emit(Ballot(flag))[0] for flag in self._flags(loop, row, i)]
        every = constant((1 << self.width) - 1, u64)
        after = self._combine(loop, row, i, known, words, every)
        state = loop.close_loop(lo, mid, self.neutral, after, self.width)
        there = b.sub(b.apply("shl", ONE_BIT, b.cast(b.sub(hi, mid), u64)), ONE_BIT)
        return self._combine(b, row, mid, state, self._ending(b, row, mid, there), there)

    def _combine(
        self, b: Builder, row: RowOf, base: Atom, state: State, words: Sequence[Atom], there: Atom
    ) -> State:
        """The state, and what the flags of a step give to each sink."""
        out: list[Atom] = []
        for sink, fold, old, word in zip(self.sinks, self.folds, state, words, strict=True):
            new = self._value(b, row, base, fold, sink.neutral[0], word, there)
            out.extend(self.writer.call(b, sink.fn, [old, new]))
        return tuple(out)

    def joined(self, b: Builder, state: State) -> State:
        """They are that already."""
        return state

    def _ending(self, b: Builder, row: RowOf, base: Atom, there: Atom) -> State:
        """For each sink which of the lanes that are there have the flag."""

        def whole(c: Builder) -> list[Atom]:
            flags = self._flags(c, row, base)
            return [c.apply("and", c.emit(Ballot(flag))[0], there) for flag in flags]

        def part(c: Builder) -> list[Atom]:
            flags = c.choose(
                c.emit(InSet(there))[0], lambda d: self._flags(d, row, base),
                lambda _: [FALSE] * len(self.folds),
            )  # fmt: skip
            return [c.emit(Ballot(flag))[0] for flag in flags]

        fits = b.apply("le", b.add(base, index(self.width)), self.writer.total)
        return b.choose(fits, whole, part)

    def _flags(self, b: Builder, row: RowOf, base: Atom) -> list[Atom]:
        """The flags of the elements from `base` on."""
        flat, flags = b.emit(Lane(base))[0], [fold.flag for fold in self.folds]
        return self.at(b, Position(flat, (flat,), self.width, row=row), flags, ahead=True)

    def _value(
        self, b: Builder, row: RowOf, base: Atom, fold: FlagFold, neutral: Atom, word: Atom,
        there: Atom,
    ) -> Atom:  # fmt: skip
        """What a step's flags give to a sink."""
        match fold.fn:
            case "add":
                return b.cast(b.apply("popcount", word), scalar_type(neutral))
            case "or":
                return b.apply("ne", word, NO_BITS)
            case "and":
                return b.apply("eq", word, there)
        assert fold.index is not None
        lane = b.cast(b.apply("ctz" if fold.fn == "minimum" else "clz", word), i64)
        lane = lane if fold.fn == "minimum" else b.sub(index(u64.bits - 1), lane)
        flat = b.add(base, lane)
        (at,) = self.at(b, Position(flat, (flat,), 1, row=row), [fold.index])
        return b.apply("select", b.apply("ne", word, NO_BITS), at, neutral)
