"""An .npy file, of which every process writes its rows where they belong; bytes have no header."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError
from flatweave.base.records import record
from flatweave.cluster.sinks.disks import removed, written
from flatweave.cluster.sinks.sink import Columns
from flatweave.frontend.values.chunked import Values


@record
class NpyFile:
    """Rows from some byte of a file on; it has its name when it is complete."""

    path: str
    ends: Sequence[int]
    start: int
    width: int

    def write(self, number: int, begin: int, *columns: Values) -> None:
        """Some rows."""
        with open(partial(self.path), "r+b") as file:
            file.seek(self.start + begin * self.width)
            written(file, columns[0])

    def finish(self) -> None:
        """It replaces what had this name."""
        os.replace(partial(self.path), self.path)

    def abandon(self) -> None:
        """What has this name stays."""
        removed([partial(self.path)])


def npy_file(path: str, columns: Columns) -> NpyFile:
    """A file with its header, and nothing in it yet."""
    dtype, row = _only(path, columns)

    def header() -> bytes:
        file = io.BytesIO()
        facts = np.lib.format.header_data_from_array_1_0(np.empty((0, *row), dtype))
        facts["shape"] = (columns.rows, *row)
        np.lib.format.write_array_header_1_0(file, facts)
        return file.getvalue()

    return _begun(path, columns, math.prod(row) * dtype.itemsize, header())


def bytes_file(path: str, columns: Columns) -> NpyFile:
    """A file of nothing but the elements."""
    dtype, row = _only(path, columns)
    return _begun(path, columns, math.prod(row) * dtype.itemsize, b"")


def partial(path: str) -> str:
    """The name of a file that is not complete."""
    return f"{path}.partial"


def _begun(path: str, columns: Columns, width: int, header: bytes) -> NpyFile:
    made = NpyFile(path, columns.ends, len(header), width)
    try:
        with open(partial(path), "wb") as file:
            file.write(header)
            file.truncate(len(header) + columns.rows * width)
    except OSError:
        made.abandon()
        raise
    return made


def _only(path: str, columns: Columns) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """The one array of which the file consists."""
    if len(columns.kinds) != 1 or "://" in path:
        reason = "on a disk, where every process writes its part" if "://" in path else "one array"
        raise ArgumentError(
            f"{path} is {reason}.", remedy="Save it as Parquet or Zarr: a name that ends so."
        )
    ((dtype, row),) = columns.kinds.values()
    return dtype, row
