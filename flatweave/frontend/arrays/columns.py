"""reduce, scan and filter over arrays whose elements are rows.

    reduce op ne (xs: f32[n, m])     generate [m] (j => reduce op ne (generate [n] (i => xs[i, j])))

An operator on rows that works element by element is an operator on scalars, applied to each column.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType
from flatweave.base.errors import Unsupported
from flatweave.frontend.arrays.row_scans import (
    down,
    levels_here,
    narrow_or,
    scan_last_axis,
    scan_small_rows,
)
from flatweave.frontend.elements.bodies import by_rank
from flatweave.frontend.elements.broadcasting import broadcast_to, generated, read, read_stretched
from flatweave.frontend.elements.lambdas import combined_by
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE
from flatweave.frontend.trace.tracers import emit, tracer_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.scope import current
from flatweave.ops import Filter, Map, Reduce, Scan
from flatweave.scalar import ops as scalars
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Var, constant, scalar_type
from flatweave.terms.traverse import Substitution


def scalar_operator(fn: Lambda) -> Lambda | None:
    """The scalar operator that an elementwise one applies to rows; None for any other."""
    params = tuple(_scalar(param) for param in fn.params)
    mapping: dict[Var, Atom] = dict(zip(fn.params, params, strict=True))
    lets: list[Let] = []
    for let in fn.lets:
        if isinstance(let.op, Apply | Cast):
            lets.append(Substitution(mapping).let(let))
        elif isinstance(let.op, Map) and len(_rank(let.vars[0])) == let.op.depth:
            inner = {
                param: mapping[x]
                for param, x in zip(let.op.fn.params, let.op.xs, strict=True)
                if isinstance(x, Var) and x in mapping
            }
            if len(inner) < len(let.op.xs):
                return None  # it reads an array from outside
            renaming = Substitution({**mapping, **inner})
            lets.extend(renaming.let(inside) for inside in let.op.fn.lets)
            results = [renaming.atom(atom) for atom in let.op.fn.results]
            mapping.update(zip(let.vars, results, strict=True))
        else:
            return None
    results = [mapping.get(a, a) if isinstance(a, Var) else a for a in fn.results]
    if any(not isinstance(atom.type, DType) for atom in results):
        return None
    return Lambda(params, tuple(lets), tuple(results))


def _rank(var: Var) -> tuple[Atom, ...]:
    assert isinstance(var.type, ArrayType)
    return var.type.shape


def _scalar(param: Var) -> Var:
    """The parameter for one scalar of a row."""
    dtype = param.type.dtype if isinstance(param.type, ArrayType) else param.type
    return current().bind(param.name, dtype)


def rows_shape(arrays: Sequence[Tracer], who: str) -> tuple[Atom, ...]:
    """The shape of a row, which all arrays share."""
    shape = arrays[0].extents[1:]
    for other in arrays[1:]:
        for a, b in zip(shape, other.extents[1:], strict=True):
            extents.same(a, b, f"{who} needs rows of one shape, got extents {{0}} and {{1}}.")
    return shape


def _rows(
    fn: Lambda, start: Sequence[Tracer], arrays: Sequence[Tracer], who: str
) -> tuple[tuple[Atom, ...], tuple[Atom, ...]]:
    """A neutral row for each array, and the arrays, whose rows an operator combines whole."""
    for result, array in zip(fn.results, arrays, strict=True):
        given = result.type.shape if isinstance(result.type, ArrayType) else ()
        if given != tuple(array.extents[1:]):
            raise _other_rows(who)
    shapes = [array.extents[1:] for array in arrays]
    neutral = [broadcast_to(e, shape) for e, shape in zip(start, shapes, strict=True)]
    return tuple(e.atom for e in neutral), tuple(x.atom for x in arrays)


def _other_rows(who: str) -> Unsupported:
    return Unsupported.here(
        f"{who} over rows with an operator that gives rows whose extents are not known to be"
        " those of its operands.",
        "Give every row back as long as it came, for instance by fw.generate(len, f) over"
        " the operand's own shape.",
    )


def _column(arrays: Sequence[Tracer], at: Sequence[Atom]) -> list[Tracer]:
    """The arrays' elements at one index of their rows: rank-1 arrays."""
    length = arrays[0].extents[0]
    return generated((length,), lambda i: [read(x, (i, *at)) for x in arrays])


def reduce_rows(fn: Lambda, start: Sequence[Tracer], arrays: Sequence[Tracer]) -> list[Tracer]:
    """The rows combined: element by element where the operator does."""
    return by_rank(fn, start, arrays, _reduce_rows)


def _reduce_rows(fn: Lambda, start: list[Tracer], arrays: list[Tracer]) -> list[Tracer]:
    scalar = scalar_operator(fn)
    if scalar is None or not _of_one_rank(arrays):
        return emit(Reduce(fn, *_rows(fn, start, arrays, "reduce")))
    shape = rows_shape(arrays, "reduce")

    def one(*at: Atom) -> list[Tracer]:
        column = _column(arrays, at)
        neutral = [read_stretched(e, at).atom for e in start]
        copy = current().builder.copy(scalar)
        return emit(Reduce(copy, tuple(neutral), tuple(x.atom for x in column)))

    return generated(shape, one) if shape else one()


def scan_rows(
    fn: Lambda, start: Sequence[Tracer], arrays: Sequence[Tracer], exclusive: bool, reverse: bool
) -> list[Tracer]:
    """Every prefix of the rows: a scan along each column if the operator is elementwise."""

    def one(fn: Lambda, start: list[Tracer], arrays: list[Tracer]) -> list[Tracer]:
        return _scan_rows(fn, start, arrays, exclusive, reverse)

    return by_rank(fn, start, arrays, one)


def has_known_identity(fn: Lambda) -> bool:
    """Whether an operator on rows is one on numbers whose identity is known."""
    scalar = scalar_operator(fn)
    return scalar is not None and _identity(scalar) is not None


def _scan_rows(
    fn: Lambda, start: list[Tracer], arrays: list[Tracer], exclusive: bool, reverse: bool
) -> list[Tracer]:
    scalar = scalar_operator(fn)
    divided = current().trace.in_chunks and not current().outer
    if scalar is None or divided or not _of_one_rank(arrays):
        given = _rows(fn, start, arrays, "scan")
        small = scan_small_rows(fn, start, arrays, exclusive, reverse)
        return emit(Scan(fn, *given, exclusive, reverse)) if small is None else small
    rows_shape(arrays, "scan")
    levels = levels_here()

    def wide(rows: list[Tracer]) -> list[Tracer]:
        return _scan_wide_rows(fn, scalar, start, rows, exclusive, reverse, levels)

    return narrow_or(scalar, start, arrays, exclusive, reverse, wide)


def _scan_wide_rows(
    fn: Lambda, scalar: Lambda, start: list[Tracer], arrays: list[Tracer], exclusive: bool,
    reverse: bool, levels: int,
) -> list[Tracer]:  # fmt: skip
    """By blocks of rows where the operator on numbers has an identity, else column by column."""
    identity = _identity(scalar)
    if identity:
        return _scan_from_identity(
            scalar, identity, start, arrays, exclusive, reverse, levels
        )
    if any(e.ndim for e in start):
        return emit(Scan(fn, *_rows(fn, start, arrays, "scan"), exclusive, reverse))
    shape = arrays[0].extents[1:]
    length = arrays[0].extents[0]
    columns = generated(
        (*shape, length), lambda *at: [read(x, (at[-1], *at[:-1])) for x in arrays]
    )
    results = scan_last_axis(scalar, [e.atom for e in start], columns, exclusive, reverse)
    return generated(
        arrays[0].extents, lambda *at: [read(x, (*at[1:], at[0])) for x in results]
    )


def _identity(fn: Lambda) -> list[Atom] | None:
    """For each part the value that changes no element, where each is combined by one function."""
    found = [scalars.identity(combined_by(fn, k), scalar_type(r)) for k, r in enumerate(fn.results)]
    if any(value is None for value in found):
        return None
    return [constant(v, scalar_type(r)) for v, r in zip(found, fn.results, strict=True)]


def _scan_from_identity(
    fn: Lambda, identity: Sequence[Atom], start: Sequence[Tracer], arrays: Sequence[Tracer],
    exclusive: bool, reverse: bool, levels: int,
) -> list[Tracer]:  # fmt: skip
    """The prefixes from an identity on, which the first value is combined with where they are read.

    An operator with an identity that is known commutes, so that a suffix is a prefix of the
    reversed rows.
    """
    length = arrays[0].extents[0]

    def place(i: Atom) -> Atom:
        return extents.sub(extents.sub(length, ONE), i) if reverse else i

    def turned(i: Atom, *at: Atom) -> list[Tracer]:
        return [read(x, (place(i), *at)) for x in arrays]

    rows = generated(arrays[0].extents, turned) if reverse else arrays
    prefixes = down(fn, identity, rows, 0, levels)

    def result(i: Atom, *at: Atom) -> list[Tracer]:
        k = place(i)
        known = [read_stretched(e, at).atom for e in start]
        if exclusive:
            before = extents.greatest(extents.sub(k, ONE), extents.ZERO)
            inside = current().apply("gt", k, extents.ZERO)
            values = [
                current().apply("select", inside, read(x, (before, *at)).atom, e)
                for x, e in zip(prefixes, identity, strict=True)
            ]
        else:
            values = [read(x, (k, *at)).atom for x in prefixes]
        copy = current().builder.copy(fn)
        return [tracer_of(y) for y in current().builder.inline(copy, [*known, *values])]

    return generated(arrays[0].extents, result)


def _of_one_rank(arrays: Sequence[Tracer]) -> bool:
    return all(x.ndim == arrays[0].ndim for x in arrays)


def filter_rows(mask: Tracer, arrays: Sequence[Tracer]) -> list[Tracer]:
    """Compact along axis 0: the numbers of the rows where the mask holds, then a gather."""
    numbers = generated((mask.extents[0],), tracer_of)
    count, found = emit(Filter(mask.atom, (numbers[0].atom,)))
    extents.known_extent(count.atom)
    results = []
    for x in arrays:
        shape = (count.atom, *x.extents[1:])

        def row(k: Atom, *at: Atom, x: Tracer = x) -> Tracer:
            number = read(found, (k,)).atom
            return read(x, (number, *at))

        results.append(generated(shape, row)[0])
    return results


def compacted(mask: Tracer, arrays: list[Tracer]) -> list[Tracer]:
    """The elements of rank-1 arrays, or the rows of others, where the mask holds."""
    if any(x.ndim > 1 for x in arrays):
        return filter_rows(mask, arrays)
    count, *results = emit(Filter(mask.atom, tuple(x.atom for x in arrays)))
    extents.known_extent(count.atom)
    return results
