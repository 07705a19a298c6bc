"""Where rows begin, marked in memory before a chunk of positions is walked.

    ends 2 5 5 7, a chunk of 8 positions from 0      marks  T F T F F T F T

For a sweep that locates its positions among rows and combines each row: it asks which elements
begin a row, and nobody need know which row that is. A mark is a store for each row; the marks are
read from the first-level cache, side by side, as flags of a user would be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from flatweave.base.dtypes import bool_, i64
from flatweave.kernel_ir.syntax import Lane, Lanes, Load, Shared, Store
from flatweave.lower.element import rows_of
from flatweave.lower.kernel import KernelBuilder
from flatweave.lower.locate import Rows
from flatweave.lower.machine import Machine
from flatweave.lower.sinks import FALSE
from flatweave.lower.walk import Position, State, Step, Walk, Walks
from flatweave.ops import CombineRows, Locate, Sweep
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, For, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var
from flatweave.terms.traverse import free_vars

CHUNK = 4096
LINE = 64
TRUE = Const(True, bool_)


@dataclass(frozen=True, eq=False)
class Beginnings:
    """What of a sweep's body says where rows begin.

    `flags` are the variables that do; `lets` are those of the body without them, and without the
    rows unless something else asks for these (`needs_rows`).
    """

    located: Locate
    flags: tuple[Var, ...]
    lets: tuple[Let, ...]
    needs_rows: bool

    def lean(self, op: Sweep) -> Sweep:
        """The sweep as far as it works on elements, not on rows."""
        rows = [taken[0] for sink, taken in _combined(op)]
        results = tuple(atom for atom in op.body.results if atom not in rows)
        lean: Sweep = op.replace(body=Lambda(op.body.params, self.lets, results))
        return lean


def _combined(op: Sweep) -> list[tuple[CombineRows, tuple[Atom, ...]]]:
    pairs = zip(op.sinks, op.portions(), strict=True)
    return [(sink, taken) for sink, taken in pairs if isinstance(sink, CombineRows)]


def find_beginnings(
    machine: Machine, op: Sweep, located: Locate | None
) -> Beginnings | None:
    """How a sweep combines the rows it locates its positions in, if it does so and no other."""
    combined, lets = _combined(op), op.body.lets
    at = next((let for let in lets if let.op is located), None)
    if located is None or at is None or not combined or machine.masked_tail:
        return None
    row, start = at.vars
    flags = [let for let in lets if _is_start(let, op.body.params[0], start)]
    bound = {let.vars[0] for let in flags}
    if any(taken[0] is not row or taken[1] not in bound for _, taken in combined):
        return None
    others = [let for let in lets if let not in flags and let is not at]
    results = [atom for atom in op.body.results if atom is not row]
    needs_rows = any({row, start} & free_vars(let.op).keys() for let in others) or any(
        atom in (row, start) for atom in results
    ) or op.body.results.count(row) > len(combined)
    rest = [let for let in lets if let not in flags and (needs_rows or let is not at)]
    return Beginnings(located, tuple(bound), tuple(rest), needs_rows)


def _is_start(let: Let, position: Var, start: Var) -> bool:
    """Whether a let asks if a position is where its row begins."""
    return isinstance(let.op, Apply) and let.op.fn == "eq" and set(let.op.args) == {position, start}


@dataclass(frozen=True, eq=False)
class MarkedWalk:
    """A walk whose positions know whether a row begins at them; chunk by chunk."""

    walk: Walk
    rows: Rows
    marks: Var

    def block(self, b: Builder, lo: Atom, hi: Atom, state: State, step: Step) -> State:
        """Steps over the positions lo to hi; the accumulators stand first in the state."""
        (before,) = self.rows.search(b, b.apply("maximum", b.sub(lo, index(1)), index(0)))[:1]
        chunks = b.inner()
        at = chunks.param("c", i64)
        row, *params = (chunks.param("s", atom.type) for atom in (before, *state))
        stop = chunks.apply("minimum", chunks.add(at, index(CHUNK)), hi)
        after = self._mark(chunks, at, stop, row)

        def marked(c: Builder, position: Position, known: State) -> State:
            begins = c.emit(Load(self.marks, c.sub(position.flat, at)))[0]
            return step(c, replace(position, begins=begins), known)

        out = self.walk.block(chunks, at, stop, tuple(params), marked)
        body = chunks.close([at, row, *params], [after, *out])
        return b.emit(For(lo, hi, index(CHUNK), body, (before, *state)))[1:]

    def _mark(self, b: Builder, at: Atom, stop: Atom, row: Atom) -> Atom:
        """Mark a chunk, going on from the row of the element before it; its last element's row."""
        self._clear(b)
        b.emit(Store(self.marks, index(0), b.apply("eq", at, index(0))))
        test, turn = b.inner(), b.inner()
        known, last = test.param("row", i64), b.sub(stop, index(1))
        holds = test.close([known], [self.rows.ends_by(test, known, last)])
        known = turn.param("row", i64)
        turn.emit(Store(self.marks, turn.sub(self.rows.end(turn, known), at), TRUE))
        body = turn.close([known], [turn.add(known, index(1))])
        return b.emit(While(holds, body, (row,), through_memory=True))[0]

    def _clear(self, b: Builder) -> None:
        """Nothing is marked."""
        region = b.inner()
        loop = region.inner()
        g = loop.param("g", i64)
        loop.emit(Store(self.marks, loop.emit(Lane(g))[0], FALSE))
        region.emit(For(index(0), index(CHUNK), index(LINE), loop.close([g], []), ()))
        b.emit(Lanes(LINE, region.close([], [])))


def along_marks(
    walk: Walk, found: Beginnings | None, kernel: KernelBuilder, b: Builder
) -> Walks:
    """The walk, along marks where it combines rows; it finds the rows only if they matter."""
    if found is None:
        return walk
    plain = walk if found.needs_rows else replace(walk, located=None)
    return MarkedWalk(plain, rows_of(kernel, found.located), b.emit(Shared(bool_, CHUNK))[0])
