"""Differences from NumPy that are meant, each with its reason and where the docs say so.

A difference is explained by what is said of it and by the call; any other is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.surface.calls import Call, numbers

NUMPY = "docs/from/numpy.md"
LANGUAGE = "docs/language.md"


class Reason(NamedTuple):
    """Why a difference is meant: what is said of it, of which calls, and the words of a page."""

    said: str  # a regular expression
    why: str
    page: str
    words: str  # that are on the page
    names: str = ""  # a regular expression; empty: of every function
    when: Callable[[Call], bool] = lambda call: True


def arrays_of(call: Call) -> list[np.ndarray]:
    """The numbers among the arguments."""
    return numbers((call.args, call.named), call.arrays)


def has(kinds: str) -> Callable[[Call], bool]:
    """Whether an argument has a dtype of one of these kinds."""
    return lambda call: any(x.dtype.kind in kinds for x in arrays_of(call))


def not_finite(call: Call) -> bool:
    """Whether a number among the arguments is NaN or infinite, or so great that a product is."""
    return any(x.dtype.kind in "fc" and not np.isfinite(x).all() for x in arrays_of(call))


def is_traced(call: Call) -> bool:
    """Whether the call is compiled."""
    return call.way.startswith("jit")


EXPLAINED = (
    Reason("is a tuple, where one array is needed|got a tuple, where one|got \\(.*\\)[. ]",
           "a tuple is a structure", NUMPY, "A tuple is a structure",
           when=lambda call: has_tuple(call.args) or has_tuple(list(call.named.values()))),
    Reason("Unsupported: .* of complex numbers", "complex numbers have no order", LANGUAGE,
           "What has no order", "less|greater|max|min|sort|clip|ptp|median|quantile|percentile|"
           "searchsorted|digitize|unique|1d|isin|sign"),
    Reason("dtype float32 instead of float16|dtype float32 instead of float16",
           "floats of 16 bits are stored, not computed with", NUMPY, "never computes in `float16`",
           when=lambda call: not call.row.moves),
    Reason("instead of TypeError: array type float16", "they are read as f32", LANGUAGE,
           "What computes reads `f32`"),
)


def has_tuple(value: Any) -> bool:
    """Whether a tuple is among arguments."""
    return type(value) is tuple or (type(value) is list and any(map(has_tuple, value)))


def reason(call: Call, said: str) -> Reason | None:
    """The first reason that explains a difference."""
    for known in EXPLAINED:
        if re.search(known.said, said) and re.search(known.names, call.name) and known.when(call):
            return known
    return None
