"""A sort compared with `dask.dataframe.sort_values`: python -m bench.cluster.sort_values [--save]

    --rows 28     2^28 keys of 32 bits, 1 GiB

On the same two workers with one thread each, of the same blocks in their memory: a column of a data
frame is an array in chunks to us. Results stay there. Needs pandas and dask.dataframe, which the
project does not depend on.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster, wait

import flatweave as fw
from bench.machine import keep, model

CHUNKS = 16
ROUNDS = 3
order = fw.jit(lambda keys: fw.sort(keys))


def part(number: int, rows: int) -> Any:
    """Random keys, as a data frame."""
    import pandas as pd

    rng = np.random.default_rng(number)
    return pd.DataFrame({"key": rng.integers(0, 1 << 32, rows, np.uint32)})


def seen(blocks: Iterable[Any]) -> tuple[int, int, bool]:
    """How many keys, all of them added, and whether they are in order."""
    rows = total = last = 0
    is_sorted = True
    for block in blocks:
        keys = np.asarray(block)
        if len(keys):
            is_sorted &= bool(np.all(keys[:-1] <= keys[1:])) and last <= int(keys[0])
            last = int(keys[-1])
        rows, total = rows + len(keys), total + int(keys.sum(dtype=np.uint64))
    return rows, total, is_sorted


def main() -> None:
    """Run, print, and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=28, help="so many keys, as a power of two")
    parser.add_argument("--save", action="store_true", help="keep the result in bench/results")
    options = parser.parse_args()
    import dask.dataframe as frames

    rows = (1 << options.rows) // CHUNKS
    own: list[float] = []
    theirs: list[float] = []
    same = True
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0",
                     memory_limit="8GiB", silence_logs=50) as cluster,
        Client(cluster) as client, fw.on(client),
    ):  # fmt: skip
        for turn in range(ROUNDS + 1):  # other keys each time: Dask knows what it has computed
            numbers = range(turn * CHUNKS, (turn + 1) * CHUNKS)
            frame = frames.from_map(part, numbers, rows=rows).persist()
            wait(frame)
            keys = fw.Chunked.from_dask(frame["key"])
            begun = time.perf_counter()
            found = order(keys)
            own.append(time.perf_counter() - begun)
            ours = seen(found)
            del found, keys
            begun = time.perf_counter()
            wait(found := frame.sort_values("key").persist())
            theirs.append(time.perf_counter() - begun)
            blocks = (found["key"].partitions[k].compute() for k in range(found.npartitions))
            same &= ours == seen(blocks) and ours[2]
            del found, frame
    a, b = min(own[1:]), min(theirs[1:])
    text = (
        f"# Sorts next to dask.dataframe.sort_values\n`python -m bench.cluster.sort_values --rows"
        f" {options.rows}`: {rows * CHUNKS:,} keys of 32 bits in {CHUNKS} chunks in the memory of"
        f" two workers with one thread each, {model()}, 2 cores; dask {dask.__version__}.\n\n"
        f"| Flatweave, s | dask.dataframe, s | times faster | sorted, and the same keys |\n"
        f"|---|---|---|---|\n| {a:.2f} | {b:.2f} | {b / a:.1f} | {'yes' if same else 'NO'} |\n"
    )
    sys.stdout.write(text)
    if options.save:
        keep(text, "sort-values")


if __name__ == "__main__":
    main()
