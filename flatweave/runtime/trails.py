"""What compiled code leaves behind of a call that is watched: which kernels ran, where and when.

    trail = begin(words, table, call)    the context of the call points to its memory
    trail.end(words)                     what is in it belongs to the call (base/recording.py)

Support code writes an event for each launch and for each thread's share of one (launch.ll): a clock
is read twice for each, and nothing is added to kernels. A trail that is full is emptied before the
next launch.
"""

from __future__ import annotations

import ctypes
import time
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from flatweave.base.config import config
from flatweave.base.recording import Call, Launch, Share
from flatweave.runtime.later import Table
from flatweave.runtime.pool import POOL
from flatweave.runtime.support import keep_for_ever, support

HEAD, EVENT = 8, 6  # words
ROOM = 8192  # events, and as many more as a launch may have
SLOT = 20  # of a context


class Trail:
    """Memory for the events of one call."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        most = ROOM + threads + 2  # a launch, and a share of it for each thread
        self.words = (ctypes.c_int64 * (HEAD + EVENT * most))()
        self.address = ctypes.addressof(self.words)
        self.words[1], self.words[2], self.words[3] = ROOM, most, id(_empty)
        self._names: Sequence[str] = ()
        self.call: Call
        clock = ctypes.CFUNCTYPE(ctypes.c_int64)(support().address("fw_now"))
        before, now, after = time.perf_counter_ns(), clock(), time.perf_counter_ns()
        # on Linux both are the same clock
        self._ahead = 0 if before <= now <= after else (before + after) // 2 - now
        _TRAILS[self.address] = self

    def begin(self, words: Any, table: Table, call: Call) -> None:
        """From now on the call with this context leaves its events here."""
        self._names, self.call = table.names, call
        words[SLOT] = self.address

    def end(self, words: Any) -> None:
        """The call is over."""
        words[SLOT] = 0
        self.empty()
        del self.call
        _FREE.append(self)

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


def begin(words: Any, table: Table, call: Call) -> Trail:
    """A trail for a call with this context."""
    threads = max(POOL.ready, config.threads or POOL.default)
    try:
        trail = _FREE.pop()
    except IndexError:
        trail = Trail(threads)
    if trail.threads < threads:
        trail = Trail(threads)
    trail.begin(words, table, call)
    return trail


def _empty(address: int, number: int) -> None:
    """What compiled code calls before it launches kernel `number`."""
    trail = _TRAILS[address]
    trail.empty()
    trail.call.tell()


_FREE: list[Trail] = []
_TRAILS: weakref.WeakValueDictionary[int, Trail] = weakref.WeakValueDictionary()
keep_for_ever(_empty)
