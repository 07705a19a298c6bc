"""Zarr arrays, and groups of them: Zarr's chunks are read whole, so pieces end where they do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import native
from flatweave.base.errors import ArgumentError
from flatweave.base.records import record
from flatweave.cluster.sources.paths import missing
from flatweave.cluster.sources.stored import Opened
from flatweave.frontend.values.chunked import Values


@record(eq=True)
class Zarr:
    """An array, or a group whose arrays are columns."""

    path: str

    def read(self, columns: Sequence[str], begin: int, end: int) -> list[Values]:
        """Rows of some columns."""
        root = library(self.path).open(self.path, mode="r")
        arrays = [root[name] if name else root for name in columns]
        return [np.ascontiguousarray(each[begin:end]) for each in arrays]


def opened_zarr(name: str) -> Opened:
    """The array, or the arrays of one length that are in a group."""
    root = library(name).open(name, mode="r")
    arrays = {"": root} if hasattr(root, "shape") else dict(root.arrays())
    columns = {
        key: (native(each.dtype), tuple(each.shape[1:]))
        for key, each in arrays.items() if each.shape
    }  # fmt: skip
    lengths = {arrays[key].shape[0] for key in columns}
    if len(lengths) != 1:
        raise ArgumentError(
            f"{name} has no arrays of one length: {sorted(lengths) or 'none'}.",
            remedy="Open one array of it, by its own path.",
        )
    (rows,) = lengths
    step = max(_step(arrays[key]) for key in columns)

    def ends(each: int) -> list[int]:
        size = max(each // step, 1) * step
        return [*range(size, rows, size), rows]

    return Opened(Zarr(name), rows, columns, ends)


def _step(array: Any) -> int:
    """The rows that are stored together."""
    return int((getattr(array, "shards", None) or array.chunks)[0])


def library(path: str) -> Any:
    """Zarr; raises Unsupported where it is not."""
    try:
        import zarr  # optional dependency
    except ImportError as failure:
        raise missing(path, "zarr", failure) from None
    return zarr
