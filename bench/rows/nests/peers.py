"""What peers of several nests share: a parallel loop of Numba over the rows of a Ragged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def rows_in_numba(numba: Any, one: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """The rows that `one` gives, each as long as it was: all cores, a row at a time."""
    row_of = numba.njit(fastmath=True)(one)

    @numba.njit(parallel=True)
    def loop(values, offsets):
        out = np.empty_like(values)
        for i in numba.prange(len(offsets) - 1):
            out[offsets[i] : offsets[i + 1]] = row_of(values[offsets[i] : offsets[i + 1]])
        return out, offsets

    return loop
