"""Sort of keys that do not fit into memory: by samples, runs and merges.

    python examples/cluster sort_keys

Each chunk is sorted; samples of all say where the chunks of the result begin; each chunk of the
result merges its share of every sorted one. On a cluster the shares go from worker to worker;
in one process, here with a bound on memory of half the keys, what is sorted waits in files.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import flatweave as fw


@fw.jit
def program(keys: Any) -> Any:
    """The keys in order."""
    return fw.sort(keys)


def within(memory: int, keys: fw.Chunked, folder: Path) -> Any:
    """The keys in order, by this process, within `memory` bytes."""
    with fw.on(memory=memory, folder=folder):
        return program(keys)


def cases(folder: Path, quick: bool) -> Iterator[tuple[str, str, Callable, Callable]]:
    """What the demo runs: program, input, the job on chunks, the same on one machine."""
    number = 4_000 if quick else 16_000_000
    path = folder / "keys.npy"
    np.save(path, np.random.default_rng(7).integers(0, 1 << 32, number, np.uint32))
    keys = fw.Chunked.open(path, -(-number // 32))
    memory = keys.nbytes // 2
    for where, job in (
        ("by the workers", lambda: program(keys)),
        ("within memory for half of them", lambda: within(memory, keys, folder)),
    ):
        yield "sort", f"{number:,} keys, {where}", job, lambda: program(np.load(path))
