"""From Python calls to programs of the array language.

Seven rooms, each of which imports only from those above it in this list:

    values/      arrays and tracers, scopes, trees of tuples and dicts, NumPy and DLPack, promotion
    trace/       a Python function becomes a program: any value as a tracer, checks, extents
    call/        public functions and jitted ones are called: signature, compilation, run
    elements/    scalar functions, broadcasting, element functions and operators as lambdas
    arrays/      functions on n-dimensional arrays
    ragged/      Ragged values, and map over their rows
    functions/   functions on arrays and Ragged values, and control flow

Where public functions are written:

    elements/elementwise.py    sqrt, add, .., one name for each scalar function of the table
    elements/scalars.py        where, clip, astype, power, .., which are more than one row of it
    arrays/sources.py          iota, full, replicate, empty
    arrays/reading.py          gather, backpermute; indexing.py: xs[..]
    arrays/writing.py          scatter, permute, reduce_by_index, histogram
    arrays/shapes.py           reshape, transpose, reverse, rotate, concat
    arrays/sorting.py          sort, argsort, sort_by_key
    arrays/stencil.py          functions of a neighbourhood
    ragged/cutting.py          ragged
    functions/combinators.py   map, generate, reduce, scan, filter, partition
    functions/reductions.py    sum, prod, min, ..; scans.py: cumsum, cumprod
    standard/products.py       dot
    functions/scans.py      segmented_scan, segmented_reduce, segmented_iota
    functions/expand.py        expand, expand_reduce, replicated_iota
    functions/control.py       while_loop, fori_loop, cond
    call/options.py            on, schedule
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, overload

from flatweave.runtime.lazy_import import opened

# -- public names ---------------------------------------------------------------------------------
#
# Which module declares each public function: it is imported when a program first asks for it.
#
#     fw.median                 imports flatweave.numpy_functions.statistics
#     METHODS["along_rows"]     imports flatweave.frontend.ragged.reductions
#
# So `import flatweave` costs what traces and what runs, and a program pays for what it calls.


PUBLIC = {
    "frontend.arrays.indexing": "getitem",
    "frontend.arrays.sources": (
        "broadcast_arrays broadcast_shapes broadcast_to concat empty full iota replicate"
    ),
    "frontend.arrays.reading": "backpermute gather",
    "frontend.arrays.replacing": "replace shift",
    "frontend.arrays.shapes": "broadcast expand_dims reshape reverse rotate transpose",
    "frontend.arrays.sorting": "argsort sort sort_by_key",
    "frontend.arrays.stencil": "stencil",
    "frontend.arrays.writing": "histogram permute reduce_by_index scatter",
    "frontend.values.arguments": "Overriding",
    "frontend.call.compiled": "Stages",
    "frontend.call.options": "on schedule",
    "frontend.elements.elementwise": (
        "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or "
        "bitwise_xor cbrt clz copysign cos cosh ctz equal erf erfc exp exp2 expm1 floordiv fma "
        "greater greater_equal hypot isfinite isinf isnan left_shift less less_equal log log10 "
        "log1p log2 logical_and logical_not logical_or logical_xor maximum minimum mod mul "
        "mul_hi neg not_equal popcount right_shift rsqrt sign sin sinh sqrt sub tan tanh "
        "truediv"
    ),
    "frontend.elements.scalars": (
        "astype bitwise_count ceil clip floor positive power reciprocal rint round square trunc"
    ),
    "frontend.functions.callbacks": (
        "ShapeDtypeStruct pure_callback check normalize_axes note operation"
    ),
    "frontend.functions.combinators": "filter generate map partition reduce scan store zip_with",
    "frontend.functions.control": "cond fori_loop while_loop",
    "frontend.functions.custom_rules": "checkpoint custom_jvp custom_vjp",
    "frontend.functions.derivatives": "grad jvp value_and_grad vjp",
    "frontend.functions.expand": "expand expand_reduce replicated_iota",
    "frontend.functions.jacobians": "hessian jacfwd jacrev stop_gradient",
    "frontend.functions.linearize": "check_grads linear_transpose linearize",
    "frontend.functions.reductions": "all any argmax argmin max mean min prod sum",
    "frontend.functions.scans": "cumprod cumsum segmented_iota segmented_reduce segmented_scan",
    "frontend.functions.vmap": "vmap",
    "frontend.ragged.cutting": "ragged",
    "frontend.ragged.ragged": "Ragged",
    "frontend.standard.arrangement": (
        "flip matrix_transpose moveaxis permute_dims repeat roll squeeze stack tile unstack"
    ),
    "frontend.standard.creation": (
        "arange empty_like eye full_like linspace meshgrid ones ones_like tril triu zeros "
        "zeros_like"
    ),
    "frontend.standard.namespace": (
        "__array_api_version__ __array_namespace_info__ can_cast finfo iinfo isdtype result_type"
    ),
    "frontend.standard.products": "dot matmul tensordot vecdot",
    "frontend.standard.searching": "nonzero searchsorted take take_along_axis where",
    "frontend.standard.statistics": (
        "complex conj count_nonzero cumulative_prod cumulative_sum diff imag logaddexp nextafter "
        "real signbit std var"
    ),
    "frontend.values.asarray": "array asarray from_dlpack",
    "frontend.values.chunked": "Chunked",
    "frontend.values.foreign_arrays": "ArrayLike",
    "numpy_functions.arranging": (
        "append atleast_1d atleast_2d block column_stack dstack fliplr flipud hstack pad ravel "
        "split swapaxes vstack"
    ),
    "numpy_functions.comparing": (
        "allclose degrees fmax fmin fmod heaviside isclose polyval radians select sinc"
    ),
    "numpy_functions.creating": (
        "array_equal diag divmod gcd indices lcm logspace outer polyfit rot90 trace tri"
    ),
    "numpy_functions.interpolation_and_convolution": (
        "convolve correlate gradient interp trapezoid"
    ),
    "numpy_functions.nan_functions": (
        "nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin "
        "nanpercentile nanprod nanquantile nanstd nansum nanvar"
    ),
    "numpy_functions.products": "einsum inner kron",
    "numpy_functions.sets": (
        "argwhere bincount digitize flatnonzero intersect1d isin setdiff1d setxor1d union1d "
        "unique unique_all unique_counts unique_inverse unique_values"
    ),
    "numpy_functions.statistics": "average corrcoef cov median percentile ptp quantile",
    "profiler.profile": "Explanation Profile explain profile",
    "strings": "Strings strings_of",
    "tables": (
        "Groups Join Nullable argpartition changed cummax cummin group_by is_none join join_asof "
        "lexsort logsumexp n_unique nearest neighbors overlaps rank recurrence rolling rolling_by "
        "run_lengths segment_max segment_min segment_prod segment_sum slices softmax top_k "
        "unflatten value_counts"
    ),
    "tuning.tune": "Tuning tune",
}
# functions that others here call by name, below the rooms that declare them
INSIDE = {
    "frontend.arrays.assignment": "assign augmented",
    "frontend.arrays.replacing": "at update",
    "frontend.elements.scalars": "foreign_ufunc",
    "frontend.functions.reductions": "masked reduction",
    "frontend.ragged.elementwise": "on_rows",
    "frontend.ragged.inner_indexing": "at_places by_rows in_row",
    "frontend.ragged.ragged": "row_flags row_lengths",
    "frontend.ragged.rearranging": "concat_rows ordered_rows with_row row",
    "frontend.ragged.reductions": "along_rows cut_as",
    "frontend.ragged.to_columns": "column_of to_arrow to_awkward",
    "frontend.standard.namespace": "namespace",
    "frontend.standard.small_matrices": "determinants factors inverses solutions",
    "frontend.standard.small_spectra": "eigensystems reflections spectra",
}
# the names that NumPy and the array API standard give them
ALIASES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "bitwise_invert": "bitwise_not",
    "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
    "concatenate": "concat", "deg2rad": "radians", "divide": "truediv", "floor_divide": "floordiv",
    "invert": "bitwise_not", "multiply": "mul", "negative": "neg", "pow": "power",
    "rad2deg": "degrees", "remainder": "mod", "subtract": "sub", "true_divide": "truediv",
}  # fmt: skip


def _modules(declared: Mapping[str, str]) -> dict[str, str]:
    return {
        name: f"flatweave.{module}" for module, names in declared.items() for name in names.split()
    }


MODULES = _modules(PUBLIC)
NAMES = MODULES.keys() | ALIASES.keys()
_INSIDE = MODULES | _modules(INSIDE)


def public(name: str) -> object:
    """The public function or class of this name; KeyError if it does not exist."""
    name = ALIASES.get(name, name)
    return getattr(opened(MODULES[name]), name)


GivesArrays: TypeAlias = Literal["broadcast_arrays", "meshgrid", "nonzero", "unstack"]
# rows, which this folder does not know, what belongs to another library, and no arrays
GivesOthers: TypeAlias = Literal[
    "along_rows", "at", "by_rows", "column_of", "concat_rows", "foreign_ufunc",
    "assign", "augmented", "cut_as", "inside_a_program", "namespace", "on_rows",
    "ragged", "rows_of", "stacked",
    "to_arrow", "to_awkward", "with_row",
]  # fmt: skip


A = TypeVar("A")


class Methods(dict[str, Callable[..., Any]], Generic[A]):
    """Functions by name, as they are declared; one that is not yet is imported.

    Their types are those for arrays, A. Who calls one for a Ragged or a structure says what it
    gives.
    """

    def __missing__(self, name: str) -> Callable[..., Any]:
        opened(_INSIDE[name])
        return dict(self)[name]

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, name: GivesArrays) -> Callable[..., tuple[A, ...]]: ...
        @overload
        def __getitem__(self, name: GivesOthers) -> Callable[..., Any]: ...
        @overload
        def __getitem__(self, name: str) -> Callable[..., A]: ...
        def __getitem__(self, name: str) -> Callable[..., Any]: ...
