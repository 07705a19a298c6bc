"""Derivatives of formulas in NumPy, to compare with: by complex steps, which are exact.

    f(x + i h) = f(x) + i h f'(x) - h^2 f''(x) / 2 - ..      so f' is the imaginary part over h

Nothing is subtracted, so h may be as small as 1e-30 (Squire and Trapp 1998).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

STEP = 1e-30


def by_complex_steps(f: Callable[..., Any], *xs: np.ndarray) -> tuple[Any, list[np.ndarray]]:
    """The value, and for each argument what a change of each of its numbers makes of it."""
    value = np.asarray(f(*map(np.asarray, xs)))
    found = []
    for k, x in enumerate(xs):
        slopes = np.empty(value.shape + x.shape)
        for at in np.ndindex(x.shape):
            moved = [np.array(each, complex) for each in xs]
            moved[k][at] += STEP * 1j
            slopes[(..., *at)] = np.asarray(f(*moved)).imag / STEP
        found.append(slopes)
    return value, found

