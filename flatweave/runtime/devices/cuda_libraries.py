"""NVIDIA's libraries, where installed: NVRTC compiles CUDA C, cuBLAS multiplies matrices."""

from __future__ import annotations

import ctypes
import functools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flatweave.base.errors import CompilerBug, DeviceError, Unsupported
from flatweave.base.records import record

# -- nvrtc ----------------------------------------------------------------------------------------
#
# CUDA C to PTX or machine code by NVRTC, which needs no device and no driver.
#
#     ptx(text)                the PTX for sm_90, as text
#     cubin(text, "sm_80")     machine code, as bytes
#     binary(text, "sm_130")   what a device takes: for one newer than the compiler, PTX
#     resources(text)          the registers of each kernel


ARCHITECTURE = "sm_90"
_OPTIONS = ("--fmad=false", "--std=c++17")  # a product and a sum are rounded as on every target


def ptx(text: str, architecture: str = ARCHITECTURE) -> str:
    """The PTX of a CUDA C text."""
    compute = architecture.replace("sm_", "compute_")
    return _compiled(text, compute, "PTX").decode().rstrip("\0")


def cubin(text: str, architecture: str = ARCHITECTURE) -> bytes:
    """The machine code of a CUDA C text."""
    return _compiled(text, architecture, "CUBIN")


def binary(text: str, architecture: str) -> bytes:
    """What a device of this architecture loads: machine code, or PTX for the newest one that the
    compiler knows, which the device's own driver compiles."""
    known = sorted(_call(_library().nvrtcGetSupportedArchs()))
    number = int(architecture.removeprefix("sm_"))
    if number in known or number < known[0]:
        return cubin(text, architecture)
    nearest = max(each for each in known if each < number)
    return ptx(text, f"sm_{nearest}").encode() + b"\0"


@record(eq=True)
class Resources:
    """What a kernel takes of a multiprocessor: registers of 32 bits for each thread, and bytes that
    it moves to memory and back for want of them."""

    registers: int
    spilled: int


def resources(text: str, architecture: str = ARCHITECTURE) -> dict[str, Resources]:
    """What each kernel of a CUDA C text takes, as the assembler says."""
    options = (*_OPTIONS, "--ptxas-options=--verbose")
    with _program(text, architecture, options) as program:
        log = _bytes_of(_library(), program, "ProgramLog").decode().rstrip("\0")
    return {
        name: Resources(int(registers), int(stores) + int(loads))
        for name, stores, loads, registers in _SAID.findall(log)
    }


_SAID = re.compile(
    r"Compiling entry function '(\w+)' .*?(\d+) bytes spill stores, (\d+) bytes spill loads"
    r".*?Used (\d+) registers", re.DOTALL,
)  # fmt: skip


def version() -> str:
    """The compiler's version."""
    return ".".join(str(part) for part in _library().nvrtcVersion()[1:])


@functools.cache
def _library() -> Any:
    """The compiler's library, if it is installed."""
    try:
        from cuda.bindings import nvrtc  # optional dependency
    except ImportError as error:
        raise Unsupported(
            f"CUDA C cannot be compiled here: {error}.",
            remedy="Install the compiler with pip install flatweave[cuda].",
        ) from None
    return nvrtc


def _compiled(text: str, architecture: str, form: str) -> bytes:
    """The program in one form."""
    with _program(text, architecture, _OPTIONS) as program:
        return _bytes_of(_library(), program, form)


@contextmanager
def _program(text: str, architecture: str, wished: Sequence[str]) -> Iterator[Any]:
    """A program, compiled; what the compiler says against it is an error of ours."""
    nvrtc = _library()
    program = _call(nvrtc.nvrtcCreateProgram(text.encode(), b"flatweave.cu", 0, [], []))
    options = [option.encode() for option in (f"--gpu-architecture={architecture}", *wished)]
    failed = nvrtc.nvrtcCompileProgram(program, len(options), options)[0]
    try:
        if int(failed):
            log = _bytes_of(nvrtc, program, "ProgramLog").decode().rstrip("\0")
            raise CompilerBug(f"NVRTC refuses what codegen/cuda.py wrote:\n{log}", program=text)
        yield program
    finally:
        nvrtc.nvrtcDestroyProgram(program)


def _bytes_of(nvrtc: Any, program: Any, form: str) -> bytes:
    size = _call(getattr(nvrtc, f"nvrtcGet{form}Size")(program))
    into = bytearray(size)
    _call(getattr(nvrtc, f"nvrtcGet{form}")(program, into))
    return bytes(into)


def _call(returned: tuple[Any, ...]) -> Any:
    """The value of a call that must succeed."""
    if int(returned[0]):
        raise CompilerBug(f"NVRTC failed: {returned[0]}")
    return returned[1] if len(returned) > 1 else None


# -- cublas ---------------------------------------------------------------------------------------
#
# Products of matrices on a GPU by cuBLAS, where it is installed.
#
#     blas = Cublas(enter, stream, allocate)
#     blas.is_there                               opens it
#     blas.multiply(product, a, b, out)           out = a @ b, put into the stream
#
# `cuda.pathfinder` finds the library: in wheels (`nvidia-cublas`, on which PyTorch and CuPy
# depend), Conda, `CUDA_HOME`, the system. A handle has one stream and a private workspace, so each
# run takes the same algorithm, whatever `CUBLAS_WORKSPACE_CONFIG` says. The math mode is the
# default: f32 is not rounded to TF32. Source: cuBLAS, 2.1.4 Results Reproducibility.


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
        self._library = _cublas()
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
def _cublas() -> Any:
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
