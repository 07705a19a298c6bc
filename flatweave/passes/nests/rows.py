"""The elements of one nest, called rows, and what has been found out about all of them at once.

The element function of a nest is distributed over its hard operations: what stands before one is
computed for all rows and stored in flat arrays, the operation works on these, and what stands
behind it reads its results. `body` holds what is left: easy work that every row can do alone.

    i =>                              f: f32[n, m] = generate [n, m] (i, j => mul x[i, j] 2.0)
        a = map (x => mul x 2.0) [x i]      g: f32[n, m] = scan (add) [0.0] [f] starts=..
        b = scan (add) [0.0] [a]      ==>   i =>
        s = reduce (max) [0.0] [b]              b = generate [m] (j => index g [i, j])
        in s                                    s = reduce (max) [0.0] [b]
                                                in s
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.records import record
from flatweave.ops import Check, Generate, Index, Reduce, Reshape, Span
from flatweave.ops.rows import array_type, scalar_type
from flatweave.passes.nests.segments import Even, Segments, Uneven, from_lengths, from_offsets
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Lambda, Let, Var, constant
from flatweave.terms.traverse import Substitution, free_vars, needed_for

CHEAP = (Apply, Cast, Index, Span)
"""What is done again for every value of a row rather than once, stored for the row."""


@record(eq=True)
class Flat:
    """An array of every row in one array: under the rows' shape, or one after the other."""

    array: Atom
    segments: Segments | None = None


class Rows:
    """An element function under distribution: its rows have `shape`, its indices are `params`.

    `b` is the body around it: what all rows need at once is emitted there.
    """

    def __init__(self, b: Builder, shape: Sequence[Atom]) -> None:
        self.b = b
        self.shape = tuple(shape)
        self.count = b.product(self.shape)
        self.body = b.inner()
        self.params = [self.body.param("i", i64, extent) for extent in self.shape]
        self.flats: dict[Atom, Flat] = {}
        self._whole: dict[Atom, Atom] = {}
        self._segments: dict[tuple[Atom, ...], Segments] = {}
        self._starts: dict[Segments, Atom] = {}

    def varies(self, atom: Atom) -> bool:
        """Whether an atom may differ from row to row: it is bound in the element function."""
        return isinstance(atom, Var) and atom in self.body.own

    @property
    def row(self) -> Atom:
        """The number of the row at hand."""
        return self.body.ravel(self.params, self.shape)

    # -- from one row to all ----------------------------------------------------------------------

    def needed(self, roots: Sequence[Atom]) -> tuple[Let, ...]:
        """What is left of the function that some atoms of it need, and all its checks."""
        lets = self.body.lets
        checked = [var for let in lets if let.op.effect for var in free_vars(let.op)]
        needed = {*needed_for(lets, [*roots, *checked])}
        return tuple(let for let in lets if let in needed or let.op.effect)

    def stored(self, atoms: Sequence[Atom]) -> list[Atom]:
        """Scalars of a row for all rows: arrays of the rows' shape."""
        waiting = [atom for atom in dict.fromkeys(atoms) if atom not in self._whole]
        if waiting:
            fn = Lambda(tuple(self.params), self.needed(waiting), tuple(waiting))
            made = self.b.emit(Generate(self.shape, self.b.copy(fn)))
            self._whole.update(zip(waiting, made, strict=True))
            self.body.lets[:] = [let for let in self.body.lets if not let.op.effect]
        return [self._whole[atom] for atom in atoms]

    def column(self, atoms: Sequence[Atom]) -> list[Atom]:
        """Scalars of a row for all rows: arrays of one axis."""
        return [self._lined(array, self.count) for array in self.stored(atoms)]

    def _lined(self, array: Atom, size: Atom) -> Atom:
        """An array under one axis."""
        if array_type(array).rank == 1:
            return array
        return self.b.emit(Reshape(array, (size,)))[0]

    def settle(self, roots: Sequence[Atom]) -> None:
        """Store the scalars that `roots` need and that are not cheap: they are read from here on.

        They would be computed again for every value of the row.
        """
        wanted: set[Atom] = set(roots)
        found: list[Let] = []
        for let in reversed(self.body.lets):
            if not any(var in wanted for var in let.vars):
                continue
            if not isinstance(let.op, CHEAP) and all(isinstance(v.type, DType) for v in let.vars):
                found.append(let)
            else:
                wanted.update(free_vars(let.op))
        vars_ = [var for let in reversed(found) for var in let.vars]
        if not vars_:
            return
        reads = dict(zip(vars_, self.stored(vars_), strict=True))
        for let in found:
            at = self.body.lets.index(let)
            self.body.lets[at : at + 1] = [self._read(var, reads[var], let) for var in let.vars]

    def _read(self, var: Var, array: Atom, let: Let) -> Let:
        read = Index(array, tuple(self.params), checked=False)
        self.body.own[var] = read
        return Let((var,), read, let.where)

    def settle_checks(self) -> None:
        """Make the checks of every row now: rows without values are looked at nowhere else."""
        checks = [let.op for let in self.body.lets if isinstance(let.op, Check)]
        if not checks:
            return
        inside = self.b.inner()
        at = [inside.param("i", i64, extent) for extent in self.shape]
        renaming = inside.inlining(Lambda(tuple(self.params), (), ()), at)
        holds: Atom = constant(True, bool_)
        for let in self.needed([]):
            inside.inline_let(let, renaming)
            if isinstance(let.op, Check):
                holds = inside.apply("and", holds, renaming.atom(let.op.condition))
        (each,) = self.b.emit(Generate(self.shape, inside.close(at, [holds])))
        flags = self._lined(each, self.count)
        every = Reduce(lambda_of("and", bool_), (constant(True, bool_),), (flags,), known=True)
        (all_hold,) = self.b.emit(every)
        first = checks[0]  # the rows have checked it: this keeps them alive, and never fails
        values = tuple(constant(0, scalar_type(value)) for value in first.values_)
        self.b.emit(Check(all_hold, first.kind, values, first.message))
        self.body.lets[:] = [let for let in self.body.lets if not let.op.effect]

    # -- how the rows lie in flat arrays ----------------------------------------------------------

    def segments(self, shape: Sequence[Atom]) -> Segments:
        """Rows of this shape, one after the other."""
        key = tuple(shape)
        if key not in self._segments:
            self._segments[key] = self._cut(key)
        return self._segments[key]

    def know(self, shape: Sequence[Atom], segments: Segments) -> None:
        """Rows of this shape lie as these segments do."""
        self._segments[tuple(shape)] = segments

    def _cut(self, shape: tuple[Atom, ...]) -> Segments:
        if not any(map(self.varies, shape)):
            length = self.b.product(shape)
            return Even(self.count, length, self.b.mul(self.count, length))
        offsets = self._offsets_behind(shape)
        if offsets is not None:
            return from_offsets(self.b, self.count, offsets)
        (lengths,) = self.column([self.body.product(shape)])
        return from_lengths(self.b, self.count, lengths)

    def _offsets_behind(self, shape: tuple[Atom, ...]) -> Atom | None:
        """The offsets of which an extent is the length of the row at hand."""
        for let in self.body.lets:
            op = let.op
            if isinstance(op, Span) and (let.vars[1],) == shape and [op.row] == self.params:
                return None if self.varies(op.offsets) else op.offsets
        return None

    def lead(self, shape: Sequence[Atom]) -> int:
        """How many leading axes of a row's array go up to the last one that varies."""
        return max((k for k, extent in enumerate(shape, 1) if self.varies(extent)), default=0)

    # -- arrays of a row for all rows -------------------------------------------------------------

    def flat(self, arrays: Sequence[Atom]) -> list[Flat]:
        """Arrays of one shape, of every row: each computed element by element, and stored."""
        waiting = [array for array in dict.fromkeys(arrays) if array not in self.flats]
        if waiting:
            self.settle(waiting)
            self.settle_checks()
            shape = array_type(waiting[0]).shape
            lead = self.lead(shape)
            segments = self.segments(shape[:lead]) if lead else None
            made = self._one_by_one(waiting, shape, lead, segments)
            for array, found in zip(waiting, made, strict=True):
                self.flats[array] = Flat(found, segments)
        return [self.flats[array] for array in arrays]

    def _one_by_one(
        self, arrays: Sequence[Atom], shape: Sequence[Atom], lead: int, segments: Segments | None
    ) -> Sequence[Atom]:
        inside = self.b.inner()
        space = (segments.total, *shape[lead:]) if segments else (*self.shape, *shape)
        at = [inside.param("p", i64, extent) for extent in space]
        known: dict[Atom, tuple[Atom, Atom]] = {}
        row: Sequence[Atom] = at[: len(self.shape)]
        start: Atom | None = None
        if segments:
            number, start = segments.locate(inside, at[0])
            row = inside.unravel(number, self.shape)
            if isinstance(segments, Uneven):
                known[segments.offsets] = number, start
        renaming = inside.inlining(Lambda(tuple(self.params), (), ()), row)
        for let in self.needed(arrays):
            inline_row(inside, let, renaming, known)
        if start is not None:
            extents = [renaming.atom(extent) for extent in shape[:lead]]
            place = (*inside.unravel(inside.sub(at[0], start), extents), *at[1:])
        else:
            place = tuple(at[len(self.shape) :])
        values = [
            inside.emit(Index(renaming.atom(array), place, checked=False))[0] for array in arrays
        ]
        return self.b.emit(Generate(space, inside.close(at, values)))

    def line(self, arrays: Sequence[Atom]) -> tuple[Segments, list[Atom]]:
        """Arrays of one shape, of every row, as arrays of one axis, row after row."""
        shape = array_type(arrays[0]).shape
        segments = self.segments(shape)
        return segments, [self._lined(flat.array, segments.total) for flat in self.flat(arrays)]

    # -- from all rows back to one ----------------------------------------------------------------

    def scalar(self, column: Atom) -> Atom:
        """The row's own value of an array of one axis with one value for each row."""
        (value,) = self.body.emit(Index(column, (self.row,), checked=False))
        if len(self.shape) == 1:
            self._whole[value] = column
        return value

    def start(self, segments: Segments) -> Atom:
        """Where the row at hand begins."""
        if segments not in self._starts:
            self._starts[segments] = segments.start(self.body, self.row)
        return self._starts[segments]

    def bind(self, flat: Flat, shape: Sequence[Atom]) -> Atom:
        """The row's own array out of one that holds those of all rows."""
        start = self.start(flat.segments) if flat.segments else None
        lead = len(shape) - (array_type(flat.array).rank - 1)
        inside = self.body.inner()
        at = [inside.param("j", i64, extent) for extent in shape]
        if start is None:
            place: Sequence[Atom] = (*self.params, *at)
        else:
            place = (inside.add(start, inside.ravel(at[:lead], shape[:lead])), *at[lead:])
        (element,) = inside.emit(Index(flat.array, tuple(place), checked=False))
        (row,) = self.body.emit(Generate(tuple(shape), inside.close(at, [element])), "row")
        self.flats[row] = flat
        return row

    def bind_line(self, segments: Segments, array: Atom, shape: Sequence[Atom]) -> Atom:
        """The row's own array out of an array of one axis that holds those of all rows."""
        if not isinstance(segments, Even):
            return self.bind(Flat(array, segments), shape)
        whole = (*self.shape, *shape)
        if len(whole) > 1:
            (array,) = self.b.emit(Reshape(array, whole))
        return self.bind(Flat(array), shape)

    # -- results ----------------------------------------------------------------------------------

    def results(self, atoms: Sequence[Atom]) -> list[Atom]:
        """Results of one shape for every row, under the rows' shape."""
        left = [atom for atom in dict.fromkeys(atoms) if self._done(atom) is None]
        made: dict[Atom, Atom] = {}
        if left:
            fn = Lambda(tuple(self.params), self.needed(left), tuple(left))
            made = dict(zip(left, self.b.emit(Generate(self.shape, self.b.copy(fn))), strict=True))
        return [made[atom] if atom in made else self._done(atom) or atom for atom in atoms]

    def _done(self, atom: Atom) -> Atom | None:
        """The array for all rows where it is there already."""
        if any(let.op.effect for let in self.body.lets):
            return None
        flat = self.flats.get(atom)
        if flat is not None and flat.segments is None:
            return flat.array
        return self._whole.get(atom)


def inline_row(
    b: Builder, let: Let, renaming: Substitution, known: dict[Atom, tuple[Atom, Atom]]
) -> None:
    """Emit a let of an element function at a place in a row that was found by its offsets.

    `known` has for offsets the row and where it begins.
    """
    op = let.op
    if isinstance(op, Span) and op.offsets in known:
        row, start = known[op.offsets]
        if renaming.atom(op.row) == row:
            after = b.emit(Index(op.offsets, (b.add(row, index(1)),), checked=False))[0]
            renaming.mapping[let.vars[0]] = start
            renaming.mapping[let.vars[1]] = b.sub(after, start)
            return
    b.inline_let(let, renaming)
