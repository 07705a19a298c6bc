"""Every row that is timed, in the order of the table."""

from __future__ import annotations

from bench.rows import (
    black_scholes,
    chain,
    dot,
    filter,
    histogram,
    overhead,
    recurrence,
    scan,
    segment_sum,
    sort,
    stencil,
)

FILES = (
    scan,
    recurrence,
    segment_sum,
    dot,
    black_scholes,
    filter,
    histogram,
    sort,
    stencil,
    chain,
    overhead,
)
ROWS = {row.name: row for file in FILES for row in file.ROWS}
