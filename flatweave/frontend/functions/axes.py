"""Reductions and scans along axes: sum, prod, min, max, any, all, mean, cumsum, cumprod, dot.

    sum(xs)              reduce add 0 (reshape xs [n * m])
    sum(xs, axis=0)      generate [m] (j => reduce add 0 (generate [n] (i => xs[i, j])))
    cumsum(xs, axis=1)   one flat scan that starts anew with every row

The names, `axis` and `keepdims` are those of the array API standard; dtypes are NumPy's. All
elements of a Ragged are the values of all its rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.dtypes import DType, bool_, i64, u64
from flatweave.base.errors import ArgumentError, ShapeError, Unsupported
from flatweave.base.source import user_location
from flatweave.frontend.arrays.columns import scan_last_axis, unravel
from flatweave.frontend.arrays.shapes import axis_of, reshaped, transposed
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcast import generated, read, zipped
from flatweave.frontend.elements.lambdas import combine_lambda, single
from flatweave.frontend.elements.scalars import apply, select, strong, truth
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.faults import check_message
from flatweave.frontend.trace.sizes import check, is_refused
from flatweave.frontend.trace.tracers import as_tracer, emit, flag_of, tracer_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.promotion import dtype_of
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.sugar import METHODS
from flatweave.ops import Reduce, Reshape
from flatweave.scalar import ops as scalar
from flatweave.terms.syntax import Atom, Const, constant

Combine = Callable[[Tracer, Tracer], Tracer]


def axes_of(array: Tracer, axis: Any, who: str) -> list[int]:
    """The axes that are reduced, in order; all of them for None."""
    if axis is None:
        return list(range(array.ndim))
    parts = axis if isinstance(axis, tuple | list) else [axis]
    found = sorted(axis_of(array, part, who) for part in parts)
    if len(set(found)) < len(found):
        raise ArgumentError(
            f"{who} got an axis twice: {tuple(parts)}.",
            where=user_location(), remedy="Name each axis once.",
        )  # fmt: skip
    return found


def along(
    arrays: Sequence[Tracer],
    axes: Sequence[int],
    keepdims: bool,
    reduction: Callable[[list[Tracer]], list[Tracer]],
) -> list[Tracer]:
    """Rank-1 arrays of what lies along the axes, reduced, at each place of the other axes."""
    first = arrays[0]
    kept = [axis for axis in range(first.ndim) if axis not in axes]
    shape = [first.extents[axis] for axis in axes]
    total = extents.product(shape)
    extents.known_extent(total)
    if not kept:
        flat = arrays if first.ndim == 1 else [emit(Reshape(x.atom, (total,)))[0] for x in arrays]
        results = reduction(list(flat))
    else:

        def one(*at: Atom) -> list[Tracer]:
            def element(k: Atom) -> list[Tracer]:
                inner = unravel(k, shape)
                place = [inner[axes.index(axis)] if axis in axes else at[kept.index(axis)]
                         for axis in range(first.ndim)]  # fmt: skip
                return [read(x, place) for x in arrays]

            return reduction(generated((total,), element))

        results = generated([first.extents[axis] for axis in kept], one)
    if not keepdims:
        return results
    wide = [ONE if axis in axes else first.extents[axis] for axis in range(first.ndim)]
    return [reshaped(result, wide) for result in results]


def reduced_by(fn: str, ne: Const, array: Tracer) -> Tracer:
    """A rank-1 array combined by a row of the table."""
    lambda_ = combine_lambda(lambda a, b: [apply(fn, a, b)], [array.element])
    return emit(Reduce(lambda_, (ne,), (array.atom,)))[0]


def wide_dtype(dtype: DType) -> DType:
    """The dtype in which NumPy sums: i64 for bools and signed integers, u64 for unsigned ones."""
    if dtype.is_float:
        return dtype
    return u64 if dtype.kind == "u" else i64


def converted(array: Tracer, dtype: DType) -> Tracer:
    """The array in another dtype, the scalar in it."""
    if array.element is dtype and not array.weak:
        return array
    return zipped(lambda v: strong(v, dtype), [array], "astype")[0]


def _reducible(xs: Any, axis: Any, who: str) -> Tracer:
    """The array that is reduced: of a Ragged without an axis, the values of all rows."""
    if not isinstance(xs, Ragged):
        return single(xs, who)
    if axis is not None:
        raise Unsupported(
            f"{who} of a Ragged along axis {axis}.",
            where=user_location(),
            remedy=f"Use fw.map(fw.{who}, rows) for each row; without axis, all values count.",
        )
    return single(xs.values, who)


def _table_reduction(
    who: str, fn: str, array: Tracer, axis: Any, keepdims: bool, dtype: DType
) -> Tracer:
    """A reduction by a row of the table with a neutral element."""
    keepdims = flag_of(keepdims, "keepdims")
    ne = constant(scalar.neutral(fn, dtype), dtype)
    value = converted(array, dtype)
    if not value.ndim:
        axes_of(value, axis, who)
        return value
    axes = axes_of(value, axis, who)
    if not axes:
        return value
    return along([value], axes, keepdims, lambda xs: [reduced_by(fn, ne, xs[0])])[0]


@operation(static="axis dtype keepdims")
def sum(xs: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum of all elements, or along the axes `axis`; of bools and small integers in i64 or u64.

    Floats are added in a fixed grouping: the same bits on every run, for every number of threads.
    """
    array = _reducible(xs, axis, "sum")
    wanted = wide_dtype(array.element) if dtype is None else dtype_of(dtype)
    return _table_reduction("sum", "add", array, axis, keepdims, wanted)


@operation(static="axis dtype keepdims")
def prod(xs: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product of all elements, or along the axes `axis`; dtypes as for `sum`."""
    array = _reducible(xs, axis, "prod")
    wanted = wide_dtype(array.element) if dtype is None else dtype_of(dtype)
    return _table_reduction("prod", "mul", array, axis, keepdims, wanted)


@operation(static="axis keepdims")
def min(xs: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The least element, of all or along `axis`; NaN if there is one. ShapeError if there is none.
    """
    array = _reducible(xs, axis, "min")
    need_elements(array, axis, "min")
    return _table_reduction("min", "minimum", array, axis, keepdims, array.element)


@operation(static="axis keepdims")
def max(xs: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The greatest element, of all or along `axis`; NaN if one is. ShapeError if there is none."""
    array = _reducible(xs, axis, "max")
    need_elements(array, axis, "max")
    return _table_reduction("max", "maximum", array, axis, keepdims, array.element)


@operation(static="axis keepdims")
def any(xs: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether an element is not zero, of all or along `axis`; False if there is none."""
    array = zipped(truth, [_reducible(xs, axis, "any")], "any")[0]
    return _table_reduction("any", "or", array, axis, keepdims, bool_)


@operation(static="axis keepdims")
def all(xs: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether every element is not zero, of all or along `axis`; True if there is none."""
    array = zipped(truth, [_reducible(xs, axis, "all")], "all")[0]
    return _table_reduction("all", "and", array, axis, keepdims, bool_)


@operation(static="axis keepdims")
def mean(xs: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum divided by the number of elements, of all or along `axis`; NaN if there is none."""
    array = _reducible(xs, axis, "mean")
    dtype = array.element if array.element.is_float else scalar.operand_dtype("truediv", i64)
    total = _table_reduction("mean", "add", array, axis, keepdims, dtype)
    count = extents.product([array.extents[a] for a in axes_of(array, axis, "mean")])
    return zipped(
        lambda t: apply("truediv", t, strong(tracer_of(count), dtype)), [total], "mean"
    )[0]


def need_elements(array: Tracer, axis: Any, who: str) -> None:
    """Refuse to reduce no elements by an operator without a neutral element."""
    for number in axes_of(array, axis, who):
        extent = array.extents[number]
        message = f"zero-size array to reduction operation {who} which has no identity."
        remedy = f"Use fw.reduce(fw.{who}imum, ne, xs), which gives ne for an empty array."
        if who.startswith("arg"):
            message = f"attempt to get {who} of an empty sequence."
            remedy = "Check the length before the call."
        condition = current().apply("gt", extent, ZERO)
        if is_refused(condition):
            raise ShapeError(message, where=user_location(), remedy=remedy)
        check(condition, "empty", (extent,), check_message(message, [], remedy))


@operation(static="axis keepdims")
def argmin(xs: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Where the least element is first found, NaN being the least; in flat order, or along `axis`.
    """
    return _extremum("argmin", "lt", _reducible(xs, axis, "argmin"), axis, keepdims)


@operation(static="axis keepdims")
def argmax(xs: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Where the greatest element is first found, NaN being the greatest; flat, or along `axis`."""
    return _extremum("argmax", "gt", _reducible(xs, axis, "argmax"), axis, keepdims)


def _extremum(who: str, better: str, array: Tracer, axis: Any, keepdims: bool) -> Tracer:
    """The place of an extremum: a reduction of (value, place) pairs."""
    keepdims = flag_of(keepdims, "keepdims")
    if axis is not None and isinstance(axis, tuple | list):
        raise ArgumentError(
            f"{who} goes along one axis, got {axis}.",
            where=user_location(), remedy="Give one axis, or None for the flat place.",
        )  # fmt: skip
    need_elements(array, axis, who)
    if not array.ndim:
        return as_tracer(0).astype(i64)  # type: ignore[no-any-return]
    dtype = array.element
    worst = dtype.high if better == "lt" else dtype.low
    neutral = (constant(worst, dtype), Const(2**63 - 1, i64))

    def combine(v: Tracer, i: Tracer, w: Tracer, j: Tracer) -> list[Tracer]:
        # of equal values the first stands, unless it is the neutral element
        second = apply("or", apply(better, w, v), apply("and", apply("eq", w, v), j < i))
        if dtype.is_float:
            first_nan = apply("and", apply("isnan", w), apply("eq", v, v))
            second = apply("or", second, first_nan)
        return [select(second, w, v), select(second, j, i)]

    def reduction(xs: list[Tracer]) -> list[Tracer]:
        places = generated(xs[0].extents, tracer_of)[0]
        fn = combine_lambda(combine, [dtype, i64])
        return emit(Reduce(fn, neutral, (xs[0].atom, places.atom), known=True))[1:]

    return along([array], axes_of(array, axis, who), keepdims, reduction)[0]


@operation(static="axis dtype")
def cumsum(xs: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The sum of the elements up to each one, in flat order or along `axis`; dtypes as `sum`'s."""
    return _cumulative("cumsum", "add", xs, axis, dtype)


@operation(static="axis dtype")
def cumprod(xs: Any, axis: Any = None, dtype: Any = None) -> Any:
    """The product of the elements up to each one, in flat order or along `axis`."""
    return _cumulative("cumprod", "mul", xs, axis, dtype)


def _cumulative(who: str, fn: str, xs: Any, axis: Any, dtype: Any) -> Tracer:
    array = _reducible(xs, axis, who)
    wanted = wide_dtype(array.element) if dtype is None else dtype_of(dtype)
    array = converted(array, wanted)
    if axis is None and array.ndim != 1:
        total = extents.product(array.extents)
        extents.known_extent(total)
        array = reshaped(array, [total])
    number = 0 if axis is None else axis_of(array, axis, who)
    order = [a for a in range(array.ndim) if a != number] + [number]
    back = [order.index(a) for a in range(array.ndim)]
    lambda_ = combine_lambda(lambda a, b: [apply(fn, a, b)], [wanted])
    start = [constant(scalar.identity(fn, wanted), wanted)]
    result = scan_last_axis(lambda_, start, [transposed(array, order)], False, False)[0]
    return transposed(result, back)


@operation()
def dot(x: Any, y: Any) -> Any:
    """The inner product of vectors; of matrices, and of a matrix with a vector, their product.

    Scalars multiply. Raises ShapeError when the extents that meet differ.
    """
    a, b = as_tracer(x, "the left of dot"), as_tracer(y, "the right of dot")
    if not a.ndim or not b.ndim:
        return zipped(lambda v, w: apply("mul", v, w), [a, b], "dot")[0]
    if a.ndim > 2 or b.ndim > 2:
        raise ShapeError(
            f"dot takes vectors and matrices, got ranks {a.ndim} and {b.ndim}.",
            where=user_location(), remedy="Map it over the leading axes: fw.map(fw.dot, xs, ys).",
        )  # fmt: skip
    inner = extents.same(
        a.extents[-1],
        b.extents[0],
        "dot needs extents that meet to be equal, got {0} and {1}.",
        [extents.origin_line(a, "left", "{0}", -1), extents.origin_line(b, "right", "{1}")],
        "Transpose one of them with .T, or cut both to one length.",
    )

    def one(*at: Atom) -> Tracer:
        left, right = at[: a.ndim - 1], at[a.ndim - 1 :]
        products = generated(
            (inner,), lambda k: apply("mul", read(a, (*left, k)), read(b, (k, *right)))
        )[0]
        ne = constant(0, products.element)
        return reduced_by("add", ne, products)

    return generated((*a.extents[:-1], *b.extents[1:]), one)[0]


def reduction(name: str, xs: Any, axis: Any, dtype: Any, out: None, keepdims: bool) -> Any:
    """`xs.sum(..)` and its like, also as NumPy calls them: np.sum(xs)."""
    if out is not None:
        raise ArgumentError(
            f"{name} cannot write into `out`: arrays never change.",
            where=user_location(), remedy="Take the result instead.",
        )  # fmt: skip
    options: dict[str, Any] = {"axis": axis}
    if keepdims:
        options["keepdims"] = keepdims
    result = METHODS[name](xs, **options)
    return result if dtype is None else result.astype(dtype)


METHODS["reduction"] = reduction
