"""Rules for reads and writes at computed positions: gather, scatter, permute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import bool_, i64, u64
from flatweave.cluster.steps import Chunk, Joining, Part, Parts, Rule
from flatweave.ops import Filter, Generate, Index, Map, Permute, Scan, Scatter, Sort
from flatweave.passes.monoid import Monoid, monoid
from flatweave.terms.build import Builder, index, lambda_of, with_beside
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
    scalar_type,
)

# Rows of arrays in chunks, read at computed indices, sent by their owners.
#
#     map (i => .. index xs [i]) ids        idx = ids; ys = gather_rows [xs] idx; map (y => .. y) ys
#
# Each chunk says which rows it reads, in order and each once, and where in them each of its
# elements is; the chunks that have these rows send them (`cluster/shuffled.py`).
# `separate_reads.py` creates such lets if the array is too large to go to every chunk.


ZERO, ONE = index(0), index(1)


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
