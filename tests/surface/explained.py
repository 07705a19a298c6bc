"""Differences from NumPy that are meant, each with its reason and where the docs say so.

A difference is explained by what is said of it and by the call; any other is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.surface.calls import Call, numbers

NUMPY = "docs/from/numpy.md"
LANGUAGE = "docs/language.md"
VALUES = r"differ, first|^dtype|^shape"


class Reason(NamedTuple):
    """Why a difference is meant: what is said of it, of which calls, and the words of a page."""

    said: str  # a regular expression
    why: str
    page: str
    words: str  # that are on the page
    names: str = ""  # a regular expression; empty: of every function
    when: Callable[[Call], bool] = lambda call: True


def arrays_of(call: Call) -> list[np.ndarray]:
    """The numbers among the arguments."""
    return numbers((call.args, call.named), call.arrays)


def has(kinds: str) -> Callable[[Call], bool]:
    """Whether an argument has a dtype of one of these kinds."""
    return lambda call: any(x.dtype.kind in kinds for x in arrays_of(call))


def has_tuple(value: object) -> bool:
    """Whether a tuple is among arguments."""
    return type(value) is tuple or (type(value) is list and any(map(has_tuple, value)))


def has_number(value: object) -> bool:
    """Whether a Python number is among arguments."""
    return type(value) in (bool, int, float, complex) or (
        isinstance(value, list) and any(map(has_number, value))
    )


def not_finite(call: Call) -> bool:
    """Whether a number among the arguments is NaN or infinite, or so great that a product is."""
    sizes = [abs(x.astype(complex)) for x in arrays_of(call) if x.dtype.kind in "fc"]
    return any(not (size < 1e18).all() for size in sizes)


def is_traced(call: Call) -> bool:
    """Whether the call is compiled."""
    return call.way.startswith("jit")


def to_integers(call: Call) -> bool:
    """Whether floats are converted to integers."""
    dtype = next((x for x in (*call.args[1:], call.named.get("dtype")) if isinstance(x, str)), "f4")
    return np.dtype(dtype).kind in "iub" and has("f")(call)


def of_no_axes(call: Call) -> bool:
    """Whether the first array is a number."""
    first = call.args[0]
    return np.ndim(call.arrays[first.text] if hasattr(first, "text") else first) == 0


def rounds_integers(call: Call) -> bool:
    """Whether integers are rounded that have no room for the next multiple of a power of ten."""
    values = arrays_of(call)[0]
    if values.dtype.kind not in "iu" or not values.size:
        return False
    info, unit = np.iinfo(values.dtype), 10 ** -min(call.named.get("decimals", 0), 0)
    return not info.min + unit <= values.min() <= values.max() <= info.max - unit


def has_wrapping_differences(call: Call) -> bool:
    """Whether the difference of two elements of the first array is no number of its dtype."""
    values = arrays_of(call)[0]
    if values.dtype.kind != "i" or not values.size:
        return False
    return int(values.max()) - int(values.min()) > np.iinfo(values.dtype).max


def has_both_zeros(call: Call) -> bool:
    """Whether both 0.0 and -0.0 are among the floats."""
    signs = {bool(s) for x in arrays_of(call) if x.dtype.kind == "f" for s in np.signbit(x[x == 0])}
    return len(signs) == 2


def has_several_nan(call: Call) -> bool:
    """Whether NaN is there more than once, each different from the other."""
    return any(np.isnan(x).sum() > 1 for x in arrays_of(call) if x.dtype.kind in "fc")


def is_near_one(call: Call) -> bool:
    """Whether a complex number is there that has, with 1 added, an absolute value near 1."""
    return any(
        (abs(abs(1 + x) - 1) < 0.5).any() for x in arrays_of(call) if x.dtype.kind == "c"
    )


def has_great_numbers(call: Call) -> bool:
    """Whether a number is there of an absolute value above 100."""
    return any(abs(x).max(initial=0) > 100 for x in arrays_of(call))


def to_complex(call: Call) -> bool:
    """Whether complex numbers are given or asked for."""
    return call.is_complex() or "complex" in str(call.named.get("dtype"))


def named_short(call: Call) -> bool:
    """Whether a dtype of 16-bit floats is asked for, or given."""
    return "float16" in (*call.args, *call.named.values()) or any(
        x.dtype == np.float16 for x in arrays_of(call)
    )


ORDERED = (
    "^(less|less_equal|greater|greater_equal|maximum|minimum|fmax|fmin|max|min|argmax|argmin|clip|"
    "ptp|(nan)?(median|quantile|percentile|max|min|argmax|argmin)|(arg)?sort|searchsorted|"
    "digitize|isin|unique.*|.*1d|signbit|interp|floor_divide|remainder|mod|heaviside|nextafter|"
    "floor|ceil|trunc)$"
)
EXPLAINED = (
    Reason("^gives \\(|(is|got) a tuple, where one|got .*\\(|is \\(\\), which holds",
           "a tuple is a structure", NUMPY, "A tuple is a structure",
           when=lambda call: has_tuple(call.args) or has_tuple(list(call.named.values()))),
    Reason("results instead of 1|^shape", "a tuple is a structure", NUMPY, "A tuple is a structure",
           "reshape|transpose", lambda call: type(call.args[0]) is tuple),
    Reason("instead of TypeError: ('list' object cannot be interpreted|'axis' must be None)",
           "axes may be in a list", NUMPY, "lists of axes as tuples"),
    Reason("instead of AttributeError: 'list'|It is a <class 'list'> instead|'(int|float|complex|"
           "bool)' object has no attribute",
           "a list or a number is an array", NUMPY, "Lists are accepted as arrays"),
    Reason("xs.0. is a scalar|which has 0 axes", "a tuple is a structure", NUMPY,
           "A tuple is a structure", when=lambda call: has_tuple(call.args)),
    Reason("^dtype", "NumPy gives an empty result of the argument's dtype", NUMPY,
           "A call that is well defined", "pinv|polyval|nan(quantile|percentile)",
           lambda call: any(not x.size for x in arrays_of(call))),
    Reason("dtype|instead of dtype", "float16 is stored, not computed with", NUMPY,
           "never computes in `float16`", "result_type|can_cast|quantile|percentile", named_short),
    Reason("round is not defined for bool", "bools are no numbers to round", NUMPY,
           "Bools are not rounded", "round"),
    Reason("differ, first", "a multiple of a power of ten that no integer holds", NUMPY,
           "nearest integer that the dtype holds", "round", rounds_integers),
    Reason("differ, first", "differences of integers that wrap in NumPy", NUMPY,
           "Differences of integers do not wrap", "quantile|percentile", has_wrapping_differences),
    Reason("ShapeError: .*of no elements has no value of dtype", "no integer is NaN", NUMPY,
           "An integer is not NaN", "quantile|percentile"),
    Reason("np.float64\\(-?0.0\\) instead of|np.float32\\(-?0.0\\) instead of",
           "which of two equal zeros is kept", NUMPY, "the first of them",
           "unique", has_both_zeros),
    Reason("np.int64.* instead of np.int64", "which of several NaN is first", NUMPY,
           "the first of them", "unique_(inverse|all)", has_several_nan),
    Reason("BufferError: .*memory cannot be shared", "arrays are in C order", NUMPY,
           "one block in C order", "^(as)?array$"),
    Reason("bincount counts integers, got f", "whole floats in a list are no indices", NUMPY,
           "Indices are integers", "bincount"),
    Reason("differ, first", "the interpolation between infinities", NUMPY,
           "Between equal infinities", "quantile|percentile", not_finite),
    Reason("^dtype", "Python numbers take the dtype of what they meet", LANGUAGE,
           "takes the dtype of the other operand",
           "clip|1d|append|select|polyval|stack|concat|broadcast_arrays|inner|dot",
           lambda call: has_number(call.args)),
    Reason("NumPy needs the values of a traced array", "NumPy asks its first argument alone", NUMPY,
           "dispatches on its first argument only", "repeat|take|isin|where", is_traced),
    Reason("Unsupported: (cov|corrcoef) of complex", "not there", NUMPY,
           "`cov` of complex numbers is not implemented", "cov|corrcoef"),
    Reason("must be one row, got", "a number has no axis", NUMPY, "A number has no axis",
           "bincount"),
    Reason("instead of TypeError: `pad_width`", "a number has nothing to pad", NUMPY,
           "A call that is well defined", "pad", of_no_axes),
    Reason("shape", "axis=None is the last axis", NUMPY, "sorts along the last axis", "sort",
           lambda call: "axis" in call.named and call.named["axis"] is None),
    Reason("which has 0 axes|xs is a scalar|of a number has no indices|not enough values to unpack",
           "a number has no axis", NUMPY, "A number has no axis", when=of_no_axes),
    Reason("Unsupported: .* of complex numbers", "complex numbers have no order", LANGUAGE,
           "Operations that need an order", ORDERED),
    Reason("dtype float32 instead of float16", "float16 is stored, not computed with", NUMPY,
           "never computes in `float16`", when=lambda call: not call.row.moves),
    Reason("instead of TypeError: array type float16", "float16 is read as f32", LANGUAGE,
           "Computation reads `f32`"),
    Reason("dtype float.. instead of u?int", "a reciprocal is a float", NUMPY,
           "A reciprocal is a float", "^reciprocal$"),
    Reason("takes a dtype of floats, got", "a variance is a float", NUMPY,
           "A variance is a float", "var|std"),
    Reason("the Python (float|int|complex|bool).*be an element|the Python integer .* does not fit",
           "a Python number that a dtype cannot hold", NUMPY,
           "Python numbers that the array's dtype cannot hold"),
    Reason("differ, first", "floats that an integer dtype cannot hold", NUMPY,
           "nearest integer that the dtype holds", when=to_integers),
    Reason("which has no imaginary part", "complex numbers do not become real ones", NUMPY,
           "do not become real ones silently"),
    Reason("instead of TypeError: float\\(\\) argument must be .* not 'complex'",
           "a complex number makes the result complex", NUMPY, "A call that is well defined"),
    Reason("differ, first", "NaN and infinite parts of complex numbers", LANGUAGE,
           "infinities and NaN follow C99", "^(?!fft)",
           lambda call: to_complex(call) and not_finite(call)),
    Reason("differ, first", "a transform of NaN or infinities", NUMPY,
           "Which results of a transform are NaN", "^fft", not_finite),
    Reason("differ, first", "the transform of no elements", NUMPY, "no elements is that of zeros",
           "^fft.irfft", lambda call: any(not x.size for x in arrays_of(call))),
    Reason("dtype complex", "eigenvalues are complex", NUMPY, "Eigenvalues of `eig` are always",
           "eig|eigvals"),
    Reason("takes matrices, got", "functions of matrices", NUMPY, "take no vectors",
           "tril|triu|matrix_rank"),
    Reason("with these arguments has no counterpart that can|reduce has no counterpart that can",
           "a parameter that ours lacks", NUMPY, "a missing parameter is an error",
           when=is_traced),
    Reason("is known at run time only|needs values, which are", "extents must be known", NUMPY,
           "extents that are known at trace time", "squeeze|split|unstack", is_traced),
    Reason("instead of (ZeroDivisionError|IndexError|ValueError: cannot reshape array of size 0|"
           "TypeError: numpy boolean subtract|TypeError: Cannot cast array data|"
           "ValueError: not enough values)",
           "NumPy fails where a result is defined", NUMPY, "A call that is well defined"),
    Reason("shape \\(1, 1\\) instead of \\(\\)", "a rank depends on no extent", LANGUAGE,
           "a matrix of one element", "^(cov|corrcoef)$"),
    Reason("is not a (mode|method) of", "modes and methods that ours lack", LANGUAGE,
           "lacks NumPy's modes", "pad|quantile|percentile"),
    Reason("must have \\d+ elements along axis", "coordinates and weights of another length",
           LANGUAGE, "need as many elements as the array", "trapezoid|average|gradient|bincount"),
    Reason("inf.* instead of .*nan", "infinities that are equal", LANGUAGE, "that infinity",
           "quantile|percentile|median", not_finite),
    Reason(r"float\d+\(-?0\.0\) instead of np\.float\d+\(-?0\.0\)", "zeros have an order", LANGUAGE,
           "and -0.0 below 0.0", "maximum|minimum|fmax|fmin|clip"),
    Reason("differ, first", "zeros have an order", NUMPY, "-0.0 comes before 0.0", "^sort$",
           has_both_zeros),
    Reason("differ, first", "which of two equal zeros is kept", NUMPY, "the first of them", "1d$",
           lambda call: any(np.signbit(x[x == 0]).any() for x in arrays_of(call))),
    Reason("instead of np.float16", "which of two equal zeros is kept", NUMPY, "the first of them",
           "unique", has_both_zeros),
    Reason("dtype bool instead of int64", "a Python bool is no integer", NUMPY,
           "A bool has the dtype `bool`", "imag"),
    Reason("differ, first", "an array that does not ascend", NUMPY, "has to ascend", "searchsorted",
           lambda call: bool((np.diff(arrays_of(call)[0].ravel()) < 0).any())),
    Reason("differ, first", "complex logarithms near 1", NUMPY, "correct near 1 as well", "log1p",
           is_near_one),
    Reason("differ, first", "great powers of complex numbers", NUMPY, "rounding grows with",
           "power", lambda call: to_complex(call) and has_great_numbers(call)),
    Reason("differ, first.* \\(?np.complex.*nan", "NaN and infinite parts of complex numbers",
           LANGUAGE, "infinities and NaN follow C99", "^(mean|var|std)$|prod$", to_complex),
    Reason("differ, first.*nan. instead of np.float..\\(0.0", "NaN times 0 is NaN", NUMPY,
           "NaN times 0 is NaN", "inner|dot|matmul|outer|tensordot", not_finite),
    Reason("nan. instead of", "NaN stays NaN", NUMPY, "`interp` of NaN is NaN", "interp",
           not_finite),
    Reason("dtype float32 instead of float64", "whole q in an array", NUMPY,
           "Whole `q` have the dtype of", "quantile|percentile"),
    Reason("shape", "NumPy divides a list by its length", NUMPY, "counts along `axis`", "split"),
    Reason("concat needs arrays of one rank", "a tuple is a structure", NUMPY,
           "A tuple is a structure", "concat", lambda call: has_tuple(list(call.args[0]))),
    Reason("axis i of einsum has 0 elements, and 1", "NumPy reads outside of the array", NUMPY,
           "extents of one letter must agree", "einsum"),
    Reason("dtype float.. instead of (u?int|bool)", "no transform at all", NUMPY,
           "Transforms give floats or complex numbers", "^fft", of_no_axes),
    Reason("differ, first", "elements that repeat", NUMPY, "the result is as without it", "isin",
           lambda call: bool(call.named.get("assume_unique"))),
    Reason("shape \\(1,\\) instead of \\(\\)|1 results instead of",
           "NumPy gives the list itself", NUMPY, "Lists are accepted as arrays", "^diff$",
           lambda call: call.named.get("n") == 0),
    Reason("fault ZeroDivisionError", "NumPy's own function fails", NUMPY,
           "NumPy's own function runs", "average|cov"),
    Reason("concat needs rows of one shape|^shape", "no variables next to others", NUMPY,
           "the other's have to fit", "cov|corrcoef", lambda call: "y" in call.named),
    Reason("dtype float64 instead of int64", "integers by accident", NUMPY,
           "at whole `q` of integers", "quantile|percentile",
           lambda call: call.named.get("method") == "weibull"),
    Reason("shape .* instead of", "NumPy loses the axes of q", LANGUAGE, "keeps the axes of `q`",
           "nan(quantile|percentile)", lambda call: any(x.size == 0 for x in arrays_of(call))),
)  # fmt: skip


def reason(call: Call, said: str) -> Reason | None:
    """The first reason that explains a difference."""
    for known in EXPLAINED:
        if re.search(known.said, said) and re.search(known.names, call.name) and known.when(call):
            return known
    return None
