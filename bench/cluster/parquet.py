"""Programs on Parquet that is larger than memory: python -m bench.cluster.parquet FOLDER [--save]

    --make 4         write 4 GiB there first: numbers, and keys that repeat
    --memory 1GiB    what programs may take

A program's time is compared with pyarrow's, which reads the same columns as often, row group by row
group, and does nothing with them; the peak of memory is beyond what the process had before.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pyarrow import parquet, table

import flatweave as fw
from bench.cluster.peaks import peak, resident
from bench.machine import keep, model

GROUPS = 1000
ROWS = 1 << 26  # of a file: half a GiB
ROUNDS = 2


class Job(NamedTuple):
    """A program, the columns that it takes, and how often it reads them."""

    program: Any
    columns: tuple[str, ...]
    readings: int
    says: str


JOBS = {
    "sum": Job(fw.jit(lambda t: fw.sum(t["x"])), ("x",), 1, "`fw.sum(x)`"),
    "scan": Job(
        fw.jit(lambda t: fw.max(fw.scan(fw.maximum, fw.f32(0), t["x"]) - t["x"])), ("x",), 2,
        "the largest fall below a running maximum",
    ),
    "group-by": Job(
        fw.jit(lambda t: fw.permute(fw.add, fw.zeros(GROUPS, fw.f32), t["key"], t["x"])),
        ("key", "x"), 1, f"sums for {GROUPS} keys",
    ),
}  # fmt: skip


def make(folder: Path, gib: float) -> None:
    """Files of numbers from 0 to 1 and of keys."""
    rng = np.random.default_rng(1)
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(max(int(gib * (1 << 30)) // (8 * ROWS), 1)):
        columns = {
            "key": rng.integers(0, GROUPS, ROWS, np.int32), "x": rng.random(ROWS, np.float32),
        }  # fmt: skip
        parquet.write_table(table(columns), folder / f"{k:03}.parquet", use_dictionary=False)


def reading(folder: Path, columns: tuple[str, ...]) -> None:
    """All row groups of some columns, in order."""
    for path in sorted(folder.glob("*.parquet")):
        with parquet.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                file.read_row_group(group, columns=list(columns))


def seconds(job: Callable[[], Any]) -> float:
    """The shorter of some runs: others use this machine, too."""
    best = np.inf
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        job()
        best = min(best, time.perf_counter() - begun)
    return float(best)


def measured(folder: Path, memory: str, name: str) -> str:
    """A line of the table."""
    job = JOBS[name]
    arrays = fw.Chunked.open(folder, column=job.columns)
    few = {key: fw.Chunked.cut(xs.load(0, 4096), 1024) for key, xs in arrays.items()}
    with fw.on(memory=memory):
        job.program(few)  # compiled
        reading_alone = seconds(lambda: reading(folder, job.columns))
        before = resident()
        own = seconds(lambda: job.program(arrays))
        most = peak() - before
    alone = reading_alone * job.readings
    return (
        f"| {name}: {job.says} | {own:.2f} | {alone:.2f} ({job.readings} x) |"
        f" {own / alone:.2f} | {most / 2**20:.0f} MiB |"
    )


def main() -> None:
    """Run, print, and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--make", type=float, default=0)
    parser.add_argument("--memory", default="1GiB")
    parser.add_argument("--save", action="store_true", help="keep the result in bench/results")
    options = parser.parse_args()
    if options.make:
        make(options.folder, options.make)
        return
    files = list(options.folder.glob("*.parquet"))
    size = sum(path.stat().st_size for path in files)
    lines = [measured(options.folder, options.memory, name) for name in JOBS]
    text = (
        f"# Parquet larger than memory\n`python -m bench.cluster.parquet FOLDER --memory"
        f" {options.memory}`, {len(files) * ROWS * 8 / 2**30:.1f} GiB of columns in"
        f" {size / 2**30:.1f} GiB of files, which the system keeps in memory as far as it likes;"
        f" {model()}.\n\n| program | s | pyarrow reads the columns, s | ratio |"
        f" peak memory |\n|---|---|---|---|---|\n" + "\n".join(lines) + "\n"
    )
    sys.stdout.write(text)
    if options.save:
        keep(text, "parquet")


if __name__ == "__main__":
    main()
