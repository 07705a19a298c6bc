"""The operations that nests are made of: every one must occur, inside others."""

from __future__ import annotations

import re

INSIDE = (
    "all", "any", "argmax", "argmin", "argsort", "astype", "concat", "cond", "cumprod", "cumsum",
    "expand", "expand_reduce", "filter", "fori_loop", "full", "gather", "generate", "histogram",
    "iota", "map", "max", "maximum", "min", "minimum", "partition", "permute", "prod", "reduce",
    "reduce_by_index", "replicate", "replicated_iota", "reverse", "rotate", "scan", "scatter",
    "segmented_iota", "segmented_reduce", "segmented_scan", "sort", "sort_by_key", "stencil",
    "store", "sum", "where", "while_loop",
)  # fmt: skip


def called(source: str) -> tuple[str, ...]:
    """The names of Flatweave's that a nest calls, in order."""
    return tuple(re.findall(r"fw\.(\w+)\(", source))
