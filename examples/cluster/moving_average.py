"""Moving average over a year of ticks: the mean price of the last hour, every second.

    python examples/cluster moving_average

Sums of all ticks before are a scan; a mean is the difference of two of them. That second of an
hour ago may be in another chunk: which rows are needed of it is known from the program, and these
alone are brought. Prices are whole cents, so that all sums are exact.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import flatweave as fw


@fw.jit
def program(cents: Any, window: Any, every: Any) -> Any:
    """How far prices rose above and fell below their moving average; some of the averages."""
    before = fw.scan(fw.add, 0, cents.astype(fw.i64), exclusive=True)
    upto = before + cents

    def mean(i: Any) -> Any:
        first = fw.maximum(i - window + 1, 0)
        return (upto[i] - before[first]) / (i - first + 1)

    averages = fw.generate(cents.shape[0], mean)
    above = cents - averages
    return fw.max(above), fw.min(above), averages[::every]


def cases(folder: Path, quick: bool) -> Iterator[tuple[str, str, Callable, Callable]]:
    """What the demo runs: program, input, the job on chunks, the same on one machine."""
    ticks, window = (5_000, 60) if quick else (365 * 86_400, 3_600)
    path = folder / "ticks.npy"
    steps = np.random.default_rng(4).integers(-5, 6, ticks, np.int32)
    np.save(path, 1_000_000 + np.cumsum(steps, dtype=np.int32))
    cents = fw.Chunked.open(path, -(-ticks // 12))
    yield (
        "moving average",
        f"{ticks:,} ticks, a window of {window:,}",
        lambda: program(cents, window, window),
        lambda: program(np.load(path), window, window),
    )
