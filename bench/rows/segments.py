"""Sums and prefix sums of the rows of 2^26 f32: short rows, and rows by Zipf's law.

Each in two forms: rows cut by flags, one for each value; and rows of a Ragged, cut by offsets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import V3, At, Faster, Need, OfFloor
from bench.row import Arrays, Call, Row
from bench.tools import Tools

LONGEST = 1 << 22


def by_flags(flags: Any, xs: Any) -> Any:
    """The sum of each segment."""
    return fw.segmented_reduce(fw.add, 0, flags, xs)


def by_rows(rows: Any) -> Any:
    """The sum of each row."""
    return fw.map(fw.sum, rows)


def scan_by_flags(flags: Any, xs: Any) -> Any:
    """Every prefix of each segment."""
    return fw.segmented_scan(fw.add, 0, flags, xs)


def scan_by_rows(rows: Any) -> Any:
    """Every prefix of each row."""
    return fw.map(lambda row: fw.scan(fw.add, 0, row), rows).values


def short_rows(n: int) -> Any:
    """From 1 to 19 values, on average 10."""
    return np.random.default_rng(14).integers(1, 20, n // 8 + 1)


def zipf_rows(n: int) -> Any:
    """Most rows have a value or two, one has 4 million, or a quarter of all."""
    longest = min(LONGEST, n // 4)
    lengths = np.minimum(np.random.default_rng(15).zipf(1.5, n // 256 + 1000), longest)
    lengths[len(lengths) // 2000] = longest
    return lengths


def inputs(n: int, lengths_of: Callable[[int], Any], form: str) -> Arrays:
    """Whole numbers, whose sums are exact in every order, cut into rows."""
    values = np.random.default_rng(16).integers(-8, 9, n, np.int8).astype(np.float32)
    ends = np.cumsum(lengths_of(n))
    offsets = np.concatenate([[0], ends[ends < n], [n]])
    if form == "rows":
        return (fw.ragged(values, offsets=offsets),)
    flags = np.zeros(n, bool)
    flags[offsets[:-1]] = True
    return flags, values


def cut(args: Arrays) -> tuple[Any, Any]:
    """The values and offsets of either form."""
    if len(args) == 1:
        return np.asarray(args[0].values), np.asarray(args[0].offsets)
    flags, values = args
    return values, np.append(np.flatnonzero(flags), len(flags))


def sum_peers(tools: Tools, *args: Any) -> dict[str, Call]:
    """All of them know the offsets."""
    xs, offsets = cut(args)
    rows, sums = len(offsets) - 1, np.zeros(len(offsets) - 1, np.float32)
    found: dict[str, Call] = {"numpy.add.reduceat": lambda: np.add.reduceat(xs, offsets[:-1])}
    if native := tools.c("segments.c"):
        loop = native.bind("row_sums", xs, offsets, sums, rows)
        parallel = native.bind("row_sums_parallel", xs, offsets, sums, rows)
        found["C loop"] = lambda: (loop(), sums)[1]
        found["C OpenMP"] = lambda: (parallel(), sums)[1]
    if tools.numba:
        prange = numba_sums(tools.numba)
        found["numba"] = lambda: prange(xs, offsets, sums)
    return found


def numba_sums(numba: Any) -> Any:
    """All cores, a row at a time."""

    @numba.njit(parallel=True, fastmath=True)
    def loop(xs, offsets, sums):
        for i in numba.prange(len(sums)):
            total = np.float32(0)
            for k in range(offsets[i], offsets[i + 1]):
                total += xs[k]
            sums[i] = total
        return sums

    return loop


def scan_peers(tools: Tools, *args: Any) -> dict[str, Call]:
    """NumPy takes those of everything, less what came before each row: seconds, if it is much."""
    xs, offsets = cut(args)
    rows, out = len(offsets) - 1, np.zeros_like(xs)

    def numpy_way() -> Any:
        sums = np.cumsum(xs, dtype=np.float64)
        before = (sums - xs)[offsets[:-1]]
        return (sums - np.repeat(before, np.diff(offsets))).astype(np.float32)

    found: dict[str, Call] = {"numpy": numpy_way} if len(xs) <= 1 << 22 else {}
    if native := tools.c("segments.c"):
        loop = native.bind("row_prefixes", xs, offsets, out, rows)
        parallel = native.bind("row_prefixes_parallel", xs, offsets, out, rows)
        found["C loop"] = lambda: (loop(), out)[1]
        found["C OpenMP"] = lambda: (parallel(), out)[1]
    return found


def row(
    name: str, title: str, program: Any, lengths_of: Callable[[int], Any], form: str,
    peers: Any, needs: tuple[Need, ...], stream: str,
) -> Row:
    """A row of the table: one program, one law of lengths, one form."""
    return Row(
        name, title, 1 << 26, 1 << 22, program,
        partial(inputs, lengths_of=lengths_of, form=form), needs, peers, stream=stream,
    )  # fmt: skip


TWICE = Faster(2, "C OpenMP")
BY_FLAGS = (OfFloor(0.75), TWICE, At(V3, OfFloor(0.5)), At(V3, TWICE))
BY_ROWS = (OfFloor(0.7), TWICE, At(V3, OfFloor(0.45)), At(V3, TWICE))
SKEWED = (OfFloor(0.95), At(V3, OfFloor(0.9)))
SUMS = [("flags", "segmented_reduce", by_flags, BY_FLAGS),
        ("rows", "map sum over rows", by_rows, BY_ROWS)]  # fmt: skip
SCANS = [("flags", "segmented_scan", scan_by_flags), ("rows", "map scan over rows", scan_by_rows)]
ROWS = [
    *(row(f"row_sums_10_{form}", f"{said}, f32 2^26, mean 10", program, short_rows, form,
          sum_peers, needs, "read") for form, said, program, needs in SUMS),
    *(row(f"row_sums_zipf_{form}", f"{said}, f32 2^26, Zipf", program, zipf_rows, form,
          sum_peers, SKEWED, "read") for form, said, program, _ in SUMS),
    *(row(f"row_scan_{law}_{form}", f"{said}, f32 2^26, {title}", program, lengths_of, form,
          scan_peers, (OfFloor(0.7), At(V3, OfFloor(0.6))), "copy")
      for law, title, lengths_of in (("10", "mean 10", short_rows), ("zipf", "Zipf", zipf_rows))
      for form, said, program in SCANS),
]  # fmt: skip
