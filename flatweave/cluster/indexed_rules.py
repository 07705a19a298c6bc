"""Rules of reads and writes at computed positions: gather, scatter, permute; and such reads taken
out of element functions, so that positions can be sent to the chunks that have these rows.

    ys = map (i => t = mul i 2; x = index xs [t]; .. x ..) ids

    at = map (i => mul i 2) ids;  rows = gather_rows [xs] at
    ys = map (i, x => t = mul i 2; check t is inside of xs; .. x ..) ids rows

Positions that follow from the number of a row, as in slices, stay: they have intervals
(`row_ranges.py`). Each chunk says which rows it reads, in order and each once, and where in them
each of its elements is; the chunks that have these rows send them (`shuffled.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, cast

from flatweave.array_ir.syntax import INDEX, Program
from flatweave.base.dtypes import bool_, i64, u64
from flatweave.cluster.loops_with_reads import as_loops, read_in_loops
from flatweave.cluster.steps import Chunk, Joining, Part, Parts, Rule
from flatweave.ops import Check, Filter, Generate, Index, Locate, Map, Permute, Scan, Scatter, Sort
from flatweave.passes.monoid import Monoid, monoid
from flatweave.terms.build import Builder, index, lambda_of, with_beside
from flatweave.terms.control import Apply, Cast, If
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Const,
    Lambda,
    Let,
    Op,
    Type,
    Var,
    array_type,
    constant,
    op,
    row_type,
    scalar_type,
)
from flatweave.terms.traverse import free_vars, lambdas_in, map_field, needed_for, walk_lets

NOWHERE, ZERO, ONE = map(index, (-1, 0, 1))


@op
class GatherRows(Op):
    """ys[k] = xs[index[k]] for arrays of one extent; rows at indices outside it are unspecified."""

    xs: tuple[Atom, ...]
    index: Atom

    def result_types(self) -> tuple[Type, ...]:
        extent = array_type(self.index).shape[0]
        return tuple(
            ArrayType(array_type(x).dtype, (extent, *array_type(x).shape[1:])) for x in self.xs
        )


class GatherRule(Rule):
    """The parts are the sorted unique indices that a chunk reads, and for each of its
    rows the position of its index among these."""

    op: ClassVar[type[Op]] = GatherRows
    stays: ClassVar[bool] = True
    again: ClassVar[bool] = False

    def fed(self, op: GatherRows) -> tuple[Atom, ...]:
        return (op.index,)

    def asked(self, let: Let, count: int) -> int:
        return 0

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        op: Any = let.op
        extent = chunk.atom(array_type(op.xs[0]).shape[0])
        return each_once(chunk.b, chunk.atom(op.index), extent)

    def goes_on(self, chunk: Chunk, let: Let) -> None:
        (rows,) = chunk.given(let, [i64])
        types: list[Type] = [ArrayType(i64, (chunk.count,))]
        for var in let.vars:
            extents = tuple(map(chunk.atom, array_type(var).shape[1:]))
            types.append(ArrayType(array_type(var).dtype, (rows, *extents)))
        at, *brought = chunk.given(let, types, 1)
        for var, table in zip(let.vars, brought, strict=True):
            chunk.bind(Let((var,), let.op, let.where), rows_at(chunk.b, table, at))

    def missing(self, client: Parts, let: Let, parts: Sequence[Part]) -> list[list[Any]]:
        op: Any = let.op
        return client.brought([client.value(x) for x in op.xs], parts)


def each_once(b: Builder, places: Any, extent: Atom) -> tuple[Atom, Atom]:
    """The sorted unique indices inside an extent; and for each index its position among them."""
    key = b.function([i64, i64], lambda inside, place, k: (inside.cast(place, u64),))
    ordered, order = b.emit(Sort(key, (places, _each(b, places, lambda inside, k: k))))
    first = _each(b, places, lambda inside, k: _is_first(inside, k, ordered, extent))
    ones = _each(b, places, lambda inside, k: inside.cast(_at(inside, first, k), i64))
    (numbers,) = b.emit(Scan(lambda_of("add", i64), (ZERO,), (ones,)))
    found = _each(b, places, lambda inside, k: _number(inside, _at(inside, numbers, k)))
    nowhere = _each(b, places, lambda inside, k: ZERO)
    (at,) = b.emit(Scatter((nowhere,), order, (found,)))
    _, read = b.emit(Filter(first, (ordered,)))
    return read, at


def rows_at(b: Builder, table: Var, places: Var, begin: Atom = ZERO) -> Generate:
    """The rows of a table at indices, which are counted from `begin`."""
    shape = (*array_type(places).shape, *array_type(table).shape[1:])

    def element(inside: Builder, k: Var, *others: Var) -> Sequence[Atom]:
        row = inside.sub(_at(inside, places, k), begin)
        return inside.emit(Index(table, (row, *others), checked=False))

    return Generate(shape, b.function([i64] * len(shape), element))


def _each(b: Builder, like: Atom, element: Callable[[Builder, Var], Atom]) -> Var:
    """An array as long as another one."""
    fn = b.function([i64], lambda inside, k: (element(inside, k),))
    return b.emit(Generate(array_type(like).shape, fn))[0]


def _at(b: Builder, xs: Var, k: Atom) -> Var:
    return b.emit(Index(xs, (k,), checked=False))[0]


def _is_first(b: Builder, k: Var, ordered: Var, extent: Atom) -> Atom:
    """Whether an index is inside and the first of its value; indices outside come last."""
    place = _at(b, ordered, k)
    before = _at(b, ordered, b.apply("maximum", b.sub(k, ONE), ZERO))
    inside = b.apply("lt", b.cast(place, u64), b.cast(extent, u64))
    other = b.apply("or", b.apply("eq", k, ZERO), b.apply("ne", place, before))
    return b.apply("and", inside, other)


def _number(b: Builder, count: Atom) -> Atom:
    """The index of the last of `count`; 0 for none."""
    return b.apply("maximum", b.sub(count, ONE), ZERO)


# permute and scatter into an array that is whole: private copies, combined in their order.
#
# A part is a destination in which only what the chunk writes is combined: so the parts are
# combined by the operator itself, in the order of the chunks, and the given destination comes
# first.


class PermuteRule(Rule):
    """Elements combined by index."""

    op: ClassVar[type[Op]] = Permute

    def fed(self, op: Any) -> tuple[Atom, ...]:
        return (op.indices, *op.xs)

    def into(self, op: Any) -> tuple[Atom, ...]:
        return op.dest  # type: ignore[no-any-return]

    def law(self, b: Builder, op: Any) -> Monoid:
        """How elements with one index are combined, and the value of an index without elements."""
        types = [array_type(x).dtype for x in op.dest]
        nothing = tuple(constant(0, dtype) for dtype in types)
        known = bool(op.neutral)  # `nothing` is no element: a copy must not begin with it
        return monoid(b, op.fn, op.neutral or nothing, known=known, segmented=not known)

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        given, b = cast(Any, let.op), chunk.b
        op = chunk.operation(given.replace(dest=()))  # what it writes into stays where it is
        law = self.law(b, op.replace(dest=given.dest))
        shape = tuple(map(chunk.atom, array_type(given.dest[0]).shape))
        dests = [_filled(b, shape, atom) for atom in law.neutral]
        flags = _filled(b, array_type(op.xs[0]).shape, Const(True, bool_))
        xs = (flags, *op.xs) if law.optional else op.xs
        return b.emit(Permute(law.fn, law.neutral, tuple(dests), op.indices, xs))

    def whole(self, client: Parts, let: Let, parts: Sequence[Part]) -> Mapping[Var, Any]:
        op: Any = let.op
        law = self.law(Builder(), op)
        given = [client.value(atom) for atom in op.dest]
        if parts:
            put = _place_by_place(self._put(law, len(given)), array_type(op.dest[0]).shape[0])
            head = [client.value(atom) for atom in put.head]
            given = client.call("put", put.program.fn, [*head, *given, *parts[0]])
        return dict(zip(let.vars, given, strict=True))

    def joining(self, let: Let) -> Joining:
        op: Any = let.op
        return _place_by_place(self.law(Builder(), op).fn, array_type(op.dest[0]).shape[0])

    def size(self, client: Parts, let: Let) -> int:
        op: Any = let.op
        return sum(client.value(atom).nbytes for atom in op.dest)

    def _put(self, law: Monoid, half: int) -> Lambda:
        """What was given, combined with what all chunks wrote."""
        if not law.optional:
            return law.given

        def body(b: Builder, *params: Var) -> Sequence[Atom]:
            old, (flag, *new) = params[:half], params[half:]
            both = b.inline(law.given, [*old, *new])
            pairs = zip(both, old, strict=True)
            return [b.apply("select", flag, x, y) for x, y in pairs]

        types = [*law.given.result_types(), *law.fn.result_types()]
        return Builder().function(types, body)


class ScatterRule(PermuteRule):
    """Elements written to indices; the last write in the order of the rows wins."""

    op: ClassVar[type[Op]] = Scatter

    def law(self, b: Builder, op: Any) -> Monoid:
        types = [array_type(x).dtype for x in op.dest]
        later = b.function([*types, *types], lambda inside, *params: params[len(types) :])
        return monoid(b, later, tuple(constant(0, dtype) for dtype in types))


def _filled(b: Builder, shape: tuple[Atom, ...], atom: Atom) -> Var:
    """An array that holds one value everywhere."""
    fn = b.function([extent.type for extent in shape], lambda inside, *_: (atom,))
    return b.emit(Generate(shape, fn))[0]


def _place_by_place(fn: Lambda, extent: Atom) -> Joining:
    """Arrays of one extent combined by an operator; what it reads from outside comes first."""
    b = Builder()
    n = b.param("n", i64)
    beside, params, renamed = with_beside(b, fn)
    arrays = [b.param("x", ArrayType(scalar_type(param), (n,))) for param in fn.params]
    results = b.emit(Map(renamed.function(fn), tuple(arrays)))
    program = Program("joined", b.close([n, *params, *arrays], results))
    return Joining(program, (extent, *beside))


def read_anywhere(op: Op, arrays: Collection[Var]) -> Iterator[Var]:
    """Those of some arrays that an operation reads at indices computed from elements, one for each
    of its rows."""
    if isinstance(op, Generate | Map):
        for read in _reads(op.fn, arrays):
            if _position(op, read) is not None:
                yield read.xs  # type: ignore[misc]
        yield from read_in_loops(op, arrays)


def separate_reads(let: Let, arrays: Collection[Var]) -> list[Let]:
    """The lets that replace one which reads some arrays so: indices, rows, the let without these
    reads. Reads at indices from other reads stay for the next call."""
    if not isinstance(let.op, Generate | Map) or not arrays:
        return [let]
    for read in _reads(let.op.fn, arrays):
        found = _position(let.op, read)
        if found and not any(
            _position(let.op, inner) for inner in _reads(Lambda((), found.lets, ()), arrays)
        ):
            place, extent = read.indices[0], array_type(read.xs).shape[0]
            same = [
                each.xs for each in _reads(let.op.fn, arrays)
                if each.indices[0] is place and array_type(each.xs).shape[0] == extent
            ]  # fmt: skip
            return _Taken(let, place, list(dict.fromkeys(same))).lets(found)
    return as_loops(let, arrays)


class ReadPosition(NamedTuple):
    """The lets that compute the index of a read, and the index."""

    lets: tuple[Let, ...]
    atom: Atom


def _reads(fn: Lambda, arrays: Collection[Var]) -> Iterator[Index]:
    for let in walk_lets(fn):
        if isinstance(let.op, Index) and let.op.xs in arrays:
            yield let.op


def _position(op: Generate | Map, read: Index) -> ReadPosition | None:
    """The lets that compute the index of a read, which depends on elements, one for each row; None
    for any other index."""
    found = _position_in(op.fn, read)
    if found is None:
        return None
    inside = list(walk_lets(Lambda((), found.lets, ())))
    used = {found.atom, *(var for let in inside for var in free_vars(let.op))}
    used.update(atom for let in inside for fn in lambdas_in(let.op) for atom in fn.results)
    if isinstance(op, Map):
        return found if any(param in used for param in op.fn.params) else None
    if any(param in used for param in op.fn.params[1:]):
        return None
    return found if any(isinstance(let.op, Index) for let in inside) else None


def _position_in(fn: Lambda, read: Index) -> ReadPosition | None:
    """The same of a function that has the read, itself or in a branch; where that is not taken, the
    place is nowhere."""
    place = read.indices[0]
    for let in fn.lets:
        inside = (each.op for inner in lambdas_in(let.op) for each in walk_lets(inner))
        if let.op is read or (place in free_vars(let.op) and any(op is read for op in inside)):
            return _needed(fn, (), place)
        for k, branch in enumerate(lambdas_in(let.op) if isinstance(let.op, If) else ()):
            found = _position_in(branch, read)
            if found is not None:
                return _needed(fn, (_in_branch(let, k, found),))
    return None


def _in_branch(let: Let, number: int, found: ReadPosition) -> Let:
    """The index from one branch of an `if`; the other branch gives an index outside."""
    taken = Lambda((), found.lets, (found.atom,))
    nowhere = Lambda((), (), (NOWHERE,))
    op = cast(If, let.op)
    bodies = (nowhere, taken) if number else (taken, nowhere)
    return Let((Var("place", i64),), If(op.condition, *bodies), let.where)


def _needed(fn: Lambda, last: tuple[Let, ...], place: Atom | None = None) -> ReadPosition | None:
    """An index, by default the result of the last let, and everything in a function that it needs,
    if that is known for each row separately."""
    needed = needed_for(fn.lets, [place] if place else [*free_vars(last[0].op)])
    inside = walk_lets(Lambda((), needed, ()))
    if not all(isinstance(let.op, Apply | Cast | Index | If | Locate) for let in inside):
        return None
    return ReadPosition((*needed, *last), place or last[0].vars[0])


class _Taken:
    """A let without the reads of some arrays at one index."""

    def __init__(self, let: Let, place: Atom, arrays: Sequence[Atom]) -> None:
        self.let = let
        self.place = place
        self.arrays = arrays
        self.op: Any = let.op
        self.b = Builder()
        self.b.hoists = False
        self.b.where = let.where
        self.found: dict[Atom, Var] = {}  # for each array its rows, or the row at hand of a map
        self.renamed: dict[Atom, Atom] = {}

    def lets(self, found: ReadPosition) -> list[Let]:
        """Places, rows, and what is left."""
        rows = self.b.emit(GatherRows(tuple(self.arrays), self._places(*found)))
        is_map = isinstance(self.op, Map)
        taken = [self.b.var("x", row_type(array_type(each))) for each in rows] if is_map else rows
        self.found = dict(zip(self.arrays, taken, strict=True))
        left = self.op.replace(fn=self._function(self.op.fn))
        if is_map:
            fn = Lambda((*left.fn.params, *taken), left.fn.lets, left.fn.results)
            left = left.replace(fn=fn, xs=(*self.op.xs, *rows))
        return [*self.b.lets, Let(self.let.vars, left, self.let.where)]

    def _places(self, needed: Sequence[Let], place: Atom) -> Var:
        fn = self.op.fn
        if isinstance(self.op, Generate):
            alone = Lambda(fn.params[:1], tuple(needed), (place,))
            return self.b.emit(Generate(self.op.shape[:1], self.b.copy(alone)))[0]
        used = {place, *(var for let in needed for var in free_vars(let.op))}
        pairs = [(p, x) for p, x in zip(fn.params, self.op.xs, strict=True) if p in used]
        alone = Lambda(tuple(p for p, _ in pairs), tuple(needed), (place,))
        return self.b.emit(Map(self.b.copy(alone), tuple(x for _, x in pairs)))[0]

    def _function(self, fn: Lambda) -> Lambda:
        lets = [made for let in fn.lets for made in self._left(let)]
        return Lambda(fn.params, tuple(lets), tuple(map(self._atom, fn.results)))

    def _atom(self, atom: Atom) -> Atom:
        return self.renamed.get(atom, atom)

    def _left(self, let: Let) -> list[Let]:
        op = let.op
        if not isinstance(op, Index) or op.xs not in self.found or op.indices[0] is not self.place:
            return [Let(let.vars, map_field(op, self._atom, self._function), let.where)]
        others, found = tuple(map(self._atom, op.indices[1:])), self.found[op.xs]
        row = tuple(map(self._atom, op.row))
        lets = self._checked(array_type(op.xs).shape[0], row, let) if op.checked else []
        at = (self.op.fn.params[0], *others) if isinstance(self.op, Generate) else others
        if not isinstance(found.type, ArrayType):
            self.renamed[let.vars[0]] = found
            return lets
        read = Index(found, at, op.checked and bool(others), row)
        return [*lets, Let(let.vars, read, let.where)]

    def _checked(self, extent: Atom, row: tuple[Atom, ...], let: Let) -> list[Let]:
        """The check of a read; for indices outside the rows that arrived are unspecified."""
        least, most, both = (self.b.var("t", bool_) for _ in range(3))
        place = self._atom(self.place)
        return [
            Let((least,), Apply("ge", (place, ZERO)), let.where),
            Let((most,), Apply("lt", (place, extent)), let.where),
            Let((both,), Apply("and", (least, most)), let.where),
            Let((), Check(both, INDEX, (place, extent), "0", row), let.where),
        ]
