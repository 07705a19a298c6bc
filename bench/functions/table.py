"""The functions and their arguments, as text.

    ("sum mean", "fdiBD", ["x", "m, axis=1"])       fw.sum(x) next to np.sum(x), ..
    ("gather", "d", ["x, i | take(x, i)"])          fw.gather(x, i) next to np.take(x, i)

Dtypes are NumPy's letters: f is f32, d f64, i i32, B u8, D c128. inputs.py has the arrays. Left out
of a line are the dtypes that NumPy refuses or converts before it computes. A `{}` in NumPy's text
is the module, for what is more than a call of one function.
"""

from __future__ import annotations

from typing import NamedTuple

ALL, ORDERED, FLOATS, COMPLEX, INTEGERS, MOVED = "fdiBD", "fdiB", "fd", "fdD", "iB", "fBD"
ROWS, COLUMNS = "m, axis=1", "m, axis=0"

ELEMENTS = (
    ("acos asin atanh", COMPLEX, ["u"]),
    ("atan sin cos tan sinh cosh tanh asinh acosh", COMPLEX, ["x"]),
    ("exp log sqrt expm1 log1p log2 log10", COMPLEX, ["x"]),
    ("exp2 cbrt sinc degrees radians signbit", FLOATS, ["x"]),
    ("ceil floor trunc rint", FLOATS, ["x"]),
    ("round", COMPLEX, ["x"]),
    ("abs negative positive square sign", ALL, ["x"]),
    ("reciprocal", COMPLEX, ["x"]),
    ("conj real imag", "dD", ["x"]),
    ("isnan isinf isfinite", COMPLEX, ["z"]),
    ("add", ALL, ["x, y", "x, 3", "m, r", "m, c", "m.T, w"]),
    ("subtract multiply divide", ALL, ["x, y"]),
    ("floor_divide remainder fmod", ORDERED, ["x, y"]),
    ("power", COMPLEX, ["x, y", "x, 3"]),
    ("maximum minimum", ORDERED, ["x, y"]),
    ("fmax fmin", ORDERED, ["z, y"]),
    ("copysign hypot nextafter logaddexp heaviside", FLOATS, ["x, y"]),
    ("atan2", FLOATS, ["x, y"]),
    ("equal not_equal", ALL, ["x, y"]),
    ("less less_equal greater greater_equal", ORDERED, ["x, y"]),
    ("bitwise_and bitwise_or bitwise_xor", INTEGERS, ["x, y"]),
    ("left_shift right_shift", INTEGERS, ["x, t"]),
    ("bitwise_not bitwise_count", INTEGERS, ["x"]),
    ("logical_and logical_or logical_xor", ORDERED, ["x, y"]),
    ("logical_not", ORDERED, ["x"]),
    ("clip", ORDERED, ["x, 2, 5"]),
    ("where", ALL, ["p, x, y"]),
    ("astype", "fdiB", ["x, h"]),
    ("isclose", COMPLEX, ["x, y"]),
    ("allclose", COMPLEX, ["x, x"]),
    ("array_equal", ALL, ["x, x"]),
    ("divmod", "fdi", ["x, y"]),
    ("gcd lcm", "i", ["j, j"]),
    ("nan_to_num", FLOATS, ["z"]),
    ("select", "fdi", ["[p, x > y], [x, y], 0"]),
)

REDUCTIONS = (
    ("sum", ALL, ["x", ROWS, COLUMNS, "m.T"]),
    ("mean prod", ALL, ["x", ROWS, COLUMNS]),
    ("min max argmin argmax", ORDERED, ["x", ROWS, COLUMNS]),
    ("any all", "B", ["o", "q, axis=1", "q, axis=0"]),
    ("count_nonzero", "dB", ["x", ROWS, COLUMNS]),
    ("var std", FLOATS, ["x", ROWS, COLUMNS]),
    ("ptp", ORDERED, ["x", ROWS, COLUMNS]),
    ("average", FLOATS, ["x", "x, weights=y", "m, axis=1", "m, axis=0"]),
    ("median", "fdi", ["x", ROWS, COLUMNS]),
    ("quantile percentile", FLOATS, ["x, 0.25", "m, 0.25, axis=1", "m, 0.25, axis=0"]),
    ("nansum nanprod nanmean nanmin nanmax", FLOATS, ["z", "k, axis=1", "k, axis=0"]),
    ("nanargmin nanargmax nanvar nanstd", FLOATS, ["z", "k, axis=1", "k, axis=0"]),
    ("nanmedian", FLOATS, ["z", "k, axis=1", "k, axis=0"]),
    ("nanquantile nanpercentile", "d", ["z, 0.25", "k, 0.25, axis=1", "k, 0.25, axis=0"]),
    ("cov corrcoef", FLOATS, ["m"]),
    ("cumsum", ALL, ["x", ROWS, COLUMNS]),
    ("cumprod", ORDERED, ["x", ROWS, COLUMNS]),
    ("cumulative_sum cumulative_prod", "d", ["x"]),
    ("nancumsum nancumprod", FLOATS, ["z", "k, axis=1", "k, axis=0"]),
    ("diff", ALL, ["x", ROWS, COLUMNS]),
    ("gradient", FLOATS, ["x", ROWS, COLUMNS]),
    ("trapezoid", FLOATS, ["x", ROWS, COLUMNS]),
    ("reduce", "di", ["xp.add, 0, x | add.reduce(x)"]),
    ("scan", "di", ["xp.add, 0, x | add.accumulate(x)"]),
)

ORDER = (
    ("sort", ORDERED, ["x", ROWS, COLUMNS]),
    ("argsort", ORDERED, ["x | argsort(x, kind='stable')",
                          "m, axis=1 | argsort(m, axis=1, kind='stable')",
                          "m, axis=0 | argsort(m, axis=0, kind='stable')"]),
    ("sort_by_key", "di", ["x, y | [x[k := {}.argsort(x, kind='stable')], y[k]]"]),
    ("searchsorted", "fdi", ["s, x"]),
    ("digitize", FLOATS, ["x, g"]),
    ("unique", ORDERED, ["x"]),
    ("unique_values unique_counts unique_inverse unique_all", "di", ["x"]),
    ("union1d intersect1d setdiff1d setxor1d isin", "di", ["x, y"]),
    ("nonzero flatnonzero argwhere", "dB", ["o"]),
    ("bincount", "i", ["j", "j, weights=y"]),
    ("histogram", "i", ["1000, j | bincount(j, minlength=1000)"]),
    ("filter", "di", ["lambda a: a > 5, x | {}.compress(x > 5, x)"]),
    ("partition", "d", ["lambda a: a > 5, x | [x[x > 5], x[~(x > 5)]]"]),
)  # fmt: skip

MOVES = (
    ("transpose", ALL, ["m"]),
    ("matrix_transpose", MOVED, ["m"]),
    ("permute_dims", MOVED, ["m, (1, 0)"]),
    ("swapaxes moveaxis", MOVED, ["m, 0, 1"]),
    ("flip", ALL, ["x", ROWS, COLUMNS]),
    ("fliplr flipud rot90", MOVED, ["m"]),
    ("reverse", MOVED, ["x | flip(x)"]),
    ("rotate", MOVED, ["x, 3 | roll(x, -3)"]),
    ("roll", MOVED, ["x, 3", "m, 3, axis=1", "m, 3, axis=0"]),
    ("reshape", MOVED, ["m, (-1,)"]),
    ("ravel", MOVED, ["m", "m.T"]),
    ("expand_dims", "d", ["m, axis=0"]),
    ("squeeze", "d", ["m3, axis=0"]),
    ("atleast_1d atleast_2d", "d", ["x"]),
    ("broadcast_to", MOVED, ["r, shape"]),
    ("broadcast", MOVED, ["r, shape | broadcast_to(r, shape)"]),
    ("broadcast_arrays", "d", ["m, r"]),
    ("concat", ALL, ["[x, y]", "[m, w], axis=1", "[m, w], axis=0"]),
    ("stack", ALL, ["[x, y]", "[x, y], axis=1"]),
    ("hstack vstack dstack", MOVED, ["[m, w]"]),
    ("block", MOVED, ["[[m, w], [w, m]]"]),
    ("column_stack", MOVED, ["[x, y]"]),
    ("append", MOVED, ["x, y"]),
    ("split", MOVED, ["x, 2", "m, 2, axis=1"]),
    ("unstack", MOVED, ["m10", "m10.T, axis=1"]),
    ("repeat", MOVED, ["x, 3", "x, t", "m, 2, axis=1"]),
    ("tile", MOVED, ["x, 3", "m, (2, 2)"]),
    ("pad", "fB", ["x, 2", "m, 2"]),
    ("take", ALL, ["x, i", "m, a, axis=1", "m, a, axis=0"]),
    ("take_along_axis", MOVED, ["m, b, axis=1", "m, b, axis=0"]),
    ("gather", MOVED, ["x, i | take(x, i)"]),
    ("getitem", MOVED, ["x, i | {}.take(x, i)", "x, p | x[p]", "x, slice(None, None, 2) | x[::2]",
                        "m, (slice(None), a) | m[:, a]"]),
    ("tril triu", MOVED, ["m"]),
    ("diag", "fB", ["r", "m"]),
    ("meshgrid", MOVED, ["r, r"]),
    ("array", MOVED, ["m"]),
    ("zeros ones empty", MOVED, ["n, dtype"]),
    ("full", MOVED, ["n, 3, dtype"]),
    ("zeros_like ones_like empty_like", MOVED, ["x"]),
    ("full_like", MOVED, ["x, 3"]),
    ("replicate", "d", ["n, 3.0 | full(n, 3.0)"]),
    ("iota", "d", ["n | arange(n)"]),
    ("arange", "fdi", ["0, n, 1, dtype"]),
    ("linspace", FLOATS, ["0.0, 1.0, n, dtype=dtype"]),
    ("logspace", "d", ["0.0, 1.0, n"]),
    ("eye tri", MOVED, ["rows, dtype=dtype"]),
    ("indices", "i", ["shape"]),
    ("generate", "d", ["shape, lambda i, j: i + j | fromfunction(lambda i, j: i + j, shape)"]),
)  # fmt: skip

PRODUCTS = (
    ("dot", COMPLEX, ["x, y", "m, r"]),
    ("matmul", "fdiD", ["m, w", "m, r"]),
    ("inner", COMPLEX, ["x, y", "m, w"]),
    ("vecdot", COMPLEX, ["m, w"]),
    ("tensordot", COMPLEX, ["m, w, axes=1"]),
    ("einsum", "fdi", ["'ij,j->i', m, r", "'ij,ij->j', m, w", "'ij->ji', m"]),
    ("kron outer", FLOATS, ["r, r"]),
    ("trace", FLOATS, ["m"]),
    ("polyfit", "d", ["x, y, 3"]),
    ("convolve", FLOATS, ["x, v"]),
    ("correlate", FLOATS, ["x, v"]),
    ("polyval", FLOATS, ["v, x"]),
    ("interp", "d", ["x, g, g"]),
    ("linalg.matmul linalg.vecdot", "d", ["m, w"]),
    ("linalg.tensordot", "d", ["m, w, axes=1"]),
    ("linalg.outer", FLOATS, ["r, r"]),
    ("linalg.cross", FLOATS, ["t3, t3"]),
    ("linalg.diagonal linalg.trace", MOVED, ["m"]),
    ("linalg.matrix_transpose", "d", ["m"]),
    ("linalg.vector_norm", COMPLEX, ["x", "m, axis=1", "m, axis=0"]),
    ("linalg.matrix_norm linalg.norm", COMPLEX, ["m"]),
    ("linalg.matrix_power", "fd", ["e, 3"]),
    ("linalg.inv linalg.det linalg.slogdet linalg.cholesky", COMPLEX, ["e", "e4"]),
    ("linalg.solve", COMPLEX, ["e, e", "e, r"]),
    ("linalg.lstsq", FLOATS, ["e4, e4"]),
    ("linalg.qr", FLOATS, ["e4"]),
    ("linalg.svd linalg.svdvals linalg.pinv linalg.matrix_rank", FLOATS, ["e4"]),
    ("linalg.eigh linalg.eigvalsh", FLOATS, ["e4"]),
    ("linalg.eig linalg.eigvals", "d", ["e4"]),
)

TRANSFORMS = (
    ("fft.fft fft.ifft", COMPLEX, ["x", "m, axis=1", "m, axis=0"]),
    ("fft.fftn fft.ifftn fft.fft2 fft.ifft2", "dD", ["m"]),
    ("fft.rfft", FLOATS, ["x", "m, axis=1", "m, axis=0"]),
    ("fft.irfft", "D", ["x", "m, axis=1", "m, axis=0"]),
    ("fft.rfftn", "d", ["m"]),
    ("fft.irfftn", "D", ["m"]),
    ("fft.hfft", "D", ["x"]),
    ("fft.ihfft", "d", ["x"]),
    ("fft.fftshift fft.ifftshift", "dD", ["x", "m"]),
    ("fft.fftfreq fft.rfftfreq", "d", ["n"]),
    ("random.uniform", FLOATS, ["key, n, dtype=dtype | rng.random(n, dtype)"]),
    ("random.normal", FLOATS, ["key, n, dtype=dtype | rng.standard_normal(n, dtype)"]),
    ("random.exponential", FLOATS, ["key, n, dtype=dtype | rng.standard_exponential(n, dtype)"]),
    ("random.integers", "i", ["key, 0, 100, n, dtype | rng.integers(0, 100, n, dtype)"]),
    ("random.poisson", "d", ["key, 3.0, n | rng.poisson(3.0, n)"]),
    ("random.permutation", "d", ["key, x | rng.permutation(x)"]),
    ("random.choice", "d", ["key, x, n | rng.choice(x, n)"]),
)

NOT_MEASURED = {  # functions that NumPy has as well, and why they are not in the table
    "can_cast": "takes dtypes and computes with no array",
    "isdtype": "takes dtypes and computes with no array",
    "result_type": "takes dtypes and computes with no array",
    "finfo": "takes a dtype and computes with no array",
    "iinfo": "takes a dtype and computes with no array",
    "broadcast_shapes": "takes shapes and computes with no array",
    "asarray": "shares the memory that it is given",
    "argpartition": "is argsort",
    "lexsort": "is argsort of a tuple",
    "from_dlpack": "shares the memory that it is given",
}

ONLY_SHAPES = (  # of these the values of both differ, and may
    "empty", "empty_like", "linalg.qr", "linalg.svd", "linalg.eig", "linalg.eigh",
    "unique_values",
)  # fmt: skip


class Call(NamedTuple):
    """One line of the page: a function, its arguments, NumPy's text for the same, and a dtype."""

    name: str
    ours: str
    theirs: str
    dtype: str

    @property
    def text(self) -> str:
        """What the page shows."""
        theirs = self.theirs.replace("xp.", "np.")
        return self.ours if self.theirs == f"xp.{self.ours}" else f"{self.ours} | {theirs}"

    @property
    def key(self) -> str:
        """What names it in the process that measures it."""
        return f"{self.text} {self.dtype}"


def call_of(name: str, arguments: str, dtype: str) -> Call:
    """A function's line for one dtype."""
    ours, _, theirs = arguments.partition(" | ")
    ours = f"{name}({ours})"
    if not theirs:
        theirs = f"xp.{ours}"
    elif "{}" in theirs or theirs.startswith(("rng.", "x[", "m[", "[")):
        theirs = theirs.replace("{}", "xp")
    else:
        theirs = f"xp.{theirs}"
    return Call(name, ours, theirs, dtype)


CALLS = tuple(
    call_of(name, arguments, dtype)
    for names, dtypes, calls in (
        *ELEMENTS, *REDUCTIONS, *ORDER, *MOVES, *PRODUCTS, *TRANSFORMS
    )
    for name in names.split()
    for arguments in calls
    for dtype in dtypes
)  # fmt: skip
