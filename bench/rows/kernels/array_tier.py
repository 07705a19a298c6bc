"""The same job in the array language, as a peer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flatweave as fw
from bench.row import Call

ARRAYS = "array tier"


def array_tier(program: Callable[..., Any], *args: Any) -> dict[str, Call]:
    """Compiled once, called with these arguments."""
    compiled = fw.jit(program)
    return {ARRAYS: lambda: compiled(*args)}
