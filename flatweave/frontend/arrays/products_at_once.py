"""Products of arrays that are here, outside of traces: calls of NumPy's.

    @operation(host=by_numpy(np.matmul, of_stacks))     few sums of many products are a program's
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from flatweave.base.config import config
from flatweave.base.host_functions import Values
from flatweave.base.library_products import FEW, FEW_RESULTS, LONG
from flatweave.frontend.values.array import HostArray, HostComplex, host_array

ARRAYS = (np.ndarray, HostArray, HostComplex)


Sizes = Callable[..., tuple[int, int, int, int]]
"""How many products, and the rows, columns and steps of each."""


def of_stacks(a: Values, b: Values) -> tuple[int, int, int, int]:
    """The sizes of products of matrices and vectors, one by one."""
    rows = a.shape[-2] if a.ndim > 1 else 1
    columns = b.shape[-1] if b.ndim > 1 else 1
    count = max(math.prod(a.shape[:-2]), math.prod(b.shape[:-2]))
    return count, rows, columns, a.shape[-1]


def of_tensors(a: Values, b: Values, axes: Any = 1) -> tuple[int, int, int, int]:
    """The sizes of one product, along the last axes or along named ones."""
    along = range(a.ndim - axes, a.ndim) if isinstance(axes, int) else np.ravel(axes[0])
    steps = math.prod(a.shape[axis] for axis in along)
    return 1, a.size // max(steps, 1), b.size // max(steps, 1), steps


def by_numpy(compute: Callable[..., Any], sizes: Sizes) -> Callable[..., Any]:
    """The short cut of a product, for floats and complex numbers of sizes at which NumPy's is the
    faster one; what it refuses goes the way of traced arrays, which tell what is wrong."""

    def host(x: Any, y: Any, /, **options: Any) -> Any:
        is_here = type(x) in ARRAYS and type(y) in ARRAYS and config.target == "cpu"
        if not is_here or config.schedule.product == "kernels":
            return NotImplemented
        a, b = np.asarray(x), np.asarray(y)
        if a.dtype.char not in "fdFD" or b.dtype.char not in "fdFD" or not a.ndim or not b.ndim:
            return NotImplemented
        try:
            if not _is_numpys(a.dtype.kind == "c", *sizes(a, b, **options)):
                return NotImplemented
            with np.errstate(all="ignore"):
                return host_array(np.asarray(compute(a, b, **options), order="C"))
        except (TypeError, ValueError, IndexError):
            return NotImplemented

    return host


def _is_numpys(is_complex: bool, count: int, rows: int, columns: int, steps: int) -> bool:
    """Whether NumPy takes less time than a program for `count` products of these sizes."""
    few = count == 1 and rows * columns <= FEW_RESULTS and steps >= LONG
    return is_complex or not few or rows * columns * steps <= FEW
