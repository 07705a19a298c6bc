"""Arrays in .npy files: rows are where the header says, and only they are read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError
from flatweave.base.records import record
from flatweave.cluster.sources.paths import opened, read_at, read_bytes
from flatweave.cluster.sources.stored import Opened
from flatweave.frontend.values.chunked import Values


@record(eq=True)
class Npy:
    """An array's numbers, row by row from some byte of a file on."""

    path: str
    dtype: Any
    row: tuple[int, ...]
    start: int

    def read(self, columns: Sequence[str], begin: int, end: int) -> list[Values]:
        """Rows of the array, in this machine's order of bytes."""
        dtype, size = np.dtype(self.dtype), math.prod(self.row)
        first, count = self.start + begin * size * dtype.itemsize, (end - begin) * size
        raw = read_bytes(self.path, first, count * dtype.itemsize)
        if raw.size != count * dtype.itemsize:
            raise ArgumentError(
                f"{self.path} ends before row {end - 1}, which it had when it was opened.",
                remedy="Open it again with fw.Chunked.open.",
            )
        native = raw.view(dtype).astype(dtype.newbyteorder("="), copy=False)
        return [native.reshape(end - begin, *self.row)] * len(columns)

    def picked(self, column: str, places: Values) -> Values:
        """Rows at some places, each read by itself; the system is told of all of them first."""
        dtype = np.dtype(self.dtype)
        size = math.prod(self.row) * dtype.itemsize
        raw = read_at(self.path, self.start + places * size, size)
        native: Values = raw.view(dtype).astype(dtype.newbyteorder("="), copy=False)
        return native.reshape(len(places), *self.row)


def opened_npy(name: str) -> Opened:
    """The array of a file, from its header."""
    with opened(name) as file:
        version = np.lib.format.read_magic(file)
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else (
            np.lib.format.read_array_header_2_0
        )  # fmt: skip
        shape, by_column, dtype = header(file)
        start = file.tell()
    if not shape or (by_column and len(shape) > 1):
        raise ArgumentError(
            f"{name} has no rows one after the other: {dtype}{list(shape)}"
            f"{', column by column' if shape else ''}.",
            remedy="Save np.ascontiguousarray(xs).",
        )
    return opened_rows(Npy(name, dtype, shape[1:], start), shape[0])


def opened_rows(file: Npy, rows: int) -> Opened:
    """So many rows of a file."""
    kind: Any = np.dtype(file.dtype).newbyteorder("=")
    return Opened(file, rows, {"": (kind, file.row)}, lambda each: [*range(each, rows, each), rows])
