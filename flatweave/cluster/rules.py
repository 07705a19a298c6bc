"""For each operation that looks beyond its own row: what a chunk computes of it, and what is made
of the parts of all chunks.

    rule_of(op)     the rule; None for an operation that has none
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from flatweave.base.dtypes import i64
from flatweave.cluster.indexed_rules import GatherRule, PermuteRule, ScatterRule
from flatweave.cluster.steps import Chunk, Part, Parts, Rule
from flatweave.frontend.arrays.columns import has_known_identity, scan_rows
from flatweave.frontend.trace.trace import Leaf, trace
from flatweave.ops import Filter, Generate, Index, Map, Reduce, Scan
from flatweave.ops.nests import Nest
from flatweave.passes.monoid import TRUE, Monoid, monoid
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Lambda,
    Let,
    Op,
    Var,
    array_type,
    constant,
    types_of,
)
from flatweave.terms.traverse import free_vars

# filter: each chunk keeps its own rows; how many there are before it is a scan of counts.


class FilterRule(Rule):
    """The parts are the number of rows that a chunk keeps, and these."""

    op: ClassVar[type[Op]] = Filter
    stored: ClassVar[bool] = True

    def fed(self, op: Filter) -> tuple[Atom, ...]:
        return (op.mask, *op.xs)

    def asked(self, let: Let, count: int) -> int:
        return 1

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        return chunk.b.emit(chunk.operation(let.op))

    def whole(self, client: Parts, let: Let, parts: Sequence[Part]) -> Mapping[Var, Any]:
        return {let.vars[0]: sum(int(part[0]) for part in parts if part)}

    def keeps(self, let: Let) -> list[tuple[Var, int, int | None]]:
        return [(var, k, 0) for k, var in enumerate(let.vars[1:], 1)]


# nest: each chunk computes its rows; the number of elements before them is a scan of lengths.


class NestRule(Rule):
    """The parts are the sizes of the rows of each group, then the results: those of one
    shape in the chunks that the nest goes over, the others concatenated."""

    op: ClassVar[type[Op]] = Nest
    stored: ClassVar[bool] = True

    def space(self, op: Nest) -> Atom:
        return op.count

    def fed(self, op: Nest) -> tuple[Atom, ...]:
        return tuple(var for var in free_vars(op.fn) if isinstance(var.type, ArrayType))

    def asked(self, let: Let, count: int) -> int:
        return len(let.op.lengths)  # type: ignore[attr-defined]

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        op: Any = let.op
        found = chunk.b.emit(Nest(chunk.count, op.groups, chunk.by_row(op.fn)))
        totals, results = _totals_and_results(op, found)
        return (*totals, *results)

    def whole(self, client: Parts, let: Let, parts: Sequence[Part]) -> Mapping[Var, Any]:
        totals, _ = _totals_and_results(let.op, let.vars)
        return {
            var: sum(int(part[k]) for part in parts if part) for k, var in enumerate(totals)
        }

    def keeps(self, let: Let) -> list[tuple[Var, int, int | None]]:
        op: Any = let.op
        totals, results = _totals_and_results(op, let.vars)
        numbered = enumerate(zip(results, op.groups, strict=True), len(totals))
        return [(var, k, group if group >= 0 else None) for k, (var, group) in numbered]


def _totals_and_results(op: Any, found: Sequence[Var]) -> tuple[Sequence[Var], Sequence[Var]]:
    """Of what a nest binds: for each group its number of elements, and the results."""
    groups = len(op.lengths)
    return found[1 : 1 + 2 * groups : 2], found[1 + 2 * groups :]


# Scans of rows as a chunk computes them: column by column, where the operator is one on numbers.
#
#     scan (a, b => map (add) [a, b]) [before] [m]  ==>  what `fw.scan` of rows is on one machine
#
# There rows are few or many, long or short, and scanned by what is good for memory
# (`frontend/arrays/row_scans.py`). The program that is divided has the rows' scan
# itself, so that it is one exchange.


EXTENT = 2
"""Of what is traced; any that is not broadcast would do."""


def scanned_by_columns(b: Builder, op: Scan) -> Sequence[Atom]:
    """The results of a scan of rows, emitted; none where its operator combines rows otherwise."""
    taken = (*op.neutral, *op.xs)
    if array_type(op.xs[0]).rank == 1:
        return ()
    count = len(op.xs)

    def body(leaves: list[Any]) -> Any:
        if not has_known_identity(op.fn):
            return ()
        return tuple(scan_rows(op.fn, leaves[:count], leaves[count:], op.exclusive, op.reverse))

    types = [array_type(x) for x in taken]
    traced = trace("rows", body, [Leaf(t.dtype, "x", "", (EXTENT,) * t.rank) for t in types])
    fn = traced.program.fn
    if not fn.results:
        return ()
    values: dict[Atom, Atom] = {}
    arrays = [param for param in fn.params if isinstance(param.type, ArrayType)]
    for param, x, type_ in zip(arrays, taken, types, strict=True):
        values[param] = x
        values.update(zip(array_type(param).shape, type_.shape, strict=True))
    return b.inline(fn, [values[param] for param in fn.params])


# reduce: each chunk reduces its rows, the client its parts, from left to right.
#
# The elements of a reduction are scalars, or rows, of which an array with more axes is made.


class ReduceRule(Rule):
    """A part is the reduction of a chunk's rows alone, without what the whole begins with."""

    op: ClassVar[type[Op]] = Reduce

    def fed(self, op: Reduce) -> tuple[Atom, ...]:
        return op.xs

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        return reduced(chunk, chunk.operation(let.op))

    def whole(self, client: Parts, let: Let, parts: Sequence[Part]) -> Mapping[Var, Any]:
        op: Any = let.op
        total = [client.entire(atom) for atom in op.neutral]
        for part in filter(None, parts):
            total = client.call("combined", op.fn, [*total, *part])
        return dict(zip(let.vars, total, strict=True))


def reduced(chunk: Chunk, op: Reduce | Scan) -> tuple[Atom, ...]:
    """A chunk's reduction; no chunk is empty, so that a flag of a pair holds."""
    b = chunk.b
    if any(isinstance(atom.type, ArrayType) for atom in op.neutral):
        return _reduced_rows(b, op)
    law = monoid(b, op.fn, op.neutral)
    found = b.emit(Reduce(law.fn, law.neutral, (*flags(chunk, law, op.xs), *op.xs), known=True))
    return law.values(found)


def _reduced_rows(b: Builder, op: Reduce | Scan) -> tuple[Atom, ...]:
    """A chunk's rows combined: down each column separately, if the operator combines rows so;
    else the first row, then all others."""
    fn = of_columns(op.fn)
    if fn is None:
        return b.emit(Reduce(op.fn, tuple(_first(b, x) for x in op.xs), _others(b, op.xs)))
    count, *extents = array_type(op.xs[0]).shape
    nothing = tuple(constant(0, type_) for type_ in types_of(fn.params[: len(op.xs)]))  # type: ignore[arg-type]
    law = monoid(b, fn, nothing, segmented=True)

    def column(inside: Builder, *at: Var) -> tuple[Atom, ...]:
        def elements(k: Builder, row: Var) -> tuple[Atom, ...]:
            return law.enter([k.emit(Index(x, (row, *at), checked=False))[0] for x in op.xs])

        xs = inside.emit(Generate((count,), inside.function([i64], elements)))
        found = inside.emit(Reduce(inside.copy(law.fn), law.neutral, xs, known=True))
        return law.values(found)

    return b.emit(Generate(tuple(extents), b.function([i64] * len(extents), column)))


def of_columns(fn: Lambda) -> Lambda | None:
    """The operator on elements that an operator on rows applies to each column; None where it
    looks at several columns."""
    if len(fn.lets) != 1 or not isinstance(fn.lets[0].op, Map):
        return None
    let, op = fn.lets[0], fn.lets[0].op
    plain = op.depth == array_type(op.xs[0]).rank
    return op.fn if plain and op.xs == fn.params and fn.results == let.vars else None


def _first(b: Builder, xs: Atom) -> Var:
    """The first row of an array, or its first element."""
    shape = array_type(xs).shape[1:]
    if not shape:
        return b.emit(Index(xs, (index(0),), checked=False))[0]

    def element(inside: Builder, *at: Var) -> tuple[Atom, ...]:
        return inside.emit(Index(xs, (index(0), *at), checked=False))

    return b.emit(Generate(shape, b.function([i64] * len(shape), element)))[0]


def _others(b: Builder, arrays: Sequence[Atom]) -> tuple[Var, ...]:
    """All rows of some arrays but the first."""
    found: list[Var] = []
    for xs in arrays:
        count, *extents = array_type(xs).shape

        def element(inside: Builder, k: Var, *at: Var, xs: Atom = xs) -> tuple[Atom, ...]:
            return inside.emit(Index(xs, (inside.add(k, index(1)), *at), checked=False))

        shape = (b.sub(count, index(1)), *extents)
        found += b.emit(Generate(shape, b.function([i64] * len(shape), element)))
    return tuple(found)


def flags(chunk: Chunk, law: Monoid, xs: Sequence[Atom]) -> tuple[Atom, ...]:
    """The flags of elements that are pairs: all of them hold."""
    if not law.optional:
        return ()
    shape = array_type(xs[0]).shape
    return chunk.b.emit(
        Generate(shape, chunk.b.function([i.type for i in shape], lambda b, *_: (TRUE,)))
    )


# scan: each chunk reduces its rows, the client scans the parts, each chunk scans from there on.
#
# The rows are visited twice: the scanned elements are recomputed if that is cheaper than
# keeping it (`divide.py`).


class ScanRule(Rule):
    """A part is the reduction of a chunk's rows; missing is the prefix before or after them."""

    op: ClassVar[type[Op]] = Scan
    stays: ClassVar[bool] = True

    def fed(self, op: Scan) -> tuple[Atom, ...]:
        return (*op.xs, *op.starts)

    def refused(self, op: Scan) -> str:
        return "its segments are marked by flags" if op.starts else ""

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        return reduced(chunk, chunk.operation(let.op))

    def goes_on(self, chunk: Chunk, let: Let) -> None:
        op: Scan = chunk.operation(let.op)
        op = op.replace(neutral=chunk.given(let, types_of(op.neutral)))
        by_columns = scanned_by_columns(chunk.b, op)
        if by_columns:
            chunk.know(let, by_columns)
        else:
            chunk.bind(let, op)

    def missing(self, client: Parts, let: Let, parts: Sequence[Part]) -> list[list[Any]]:
        op: Any = let.op
        total = [client.entire(atom) for atom in op.neutral]
        found: list[list[Any]] = []
        for part in reversed(parts) if op.reverse else parts:
            found.append(total)
            if part:
                ordered = [*part, *total] if op.reverse else [*total, *part]
                total = client.call("combined", op.fn, ordered)
        return found[::-1] if op.reverse else found


# For each operation that looks beyond its own row: what a chunk computes of it, and what is made
# of the parts of all chunks.
#
#     rule_of(op)     the rule; None for an operation that has none


RULES: tuple[Rule, ...] = (
    FilterRule(), GatherRule(), NestRule(), PermuteRule(), ReduceRule(), ScanRule(), ScatterRule(),
)  # fmt: skip


def rule_of(op: Op) -> Rule | None:
    """The rule of an operation over arrays that are in chunks."""
    return next((rule for rule in RULES if type(op) is rule.op), None)
