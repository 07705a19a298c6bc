"""What each hard operation becomes over all rows: one primitive a file."""

from flatweave.passes.nests.rules import (
    branch,
    callback,
    filter,
    inner,
    loop,
    reduce_segments,
    scan,
    scatter,
    sort,
)

__all__ = [
    "branch", "callback", "filter", "inner", "loop", "reduce_segments", "scan", "scatter", "sort",
]  # fmt: skip
