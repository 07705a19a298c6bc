"""Results within a bound on memory: those beyond it go to files, which go when nobody has them."""

from __future__ import annotations

import math
import os
import tempfile
import weakref
from concurrent.futures import Future
from threading import Thread
from typing import Any

import numpy as np

from flatweave.cluster.sinks.disks import told_if_full
from flatweave.cluster.sinks.disks import written as put
from flatweave.cluster.sources.npy import Npy
from flatweave.cluster.sources.stored import Region, Stored
from flatweave.frontend.values.chunked import Held, Piece

Values = np.ndarray[Any, np.dtype[Any]]


SMALL = 1 << 8
"""Bytes that are never worth a file."""
REMEDY = (
    "Say where there is more, fw.on(folder=..), or let more stay in memory, fw.on(memory=..)."
    " Results that nobody has any more take no room."
)


class Spilled(Stored):
    """Rows in a file of our own, which is removed with the last one who knows of them."""

    def __init__(self, path: str, values: Values, written: Future[None], home: Any) -> None:
        file = Npy(path, values.dtype, values.shape[1:], 0)
        super().__init__([Region(file, 0, len(values))])
        self._written = written
        self._home = home  # the folder, which is there as long as somebody has it
        self._shape = values.shape
        weakref.finalize(self, _remove, path, written)

    def within(self, begin: int, end: int) -> list[Region]:
        """The regions of some of them, which have been written then."""
        self._written.result()
        return super().within(begin, end)

    def mapped(self) -> Values:
        """All of them, of which only those come into memory that are looked at."""
        (region,) = self.within(0, self.rows)
        file: Any = region.file
        if not math.prod(self._shape):
            return np.empty(self._shape, file.dtype)
        return np.memmap(file.path, file.dtype, "r", shape=self._shape)

    def __reduce__(self) -> tuple[Any, ...]:
        self._written.result()
        return Stored, (self.regions, self.column)


class Store:
    """Keeps results: up to `most` bytes in memory, the others in a folder. One of up to `behind`
    bytes is still being written while its successors are computed."""

    def __init__(self, most: int, folder: str | None = None, behind: int = 0) -> None:
        self.most = most
        self.held = 0
        self._behind = behind
        self._folder = folder
        self._own: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0
        self._last: Future[None] | None = None

    def keep(self, values: Values) -> Piece:
        """A result as a piece."""
        if self.held + values.nbytes <= self.most or values.nbytes <= SMALL:
            piece = Held(values)
            self.held += values.nbytes
            weakref.finalize(piece, self._freed, values.nbytes)
            return piece
        path = os.path.join(self._place(), str(self._count))
        self._count += 1
        self.settle()
        written = self._last = _writing(path, values)
        if values.nbytes > self._behind:
            self.settle()
        return Spilled(path, values, written, self._own)

    def settle(self) -> None:
        """Wait for what is being written; raises what went wrong."""
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def _freed(self, count: int) -> None:
        self.held -= count

    def _place(self) -> str:
        """The folder for results; pieces in it may outlive this store."""
        if self._own is None:
            self._own = tempfile.TemporaryDirectory(
                prefix="flatweave-", dir=self._folder, ignore_cleanup_errors=True
            )
        return self._own.name


def _writing(path: str, values: Values) -> Future[None]:
    """A file that a thread of its own writes."""
    written = Future[None]()

    def write() -> None:
        try:
            with told_if_full(path, values.nbytes, REMEDY), open(path, "wb") as file:
                put(file, values)
            written.set_result(None)
        except BaseException as failure:
            written.set_exception(failure)

    Thread(target=write, name="flatweave-writer").start()
    return written


def _remove(path: str, written: Future[None]) -> None:
    written.exception()  # waits for whoever writes it
    if os.path.exists(path):
        os.unlink(path)
