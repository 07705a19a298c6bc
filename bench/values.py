"""Results as flat lists of NumPy arrays, and whether two contenders agree."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.row import Row


def leaves(value: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays of a result, in order, a Ragged's offsets last; none of None."""
    if value is None:
        return []
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in leaves(part)]
    if isinstance(value, fw.Ragged):
        return leaves((value.values, value.offsets))
    return [np.asarray(value)]


def total_bytes(values: Any) -> int:
    """The bytes of arrays; scalars count nothing."""
    return sum(leaf.nbytes for leaf in leaves(list(values)) if leaf.ndim)


def compare(row: Row, name: str, ours: list[Any], theirs: list[Any]) -> None:
    """Refuse to time a contender that computes something else."""
    if not theirs:
        return
    ours, theirs = row.compared(ours), row.compared(theirs)
    if len(ours) != len(theirs):
        raise SystemExit(f"{row.name}: {name} gives {len(theirs)} arrays, flatweave {len(ours)}")
    for mine, other in zip(ours, theirs, strict=True):
        if mine.shape != other.shape:
            raise SystemExit(f"{row.name}: {name} gives {other.shape}, flatweave {mine.shape}")
        if not np.allclose(mine, other, rtol=row.tolerance, atol=row.tolerance):
            worst = int(np.argmax(np.abs(mine.astype("f8") - other.astype("f8"))))
            found = f"{mine.flat[worst]} and {other.flat[worst]} at {worst}"
            raise SystemExit(f"{row.name}: flatweave and {name} differ: {found}")
