"""Products of matrices on a GPU by cuBLAS, where it is installed.

    blas = Cublas(enter, stream, allocate)
    blas.is_there                               opens it
    blas.multiply(product, a, b, out)           out = a @ b, put into the stream

`cuda.pathfinder` finds the library: in wheels (`nvidia-cublas`, on which PyTorch and CuPy depend),
Conda, `CUDA_HOME`, the system. A handle has one stream and a private workspace, so each run takes
the same algorithm, whatever `CUBLAS_WORKSPACE_CONFIG` says. The math mode is the default: f32 is
not rounded to TF32. Source: cuBLAS, 2.1.4 Results Reproducibility.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable
from typing import Any

from flatweave.base.errors import DeviceError
from flatweave.base.records import record

WORKSPACE = 32 << 20
"""Bytes for which the library has all its algorithms on GPUs of sm_90; older ones need 4 MiB."""
NO_TRANSPOSE, TRANSPOSE, CONJUGATE_TRANSPOSE = 0, 1, 2
DEFAULT_MATH = 0
FALLBACKS = ("libcublas.so.13", "libcublas.so.12")
"""What the loader is asked for where `cuda.pathfinder` is missing or finds nothing."""
FUNCTIONS = {
    "f32": ("cublasSgemm_v2_64", ctypes.c_float, (1.0,)),
    "f64": ("cublasDgemm_v2_64", ctypes.c_double, (1.0,)),
    "c64": ("cublasCgemm_v2_64", ctypes.c_float, (1.0, 0.0)),
    "c128": ("cublasZgemm_v2_64", ctypes.c_double, (1.0, 0.0)),
}
"""The product of matrices of a dtype, what a part of a number is, and one as parts."""
POINTER, INT, LONG = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
SIGNATURES = {
    "cublasCreate_v2": (POINTER,),
    "cublasSetStream_v2": (POINTER, POINTER),
    "cublasSetWorkspace_v2": (POINTER, POINTER, ctypes.c_size_t),
    "cublasSetMathMode": (POINTER, INT),
    **{
        name: (
            POINTER, INT, INT, LONG, LONG, LONG, POINTER, POINTER, LONG, POINTER, LONG, POINTER,
            POINTER, LONG,
        )
        for name, *_ in FUNCTIONS.values()
    },
    **{
        name.replace("_v2", "StridedBatched"): (
            POINTER, INT, INT, LONG, LONG, LONG, POINTER, POINTER, LONG, LONG, POINTER, LONG, LONG,
            POINTER, POINTER, LONG, LONG, LONG,
        )
        for name, *_ in FUNCTIONS.values()
    },
}  # fmt: skip


@record(eq=True)
class Matrix:
    """A matrix in memory, row by row, or a stack of some; and how a product takes it."""

    extents: tuple[int, ...]
    turned: bool
    conjugated: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Its extents in the product."""
        *_, rows, columns = self.extents
        return (columns, rows) if self.turned else (rows, columns)

    @property
    def leading(self) -> int:
        """How far rows are from each other."""
        return max(1, self.extents[-1])

    @property
    def stride(self) -> int:
        """How far matrices are from each other; one for all is next to itself."""
        return math.prod(self.extents[-2:]) if len(self.extents) > 2 else 0

    @property
    def operation(self) -> int:
        """What the library does with it; what is not transposed is never conjugated."""
        if not self.turned:
            return NO_TRANSPOSE
        return CONJUGATE_TRANSPOSE if self.conjugated else TRANSPOSE


@record(eq=True)
class Product:
    """Two matrices of a dtype, which fit together, or `count` pairs of some."""

    dtype: str
    left: Matrix
    right: Matrix
    count: int = 1


class Cublas:
    """The library on a stream: a handle with a workspace, opened when somebody asks for it. `enter`
    makes the stream's context this thread's."""

    def __init__(
        self, enter: Callable[[], None], stream: int, allocate: Callable[[int], int]
    ) -> None:
        self._enter = enter
        self._stream = stream
        self._allocate = allocate

    @functools.cached_property
    def is_there(self) -> bool:
        """Whether it is installed, and works here."""
        self._library = _library()
        if self._library is None:
            return False
        self._enter()
        try:
            self._handle = self._opened(self._allocate(WORKSPACE))
        except (DeviceError, MemoryError):  # made for a newer driver, or there is too little memory
            return False
        self._numbers = {
            dtype: ((part * len(one))(*one), (part * len(one))())
            for dtype, (_, part, one) in FUNCTIONS.items()
        }
        return True

    def _opened(self, workspace: int) -> ctypes.c_void_p:
        library, handle = self._library, POINTER()
        _done(library.cublasCreate_v2(ctypes.addressof(handle)))
        _done(library.cublasSetStream_v2(handle, self._stream))  # which resets the workspace
        _done(library.cublasSetWorkspace_v2(handle, workspace, WORKSPACE))
        _done(library.cublasSetMathMode(handle, DEFAULT_MATH))
        return handle

    def multiply(self, product: Product, a: int, b: int, out: int) -> None:
        """Write a @ b to `out`, row by row, if the library is there. To it, whose matrices are
        stored column by column, all three are transposed: it computes b.T @ a.T."""
        left, right = product.left, product.right
        (m, k), (_, n) = left.shape, right.shape
        if not (m and n and product.count):
            return
        self._enter()
        one, zero = map(ctypes.addressof, self._numbers[product.dtype])
        first = self._handle, right.operation, left.operation, n, m, k, one
        name, *_ = FUNCTIONS[product.dtype]
        if product.count == 1:
            _done(getattr(self._library, name)(
                *first, b, right.leading, a, left.leading, zero, out, n
            ))  # fmt: skip
            return
        _done(getattr(self._library, name.replace("_v2", "StridedBatched"))(
            *first, b, right.leading, right.stride, a, left.leading, left.stride,
            zero, out, n, m * n, product.count,
        ))  # fmt: skip


@functools.cache
def _library() -> Any:
    """The library with its functions declared; None where it is not installed, or too old."""
    for name in _names():
        try:
            return declared(ctypes.CDLL(name))
        except (OSError, AttributeError):
            continue
    return None


def declared(library: Any) -> Any:
    """A library whose functions know what they take; AttributeError where it lacks one."""
    for name, takes in SIGNATURES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = takes, INT
    return library


def _names() -> list[str]:
    """What to load, the first that is there."""
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib  # optional dependency

        return [load_nvidia_dynamic_lib("cublas").abs_path or "", *FALLBACKS]
    except (ImportError, RuntimeError):  # not installed, or found nothing
        return list(FALLBACKS)


def _done(status: int) -> None:
    """Raise DeviceError for what the library gives instead of success."""
    if status:
        raise DeviceError(
            f"cuBLAS failed: its status is {status}.",
            remedy='Compute products by our own kernels: FLATWEAVE_SCHEDULE=product=kernels.',
        )
