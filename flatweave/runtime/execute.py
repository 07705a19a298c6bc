"""Running compiled programs: a context per call, kernels compiled when needed, traces."""

from __future__ import annotations

import ctypes
import functools
import itertools
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from flatweave.base.config import config
from flatweave.base.locks import Lock
from flatweave.base.plan import Status
from flatweave.base.recording import OPEN, Call, Launch, Share, watched
from flatweave.runtime.support import POOL, Code, buffer_pool, keep_for_ever, support

# The table through which a program finds its kernels; most are made when they are first launched.
#
#     table.words    the Python function `_make`, address of kernel 1, address of kernel 2, ..
#
# The program has the table's address in its context (support.ll). At a launch of a kernel that is
# not made, whose address is 0, `fw_launch_by_number` (launch.ll) calls `_make`, which makes the
# kernel's group; then the same run goes on. What is raised meanwhile ends the run as what a
# signal handler raises does: compiled code sees it as C does, so that an interrupt is lost
# nowhere.


CompiledGroup = Sequence[tuple[Code, str]]
"""For each kernel of a group machine code, and its symbol there."""


class KernelTable:
    """The kernels of one program, made group by group."""

    def __init__(
        self, groups: Sequence[Sequence[str]] = (),
        make: Callable[[Sequence[str]], CompiledGroup] | None = None,
    ) -> None:  # fmt: skip
        self.groups = tuple(groups)
        self.names = tuple(itertools.chain.from_iterable(self.groups))  # by their numbers, from 1
        self.words = (ctypes.c_int64 * (1 + len(self.names)))()
        self.address = ctypes.addressof(self.words)
        self._make = make
        self._lock = Lock()
        self.parts: dict[tuple[str, ...], CompiledGroup] = {}
        # what else is done with a group that has been made
        self.keep: Callable[[Sequence[str], CompiledGroup], None] = _forget
        if groups:
            self.words[0] = id(_make)
            _TABLES[self.address] = self

    @property
    def made(self) -> frozenset[str]:
        """The names of the kernels that there is code for."""
        return frozenset(name for number, name in enumerate(self.names, 1) if self.words[number])

    def make(self, number: int) -> None:
        """Make a kernel, and its group, unless somebody has."""
        with self._lock:
            if not self.words[number]:
                self._fill(number)

    def _fill(self, number: int) -> None:
        start = 1
        for group in self.groups:
            if number < start + len(group):
                break
            start += len(group)
        self.put(start, self.made_anew(group))

    def put(self, start: int, made: CompiledGroup) -> None:
        """The group of kernels from number `start` on; the group may be empty."""
        if not made:
            return
        group = self.names[start - 1 : start - 1 + len(made)]
        self.parts[group] = made
        for place, (code, symbol) in enumerate(made, start):
            self.words[place] = code.address(symbol)
        self.keep(group, made)

    def made_anew(self, group: Sequence[str]) -> CompiledGroup:
        """The machine code of a group, whether this table has it or not."""
        assert self._make is not None
        return self._make(group)


def _forget(group: Sequence[str], made: CompiledGroup) -> None:
    """Nothing else is done with it."""


def _make(table: int, number: int) -> None:
    """What compiled code calls."""
    _TABLES[table].make(number)


_TABLES: weakref.WeakValueDictionary[int, KernelTable] = weakref.WeakValueDictionary()
keep_for_ever(_make)


# The trace of a profiled call that compiled code writes: which kernels ran, where and when.
#
#     trail = begin(words, table, call)    the context of the call points to its memory
#     trail.end(words)                     what is in it belongs to the call (base/recording.py)
#
# Support code writes an event for each launch and for each thread's share of one (launch.ll): a
# clock is read twice for each, and nothing is added to kernels. A trail that is full is emptied
# before the next launch.


HEAD, EVENT = 8, 6  # words
ROOM = 8192  # events, and as many more as a launch may have
SLOT = 20  # of a context


class Trace:
    """Memory for the events of one call."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        most = ROOM + threads + 2  # a launch, and a share of it for each thread
        self.words = (ctypes.c_int64 * (HEAD + EVENT * most))()
        self.address = ctypes.addressof(self.words)
        self.words[1], self.words[2], self.words[3] = ROOM, most, id(_empty_trace)
        self._names: Sequence[str] = ()
        self.call: Call
        clock = ctypes.CFUNCTYPE(ctypes.c_int64)(support().address("fw_now"))
        before, now, after = time.perf_counter_ns(), clock(), time.perf_counter_ns()
        # on Linux both are the same clock
        self._ahead = 0 if before <= now <= after else (before + after) // 2 - now
        _TRAILS[self.address] = self

    def begin(self, words: Any, table: KernelTable, call: Call) -> None:
        """From now on the call with this context leaves its events here."""
        self._names, self.call = table.names, call
        words[SLOT] = self.address

    def end(self, words: Any) -> None:
        """The call is over."""
        words[SLOT] = 0
        self.empty()
        del self.call
        _FREE_TRACES.append(self)

    def empty(self) -> None:
        """Hand over what there is, and make room."""
        words = self.words
        if words[0]:
            stop = HEAD + EVENT * min(words[0], words[2])
            self.call.launches.append(Events(words[HEAD:stop], self._names, self._ahead))
        words[0] = 0


class Events:
    """Events of a trail, and what makes launches of them."""

    __slots__ = ("_ahead", "_names", "_words")

    def __init__(self, words: list[int], names: Sequence[str], ahead: int) -> None:
        self._words, self._names, self._ahead = words, names, ahead

    def wait(self) -> None:
        """They have ended."""

    def read(self) -> list[Launch]:
        """The launches."""
        return list(self._launches())

    def _launches(self) -> Iterator[Launch]:
        shares: list[Share] = []
        ahead, events = self._ahead, iter(self._words)
        for what, thread, begin, end, blocks, threads in zip(*[events] * EVENT, strict=True):
            begin, end = begin + ahead, max(begin, end) + ahead
            if not what:
                shares.append(Share(thread, begin, end, blocks))
                continue
            if not shares:  # its caller ran it alone
                shares.append(Share(thread, begin, end, blocks))
            name = self._names[what - 1]
            yield Launch(name, begin, end, blocks, min(threads, blocks), tuple(shares))
            shares.clear()


def begin_trace(words: Any, table: KernelTable, call: Call) -> Trace:
    """A trail for a call with this context."""
    threads = max(POOL.ready, config.threads or POOL.default)
    try:
        trail = _FREE_TRACES.pop()
    except IndexError:
        trail = Trace(threads)
    if trail.threads < threads:
        trail = Trace(threads)
    trail.begin(words, table, call)
    return trail


def _empty_trace(address: int, number: int) -> None:
    """What compiled code calls before it launches kernel `number`."""
    trail = _TRAILS[address]
    trail.empty()
    trail.call.report()


_FREE_TRACES: list[Trace] = []
_TRAILS: weakref.WeakValueDictionary[int, Trace] = weakref.WeakValueDictionary()
keep_for_ever(_empty_trace)


# Running compiled programs: a context per call, a status back, results without a copy.
#
#     program = NativeProgram(code, "entry")
#     status = program.run(slots)                       # i64 entry(ptr ctx, ptr slots)
#     array = adopt(address, (1000,), np.dtype("f4"))  # an escaped buffer, freed with its last view
#
# What compiled code owes the runtime:
# - it escapes results last, and only if slots 0 (error) and 8 (cancel) of its context are 0;
# - kernels that wait for other blocks look at slots 0 and 8 while they wait, or publish whatever
#   happens: after an error no further block is claimed, and a claimed block always runs.


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

    def __init__(self, code: Code, entry: str = "entry", table: KernelTable | None = None) -> None:
        self.code = code  # keeps the machine code alive
        self.table = table or KernelTable()
        self.entry = code.address(entry)
        self.peak_bytes = 0  # most bytes of buffers alive at once in the last call
        self._call = runner()

    def run(self, slots: Any, caller: Any = None) -> Status:
        """Call the program; `slots` is a ctypes array or an address.

        `caller(values, number)` calls a Python function of the program; its `calls` are words with
        its identity and the loops of NumPy that machine code calls instead, and its `context` is
        set to the address of the context of the run.
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
            words[CALLER], caller.context = ctypes.addressof(caller.calls), context.address
        call = watched() if OPEN else None
        trail = begin_trace(words, self.table, call) if call is not None else None
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
