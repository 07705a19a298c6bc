"""Flags of the elements of one row, combined as words: a bit for each of many lanes.

    how many have the flag        add of cast flag              popcount of the word
    the first, the last of them   minimum, maximum of           the index of its lowest, highest bit
                                  select flag index neutral
    any, all of them              or, and of flag               whether a bit is set, or none is not

A step compares each register of elements once, and their flags are a word. A 64-bit number in each
lane would take eight registers for each register of bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64, u64
from flatweave.kernel_ir.syntax import Lane
from flatweave.kernel_ir.warp_ops import Ballot, InSet
from flatweave.lower.sinks.row_elements import FlagFold, RowElements
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.row_lookup import ONE_BIT, RowOf
from flatweave.lower.traverse.steps import Position, State
from flatweave.ops import CombineRows, Index
from flatweave.ops.rows import scalar_type
from flatweave.terms.build import FALSE, Builder, index
from flatweave.terms.control import For, If
from flatweave.terms.syntax import Atom, constant

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
        loop = b.inner()
        i = loop.param("i", i64)
        known = tuple(loop.param("s", atom.type) for atom in self.neutral)
        words = [loop.emit(Ballot(flag))[0] for flag in self._flags(loop, row, i)]
        every = constant((1 << self.width) - 1, u64)
        body = loop.close([i, *known], self._combine(loop, row, i, known, words, every))
        state = b.emit(For(lo, mid, index(self.width), body, self.neutral))
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
        whole, part = b.inner(), b.inner()
        all_ = [
            whole.apply("and", whole.emit(Ballot(flag))[0], there)
            for flag in self._flags(whole, row, base)
        ]
        some, none = part.inner(), part.inner()
        some_flags = some.close([], self._flags(some, row, base))
        no_flags = none.close([], [FALSE] * len(self.folds))
        flags = part.emit(If(part.emit(InSet(there))[0], some_flags, no_flags))
        few = [part.emit(Ballot(flag))[0] for flag in flags]
        fits = b.apply("le", b.add(base, index(self.width)), self.writer.total)
        return b.emit(If(fits, whole.close([], all_), part.close([], few)))

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
