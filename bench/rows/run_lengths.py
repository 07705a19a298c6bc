"""4 * 10^6 elements decoded from runs whose mean length is 1, 40 and 4,000."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import V3, At, Faster, OneThread
from bench.row import Arrays, Call, Row
from bench.tools import Tools

REPEAT = "numpy.repeat"


def program(values: Any, lengths: Any) -> Any:
    """Each value as often as its run is long."""
    return fw.expand(lambda run: run[1], lambda run, i: run[0], (values, lengths))


def inputs(n: int, mean: int, dtype: type) -> Arrays:
    """Lengths from 0 to twice the mean."""
    random = np.random.default_rng(37)
    lengths = random.integers(0, 2 * mean + 1, max(n // mean, 1))
    return random.integers(0, 255, lengths.size).astype(dtype), lengths


def peers(tools: Tools, values: Any, lengths: Any) -> dict[str, Call]:
    """What copies run after run."""
    return {REPEAT: lambda: np.repeat(values, lengths)}


NEEDS = (Faster(1.5, REPEAT), OneThread(1, REPEAT), At(V3, Faster(1.5, REPEAT)))


def row(dtype: type, mean: int) -> Row:
    """The row of one type and one mean length."""
    name = np.dtype(dtype).name
    return Row(
        f"runs_{name}_{mean}", f"4 * 10^6 {name} from runs of {mean:,}", 4 * 10**6, 10**5, program,
        partial(inputs, mean=mean, dtype=dtype), NEEDS, peers,
    )  # fmt: skip


ROWS = [row(dtype, mean) for dtype in (np.uint8, np.float64) for mean in (1, 40, 4000)]
