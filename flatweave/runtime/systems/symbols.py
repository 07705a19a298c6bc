"""Addresses of functions that machine code calls: Python's, the C library's, its math libraries'.

Where a process is one space of names, as on Linux and macOS, most are found in the process itself.
Windows has a space for each library, which `systems/table.py` names.
"""

from __future__ import annotations

import ctypes
import functools

from flatweave.runtime.systems.table import system


class Missing(LookupError):
    """No library has a function of this name."""


def symbol_address(symbol: str) -> int:
    """The address of a function."""
    found = _address_in(ctypes.pythonapi, symbol)
    for name in system().libraries:
        found = found or _address_in(library(name), symbol)
    if not found:
        raise Missing(f"no library has {symbol}")
    return found


def _address_in(found: ctypes.CDLL | None, symbol: str) -> int:
    try:
        return 0 if found is None else ctypes.cast(found[symbol], ctypes.c_void_p).value or 0
    except AttributeError:
        return 0


@functools.cache
def library(name: str) -> ctypes.CDLL | None:
    """A shared library, whose functions whoever looks in the process finds from now on; None if
    there is no such library."""
    try:
        return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None
