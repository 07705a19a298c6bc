"""Every row that is timed, in the order of the table."""

from __future__ import annotations

from bench.rows import (
    alignment,
    bfs,
    black_scholes,
    chain,
    deposit,
    dot,
    expansion,
    filter,
    histogram,
    nests,
    overhead,
    permute,
    recurrence,
    render,
    run_lengths,
    scan,
    segment_sum,
    segments,
    sieve,
    sort,
    spmv,
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
    sort,
    stencil,
    chain,
    segments,
    spmv,
    expansion,
    run_lengths,
    sieve,
    permute,
    deposit,
    bfs,
    overhead,
    alignment,
    nests,
)
ROWS = {row.name: row for file in FILES for row in file.ROWS}
