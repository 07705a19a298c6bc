"""Reductions of arrays and Ragged values: sum, prod, min, max, any, all, mean, argmin, argmax.

The names, `axis`, `keepdims`, `initial` and `where` are those of NumPy and the array API standard;
dtypes are NumPy's. Axis 0 of a Ragged counts its rows, axis 1 the elements of each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flatweave.base.dtypes import bool_, f64, i32, i64
from flatweave.base.errors import ArgumentError, DTypeError, ShapeError
from flatweave.frontend.arrays.axes import along, axes_of, fold, need_elements
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import cast, generated, met, strong, zipped
from flatweave.frontend.elements.lambdas import combine_lambda, single
from flatweave.frontend.elements.scalars import apply, select, truth
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.tracers import as_tracer, emit, flag_of, tracer_of
from flatweave.frontend.values.arguments import dtype_of, wide_dtype
from flatweave.frontend.values.array import METHODS, Array, Tracer, describe
from flatweave.frontend.values.tree import flat_values, is_irregular
from flatweave.ops import Reduce
from flatweave.scalar import ops as scalar
from flatweave.terms.syntax import Const, constant

if TYPE_CHECKING:
    from flatweave.frontend.ragged.ragged import Ragged

SHORT = 64
"""Elements of a known number up to which they are compared in order."""
FOLD, EXTREME = "axis dtype out keepdims initial where", "axis out keepdims initial where"
MEAN, TRUTH = "axis dtype out keepdims where", "axis out keepdims where"
FUNCTIONS = {
    "sum": "add", "prod": "mul", "min": "minimum", "max": "maximum", "any": "or", "all": "and",
}  # fmt: skip


def _folded(
    who: str, xs: Any, axis: Any, keepdims: Any, dtype: Any = None, initial: Any = None,
    where: Any = None,
) -> Tracer:  # fmt: skip
    """A reduction by a function of the table."""
    if where is not None:
        xs = masked(who, xs, where, initial)
    array = single(xs, who)
    wanted = array.element
    if who in ("sum", "prod"):
        wanted = wide_dtype(array.element) if dtype is None else dtype_of(dtype)
    elif who in ("any", "all"):
        array, wanted = zipped(truth, [array], who)[0], bool_
    elif initial is None:
        need_elements(array, axis, who)
    return fold(who, FUNCTIONS[who], array, axis, keepdims, wanted, initial)


def _must_fit(mask: Tracer, array: Tracer, who: str) -> None:
    """Each extent of a mask is 1 or that of the array."""
    for own, given in zip(reversed(array.extents), reversed(mask.extents), strict=False):
        if given != extents.ONE:
            met(
                (own, given), f"the mask of {who} has {{1}} elements along an axis of {{0}}.", [],
                "Give a mask that broadcasts to the array's shape.", repeatable=(given,),
            )  # fmt: skip


def masked(who: str, xs: Any, where: Any, initial: Any = None) -> Array | Ragged:
    """The elements with the neutral one where the mask does not hold."""
    flat = single(flat_values(xs), who)
    mask = as_tracer(flat_values(where), f"the mask of {who}")
    if mask.element is not bool_:
        raise DTypeError.here(
            f"the mask of {who} must be bool, got {describe(mask)}.",
            "Compare first, for instance with xs > 0.",
        )
    if mask.ndim > flat.ndim:
        raise ShapeError.here(
            f"the mask of {who} has more axes than the array, {describe(mask)} for"
            f" {describe(flat)}.",
            "Give a mask that broadcasts to the array's shape.",
        )
    if not is_irregular(xs):
        _must_fit(mask, flat, who)
    if who in ("min", "max"):
        if initial is None:
            raise ArgumentError.here(
                f"{who} with a mask needs an initial value: there may be no element.",
                f"Give it: fw.{who}(xs, where=mask, initial=0).",
            )
        neutral = scalar.neutral(FUNCTIONS[who], flat.element)
    else:
        neutral = flat.element.numpy.type(who in ("prod", "all")).item()
    return METHODS["where"](where, xs, tracer_of(constant(neutral, flat.element)))


@operation(static="axis dtype keepdims", reduction=True, axial=True, order=FOLD)
def sum(
    xs: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, *,
    initial: Any = None, where: Any = None,
) -> Array:  # fmt: skip
    """The sum of all elements, or along the axes `axis`; of bools and small integers in i64 or u64.

    `initial` is added once to each result; elements where the bools `where` do not hold are left
    out. Floats are added in a fixed grouping: on one target and CPU level they have the same bits
    on every run, for every number of threads. Axis 1 of a Ragged is that of each row.

    Types: `xs: t[..] -> t[..]`, without the axes gone along. Raises AxisError for an axis that is
    not there. Source: `numpy.sum`.

        >>> fw.sum([[1, 2], [3, 4]], axis=0)
        Array([4, 6], dtype=int64)
    """
    return _folded("sum", xs, axis, keepdims, dtype, initial, where)


@operation(static="axis dtype keepdims", reduction=True, axial=True, order=FOLD)
def prod(
    xs: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, *,
    initial: Any = None, where: Any = None,
) -> Array:  # fmt: skip
    """The product of all elements, or along the axes `axis`; everything else is as for `sum`.

    Types: `xs: t[..] -> t[..]`, without the axes gone along. Raises AxisError for an axis that is
    not there. Source: `numpy.prod`.

        >>> fw.prod([2, 3, 4])
        Array(24, dtype=int64)
    """
    return _folded("prod", xs, axis, keepdims, dtype, initial, where)


@operation(static="axis keepdims", reduction=True, axial=True, order=EXTREME)
def min(
    xs: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Array:
    """The least element, of all or along `axis`, and `initial`; NaN if there is one.

    ShapeError if there is no element and no `initial`, which `where` needs, too.

    Types: `xs: t[..] -> t[..]`, without the axes gone along. Raises AxisError for an axis that is
    not there. Source: `numpy.min`.

        >>> fw.min([[1, 5], [7, 3]], axis=0)
        Array([1, 3], dtype=int64)
    """
    return _folded("min", xs, axis, keepdims, None, initial, where)


@operation(static="axis keepdims", reduction=True, axial=True, order=EXTREME)
def max(
    xs: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None
) -> Array:
    """The greatest element, of all or along `axis`, and `initial`; NaN if one is.

    ShapeError if there is no element and no `initial`, which `where` needs, too.

    Types: `xs: t[..] -> t[..]`, without the axes gone along. Raises AxisError for an axis that is
    not there. Source: `numpy.max`.

        >>> fw.max([[1, 5], [7, 3]], axis=0)
        Array([7, 5], dtype=int64)
    """
    return _folded("max", xs, axis, keepdims, None, initial, where)


@operation(static="axis keepdims", reduction=True, axial=True, order=TRUTH)
def any(xs: Any, axis: Any = None, keepdims: bool = False, *, where: Any = None) -> Array:
    """Whether an element is not zero, of all or along `axis`; False for no elements.

    Types: `xs: t[..] -> bool[..]`, without the axes gone along. Raises AxisError for an axis that
    is not there. Source: `numpy.any`.

        >>> fw.any([[0, 0], [0, 3]], axis=1)
        Array([False,  True], dtype=bool)
    """
    return _folded("any", xs, axis, keepdims, where=where)


@operation(static="axis keepdims", reduction=True, axial=True, order=TRUTH)
def all(xs: Any, axis: Any = None, keepdims: bool = False, *, where: Any = None) -> Array:
    """Whether every element is not zero, of all or along `axis`; True for no elements.

    Types: `xs: t[..] -> bool[..]`, without the axes gone along. Raises AxisError for an axis that
    is not there. Source: `numpy.all`.

        >>> fw.all([[1, 2], [0, 3]], axis=1)
        Array([ True, False], dtype=bool)
    """
    return _folded("all", xs, axis, keepdims, where=where)


@operation(static="axis keepdims dtype", reduction=True, axial=True, order=MEAN)
def mean(
    xs: Any, axis: Any = None, keepdims: bool = False, *, where: Any = None, dtype: Any = None
) -> Array:
    """The sum divided by the number of elements, of all or along `axis`; NaN for no elements.

    With `dtype` elements are converted first, and the mean is of that dtype, as NumPy's.

    Types: `xs: t[..] -> t[..]`, without the axes gone along; integers in f64. Raises AxisError for
    an axis that is not there. Source: `numpy.mean`.

        >>> fw.mean([1, 2, 6])
        Array(3.0, dtype=float64)
    """
    array = single(xs, "mean")
    if dtype is not None:
        array = as_tracer(METHODS["astype"](array, dtype))
    divided = array.element if array.element.is_float else f64
    added = divided if dtype is None or array.element is bool_ else array.element
    value = array if where is None else as_tracer(masked("mean", array, where))
    total = fold("mean", "add", value, axis, keepdims, added)
    if where is None:
        count = tracer_of(extents.product([array.extents[a] for a in axes_of(array, axis, "mean")]))
    else:
        chosen = zipped(lambda m, _: m, [as_tracer(where), array], "mean")[0]
        count = fold("mean", "add", chosen, axis, keepdims, i64)

    def quotient(t: Tracer, n: Tracer) -> Tracer:
        return apply("truediv", strong(t, divided), strong(n, divided))

    found = zipped(quotient, [total, count], "mean")[0]
    return found if dtype is None else METHODS["astype"](found, dtype)


@operation(static="axis keepdims", reduction=True, axial=True)
def argmin(xs: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """Where the least element is first found, NaN being the least; in flat order, or along `axis`.

    Types: `xs: t[..] -> i64[..]`, without the axis gone along. Raises ShapeError where there is no
    element, AxisError for an axis that is not there. Source: `numpy.argmin`.

        >>> fw.argmin([[3, 1], [2, 7]], axis=1)
        Array([1, 0], dtype=int64)
    """
    return _extremum("argmin", "lt", xs, axis, keepdims)


@operation(static="axis keepdims", reduction=True, axial=True)
def argmax(xs: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """Where the greatest element is first found, NaN being the greatest; flat, or along `axis`.

    Types: `xs: t[..] -> i64[..]`, without the axis gone along. Raises ShapeError where there is no
    element, AxisError for an axis that is not there. Source: `numpy.argmax`.

        >>> fw.argmax([3, 9, 9])
        Array(1, dtype=int64)
    """
    return _extremum("argmax", "gt", xs, axis, keepdims)


def _extremum(who: str, better: str, xs: Any, axis: Any, keepdims: bool) -> Tracer:
    """The index of an extremum: a reduction of (value, index) pairs."""
    array = single(xs, who)
    keepdims = flag_of(keepdims, "keepdims")
    if axis is not None and isinstance(axis, tuple | list):
        raise ArgumentError.here(
            f"{who} goes along one axis, got {axis}.", "Give one axis, or None for the flat index."
        )
    need_elements(array, axis, who)
    if not array.ndim:
        return as_tracer(0).astype(i64)
    dtype = array.element
    worst = dtype.high if better == "lt" else dtype.low
    not_better = {"lt": "ge", "gt": "le"}[better]

    def wins(v: Tracer, w: Tracer) -> Tracer:
        if dtype.is_float:  # a NaN is not worse than anything
            return apply("and", apply("not", apply(not_better, w, v)), apply("eq", v, v))
        return apply(better, w, v)

    def in_order(v: Tracer, i: Tracer, w: Tracer, j: Tracer) -> list[Tracer]:
        second = wins(v, w)
        return [select(second, w, v), select(second, j, i)]

    def combine(v: Tracer, i: Tracer, w: Tracer, j: Tracer) -> list[Tracer]:
        # of equal values the first stands, unless it is the neutral element
        second, ties = wins(v, w), apply("eq", w, v)
        if dtype.is_float:
            ties = apply("or", ties, apply("and", apply("isnan", w), apply("isnan", v)))
        second = apply("or", second, apply("and", ties, j < i))
        return [select(second, w, v), select(second, j, i)]

    def reduction(xs: list[Tracer]) -> list[Tracer]:
        (extent,) = xs[0].extents
        is_short = isinstance(extent, Const) and int(extent.value) <= SHORT
        # a few elements are combined in order: the first needs no comparison
        kind, start = (i32, 0) if is_short else (i64, 2**63 - 1)
        places = generated((extent,), lambda i: cast(tracer_of(i), kind))[0]
        fn = combine_lambda(in_order if is_short else combine, [dtype, kind])
        neutral = (constant(worst, dtype), constant(start, kind))
        found = emit(Reduce(fn, neutral, (xs[0].atom, places.atom), known=True))[1]
        return [cast(found, i64)]

    return along([array], axes_of(array, axis, who), keepdims, reduction)[0]


def reduction(
    name: str, xs: Any, axis: Any, dtype: Any, out: None, keepdims: bool, initial: Any = None,
    where: Any = None, correction: float = 0,
) -> Array:  # fmt: skip
    """`xs.sum(..)` and its like, also as NumPy calls them: np.sum(xs). What is summed has the dtype
    that is asked for, if there is one."""
    if out is not None:
        raise ArgumentError.here(
            f"{name} cannot write into `out`: arrays never change.", "Take the result instead."
        )
    options: dict[str, Any] = {"axis": axis}
    if keepdims:
        options["keepdims"] = keepdims
    if initial is not None:
        options["initial"] = initial
    if where is not None and where is not True:
        options["where"] = where
    if correction:
        options["correction"] = correction
    if dtype is None:
        return METHODS[name](xs, **options)
    return METHODS[name](METHODS["astype"](xs, dtype), **options).astype(dtype)


METHODS["reduction"], METHODS["masked"] = reduction, masked
