"""Group-by whose groups are rows: the prices of each customer, in order, and their median; saved.

    python examples/cluster medians

Sales are sorted by customer and price; then each customer's prices are neighbours, and flags that
say where a customer begins make rows of them. A row is as long as it happens to be, and a function
of rows sees all of it. The table has a column of lists, which is read again as it was written.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

import flatweave as fw


def median(row: Any) -> Any:
    """Of prices in order, as half cents: the one in the middle, or the mean of two."""
    last = row.shape[0] - 1
    return row[last // 2] + row[last - last // 2]


@fw.jit
def program(customers: Any, prices: Any) -> Any:
    """Each customer who bought something, their prices in order, twice the median of these."""
    customers, prices = fw.sort((customers, prices))
    changes = customers[1:] != customers[:-1]
    first = fw.concat([fw.full(fw.minimum(customers.shape[0], 1), True), changes])
    groups = fw.ragged(prices, flags=first)
    return customers[first], groups, fw.map(median, groups)


def saved(path: Path, customers: Any, groups: Any, medians: Any) -> Any:
    """What is read from the table that these become."""
    if path.exists():
        rmtree(path)
    customers.save(path, column="customer", beside={"cents": groups, "median": medians})
    found = fw.Chunked.open(path, column=["customer", "cents", "median"])
    return found["customer"], found["cents"], found["median"]


def cases(folder: Path, quick: bool) -> Iterator[tuple[str, str, Callable, Callable]]:
    """What the demo runs: program, input, the job on chunks, the same on one machine."""
    number = 3_000 if quick else 2_000_000
    draw = np.random.default_rng(10)
    columns = draw.zipf(1.4, number) % 1_000_003, draw.integers(1, 10_000, number)
    customers, prices = (fw.Chunked.cut(column, -(-number // 8)) for column in columns)
    yield (
        "medians",
        f"{number:,} sales of {len(np.unique(columns[0])):,} customers",
        lambda: saved(folder / "medians.parquet", *program(customers, prices)),
        lambda: program(*columns),
    )
