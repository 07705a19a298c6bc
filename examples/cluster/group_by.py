"""Group-by: the sales of each customer, of whom there are too many for a table in every chunk.

    python examples/cluster group_by

Sales are sorted by customer: then those of one customer are neighbours, and what is wanted of a
group is a reduction of a segment. A customer whose sales are in two chunks is one segment all the
same.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import flatweave as fw


def join(a: Any, b: Any) -> Any:
    """Count, sum and greatest of two sets of prices together."""
    return a[0] + b[0], a[1] + b[1], fw.maximum(a[2], b[2])


@fw.jit
def program(customers: Any, prices: Any) -> Any:
    """Each customer who bought something: number of sales, their sum, the greatest price."""
    customers, prices = fw.sort_by_key(customers, prices)
    n = customers.shape[0]
    changes = customers[1:] != customers[:-1]
    first = fw.concat([fw.full(fw.minimum(n, 1), True), changes])
    ones = fw.map(lambda price: (1, price, price), prices)
    return customers[first], *fw.segmented_reduce(join, (0, 0, 0), first, ones)


def cases(folder: Path, quick: bool) -> Iterator[tuple[str, str, Callable, Callable]]:
    """What the demo runs: program, input, the job on chunks, the same on one machine."""
    number = 3_000 if quick else 4_000_000
    draw = np.random.default_rng(9)
    columns = draw.zipf(1.4, number) % 1_000_003, draw.integers(1, 10_000, number)
    paths = [folder / "customers.npy", folder / "cents.npy"]
    for path, column in zip(paths, columns, strict=True):
        np.save(path, column)
    customers, prices = (fw.Chunked.open(path, -(-number // 8)) for path in paths)
    yield (
        "group-by",
        f"{number:,} sales of {len(np.unique(columns[0])):,} customers",
        lambda: program(customers, prices),
        lambda: program(*map(np.load, paths)),
    )
