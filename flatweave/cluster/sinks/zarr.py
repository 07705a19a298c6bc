"""Zarr: an array, or a group of them; processes write whole chunks of Zarr, so none is shared."""

from __future__ import annotations

import math
import shutil
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from flatweave.base.records import record
from flatweave.cluster.sinks.sink import Columns
from flatweave.cluster.sources.paths import filesystem
from flatweave.cluster.sources.zarr import library
from flatweave.frontend.values.chunked import Values

CHUNK_BYTES = 16 << 20
"""A chunk of Zarr: what whoever reads a few rows must read."""


@record
class ZarrArrays:
    """An array, or one for each name."""

    path: str
    ends: Sequence[int]
    names: tuple[str, ...]

    def write(self, number: int, begin: int, *columns: Values) -> None:
        """Rows that are whole chunks of Zarr."""
        root: Any = library(self.path).open(self.path, mode="r+")
        for name, values in zip(self.names, columns, strict=True):
            array = root[name] if name else root
            array[begin : begin + len(values)] = values

    def finish(self) -> None:
        """Every chunk is complete."""

    def abandon(self) -> None:
        """The whole folder, which was empty."""
        if "://" in self.path:
            filesystem(self.path).rm(self.path, recursive=True)
        else:
            shutil.rmtree(self.path, ignore_errors=True)


def zarr_arrays(path: str, columns: Columns) -> ZarrArrays:
    """Arrays without elements yet."""
    zarr = library(path)
    width = max(dtype.itemsize * math.prod(row) for dtype, row in columns.kinds.values())
    longest = max((b - a for a, b in pairwise([0, *columns.ends])), default=1)
    step = max(min(longest, CHUNK_BYTES // max(width, 1)), 1)
    each = max(longest // step, 1) * step
    if tuple(columns.kinds) != ("",):
        zarr.open_group(path, mode="w")
    for name, (dtype, row) in columns.kinds.items():
        shape, chunks = (columns.rows, *row), (step, *(max(extent, 1) for extent in row))
        where = f"{path.rstrip('/')}/{name}" if name else path
        zarr.open_array(where, mode="w", shape=shape, chunks=chunks, dtype=dtype)
    ends = [*range(each, columns.rows, each), columns.rows] if columns.rows else []
    return ZarrArrays(path, ends, tuple(columns.kinds))
