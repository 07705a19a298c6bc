"""Every program of this folder on a cluster of two processes, compared with one process.

    make demo-cluster
    python examples/cluster [--quick] [FILE [ARGUMENT]]     all files, or one, with its own argument

Ends with 0 when every result is right: integers bit for bit, floats but for rounding.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # where the other examples are, and this folder as `cluster`

import numpy as np  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

import flatweave as fw  # noqa: E402

NAMES = sorted(path.stem for path in HERE.glob("*.py") if path.stem != "__main__")


class Row(NamedTuple):
    """One line of the table; times in seconds."""

    program: str
    extent: str
    first: float
    cluster: float
    alone: float
    right: bool


def leaves(value: Any) -> Iterator[np.ndarray]:
    """The arrays of a result; what is in chunks is put together."""
    if isinstance(value, fw.Chunked) and isinstance(value.load(0, 0), fw.Ragged):
        value = value.load(0, len(value))
    if isinstance(value, fw.Ragged):
        value = value.values, value.offsets
    if isinstance(value, tuple):
        for part in value:
            yield from leaves(part)
    else:
        yield np.asarray(value)


def same(ours: Any, theirs: Any) -> bool:
    """Whether two results have the same arrays: integers bit for bit, floats but for rounding."""
    pairs = list(zip(leaves(ours), leaves(theirs), strict=True))
    return all(
        a.shape == b.shape and a.dtype == b.dtype
        and (np.allclose(a, b, rtol=1e-9) if a.dtype.kind == "f" else np.array_equal(a, b))
        for a, b in pairs
    )  # fmt: skip


def seconds(job: Callable[[], Any]) -> tuple[float, Any]:
    """How long a job takes, and what it gives."""
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def measured(case: tuple[str, str, Callable, Callable], client: Client) -> Row:
    """A case: first and second run by the workers, and its second run by this process alone."""
    program, extent, chunked, whole = case
    with fw.on(client):
        first, ours = seconds(chunked)
        again, ours = seconds(chunked)
        whole()
        alone, theirs = seconds(whole)
        return Row(program, extent, first, again, alone, same(ours, theirs))


def table_of(rows: list[Row]) -> Table:
    """The table at the end."""
    table = Table(title="Two processes with one thread each, and one process with all cores")
    for heading in ("program", "input"):
        table.add_column(heading)
    for heading in ("cluster", "one process", "first run", "result"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        times = (f"{each:.2f} s" for each in (row.cluster, row.alone, row.first))
        right = "right" if row.right else "[bold red]WRONG[/]"
        table.add_row(row.program, row.extent, *times, right)
    return table


def main(argv: list[str]) -> int:
    """Run them; 0 when every result is right, 2 for an unknown file."""
    quick, names = "--quick" in argv, [each for each in argv if each != "--quick"]
    if names and names[0] not in NAMES:
        print(f"There is no {names[0]}; there are {', '.join(NAMES)}.")
        return 2
    console, rows = Console(width=None if sys.stdout.isatty() else 120), []
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):  # fmt: skip
        for name in names[:1] or NAMES:
            module = importlib.import_module(f"cluster.{name}")
            for case in module.cases(Path(folder), quick, *names[1:]):
                console.print(f"[dim]{case[0]}: {case[1]}")
                rows.append(measured(case, client))
    console.print(table_of(rows))
    return 0 if all(row.right for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
