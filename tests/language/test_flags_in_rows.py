"""Flags of the elements of rows: how many, the first and the last, any and all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flatweave as fw

FOUND = 3
LONG = [0, 1, 15, 16, 17, 63, 64, 65, 128, 200, 0, 0, 12_000, 5, 64]


def counted(row: Any) -> tuple[Any, ...]:
    """How many have the flag, and how many do not."""
    return fw.sum(row == FOUND), fw.count_nonzero(row != FOUND)


def asked(row: Any) -> tuple[Any, ...]:
    """Whether any has it, and whether all do not."""
    return fw.any(row == FOUND), fw.all(row != FOUND)


def ends(row: Any) -> tuple[Any, ...]:
    """The first and the last that have it, -1 where none does."""
    flags = row == FOUND
    places = fw.flatnonzero(flags)
    first = fw.cond(places.shape[0] > 0, lambda: places[0], lambda: -1)
    return first, fw.reduce(fw.maximum, -1, fw.where(flags, fw.iota(row.shape[0]), -1))


def ends_by_numpy(row: np.ndarray) -> tuple[Any, ...]:
    """The same."""
    places = np.flatnonzero(row == FOUND)
    return (places[0], places[-1]) if len(places) else (-1, -1)


BY_NUMPY = {
    counted: lambda row: ((row == FOUND).sum(), (row != FOUND).sum()),
    asked: lambda row: ((row == FOUND).any(), (row != FOUND).all()),
    ends: ends_by_numpy,
}


@pytest.mark.parametrize(
    ("of_row", "dtype"),
    [*((fn, np.uint8) for fn in BY_NUMPY), (ends, np.int16), (ends, np.float64)],
)
def test_flags_of_rows(of_row: Any, dtype: Any) -> None:
    """Rows of one step and of many, shorter than a step and longer than a block, empty ones."""
    rng = np.random.default_rng(3)
    lengths = np.concatenate([LONG, rng.integers(0, 80, 300), [70]])
    values = rng.integers(0, 40, lengths.sum()).astype(dtype)
    rows = fw.ragged(values, lengths=lengths)

    program = fw.jit(lambda rows: fw.map(of_row, rows))
    found = program(rows)

    stops = np.cumsum(lengths)
    parts = [values[stop - n : stop] for stop, n in zip(stops, lengths, strict=True)]
    wanted = map(BY_NUMPY[of_row], parts)
    for have, want in zip(found, zip(*wanted, strict=True), strict=True):
        np.testing.assert_array_equal(np.asarray(have), want)
    assert "ballot" in program.stages(rows).text["kernel"]
