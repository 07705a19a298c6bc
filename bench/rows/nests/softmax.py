"""The softmax of each row of a Ragged: two sums of rows between work on all values."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.rows.nests.peers import rows_in_numba
from bench.tools import Tools


def program(rows: Any) -> Any:
    """Of each row."""

    def one(row: Any) -> Any:
        raised = fw.exp(row - fw.max(row, initial=-np.inf))
        return raised / fw.sum(raised)

    return fw.map(one, rows)


def inputs(n: int) -> Arrays:
    """Normally distributed values in rows by Zipf's law, none longer than a quarter of all."""
    random = np.random.default_rng(33)
    ends = np.cumsum(np.minimum(random.zipf(1.5, n // 8 + 1), n // 4 + 1))
    offsets = np.concatenate([[0], ends[ends < n], [n]])
    return (fw.ragged(random.standard_normal(n, np.float32), offsets=offsets),)


def peers(tools: Tools, rows: Any) -> dict[str, Call]:
    """A parallel loop of Numba over the rows, JAX by segments, Awkward."""
    values, offsets = np.asarray(rows.values), np.asarray(rows.offsets)
    found: dict[str, Call] = {}
    if tools.numba:
        loop = rows_in_numba(tools.numba, softmax)
        found["numba"] = lambda: loop(values, offsets)
    if tools.jax:
        by_segment = by_segments(tools.jax, values, offsets)
        found["jax"] = lambda: (by_segment(), offsets)
    if awkward := tools.awkward:
        array = awkward.Array(
            awkward.contents.ListOffsetArray(
                awkward.index.Index64(offsets), awkward.contents.NumpyArray(values)
            )
        )
        found["awkward"] = lambda: (in_awkward(awkward, array), offsets)
    return found


def in_awkward(awkward: Any, array: Any) -> Any:
    """Their values; an empty row has no greatest, and none to subtract it from."""
    raised = np.exp(array - awkward.fill_none(awkward.max(array, axis=1), np.float32(0)))
    return awkward.to_numpy(awkward.flatten(raised / awkward.sum(raised, axis=1)))


def by_segments(jax: Any, values: Any, offsets: Any) -> Call:
    """The number of each value's row is made before the clock starts."""
    count = len(offsets) - 1
    row_of = jax.numpy.asarray(np.repeat(np.arange(count, dtype=np.int32), np.diff(offsets)))
    given = jax.numpy.asarray(values)

    @jax.jit
    def softmax(values: Any, row_of: Any) -> Any:
        of_segments = partial(
            jax.ops.segment_sum, segment_ids=row_of, num_segments=count, indices_are_sorted=True
        )
        greatest = jax.ops.segment_max(values, row_of, count, indices_are_sorted=True)
        raised = jax.numpy.exp(values - greatest[row_of])
        return raised / of_segments(raised)[row_of]

    return lambda: softmax(given, row_of).block_until_ready()


def softmax(row: Any) -> Any:
    """Of one row, for Numba."""
    if len(row) == 0:
        return row
    raised = np.exp(row - np.max(row))
    return raised / np.sum(raised)


ROWS = [
    Row("nest_softmax", "softmax of ragged rows f32 2^24, Zipf", 1 << 24, 1 << 20, program, inputs,
        (Faster(3, "numba"),), peers, tolerance=1e-4)
]  # fmt: skip
