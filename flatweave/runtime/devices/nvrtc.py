"""CUDA C to PTX or machine code by NVRTC, which needs no device and no driver.

    ptx(text)                the PTX for sm_90, as text
    cubin(text, "sm_80")     machine code, as bytes
    binary(text, "sm_130")   what a device takes: for one newer than the compiler, PTX
    resources(text)          the registers of each kernel
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flatweave.base.errors import CompilerBug, Unsupported
from flatweave.base.records import record

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
