"""Every function of ours that has a counterpart in NumPy, with the kinds of its parameters.

    "sum": row(array(), axis=axes, keepdims=flag, ...)     np.sum(a, axis=(0, 1), keepdims=True)

A name with a dot is of a module. A parameter by name is given in some calls and left out in others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.surface import kinds as k
from tests.surface.draw import ALL, FLOATS, INTEGERS, REAL, Draw, Kind
from tests.surface.kinds import array, axes, axis, axis_or_none, flag, number, one_of, operand
from tests.surface.views import VIEWS

EXACT, NEAR, SUMS, SQUARES = "exact", "near", "sums", "squares"


class Row(NamedTuple):
    """A function: its parameters by position and by name, and how near its results must be."""

    params: tuple[Kind, ...]
    named: dict[str, Kind]
    near: str = EXACT  # the same bits; NEAR: within some ulps; SUMS: see compare
    moves: bool = False  # elements are moved and not computed with: 16-bit floats stay as they are
    view: Callable[..., Any] | None = None  # what is compared of a result that is not unique


def row(*params: Kind, near: str = EXACT, moves: bool = False, **named: Kind) -> Row:
    """A row of the table."""
    return Row(params, named, near, moves)


class Spread(list):
    """Several arguments by position."""


def subscripts(d: Draw) -> Spread:
    """Names of axes for einsum, and operands of such extents."""
    text, *shapes = d.pick((
        "ij,jk->ik ij jk", "ij,jk ij jk", "ii->i ii", "ii ii", "ij->ji ij", "ij-> ij",
        "i,j->ij i j", "i,i i i", "bij,bjk->bik bij bjk",
        "ij,kj,lj->ikl ij kj lj", "...j,j->... bij j",
        "i,i->i i i", ",i->i  i", "ij,j->i ij j",
    )).split(" ")  # fmt: skip
    sizes = {letter: d.some((0, 1, 2, 3)) for letter in "bijkl"}
    found = [[sizes[letter] for letter in shape] for shape in shapes]
    for shape in found:
        if shape and (d.wrong() or d.values.random() < 0.1):
            shape[-1] = 1
    kind = d.dtype(ALL)
    return Spread([text, *(d.held(d.elements(tuple(shape), kind)) for shape in found)])


def spacing(d: Draw) -> Spread:
    """For gradient: nothing, a number, or one or an array for each axis."""
    first = d.first
    if d.likely(0.5) or not first.ndim:
        return Spread([])
    if d.likely(0.5):
        return Spread([d.some((2, 0.5, 1.0))])
    at = [np.cumsum([d.whole(1, 3) for _ in range(n)]) for n in first.shape]
    places = [x[:-1] if d.wrong() else x for x in at]
    kind = d.dtype((*FLOATS, "int64", "uint8"))
    return Spread([d.held(x.astype(kind)) if d.likely(0.7) else 0.5 for x in places])


def choices(d: Draw) -> Spread:
    """For where: two operands; seldom none."""
    return Spread([] if d.likely(0.2) else [operand()(d), operand()(d)])


def some(kind: Kind, most: int = 3) -> Kind:
    """So many arguments of a kind."""
    return lambda d: Spread([kind(d) for _ in range(d.pick(range(1, most + 1)))])


ONE = """
    negative positive square sign abs absolute conj real imag logical_not isnan isinf isfinite
    bitwise_count bitwise_invert bitwise_not invert signbit floor ceil trunc rint
"""
ROUNDED = """
    sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh
    asinh acosh atanh arcsin arccos arctan arcsinh arccosh arctanh degrees radians deg2rad
    rad2deg sinc reciprocal
"""
TWO = """
    add subtract multiply equal not_equal less less_equal greater greater_equal bitwise_and
    bitwise_or bitwise_xor logical_and logical_or logical_xor maximum minimum fmax fmin
    copysign heaviside nextafter floor_divide remainder mod fmod left_shift right_shift
    bitwise_left_shift bitwise_right_shift
"""
TWO_ROUNDED = """
    divide true_divide power pow arctan2 atan2 hypot logaddexp
"""
OVER = {"axis": axes, "keepdims": flag}
FOLD = {**OVER, "dtype": k.dtype, "initial": number, "where": k.mask}
QUANTILES = {**OVER, "method": one_of(
    "linear", "lower", "higher", "nearest", "midpoint", "hazen", "weibull", "median_unbiased",
    "normal_unbiased", "interpolated_inverted_cdf", "inverted_cdf", "closest_observation",
)}  # fmt: skip
MOMENTS = {**OVER, "dtype": k.dtype, "ddof": one_of(0, 1, 2, 0.5), "where": k.mask}
SET = row(array(ALL, (1, 1, 0, 2)), array(ALL, (1, 1, 0, 2)), moves=True)
TRANSFORM = {"n": k.lengths, "axis": axis, "norm": one_of(None, "ortho", "forward", "?")}
TRANSFORMS = {"s": k.sizes, "axes": one_of((-1,), (0,), [0]), "norm": TRANSFORM["norm"]}
FILLED = {"dtype": k.dtype, "shape": k.extents}

TABLE: dict[str, Row] = {
    **dict.fromkeys(ONE.split(), row(array())),
    **dict.fromkeys(ROUNDED.split(), row(array(), near=NEAR)),
    **dict.fromkeys(TWO.split(), row(array(), operand())),
    **dict.fromkeys(TWO_ROUNDED.split(), row(array(), operand(), near=NEAR)),
    # folds
    **dict.fromkeys(("sum", "prod"), row(array(), near=SUMS, **FOLD)),
    **dict.fromkeys(("max", "min"), row(array(), **OVER, initial=number, where=k.mask)),
    **dict.fromkeys(("any", "all"), row(array(), **OVER, where=k.mask)),
    "mean": row(array(), near=SUMS, **OVER, dtype=k.dtype, where=k.mask),
    **dict.fromkeys(("var", "std"), row(array(), near=SQUARES, **MOMENTS)),
    **dict.fromkeys(("argmax", "argmin"), row(array(), axis=axis_or_none, keepdims=flag)),
    "count_nonzero": row(array(), **OVER),
    "ptp": row(array(), **OVER),
    **dict.fromkeys(("cumsum", "cumprod"), row(
        array(), near=SUMS, axis=axis_or_none, dtype=k.dtype)),
    **dict.fromkeys(("cumulative_sum", "cumulative_prod"), row(
        array(), near=SUMS, axis=axis_or_none, dtype=k.dtype, include_initial=flag)),
    "median": row(array(), near=SUMS, **OVER),
    "quantile": row(array(), k.parts, near=SUMS, **QUANTILES),
    "percentile": row(array(), k.percents, near=SUMS, **QUANTILES),
    "average": row(array(), near=SUMS, **OVER, weights=k.along(), returned=flag),
    **dict.fromkeys(("nansum", "nanprod"), row(array(), near=SUMS, **FOLD)),
    **dict.fromkeys(("nanmax", "nanmin"), row(array(), **OVER, initial=number, where=k.mask)),
    "nanmean": row(array(), near=SUMS, **OVER, dtype=k.dtype, where=k.mask),
    **dict.fromkeys(("nanvar", "nanstd"), row(array(), near=SQUARES, **MOMENTS)),
    "nanmedian": row(array(), near=SUMS, **OVER),
    "nanquantile": row(array(), k.parts, near=SUMS, **QUANTILES),
    "nanpercentile": row(array(), k.percents, near=SUMS, **QUANTILES),
    **dict.fromkeys(("nanargmax", "nanargmin"), row(array(), axis=axis_or_none, keepdims=flag)),
    **dict.fromkeys(("nancumsum", "nancumprod"), row(
        array(), near=SUMS, axis=axis_or_none, dtype=k.dtype)),
    "cov": row(array(ALL, (1, 2, 2, 0)), near=SQUARES, rowvar=flag, bias=flag, ddof=one_of(0, 1, 2),
               y=k.like(), fweights=k.naturals, aweights=k.along(), dtype=k.dtype),
    "corrcoef": row(array(ALL, (1, 2, 2, 0)), near=SUMS, rowvar=flag, y=k.like(), dtype=k.dtype),
    # element by element, of several
    "nan_to_num": row(array(), nan=number, posinf=number, neginf=number, copy=flag),
    "clip": row(array(), operand(), operand()),
    "round": row(array(), near=NEAR, decimals=one_of(0, 1, 2, -1, -2)),
    "where": row(k.truth, choices, moves=True),
    "select": row(k.masks, k.choices, moves=True, default=number),
    **dict.fromkeys(("isclose", "allclose"), row(
        array(), operand(), rtol=one_of(0.1, 1e-3, 0), atol=one_of(0, 1e-3, 1), equal_nan=flag)),
    "isin": row(array(), array(), invert=flag, assume_unique=flag),
    "astype": row(array(), k.dtype, copy=flag),
    # order
    "sort": row(array(), moves=True, axis=axis_or_none, stable=flag),
    "argsort": row(array(), axis=axis_or_none, stable=one_of(True)),
    "searchsorted": row(k.increasing, k.places, side=one_of("left", "right", "?")),
    "digitize": row(array(REAL), k.bins, right=flag),
    **dict.fromkeys(("unique_all", "unique_counts", "unique_inverse", "unique_values"),
                    row(array(), moves=True)),
    "unique": row(array(), moves=True, return_index=flag, return_inverse=flag, return_counts=flag,
                  equal_nan=flag, axis=axis_or_none),
    **dict.fromkeys(("union1d", "intersect1d", "setdiff1d", "setxor1d"), SET),
    "bincount": row(k.naturals, weights=k.along(), minlength=one_of(0, 3, 12, -1)),
    **dict.fromkeys(("nonzero", "argwhere", "flatnonzero"), row(array())),
    # moved
    "reshape": row(array(), k.new_shape, moves=True, copy=flag),
    "ravel": row(array(), moves=True, order=one_of("C", "F", "A", "K")),
    "transpose": row(array(), moves=True, axes=k.order),
    "permute_dims": row(array(), k.order, moves=True),
    "matrix_transpose": row(array(), moves=True),
    "swapaxes": row(array(), axis, axis, moves=True),
    "moveaxis": row(array(), axis, axis, moves=True),
    "expand_dims": row(array(), one_of(0, -1, 1, (0, 2), [0, 1], 5), moves=True),
    "squeeze": row(array(ALL, (1, 2, 3)), moves=True, axis=axes),
    "broadcast_to": row(array(), k.wider, moves=True),
    "broadcast_arrays": row(array(), operand(), moves=True),
    "broadcast_shapes": row(some(k.extents)),
    **dict.fromkeys(("atleast_1d", "atleast_2d"), row(some(array(), 2), moves=True)),
    **dict.fromkeys(("flip",), row(array(), moves=True, axis=axes)),
    **dict.fromkeys(("fliplr", "flipud"), row(array(), moves=True)),
    "rot90": row(array(ALL, (2, 2, 3, 1)), moves=True, k=one_of(-1, 0, 1, 2, 3, 5),
                 axes=one_of((0, 1), (1, 0), [0, -1], (0, 0))),
    "roll": row(array(), k.shifts, moves=True, axis=axes),
    "repeat": row(array(), k.counts, moves=True, axis=axis_or_none),
    "tile": row(array(), k.repetitions, moves=True),
    "take": row(array(), k.indices, moves=True, axis=axis_or_none,
                mode=one_of("raise", "wrap", "clip")),
    "take_along_axis": row(array(), k.along_axis, moves=True, axis=one_of(-1, 0, None)),
    **dict.fromkeys(("concat", "concatenate"), row(k.arrays(), moves=True, axis=axis_or_none,
                                                  dtype=k.dtype)),
    "stack": row(k.several(), moves=True, axis=axis),
    "unstack": row(array(), moves=True, axis=axis),
    **dict.fromkeys(("hstack", "vstack", "column_stack"), row(k.several(), moves=True)),
    "dstack": row(k.several(), moves=True),
    "block": row(k.blocks, moves=True),
    "append": row(array(), array(), moves=True, axis=axis_or_none),
    "split": row(array(), k.cuts, moves=True, axis=axis),
    "pad": row(array(), k.widths, moves=True, mode=one_of(
        "constant", "edge", "reflect", "symmetric", "wrap", "mean", "linear_ramp", "empty_"),
        constant_values=one_of(1, -1, 300, 0.5, (1, 2), [3, 4], ((1, 2),))),
    "diag": row(array(ALL, (1, 1, 2, 2, 0, 3)), moves=True, k=one_of(0, 1, -1, 3, -4)),
    **dict.fromkeys(("tril", "triu"), row(array(), moves=True, k=one_of(0, 1, -1, 3, -4))),
    "diff": row(array(), n=one_of(0, 1, 2, 3, -1), axis=axis, prepend=number, append=number),
    # created
    **dict.fromkeys(("zeros", "ones"), row(k.extents, dtype=k.dtype)),
    "full": row(k.extents, number, dtype=k.dtype),
    **dict.fromkeys(("zeros_like", "ones_like"), row(array(), **FILLED)),
    "full_like": row(array(), number, **FILLED),
    "arange": row(some(k.reals), near=NEAR,
                  dtype=one_of("int64", "float32", "float64", "int8", "complex128")),
    "linspace": row(k.reals, k.reals, k.whole(0, 6), near=NEAR, endpoint=flag,
                    dtype=one_of("float32", "int64"), retstep=flag),
    "eye": row(k.whole(0, 4), M=k.whole(0, 4), k=one_of(0, 1, -2), dtype=k.dtype),
    "meshgrid": row(some(k.line), moves=True, indexing=one_of("xy", "ij", "?"), sparse=flag),
    **dict.fromkeys(("array", "asarray"), row(array(), moves=True, dtype=k.dtype, copy=flag)),
    # samples, polynomials
    "interp": row(array(REAL), k.samples_at, k.samples, near=SUMS, left=k.reals, right=k.reals,
                  period=one_of(2.5, 7)),
    "gradient": row(array(), spacing, near=SUMS, axis=axes, edge_order=one_of(1, 2)),
    "trapezoid": row(array(), near=SQUARES, x=k.along((*FLOATS, "int64", "uint8")),
                     dx=one_of(0.5, 2), axis=axis),
    **dict.fromkeys(("convolve", "correlate"), row(k.line, k.line, near=SQUARES,
                                                   mode=one_of("full", "same", "valid"))),
    "polyval": row(k.line, array(), near="powers"),
    # products
    "dot": row(array(), k.factor, near=SQUARES), "matmul": row(array(), k.factor, near=SQUARES),
    "vecdot": row(array(), k.like(), near=SQUARES, axis=axis),
    "inner": row(array(), k.like(), near=SQUARES),
    "outer": row(k.line, k.line, near=NEAR),
    "divmod": row(array(), operand(), near=NEAR),
    **dict.fromkeys(("gcd", "lcm"), row(array(INTEGERS), operand())),
    "array_equal": row(array(), k.like()),
    "trace": row(array(ALL, (2, 2, 3, 1)), near=SUMS, offset=one_of(0, 1, -1, 4)),
    "tri": row(k.whole(0, 4), M=k.whole(0, 4), k=one_of(0, 1, -2), dtype=k.dtype),
    "kron": row(array(), array(), near=SQUARES),
    "tensordot": row(array(), k.like(), near=SQUARES,
                     axes=one_of(0, 1, 2, (0, 0), ([0], [0]), ((0, 1), (0, 1)))),
    "einsum": row(subscripts, near=SQUARES, optimize=flag),
    # dtypes
    "result_type": row(some(k.named)),
    "can_cast": row(one_of(*ALL), one_of(*ALL)),
    "isdtype": row(lambda d: np.dtype(k.dtype(d)), one_of("bool", "integral", "real floating",
                   "numeric", "complex floating", "signed integer", "unsigned integer", "?")),
    # linear algebra
    **dict.fromkeys(("linalg.inv", "linalg.det", "linalg.slogdet"), row(
        k.matrices(), near=SQUARES)),
    "linalg.solve": row(k.matrices(), k.right_side, near=SQUARES),
    "linalg.cholesky": row(k.matrices(form="positive"), near=SQUARES, upper=flag),
    "linalg.matrix_power": row(k.matrices(), one_of(0, 1, 2, 3, -1, -2), near=SQUARES),
    "linalg.qr": row(k.matrices(square=False), near=SQUARES,
                     mode=one_of("reduced", "complete", "r")),
    "linalg.svd": row(k.matrices(square=False), near=SQUARES, full_matrices=flag, compute_uv=flag),
    "linalg.svdvals": row(k.matrices(square=False), near=SQUARES),
    "linalg.pinv": row(k.matrices(square=False), near=SQUARES, rcond=one_of(1e-3), hermitian=flag),
    "linalg.matrix_rank": row(k.matrices(square=False), tol=one_of(1e-3, 1.0)),
    **dict.fromkeys(("linalg.eigh", "linalg.eigvalsh"), row(
        k.matrices(form="symmetric"), near=SQUARES, UPLO=one_of("L", "U"))),
    **dict.fromkeys(("linalg.eig", "linalg.eigvals"), row(k.matrices(), near=SQUARES)),
    "linalg.norm": row(array(), near=SQUARES, **OVER, ord=one_of(
        None, 1, 2, np.inf, -np.inf, 0, -1, "fro", "nuc", 3)),
    "linalg.vector_norm": row(array(), near=SQUARES, **OVER,
                              ord=one_of(1, 2, np.inf, -np.inf, 0, 3, -1)),
    "linalg.matrix_norm": row(k.matrices(square=False), near=SQUARES, keepdims=flag,
                              ord=one_of("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf, 3)),
    "linalg.diagonal": row(array(ALL, (2, 2, 3, 1)), moves=True, offset=one_of(0, 1, -1, 4)),
    "linalg.trace": row(array(ALL, (2, 2, 3, 1)), near=SUMS, offset=one_of(0, 1, -1, 4),
                        dtype=k.dtype),
    "linalg.outer": row(k.line, k.line, near=NEAR),
    "linalg.cross": row(k.in_space, k.like(), near=SQUARES),
    "linalg.matmul": row(array(), k.factor, near=SQUARES),
    "linalg.vecdot": row(array(), k.like(), near=SQUARES, axis=axis),
    "linalg.tensordot": row(array(), k.like(), near=SQUARES, axes=one_of(0, 1, 2)),
    "linalg.matrix_transpose": row(array(), moves=True),
    # transforms
    **dict.fromkeys(("fft.fft", "fft.ifft", "fft.hfft", "fft.irfft"), row(
        array(), near=SUMS, **TRANSFORM)),
    **dict.fromkeys(("fft.rfft", "fft.ihfft"), row(array(), near=SUMS, **TRANSFORM)),
    **dict.fromkeys(("fft.fftn", "fft.ifftn", "fft.irfftn", "fft.fft2", "fft.ifft2"), row(
        array(), near=SUMS, **TRANSFORMS)),
    "fft.rfftn": row(array(), near=SUMS, **TRANSFORMS),
    **dict.fromkeys(("fft.fftfreq", "fft.rfftfreq"), row(k.whole(0, 6), near=NEAR,
                                                        d=one_of(0.5, 2, 3.0))),
    **dict.fromkeys(("fft.fftshift", "fft.ifftshift"), row(array(), moves=True, axes=axes)),
}  # fmt: skip
TABLE |= {name: TABLE[name]._replace(view=view) for name, view in VIEWS.items()}

DTYPES = "bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 " \
         "complex64 complex128"  # fmt: skip
# public names that NumPy has as well, and that this table leaves out, with the reason
OTHER = {
    **dict.fromkeys(DTYPES.split(), "a dtype"),
    **dict.fromkeys(("e", "inf", "nan", "newaxis", "pi"), "a constant"),
    **dict.fromkeys(("fft", "linalg", "random"), "a module"),
    **dict.fromkeys(("finfo", "iinfo"), "an object of facts on a dtype"),
    **dict.fromkeys(("broadcast", "histogram", "partition"), "another function than NumPy's"),
    **dict.fromkeys(("empty", "empty_like"), "the elements are any"),
    "from_dlpack": "exchanges memory",
    "indices": "its extents are named `shape` here (tests/numerics/test_created.py)",
    **dict.fromkeys(("linalg.lstsq", "logspace", "polyfit"),
                    "values in tests/numerics/test_created.py"),
    "lexsort": "keys have one axis (tests/tables/test_selection.py)",
    "argpartition": "elements on either side are in any order (tests/tables/test_selection.py)",
}
