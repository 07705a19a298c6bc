"""The elements of one nest, called rows: their function, and what is known of them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.records import record
from flatweave.ops import Check, Generate, Index, Locate, Reduce, Reshape, Span
from flatweave.passes.nests.segments import Even, Segments, array_of, at, from_lengths, from_offsets
from flatweave.passes.rewrite import hold
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Lambda, Let, Var, array_type, constant
from flatweave.terms.traverse import Substitution, free_vars, needed_for

# -- row function ---------------------------------------------------------------------------------
#
# The element function of a nest while it is distributed, and its scalars for all rows.
#
#     i =>                                  f: i64[n] = generate [n] (i => reduce add 0 (x i))
#         s = reduce add 0 (x i)      ==>   i =>
#         in s                                  s = index f [i]
#                                               in s


Known = Mapping[Atom, tuple[Atom, Atom]]
"""For offsets the row that a position was found in by them, and where it begins."""

CHEAP = (Apply, Cast, Index, Span)
"""What is done again for every value of a row rather than once, stored for the row."""


class RowFunction:
    """An element function under distribution: its rows have `shape`, its indices are `params`.

    `b` is the body around it: what all rows need at once is emitted there. `body` is what is left
    for each row.
    """

    def __init__(self, b: Builder, shape: Sequence[Atom]) -> None:
        self.b = b
        self.shape = tuple(shape)
        self.count = b.product(self.shape)
        self.body = b.inner()
        self.params = [self.body.param("i", i64, extent) for extent in self.shape]
        self.whole: dict[Atom, Atom] = {}  # scalars that are stored for all rows

    def varies(self, atom: Atom) -> bool:
        """Whether an atom may differ from row to row: it is bound in the element function."""
        return isinstance(atom, Var) and atom in self.body.own

    @property
    def row(self) -> Atom:
        """The number of the current row."""
        return self.body.ravel(self.params, self.shape)

    def needed(self, roots: Iterable[Atom]) -> tuple[Let, ...]:
        """What is left of the function that some atoms of it need, and all its checks."""
        lets = self.body.lets
        checked = [var for let in lets if let.op.effect for var in free_vars(let.op)]
        needed = {*needed_for(lets, [*roots, *checked])}
        return tuple(let for let in lets if let in needed or let.op.effect)

    def stored(self, atoms: Sequence[Atom]) -> list[Atom]:
        """Scalars of a row for all rows: arrays of the rows' shape."""
        waiting = [atom for atom in dict.fromkeys(atoms) if atom not in self.whole]
        if waiting:
            fn = Lambda(tuple(self.params), self.needed(waiting), tuple(waiting))
            made = self.b.emit(Generate(self.shape, self.b.copy(fn)))
            self.whole.update(zip(waiting, made, strict=True))
            self.body.lets[:] = [let for let in self.body.lets if not let.op.effect]
        return [self.whole[atom] for atom in atoms]

    def column(self, atoms: Sequence[Atom]) -> list[Atom]:
        """Scalars of a row for all rows: arrays of one axis."""
        return [self.lined(array, self.count) for array in self.stored(atoms)]

    def lined(self, array: Atom, size: Atom) -> Atom:
        """An array under one axis."""
        if array_type(array).rank == 1:
            return array
        return self.b.emit(Reshape(array, (size,)))[0]

    def inlined(
        self, b: Builder, row: Sequence[Atom], roots: Iterable[Atom], known: Known | None = None
    ) -> Substitution:
        """Emit in `b` what some atoms need, for the row at some indices; what they become there."""
        renaming = b.inlining(Lambda(tuple(self.params), (), ()), row)
        for let in self.needed(roots):
            _inline_row(b, let, renaming, known or {})
        return renaming

    def settle(self, roots: Iterable[Atom]) -> None:
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
        vars_ = [var for let in reversed(found) for var in _stored_of(let)]
        if not vars_:
            return
        reads = dict(zip(vars_, self.stored(vars_), strict=True))
        for let in found:
            at = self.body.lets.index(let)
            self.body.lets[at : at + 1] = [
                self._read(var, let, reads.get(var)) for var in let.vars
            ]

    def _read(self, var: Var, let: Let, array: Atom | None) -> Let:
        """The stored value; of a search for a row, where it begins is read by its number."""
        if array is None:
            assert isinstance(let.op, Locate)
            read = Index(let.op.ends, let.vars[:1], checked=False)
        else:
            read = Index(array, tuple(self.params), checked=False)
        self.body.own[var] = read
        return Let((var,), read, let.where)

    def settle_checks(self) -> None:
        """Make the checks of every row now: rows without values are looked at nowhere else."""
        checks = [let.op for let in self.body.lets if isinstance(let.op, Check)]
        if not checks:
            return

        def all_of(b: Builder, row: Sequence[Atom]) -> Atom:
            renaming = self.inlined(b, row, [])
            holds: Atom = constant(True, bool_)
            for check in checks:
                holds = b.apply("and", holds, renaming.atom(check.condition))
            return holds

        flags = self.lined(array_of(self.b, self.shape, all_of), self.count)
        every = Reduce(lambda_of("and", bool_), (constant(True, bool_),), (flags,), known=True)
        (all_hold,) = self.b.emit(every)
        hold(self.b, checks[0], all_hold)
        self.body.lets[:] = [let for let in self.body.lets if not let.op.effect]

    def scalar(self, column: Atom) -> Atom:
        """The row's own value of an array of one axis with one value for each row."""
        value = at(self.body, column, self.row)
        if len(self.shape) == 1:
            self.whole[value] = column
        return value


def _stored_of(let: Let) -> tuple[Var, ...]:
    """What is stored of a let's results, as the others follow from it."""
    return let.vars[:1] if isinstance(let.op, Locate) and let.op.skip == 1 else let.vars


def _inline_row(
    b: Builder, let: Let, renaming: Substitution, known: Known
) -> None:
    """Emit a let of an element function at a position in a row that its offsets located."""
    op = let.op
    if isinstance(op, Span) and op.offsets in known:
        row, start = known[op.offsets]
        if renaming.atom(op.row) == row:
            after = at(b, op.offsets, b.add(row, index(1)))
            renaming.mapping[let.vars[0]] = start
            renaming.mapping[let.vars[1]] = b.sub(after, start)
            return
    b.inline_let(let, renaming)


# -- rows -----------------------------------------------------------------------------------------
#
# The elements of one nest, called rows, and what has been found out about all of them at once.
#
# The element function of a nest is distributed over its hard operations: the code before one is
# computed for all rows and stored in flat arrays, the operation works on these, and the code after
# it reads its results. `body` holds what is left: easy work that every row can do alone.
#
#     i =>                              f: f32[n, m] = generate [n, m] (i, j => mul x[i, j] 2.0)
#         a = map (x => mul x 2.0) [x i]      g: f32[n, m] = scan (add) [0.0] [f] starts=..
#         b = scan (add) [0.0] [a]      ==>   i =>
#         s = reduce (max) [0.0] [b]              b = generate [m] (j => index g [i, j])
#         in s                                    s = reduce (max) [0.0] [b]
#                                                 in s


@record(eq=True)
class Flat:
    """An array of every row in one array: under the rows' shape, or concatenated."""

    array: Atom
    segments: Segments | None = None


@record(eq=True)
class Element:
    """A function of one element of the arrays of all rows, under construction.

    `params` are indices into `space`, `place` those in the row; `renaming` knows the row's atoms.
    """

    b: Builder
    space: tuple[Atom, ...]
    params: Sequence[Var]
    place: Sequence[Atom]
    renaming: Substitution

    def function(self, results: Sequence[Atom]) -> Lambda:
        """The function, with these results."""
        return self.b.close(self.params, results)


class Rows(RowFunction):
    """An element function under distribution, and its arrays for all rows."""

    def __init__(self, b: Builder, shape: Sequence[Atom]) -> None:
        super().__init__(b, shape)
        self.flats: dict[Atom, Flat] = {}
        self._segments: dict[tuple[Atom, ...], Segments] = {}
        self._spans: dict[Segments, tuple[Atom, Atom]] = {}

    # -- the layout of the rows in flat arrays ----------------------------------------------------

    def segments(self, shape: Sequence[Atom]) -> Segments:
        """Rows of this shape, concatenated."""
        key = tuple(shape)
        if key not in self._segments:
            self._segments[key] = self._cut(key)
        return self._segments[key]

    def know(self, shape: Sequence[Atom], segments: Segments) -> None:
        """Rows of this shape have the layout of these segments."""
        self._segments[tuple(shape)] = segments

    def _cut(self, shape: tuple[Atom, ...]) -> Segments:
        if not any(map(self.varies, shape)):
            length = self.b.product(shape)
            return Even(self.count, length, self.b.mul(self.count, length))
        offsets = self._offsets_behind(shape)
        if offsets is not None:
            return from_offsets(self.b, self.count, offsets)
        (lengths,) = self.column([self.body.product(shape)])
        made = from_lengths(self.b, self.count, lengths)
        if len(shape) == len(self.shape) == 1:
            self._by_offsets(shape[0], made.offsets)
        return made

    def _by_offsets(self, length: Atom, offsets: Atom) -> None:
        """The length of a row is read from these offsets from here on: what goes over the row
        finds that they cut it."""
        for k, let in enumerate(self.body.lets):
            if let.vars == (length,):
                span = Span(offsets, self.params[0])
                vars_ = (self.b.var("row", i64), *let.vars)
                self.body.lets[k] = Let(vars_, span, let.where)
                self.body.own.update(dict.fromkeys(vars_, span))

    def _offsets_behind(self, shape: tuple[Atom, ...]) -> Atom | None:
        """The offsets between which an extent is the length of the current row."""
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
            one = self.element(shape, lead, waiting)
            values = [at(one.b, one.renaming.atom(array), *one.place) for array in waiting]
            made = self.b.emit(Generate(one.space, one.function(values)))
            for array, found in zip(waiting, made, strict=True):
                self.flats[array] = Flat(found, segments)
        return [self.flats[array] for array in arrays]

    def element(self, shape: Sequence[Atom], lead: int, roots: Iterable[Atom]) -> Element:
        """A function of an element of all rows' arrays; what some atoms need is emitted in it.

        If the first `lead` extents of `shape` vary, the arrays are concatenated.
        """
        inside = self.b.inner()
        segments = self.segments(shape[:lead])
        if isinstance(segments, Even):
            space = (*self.shape, *shape)
            params = [inside.param("p", i64, extent) for extent in space]
            row, own = params[: len(self.shape)], params[len(self.shape) :]
            return Element(inside, space, params, own, self.inlined(inside, row, roots))
        space = (segments.total, *shape[lead:])
        params = [inside.param("p", i64, extent) for extent in space]
        number, start = segments.locate(inside, params[0])
        known = {segments.offsets: (number, start)}
        renaming = self.inlined(inside, inside.unravel(number, self.shape), roots, known)
        extents = [renaming.atom(extent) for extent in shape[:lead]]
        place = [*inside.unravel(inside.sub(params[0], start), extents), *params[1:]]
        return Element(inside, space, params, place, renaming)

    def line(self, arrays: Sequence[Atom]) -> tuple[Segments, list[Atom]]:
        """Arrays of one shape, of every row, as arrays of one axis, row after row."""
        shape = array_type(arrays[0]).shape
        segments = self.segments(shape)
        return segments, [self.lined(flat.array, segments.total) for flat in self.flat(arrays)]

    # -- from all rows back to one ----------------------------------------------------------------

    def start(self, segments: Segments) -> Atom:
        """Where the current row begins."""
        return self._span(segments)[0]

    def length(self, segments: Segments) -> Atom:
        """The length of the current row; arrays of that length are laid out as these segments."""
        length = self._span(segments)[1]
        self.know((length,), segments)
        return length

    def _span(self, segments: Segments) -> tuple[Atom, Atom]:
        if segments not in self._spans:
            self._spans[segments] = segments.span(self.body, self.row)
        return self._spans[segments]

    def bind(self, flat: Flat, shape: Sequence[Atom]) -> Atom:
        """The row's own array out of one that holds those of all rows."""
        start = self.start(flat.segments) if flat.segments else None
        lead = len(shape) - (array_type(flat.array).rank - 1)

        def own(b: Builder, place: Sequence[Atom]) -> Atom:
            if start is None:
                return at(b, flat.array, *self.params, *place)
            first = b.add(start, b.ravel(place[:lead], shape[:lead]))
            return at(b, flat.array, first, *place[lead:])

        row = array_of(self.body, shape, own, hint="row")
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

    def flat_rows(self, value: Atom, length: Atom) -> Atom:
        """Rows of some length, concatenated, with their further axes."""
        (flat,) = self.flat([value])
        if flat.segments is not None:
            return flat.array
        rest = array_type(value).shape[1:]
        return self.b.emit(Reshape(flat.array, (self.segments((length,)).total, *rest)))[0]

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
        return self.whole.get(atom)
