"""What each hard operation becomes over all rows: one primitive a file."""

from flatweave.passes.nests.rules import (
    branch,
    filter,
    inner,
    loop,
    reduce_segments,
    scan,
    scatter,
    sort,
)

__all__ = [
    "branch", "filter", "inner", "loop", "reduce_segments", "scan", "scatter", "sort",
]  # fmt: skip
