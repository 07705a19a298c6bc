"""map over the rows of a Ragged.

    map sum rows                generate [rows] (i => reduce add 0 (row i))
    map (r => r / sum r) rows   s = generate [rows] (i => reduce add 0 (row i))
                                generate [values] (p => i, start = locate p in
                                                        values[p] / s[i])

The function is traced once, on a row of unknown length. A result of fixed shape is computed row by
row. A result as long as the row is computed value by value; scalars of the row that it needs, sums
for instance, are row invariants, computed once for each row before. A scan of a row is one
segmented scan of all rows, before anything that needs it (`scan_rows.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.dtypes import DType, i64
from flatweave.base.errors import NestingError, ShapeError, Unsupported
from flatweave.base.records import record
from flatweave.base.source import user_location
from flatweave.frontend.elements.broadcast import generated, read
from flatweave.frontend.elements.lambdas import check_arity, name_of, own
from flatweave.frontend.ragged.locate import locate
from flatweave.frontend.ragged.ragged import Ragged, joined, row_count, row_of
from flatweave.frontend.ragged.scan_rows import read_of_rows, scan_of_rows
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, add, sub
from flatweave.frontend.trace.tracers import as_tracer, as_tracers, emit, tracer_of
from flatweave.frontend.values.array import Tracer, describe
from flatweave.frontend.values.interop import is_number_list
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import Tree, flatten, unflatten
from flatweave.ops import Check, Generate, Index, Map, Scan
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, needed_for

# what is cheaper to compute for every value of a row than to store once for the row
CHEAP = (Apply, Cast, Index)
ELEMENTWISE = (*CHEAP, Map, Generate)


def is_irregular(xs: Any) -> bool:
    """Whether there is a Ragged among arguments."""
    return flatten(xs, is_number_list)[1].irregular


@record(eq=True)
class Source:
    """An array that the function gets elements of; of a Ragged's values, rows by its offsets.

    A row of the offsets of inner rows has one entry more, and begins with 0.
    """

    array: Tracer
    offsets: Tracer | None
    is_offsets: bool = False


@record(eq=True)
class RowTrace:
    """The function traced on row i, and the offsets of each result that is as long as a row.

    `lengths` are the lengths of rows, each with the offsets of its Ragged.
    """

    fn: Lambda
    tree: Tree
    offsets: list[Tracer | None]
    lengths: dict[Atom, Tracer]


def map_rows(f: Callable[..., Any], xs: Sequence[Any]) -> Any:
    """`f` on every row, or element, of several arguments of which one is a Ragged or holds one."""
    parts: list[Source] = []
    trees = [_parts_of(x, parts) for x in xs]
    count = _row_count(parts)
    traced = _on_row(f, trees, parts, count)
    fn = _without_scans(traced, count, f)
    return unflatten(traced.tree, _computed(fn, traced.offsets, count, f))


def _computed(
    fn: Lambda, lengths: Sequence[Tracer | None], count: Atom, f: Callable[..., Any]
) -> list[Any]:
    """The results for all rows: an array, or a Ragged where a result is as long as its row."""
    pairs = list(zip(fn.results, lengths, strict=True))
    regular = [atom for atom, offsets in pairs if offsets is None]
    irregular = [atom for atom, offsets in pairs if offsets is not None]
    invariants = _row_invariants(fn, irregular, f)
    per_row = Lambda(fn.params, fn.lets, (*regular, *invariants))
    made = emit(Generate((count,), per_row)) if per_row.results else []
    whole, by_row = iter(made), dict(zip(invariants, made[len(regular) :], strict=True))
    rest = Lambda((*fn.params, *invariants), _without(fn, invariants, irregular), ())
    return [
        next(whole) if offsets is None else _flat(rest, by_row, atom, offsets, f)
        for atom, offsets in pairs
    ]


def _without_scans(traced: RowTrace, count: Atom, f: Callable[..., Any]) -> Lambda:
    """The function with its scans of a row replaced by reads of one segmented scan of all rows."""
    fn = traced.fn
    (i,) = fn.params
    for let in needed_for(fn.lets, fn.results):
        op = let.op
        length = let.vars[0].type.shape[0] if isinstance(op, Scan) else None  # type: ignore[union-attr]
        if not isinstance(op, Scan) or length not in traced.lengths:
            continue
        offsets, at = traced.lengths[length], fn.lets.index(let)
        if {var for let in fn.lets for var in let.vars} & free_vars((op.fn, op.neutral)).keys():
            raise _not_elementwise(op, f)
        before = Lambda(fn.params, fn.lets[:at], (*op.xs, *op.starts))
        of_rows = _computed(before, [offsets] * len(before.results), count, f)
        flat = [found.values for found in of_rows]
        done = read_of_rows(let, length, scan_of_rows(op, flat, offsets), offsets, i)
        fn = Lambda(fn.params, (*fn.lets[:at], done, *fn.lets[at + 1 :]), fn.results)
    return fn


def _parts_of(x: Any, parts: list[Source]) -> Tree:
    """The arrays of an argument, and the tree of its elements, where a Ragged is its row."""
    found, tree = flatten(x, lambda value: isinstance(value, Ragged) or is_number_list(value))
    elements: list[Any] = []
    for leaf in found:
        if not isinstance(leaf, Ragged):
            parts.append(Source(as_tracer(leaf, "xs of map"), None))
            elements.append(0)
            continue
        offsets = as_tracer(leaf.offsets)
        if isinstance(leaf.values, Ragged):
            elements.append(_rows_of_rows(leaf, offsets, parts))
            continue
        arrays, inner = as_tracers(leaf.values, "the values of a Ragged that map goes through")
        parts += [Source(array, offsets) for array in arrays]
        elements.append(unflatten(inner, [0] * inner.size))
    return flatten(unflatten(tree, elements))[1]


def _rows_of_rows(rows: Ragged, offsets: Tracer, parts: list[Source]) -> Ragged:
    """The arrays of a Ragged of Ragged; its row is a Ragged, too."""
    inner = rows.values
    if isinstance(inner.values, Ragged):
        raise Unsupported(
            "map over a Ragged whose rows hold rows of rows.",
            where=user_location(),
            remedy="Map over the inner rows, fw.map(f, rows.values), and put the result under"
            " the outer offsets: fw.ragged(.., offsets=rows.offsets).",
        )
    starts, whole = as_tracer(inner.offsets), as_tracer(joined(rows).offsets)
    arrays, tree = as_tracers(inner.values, "the values of a Ragged that map goes through")
    parts += [Source(array, whole) for array in arrays]
    parts.append(Source(starts, offsets, is_offsets=True))
    return Ragged.made(unflatten(tree, [0] * tree.size), 0)


def _row_count(parts: Sequence[Source]) -> Atom:
    """The number of rows, which all arguments share."""
    count: Atom | None = None
    for part in parts:
        if part.offsets is None and not part.array.ndim:
            raise ShapeError(
                f"map goes through arrays, but xs is a scalar, {describe(part.array)}.",
                where=user_location(),
                remedy="Use the scalar inside the function: it may be read from outside.",
            )
        own_ = row_count(part.offsets) if part.offsets is not None else part.array.extents[0]
        count = own_ if count is None else extents.same(
            count, own_, "map needs as many rows as elements, got {0} and {1}.", [],
            "Give every argument one row or element for each.",
        )  # fmt: skip
    assert count is not None
    return count


def _on_row(
    f: Callable[..., Any], trees: Sequence[Tree], parts: Sequence[Source], count: Atom
) -> RowTrace:
    """The function traced on the i-th row of every part."""
    found: list[Any] = []

    def body(inside: Scope, params: tuple[Var, ...]) -> list[Atom]:
        i = params[0]
        inside.natural.add(i)
        inside.trace.bounds[i] = count
        lengths: dict[Atom, Tracer] = {}
        elements = iter([_element(part, i, lengths) for part in parts])
        args = [unflatten(tree, [next(elements) for _ in range(tree.size)]) for tree in trees]
        check_arity(f, len(args), "map")
        leaves, tree = as_tracers(f(*args), f"the result of {name_of(f)}")
        leaves = [own(leaf, inside) for leaf in leaves]
        found.extend([tree, [_length(leaf, lengths, inside, f) for leaf in leaves], lengths])
        return [leaf.atom for leaf in leaves]

    fn = current().function([i64], body, "i")
    return RowTrace(fn, *found)


def _element(part: Source, i: Atom, lengths: dict[Atom, Tracer]) -> Tracer:
    """The row, or element, of a part; a row's length is entered in `lengths`."""
    if part.offsets is None:
        if part.array.ndim == 1:
            return read(part.array, (i,))
        return generated(part.array.extents[1:], lambda *at: read(part.array, (i, *at)))[0]
    known = [length for length, offsets in lengths.items() if offsets.atom == part.offsets.atom]
    start = read(part.offsets, (i,)).atom
    extents.known_natural(start)
    length = known[0] if known else sub(read(part.offsets, (add(i, ONE),)).atom, start)
    extents.known_extent(length)
    lengths[length] = part.offsets
    if part.is_offsets:
        first = read(part.array, (start,)).atom

        def own_start(j: Atom) -> Tracer:
            return tracer_of(sub(read(part.array, (add(start, j),)).atom, first))

        found = generated((add(length, ONE),), own_start)[0]
        lengths[row_count(found)] = part.offsets
        return found
    return row_of(part.array, start, length)


def _length(
    leaf: Tracer, lengths: dict[Atom, Tracer], inside: Scope, f: Callable[..., Any]
) -> Tracer | None:
    """The offsets of the rows that a result is as long as; None for one of a fixed shape."""
    first, *rest = leaf.extents or (ONE,)
    if any(_varies(extent, inside) for extent in rest) or (
        _varies(first, inside) and first not in lengths
    ):
        raise NestingError(
            f"{name_of(f)} gives map rows of other lengths than its rows have.",
            where=user_location(),
            remedy="Use fw.expand(size, get, xs) for results of other lengths, or reduce the row.",
        )
    return lengths[first] if leaf.ndim and _varies(first, inside) else None


def _varies(extent: Atom, inside: Scope) -> bool:
    """Whether an extent is known only inside the function."""
    assert inside.outer is not None
    return isinstance(extent, Var) and not inside.outer.holds(inside.trace.homes[extent])


def _is_row_invariant(let: Let) -> bool:
    """Whether a let is computed once for each row: it gives scalars, and takes more than a step."""
    return not isinstance(let.op, CHEAP) and all(isinstance(v.type, DType) for v in let.vars)


def _roots(fn: Lambda, irregular: Sequence[Atom]) -> list[Atom]:
    """The atoms that every value needs: results, and operands of checks."""
    checks = [let.op for let in fn.lets if isinstance(let.op, Check)]
    return [*irregular, *(atom for check in checks for atom in free_vars(check))]


def _row_invariants(fn: Lambda, irregular: Sequence[Atom], f: Callable[..., Any]) -> list[Var]:
    """The scalars of a row that the irregular results need, computed once for each row."""
    if not irregular:
        return []
    wanted: set[Atom] = set(_roots(fn, irregular))
    invariants: list[Var] = []
    for let in reversed(fn.lets):
        needed = [var for var in let.vars if var in wanted]
        if not needed:
            continue
        if _is_row_invariant(let):
            invariants += needed
            continue
        if not isinstance(let.op, ELEMENTWISE):
            raise _not_elementwise(let.op, f)
        wanted.update(free_vars(let.op))
    return invariants


def _not_elementwise(op: Op, f: Callable[..., Any]) -> Unsupported:
    return Unsupported(
        f"{name_of(f)} gives map a row made by {type(op).__name__.lower()}, which does not work"
        " element by element.",
        where=user_location(),
        remedy="Rows may be made element by element and by scans; do other work on whole rows on"
        " rows.values, with fw.expand.",
    )


def _without(fn: Lambda, invariants: Sequence[Var], irregular: Sequence[Atom]) -> tuple[Let, ...]:
    """The lets that the irregular results need beside the invariants."""
    lets = [let for let in fn.lets if not any(var in invariants for var in let.vars)]
    needed = needed_for(lets, _roots(fn, irregular))
    return tuple(let for let in lets if isinstance(let.op, Check) or let in needed)


def _flat(
    rest: Lambda, by_row: dict[Var, Tracer], result: Atom, offsets: Tracer, f: Callable[..., Any]
) -> Ragged:
    """A Ragged of one irregular result: its values, each computed from its position."""
    count = row_count(offsets)
    last = read(offsets, (count,)).atom
    extents.known_natural(last)
    assert isinstance(result, Var)
    assert isinstance(result.type, ArrayType)
    fn = Lambda(rest.params, rest.lets, (result,))

    def value(p: Atom, *at: Atom) -> Tracer:
        i, start = locate(offsets, 1, p)
        invariants = [read(by_row[var], (i,)).atom for var in rest.params[1:]]
        (row,) = current().builder.inline(fn, [i, *invariants])
        return emit(Index(row, (sub(p, start), *at), False))[0]

    values = generated((last, *result.type.shape[1:]), value, "p")[0]
    return Ragged.made(values, offsets)
