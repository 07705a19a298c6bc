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
fw.complex, fw.divmod, fw.filter, fw.map, fw.max, fw.min, fw.pow, fw.round, fw.sum.

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
    cluster/      arrays in chunks: in this process, or on the workers of a Dask cluster
    random/       fw.random: numbers from keys
    tables/       missing values, groups, joins, windows: on public names alone
    numpy_functions/ NumPy's functions that the standard lacks: on public names alone
    tuning/       fw.tune: which version of a nest is faster, measured
    profiler/     fw.profile: what ran, kernel by kernel
    torch.py, jax.py fw.torch, fw.jax: functions with gradients for other libraries
    notebook/     arrays and rows as a notebook shows them
    base/         the base of all of them: dtypes, errors, source locations, switches
"""

from math import e, inf, nan, pi

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
    CopyWarning,
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
from flatweave.base import VERSION as __version__
from flatweave.frontend.values.array import Array
from flatweave.frontend import ALIASES as _ALIASES, MODULES as _MODULES, public as _public
from flatweave.jit import Jitted, jit, target
from flatweave.runtime.lazy_import import opened as _opened

newaxis = None
# the dtypes by the names of NumPy and of the array API standard
int8, int16, int32, int64 = i8, i16, i32, i64
uint8, uint16, uint32, uint64 = u8, u16, u32, u64
float16, bfloat16, float32, float64 = f16, bf16, f32, f64
complex64, complex128 = c64, c128
bool = bool_

# public names that are builtins' names as well: reached as fw.map, not by a star import
BESIDE_BUILTINS = (
    "abs", "all", "any", "bool", "complex", "divmod", "filter", "map", "max", "min", "pow", "round",
    "sum",
)  # fmt: skip

_LIBRARIES = ("fft", "linalg", "random", "torch", "jax")
# what `from flatweave import *` brings: every public name that does not hide a builtin
__all__ = [  # noqa: PLE0604
    "ArgumentError", "Array", "CompilerBug", "CopyWarning", "DTypeError", "DeviceError",
    "EscapedArrayError",
    "ExtentOverflowError", "IndexOutOfBounds", "Jitted", "KernelError", "NegativeExtentError",
    "NestingError", "NotTraceableError", "OperatorError", "OutOfMemory", "ShapeError",
    "Unsupported", "UserError", "__version__", "bf16", "bfloat16", "bool_", "c128", "c64",
    "complex128", "complex64", "e", "f16", "f32", "f64", "fft", "float16", "float32", "float64",
    "i16", "i32", "i64", "i8", "inf", "int16", "int32", "int64", "int8", "jit", "linalg", "nan",
    "newaxis", "pi", "random", "target", "u16", "u32", "u64", "u8", "uint16", "uint32", "uint64",
    "uint8",
    *(name for name in (*_MODULES, *_ALIASES) if name not in BESIDE_BUILTINS and name[0] != "_"),
]  # fmt: skip


def __getattr__(name: str) -> object:
    """A public name whose module is imported when it is first asked for, which is nearly every."""
    if name in _LIBRARIES:
        return globals().setdefault(name, _opened(name))
    if name not in _MODULES and name not in _ALIASES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_meant(name)}")
    return globals().setdefault(name, _public(name))


def _meant(name: str) -> str:
    """What may be meant by a name that is not here: one of a module here."""
    spaces = [] if name.startswith("_") else ["linalg", "fft", "random"]
    found = next((space for space in spaces if hasattr(_opened(space), name)), None)
    return "" if found is None else f". Is fw.{found}.{name} meant?"


def __dir__() -> list[str]:
    """What users may call: `__all__`, and the names of builtins, such as `fw.map` and `fw.sum`."""
    return sorted([*__all__, *BESIDE_BUILTINS])
