"""LLVM's two long calls, which several threads make side by side, and the forks that wait for them.

    simplify(passes, function, builder)
    found = emit_object(machine, module)

llvmlite holds one lock around every call of LLVM. These two need none: the context, the module and
the machine are those of one thread. All else stays under the lock.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding

LOOK_SECONDS = 0.001  # between two looks whether threads are still inside


def simplify(passes: Any, function: Any, builder: Any) -> None:
    """Run the passes of a manager on a function of a module."""
    with _inside():
        _RUN_PASSES(passes, function, builder)


def emit_object(machine: Any, module: Any) -> bytes:
    """The object file of a module."""
    lib = binding.ffi.lib
    with binding.ffi.OutputString() as problem:
        with _inside():
            buffer = _EMIT(machine, module, 1, problem)
        if not buffer:
            raise RuntimeError(str(problem))
    try:
        start, size = lib.LLVMPY_GetBufferStart(buffer), lib.LLVMPY_GetBufferSize(buffer)
        return ctypes.string_at(start, size)
    finally:
        lib.LLVMPY_DisposeMemoryBuffer(buffer)


@contextmanager
def _inside() -> Iterator[None]:
    call = (threading.get_ident(), object())
    try:
        with binding.ffi.lib._lock:  # not while a fork is under way, which holds it
            _INSIDE.add(call)
        yield
    finally:
        _INSIDE.discard(call)


def _without_lock(function: Any) -> Any:
    """What llvmlite calls under its lock."""
    return getattr(function, "_cfn", function)


def wait_until_outside() -> None:
    """Wait until no other thread is inside; whoever has LLVM's lock keeps more from coming."""
    thread = threading.get_ident()
    while any(other != thread for other, _ in tuple(_INSIDE)):
        time.sleep(LOOK_SECONDS)


_INSIDE: set[tuple[int, object]] = set()
"""The calls under way, each with its thread."""
_RUN_PASSES = _without_lock(binding.ffi.lib.LLVMPY_RunNewFunctionPassManager)
_EMIT = _without_lock(binding.ffi.lib.LLVMPY_TargetMachineEmitToMemory)
