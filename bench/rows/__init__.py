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
    render,
    scan,
    segment_sum,
    stencil,
)

FILES = (
    scan,
    recurrence,
    render,
    segment_sum,
    dot,
    black_scholes,
    filter,
    histogram,
    stencil,
    chain,
    overhead,
)
ROWS = {row.name: row for file in FILES for row in file.ROWS}
