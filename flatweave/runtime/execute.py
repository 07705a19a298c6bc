"""Running compiled programs: a context per call, a status back, results without a copy.

    program = NativeProgram(code, "entry")
    status = program.run(slots)                       # i64 entry(ptr ctx, ptr slots)
    array = adopt(address, (1000,), np.dtype("f4"))   # an escaped buffer, freed with its last view

What compiled code owes the runtime:
- it escapes results last, and only if slots 0 (error) and 8 (cancel) of its context are 0;
- kernels that wait for other blocks look at slots 0 and 8 while they wait, or publish whatever
  happens: after an error no further block is claimed, and a claimed block always runs.
"""

import ctypes
import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from flatweave.base.config import config
from flatweave.base.plan import Status
from flatweave.base.recording import OPEN, watched
from flatweave.runtime import trails
from flatweave.runtime.buffers import buffer_pool
from flatweave.runtime.later import Table
from flatweave.runtime.pool import POOL
from flatweave.runtime.support import Code, support

CONTEXT_SLOTS = 32
CANCELLED = 8
PEAK_BYTES = 10
RAISED = 13
TABLE = 17
CALLER = 21
HEADER_BYTES = 64  # before the data of a buffer; they begin with the number of its references
LONGEST = 2**46  # bytes; what an Owner says it has, only so that any array fits


OK = Status()


class Context:
    """The 32 words of one call in progress; reused by later calls."""

    __slots__ = ("address", "words")

    def __init__(self) -> None:
        self.words = (ctypes.c_int64 * CONTEXT_SLOTS)()
        self.address = ctypes.addressof(self.words)


class NativeProgram:
    """Compiled code with its entry point `i64 entry(ptr ctx, ptr slots)`."""

    __slots__ = ("_call", "code", "entry", "peak_bytes", "table")

    def __init__(self, code: Code, entry: str = "entry", table: Table | None = None) -> None:
        self.code = code  # keeps the machine code alive
        self.table = table or Table()
        self.entry = code.address(entry)
        self.peak_bytes = 0  # most bytes of buffers alive at once in the last call
        self._call = runner()

    def run(self, slots: Any, caller: Any = None) -> Status:
        """Call the program; `slots` is a ctypes array or an address.

        `caller(values, number)` calls a Python function of the program; its `context` is set to the
        address of the context of the run.
        """
        threads = config.threads or POOL.default
        if threads > POOL.ready:
            POOL.ensure(threads)
        try:
            context = _FREE.pop()
        except IndexError:
            context = Context()
        ident = threading.get_ident()
        poller = ident if ident == threading.main_thread().ident else 0
        words = context.words
        words[TABLE] = self.table.address
        if caller is not None:
            words[CALLER], caller.context = id(caller), context.address
        call = watched() if OPEN else None
        trail = trails.begin(words, self.table, call) if call is not None else None
        failed = self._call(context.address, self.entry, slots, threads, poller)
        self.peak_bytes = words[PEAK_BYTES]
        if call is not None and trail is not None:
            call.peak_bytes = max(call.peak_bytes, words[PEAK_BYTES])
            trail.end(words)
        try:
            return _status_of(words, failed) if failed else OK
        finally:
            _FREE.append(context)


def _status_of(words: Any, returned: int) -> Status:
    """The report in a context; a call that was cancelled raises what a signal handler raised, or
    the making of a kernel."""
    if words[RAISED]:
        _restore(words[RAISED], words[RAISED + 1], words[RAISED + 2])
    if words[CANCELLED]:
        raise KeyboardInterrupt
    return Status(words[0] or returned, *words[1:5])


@functools.cache
def runner() -> Callable[[int, int, Any, int, int], int]:
    """fw_run(ctx, entry, slots, threads, poller), with the allocator set up."""
    buffer_pool()
    pointer, word = ctypes.c_void_p, ctypes.c_int64
    prototype = ctypes.CFUNCTYPE(word, pointer, pointer, pointer, word, word)
    return prototype(support().address("fw_run"))


@functools.cache
def retainer() -> Callable[[int], None]:
    """fw_retain(data): take one more reference to a buffer."""
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(support().address("fw_retain"))


@functools.cache
def escaper() -> Callable[[int, int], None]:
    """fw_escape(ctx, data): the end of a call leaves a buffer alone, whatever happens."""
    pointer = ctypes.c_void_p
    return ctypes.CFUNCTYPE(None, pointer, pointer)(support().address("fw_escape"))


@functools.cache
def dropper() -> Callable[[int], None]:
    """fw_drop(data): give up one reference to an escaped buffer."""
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(support().address("fw_drop"))


class Owner(ctypes.c_char * LONGEST):  # type: ignore[misc]
    """One reference to an escaped buffer, given up when the last array on it dies."""

    # the defaults are still there when the interpreter has emptied this module
    def __del__(
        self,
        drop: Callable[[], Callable[[int], None]] = dropper,
        address_of: Callable[[Any], int] = ctypes.addressof,
    ) -> None:
        drop()(address_of(self))


def owners_of(data: int) -> int:
    """How many references there are to the escaped buffer with this data."""
    return ctypes.c_int64.from_address(data - HEADER_BYTES).value


_at = Owner.from_address


def adopt(
    address: int, shape: tuple[int, ...], dtype: np.dtype[Any], owner: int = 0
) -> np.ndarray[Any, Any]:
    """The array at `address` in an escaped buffer; the buffer is freed when its last view dies.

    `owner` is the data address of the buffer, when the array does not begin there.
    """
    if owner:
        return np.ndarray(shape, dtype, _at(owner), address - owner)
    return np.ndarray(shape, dtype, _at(address))


_FREE: list[Context] = []
_restore = ctypes.pythonapi.PyErr_Restore
_restore.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
_restore.restype = None
