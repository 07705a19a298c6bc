"""Flatweave: a data-parallel functional array language in Python.

    import flatweave as fw
    import numpy as np

    @fw.jit
    def longest_run(xs):                                  # of equal neighbours
        begins = xs != fw.rotate(xs, -1)                  # as the first element always does
        return fw.max(fw.segmented_reduce(fw.add, 0, begins, fw.full(xs.shape, 1)))

    longest_run(np.array([3, 3, 1, 1, 1, 2]))             # Array(3, dtype=int64)

A jitted function is traced once for its arguments' dtypes and ranks, then runs for every size.
Outside of jit every function works at once on NumPy arrays. docs/language.md lists them all.
`from flatweave import *` leaves out those that Python has, too: fw.abs, fw.all, fw.any, fw.bool,
fw.filter, fw.map, fw.max, fw.min, fw.pow, fw.round, fw.sum.

The tour, in the order in which a program travels through the folders:

    frontend/     Python calls become a program of the array language
    terms/        what programs are made of: variables, lets, lambdas, control
    access/       where elements read: sums over axes
    scalar/       the table of functions on single values
    array_ir/     programs: their text and their meaning, in NumPy
    ops/          the vocabulary: map, reduce, scan, .., one file each
    gradients/    derivatives: program to program, before any pass
    operator_checks/ operators that no law covers are tried on a few elements
    passes/       program to program: fuse, share, simplify
    lower/        programs become kernels
    kernel_ir/    kernels: loops over a grid of blocks, warps and threads
    kernel_passes/ kernel to kernel: work for all threads becomes loops over those there are
    algorithms/   reduce, scan, segments, compact: written once, for threads, warps and blocks
    codegen/      kernels become LLVM, OpenCL C or CUDA C
    runtime/      compiled kernels run: threads, memory, caches
    pipeline.py   which of these happens when: read this first
    recall.py     what an earlier process compiled: it runs with frontend/ and runtime/ alone
    jit.py        @jit, the other end of the tour
    cluster/      arrays in chunks: one after the other, or on the workers of a Dask cluster
    random/       fw.random: numbers from keys
    tuning/       fw.tune: which version of a nest is faster, measured
    profiler/     fw.profile: what ran, kernel by kernel
    interop/      fw.torch, fw.jax: functions with gradients for other libraries
    notebook/     arrays and rows as a notebook shows them
    base/         what all of them stand on: dtypes, errors, places in source, switches
"""

from math import e, inf, nan, pi
from typing import TYPE_CHECKING as _TYPE_CHECKING

from flatweave.base.dtypes import (
    bf16,
    bool_,
    c64,
    c128,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from flatweave.base.errors import (
    ArgumentError,
    CompilerBug,
    DeviceError,
    DTypeError,
    EscapedArrayError,
    ExtentOverflowError,
    IndexOutOfBounds,
    KernelError,
    NegativeExtentError,
    NestingError,
    NotTraceableError,
    OperatorError,
    OutOfMemory,
    ShapeError,
    Unsupported,
    UserError,
)
from flatweave.base.version import VERSION as __version__
from flatweave.frontend.standard.products import dot
from flatweave.frontend.arrays.indexing import getitem
from flatweave.frontend.arrays.reading import backpermute, gather
from flatweave.frontend.arrays.replacing import replace, shift
from flatweave.frontend.functions.scans import segmented_iota, segmented_reduce, segmented_scan
from flatweave.frontend.arrays.joining import concat
from flatweave.frontend.arrays.shapes import (
    broadcast,
    expand_dims,
    reshape,
    reverse,
    rotate,
    transpose,
)
from flatweave.frontend.arrays.sorting import argsort, sort, sort_by_key
from flatweave.frontend.arrays.sources import empty, full, iota, replicate
from flatweave.frontend.arrays.stencil import stencil
from flatweave.frontend.arrays.replacing import At as _At  # noqa: F401  xs.at
from flatweave.frontend.arrays.writing import histogram, permute, reduce_by_index, scatter
from flatweave.frontend.call.contexts import on
from flatweave.frontend.call.argument_values import Overriding
from flatweave.frontend.call.contexts import schedule
from flatweave.frontend.call.compiled import Stages
from flatweave.frontend.elements.elementwise import (
    abs as abs,
    absolute,
    acos,
    acosh,
    add,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    cbrt,
    clz,
    copysign,
    cos,
    cosh,
    ctz,
    divide,
    equal,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    floor_divide,
    floordiv,
    fma,
    greater,
    greater_equal,
    hypot,
    invert,
    isfinite,
    isinf,
    isnan,
    left_shift,
    less,
    less_equal,
    log,
    log10,
    log1p,
    log2,
    maximum,
    minimum,
    mod,
    mul,
    mul_hi,
    multiply,
    neg,
    negative,
    not_equal,
    popcount,
    remainder,
    right_shift,
    round as round,
    rsqrt,
    sign,
    sin,
    sinh,
    sqrt,
    sub,
    subtract,
    tan,
    tanh,
    true_divide,
    truediv,
)
from flatweave.frontend.elements.elementwise import (
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from flatweave.frontend.elements.scalars import (
    astype,
    bitwise_count,
    ceil,
    clip,
    floor,
    positive,
    power,
    reciprocal,
    rint,
    square,
    trunc,
    where,
)
from flatweave.frontend.functions.callbacks import ShapeDtypeStruct, pure_callback
from flatweave.frontend.functions.check_grads import check_grads
from flatweave.frontend.functions.checks import check, note, operation
from flatweave.frontend.functions.combinators import (
    filter as filter,
    map as map,
    partition,
    reduce,
    scan,
    store,
    zip_with,
)
from flatweave.frontend.functions.control import cond, fori_loop, while_loop
from flatweave.frontend.functions.scans import cumprod, cumsum
from flatweave.frontend.functions.custom_rules import checkpoint, custom_jvp, custom_vjp
from flatweave.frontend.functions.derivatives import grad, jvp, value_and_grad, vjp
from flatweave.frontend.functions.jacobians import hessian, jacfwd, jacrev, stop_gradient
from flatweave.frontend.functions.linearize import linear_transpose, linearize
from flatweave.frontend.functions.expand import expand, expand_reduce, replicated_iota
from flatweave.frontend.functions.combinators import generate
from flatweave.frontend.functions.reductions import (
    all as all,
    any as any,
    argmax,
    argmin,
    max as max,
    mean,
    min as min,
    prod,
    sum as sum,
)
from flatweave.frontend.functions.vmap import vmap
from flatweave.frontend.ragged.cutting import ragged
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.standard.arrangement import (
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    repeat,
    roll,
    squeeze,
    stack,
    tile,
    unstack,
)
from flatweave.frontend.arrays.joining import broadcast_arrays, broadcast_shapes, broadcast_to
from flatweave.frontend.standard.creation import (
    arange,
    empty_like,
    eye,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from flatweave.frontend.standard.namespace import can_cast, finfo, iinfo, isdtype, result_type
from flatweave.frontend.standard.namespace import (
    VERSION,
    __array_namespace_info__ as __array_namespace_info__,
)
from flatweave.frontend.standard.numbers import conj, imag, logaddexp, nextafter, real, signbit
from flatweave.frontend.standard.products import matmul, tensordot, vecdot
from flatweave.frontend.standard.searching import (
    isin,
    nonzero,
    searchsorted,
    take,
    take_along_axis,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)
from flatweave.frontend.standard.statistics import (
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    std,
    var,
)
from flatweave.frontend.values.array import Array
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.array_like import ArrayLike
from flatweave.frontend.values.asarray import array, asarray, from_dlpack
from flatweave.jit import Jitted, jit, target
from flatweave.profiler.profile import Explanation, explain
from flatweave.profiler.profile import Profile, profile
from flatweave.runtime import lazy_import as _door
from flatweave.tuning.tune import Tuning, tune

if _TYPE_CHECKING:
    from flatweave import random as random
    from flatweave.frontend.standard import fft as fft, linalg as linalg

__array_api_version__ = VERSION
pow = power
concatenate = concat
newaxis = None
# the dtypes by the names of NumPy and of the array API standard
int8, int16, int32, int64 = i8, i16, i32, i64
uint8, uint16, uint32, uint64 = u8, u16, u32, u64
float16, bfloat16, float32, float64 = f16, bf16, f32, f64
complex64, complex128 = c64, c128
bool = bool_

# public names that are builtins' names as well: reached as fw.map, not by a star import
BESIDE_BUILTINS = (
    "abs", "all", "any", "bool", "filter", "map", "max", "min", "pow", "round", "sum",
)  # fmt: skip

# what `from flatweave import *` brings: every public name that does not hide a builtin
__all__ = [
    "ArgumentError", "Array", "ArrayLike", "Chunked", "CompilerBug", "DTypeError", "DeviceError",
    "EscapedArrayError", "Explanation", "ExtentOverflowError", "IndexOutOfBounds", "Jitted",
    "KernelError", "NegativeExtentError", "NestingError", "NotTraceableError", "OperatorError",
    "OutOfMemory", "Profile", "Ragged", "ShapeDtypeStruct", "ShapeError", "Stages", "Tuning",
    "Unsupported", "UserError", "__version__", "absolute", "acos", "acosh", "add", "allclose",
    "append", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "argmax", "argmin", "argsort", "argwhere", "array", "asarray", "asin", "asinh", "astype",
    "atan", "atan2", "atanh", "atleast_1d", "atleast_2d", "average", "backpermute", "bf16",
    "bfloat16", "bincount", "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift",
    "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool_", "broadcast",
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "c128", "c64", "can_cast", "cbrt",
    "ceil", "check_grads", "checkpoint", "clip", "clz", "column_stack", "complex128", "complex64",
    "concat", "concatenate", "cond", "conj", "convolve", "copysign", "corrcoef", "correlate", "cos",
    "cosh", "count_nonzero", "cov", "ctz", "cumprod", "cumsum", "cumulative_prod", "cumulative_sum",
    "custom_jvp", "custom_vjp", "deg2rad", "degrees", "diag", "diff", "digitize", "divide", "dot",
    "e", "einsum", "empty", "empty_like", "equal", "erf", "erfc", "exp", "exp2", "expand",
    "expand_dims", "expand_reduce", "explain", "expm1", "eye", "f16", "f32", "f64", "fft", "finfo",
    "flatnonzero", "flip", "fliplr", "flipud", "float16", "float32", "float64", "floor",
    "floor_divide", "floordiv", "fma", "fmax", "fmin", "fmod", "fori_loop", "from_dlpack", "full",
    "full_like", "gather", "generate", "getitem", "grad", "gradient", "greater", "greater_equal",
    "heaviside", "hessian", "histogram", "hstack", "hypot", "i16", "i32", "i64", "i8", "iinfo",
    "imag", "inf", "inner", "int16", "int32", "int64", "int8", "interp", "intersect1d", "invert",
    "iota", "isclose", "isdtype", "isfinite", "isin", "isinf", "isnan", "jacfwd", "jacrev", "jit",
    "jvp", "kron", "left_shift", "less", "less_equal", "linalg", "linear_transpose", "linearize",
    "linspace", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not",
    "logical_or", "logical_xor", "matmul", "matrix_transpose", "maximum", "mean", "median",
    "meshgrid", "minimum", "mod", "moveaxis", "mul", "mul_hi", "multiply", "nan", "nan_to_num",
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin",
    "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "neg", "negative",
    "newaxis", "nextafter", "nonzero", "not_equal", "on", "ones", "ones_like", "pad", "partition",
    "percentile", "permute", "permute_dims", "pi", "polyval", "popcount", "positive", "power",
    "prod", "profile", "ptp", "pure_callback", "quantile", "rad2deg", "radians", "ragged", "random",
    "ravel", "real", "reciprocal", "reduce", "reduce_by_index", "remainder", "repeat", "replace",
    "replicate", "replicated_iota", "reshape", "result_type", "reverse", "right_shift", "rint",
    "roll", "rot90", "rotate", "rsqrt", "scan", "scatter", "schedule", "searchsorted",
    "segmented_iota", "segmented_reduce", "segmented_scan", "select", "setdiff1d", "setxor1d",
    "shift", "sign", "signbit", "sin", "sinc", "sinh", "sort", "sort_by_key", "split", "sqrt",
    "square", "squeeze", "stack", "std", "stencil", "stop_gradient", "store", "sub", "subtract",
    "swapaxes", "take", "take_along_axis", "tan", "tanh", "target", "tensordot", "tile",
    "transpose", "trapezoid", "tril", "triu", "true_divide", "truediv", "trunc", "tune", "u16",
    "u32", "u64", "u8", "uint16", "uint32", "uint64", "uint8", "union1d", "unique", "unique_all",
    "unique_counts", "unique_inverse", "unique_values", "unstack", "value_and_grad", "var",
    "vecdot", "vjp", "vmap", "vstack", "where", "while_loop", "zeros", "zeros_like", "zip_with",
]  # fmt: skip
# missing values, groups, joins, windows, recurrences, and what they ask of the language
_TABLES = [
    "Groups", "Join", "Nullable", "argpartition", "changed", "cummax", "cummin", "group_by",
    "is_none", "join", "join_asof", "lexsort", "logsumexp", "n_unique", "nearest", "neighbors",
    "overlaps", "rank", "recurrence", "rolling", "rolling_by", "run_lengths", "segment_max",
    "segment_min", "segment_prod", "segment_sum", "slices", "softmax", "top_k", "unflatten",
    "value_counts",
]  # fmt: skip
__all__ += ["Overriding", "check", "note", "operation"]
__all__ += _TABLES  # noqa: PLE0605


def __getattr__(name: str) -> object:
    """`fw.fft`, `fw.linalg`, `fw.random`, `fw.torch`, `fw.jax`, and what NumPy has beyond the
    standard (`numerics`): imported when they are first asked for."""
    if name in ("fft", "linalg", "random", "torch", "jax"):
        return _door.opened(name)
    if name in __all__:
        found: object = getattr(_door.opened("tables" if name in _TABLES else "numerics"), name)
        return globals().setdefault(name, found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What users may call: `__all__`, and the names of builtins, such as `fw.map` and `fw.sum`."""
    return sorted([*__all__, *BESIDE_BUILTINS])
