"""The table through which a program finds its kernels; most are made when they are first launched.

    table.words    the Python function `_make`, address of kernel 1, address of kernel 2, ..

The program has the table's address in its context (support.ll). At a launch of a kernel that is not
made, whose address is 0, `fw_launch_by_number` (launch.ll) calls `_make`, which makes the kernel's
group; then the same run goes on. What is raised meanwhile ends the run as what a signal handler
raises does: compiled code sees it as C does, so that an interrupt is lost nowhere.
"""

from __future__ import annotations

import ctypes
import itertools
import weakref
from collections.abc import Callable, Sequence

from flatweave.base.locks import Lock
from flatweave.runtime.support import Code, keep_for_ever

Made = Sequence[tuple[Code, str]]
"""For each kernel of a group machine code, and its symbol there."""


class Table:
    """The kernels of one program, made group by group."""

    def __init__(
        self, groups: Sequence[Sequence[str]] = (),
        make: Callable[[Sequence[str]], Made] | None = None,
    ) -> None:  # fmt: skip
        self.groups = tuple(groups)
        self.names = tuple(itertools.chain.from_iterable(self.groups))  # by their numbers, from 1
        self.words = (ctypes.c_int64 * (1 + len(self.names)))()
        self.address = ctypes.addressof(self.words)
        self._make = make
        self._lock = Lock()
        self.parts: dict[tuple[str, ...], Made] = {}
        # what else is done with a group that has been made
        self.keep: Callable[[Sequence[str], Made], None] = _forget
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

    def put(self, start: int, made: Made) -> None:
        """The group of kernels from number `start` on; it may be that there is none."""
        if not made:
            return
        group = self.names[start - 1 : start - 1 + len(made)]
        self.parts[group] = made
        for place, (code, symbol) in enumerate(made, start):
            self.words[place] = code.address(symbol)
        self.keep(group, made)

    def made_anew(self, group: Sequence[str]) -> Made:
        """The machine code of a group, whether this table has it or not."""
        assert self._make is not None
        return self._make(group)


def _forget(group: Sequence[str], made: Made) -> None:
    """Nothing else is done with it."""


def _make(table: int, number: int) -> None:
    """What compiled code calls."""
    _TABLES[table].make(number)


_TABLES: weakref.WeakValueDictionary[int, Table] = weakref.WeakValueDictionary()
keep_for_ever(_make)
