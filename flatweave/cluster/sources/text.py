"""Bytes of files. Of text, pieces end where lines end, as far as lines are shorter than they are; a
file whose last line does not end gets the end of it, so that it is not joined with the next file's
first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flatweave.base.errors import ArgumentError
from flatweave.base.records import record
from flatweave.cluster.sources.paths import opened, read_bytes
from flatweave.cluster.sources.stored import Opened
from flatweave.frontend.values.chunked import Values

NEWLINE = b"\n"
BLOCK = 1 << 16
"""Bytes that are read at once to find the end of a line."""


@record(eq=True)
class Bytes:
    """So many bytes of a file; what is beyond them is an end of line."""

    path: str
    size: int

    def read(self, columns: Sequence[str], begin: int, end: int) -> list[Values]:
        """Some bytes."""
        last = min(end, self.size)
        found = read_bytes(self.path, begin, last - begin)
        if len(found) != last - begin:
            raise ArgumentError(
                f"{self.path} ends before byte {last - 1}, which it had when it was opened.",
                remedy="Open it again with fw.Chunked.open.",
            )
        if end > last:
            found = np.concatenate([found, np.frombuffer(NEWLINE, np.uint8)])
        return [found] * len(columns)


def opened_bytes(name: str) -> Opened:
    """The bytes of a file, cut anywhere."""
    size = _size(name)
    return _opened(name, size, size, lambda rows: [*range(rows, size, rows), size])


def opened_text(name: str) -> Opened:
    """The bytes of a text."""
    size = _size(name)
    with opened(name) as file:
        file.seek(max(size - 1, 0))
        whole = size == 0 or file.read(1) == NEWLINE
    rows = size if whole else size + 1
    return _opened(name, size, rows, lambda each: _line_ends(name, each, rows))


def _opened(name: str, size: int, rows: int, ends: object) -> Opened:
    return Opened(Bytes(name, size), rows, {"": (np.dtype(np.uint8), ())}, ends)  # type: ignore[arg-type]


def _size(name: str) -> int:
    with opened(name) as file:
        return int(file.seek(0, 2))


def _line_ends(name: str, each: int, size: int) -> list[int]:
    """The first end of a line behind every multiple of so many bytes."""
    found: list[int] = []
    with opened(name) as file:
        at = each
        while at < size:
            file.seek(at - 1)
            end = _next_line(file, at - 1)
            if end is None:
                break
            found.append(end)
            at = max(at + each, end + each)
    return [*(end for end in found if end < size), size]


def _next_line(file: object, at: int) -> int | None:
    """The place behind the next end of a line."""
    while block := file.read(BLOCK):  # type: ignore[attr-defined]
        k = block.find(NEWLINE)
        if k >= 0:
            return at + int(k) + 1
        at += len(block)
    return None
