"""A search in the ends of a row's sources: one in the ends of all rows' sources.

    sizes of rows  [2, 1], [3]     ends  [2, 3], [3]     ends of all  [2, 3, 6]
    locate ends p   ==>   locate (ends of all) (begin of row + p), less what is before the row

It replaces the search in place, also in functions of the row's elements: ends of all rows are
stored, so that an element function with searches needs no private memory.
"""

from __future__ import annotations

from flatweave.ops import Index, Locate
from flatweave.ops.rows import array_type
from flatweave.passes.nests.arrays import at, each, or_zero
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.segments import Segments
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Lambda, Let, Op
from flatweave.terms.traverse import Substitution, lambdas_in, map_field, walk_lets


class Searches:
    """The ends that a row's function searches in, each moved together once."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.found: dict[Atom, tuple[Atom, Segments]] = {}

    def are_in(self, op: Op, renaming: Substitution) -> bool:
        """Whether an operation, or a function in it, searches in an array of the row."""
        inner = (let.op for fn in lambdas_in(op) for let in walk_lets(fn))
        return any(
            isinstance(each, Locate) and self.rows.varies(renaming.atom(each.ends))
            for each in (op, *inner)
        )

    def _is_own(self, op: Op) -> bool:
        return isinstance(op, Locate) and self.rows.varies(op.ends)

    def moved(self, b: Builder, op: Op) -> Op:
        """An operation with the searches in its functions made in the ends of all rows."""
        made: Op = map_field(op, lambda atom: atom, lambda fn: self._function(b, fn))
        return made

    def _function(self, b: Builder, fn: Lambda) -> Lambda:
        if not any(self._is_own(let.op) for let in walk_lets(fn)):
            return fn
        inside = b.inner(optional=True)
        renaming = Substitution()
        params = inside.params_like(fn.params, renaming)
        for let in fn.lets:
            inside.where = let.where or inside.where
            if isinstance(let.op, Locate) and self._is_own(let.op):
                results = self.search(inside, renaming.op(let.op))
                renaming.mapping.update(zip(let.vars, results, strict=True))
            else:
                moved = self.moved(inside, let.op)
                inside.inline_let(Let(let.vars, moved, let.where), renaming)
        return inside.close(params, [renaming.atom(result) for result in fn.results])

    def search(self, b: Builder, op: Locate) -> tuple[Atom, Atom]:
        """The source of a position of the current row, and where it begins in the row."""
        rows = self.rows
        if op.ends not in self.found:
            self.found[op.ends] = self._all_ends(op.ends)
        ends, base = self.found[op.ends]
        begin = rows.start(base)
        before = rows.start(rows.segments(array_type(op.ends).shape))
        of, start = b.emit(Locate(ends, 0, b.add(begin, op.position)), "s")
        return b.sub(b.sub(of, before), index(op.skip)), b.sub(start, begin)

    def _all_ends(self, ends: Atom) -> tuple[Atom, Segments]:
        """The ends of all rows' sources, counted from the first row on, and how they are cut."""
        rows = self.rows
        segments, (flat,) = rows.line([ends])
        base = rows.segments((self._last(ends),))

        def moved(c: Builder, p: Atom) -> Atom:
            row, _ = segments.locate(c, p)
            end = at(c, flat, p)
            return c.add(base.span(c, row)[0], end)

        return each(rows.b, segments.total, moved, "ends"), base

    def _last(self, ends: Atom) -> Atom:
        """The last end of a row, or 0: the variable that is the extent of arrays of that length."""
        (extent,) = array_type(ends).shape
        body = self.rows.body
        for let in body.lets:
            match let.op:
                case If(then=Lambda(lets=(Let(op=Index(xs=xs)),))) if xs is ends:
                    return let.vars[0]
        there = body.apply("gt", extent, index(0))
        return or_zero(body, there, lambda c: at(c, ends, c.sub(extent, index(1))))
