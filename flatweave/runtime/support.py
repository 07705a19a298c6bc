"""The support code of this process: allocator, launches, workers; every other code calls it.

    support().address("fw_run")

There is one, since it holds the process's buffers and workers: mapped from the cache on disk if an
earlier process left it there, else made by the compiler (`native.py`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Protocol

from flatweave.base.forks import BUFFERS, wait_at_fork
from flatweave.base.locks import Lock
from flatweave.runtime.cache import process_cache
from flatweave.runtime.deep import Work, on_deep_stack
from flatweave.runtime.door import llvm
from flatweave.runtime.image import MappedCode, Unfit, from_bytes, image_from
from flatweave.runtime.systems.symbols import symbol_address


class Code(Protocol):
    """Machine code in memory, for as long as the object lives."""

    @property
    def stored_as(self) -> str:
        """The name of its object in the cache on disk; "" if there is none."""

    def address(self, symbol: str) -> int:
        """The address of a function or global; CompilerBug if there is none."""


# the one slot for what makes the support code, which is behind the door; native.py fills it
MAKER: list[Callable[[], Code]] = []
SYMBOLS = ("fw_lock_idle", "fw_unlock_idle", "fw_reset_pool")


def support() -> Code:
    """support.ll, compiled and loaded."""
    return _SUPPORT[0] if _SUPPORT else on_deep_stack(_support)


def begin_support() -> None:
    """Have it made, unless there is one: LLVM works while the rest of the compiler is imported."""
    if not _SUPPORT and not MAKER:
        llvm()
        Work(support)  # who needs it waits for it, or makes it again where this failed


def _support() -> Code:
    with _ONCE:
        if not _SUPPORT:
            if not MAKER:
                llvm()
            _take(MAKER[0]())
        return _SUPPORT[0]


def _take(code: Code) -> None:
    keep_for_ever(code)
    lock, unlock, reset = (ctypes.CFUNCTYPE(None)(code.address(name)) for name in SYMBOLS)
    wait_at_fork(BUFFERS, lock, unlock, reset)
    _SUPPORT.append(code)


def recall_support(key: str) -> bool:
    """Map the support code that was stored under a key, if there is none yet; whether there is."""
    with _ONCE:
        if not _SUPPORT:
            found = process_cache().get(key)
            if found is None:
                return False
            try:
                _take(MappedCode(image_from(from_bytes(found)), symbol_address))
            except Unfit:
                process_cache().drop(key)
        return bool(_SUPPORT)


def address_beside(symbol: str) -> int:
    """The address of what an image wants: a function of the support code, or of a library."""
    code = support()
    return code.address(symbol) if symbol.startswith("fw_") else symbol_address(symbol)


def keep_for_ever(thing: object) -> None:
    """Not even the end of the interpreter frees it: threads may still be inside its code."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


_SUPPORT: list[Code] = []
_ONCE = Lock()
