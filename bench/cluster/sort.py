"""A sort of more keys than memory has room for: python -m bench.cluster.sort FOLDER [--save]

    --make 268435456 write this number of keys of 32 bits there first
    --memory 1GiB    what the sort may take

The floor reads the file and writes as many bytes, twice: a sort that does not fit into memory must
write what it sorted of each chunk, read that again, and write the result. Both begin with nothing
of the keys in the system's page cache, and end when their output is on the disk; what each
reads again of what it has just written may come from that cache. They alternate, and the shorter
of their times count, as others use the disk, too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

import flatweave as fw
from bench.cluster.peaks import peak, resident
from bench.machine import keep, model

ROUNDS = 3
BLOCK = 1 << 24  # keys that the floor reads and writes at once
NAME = "keys.npy"
order = fw.jit(lambda keys: fw.sort(keys))


def make(folder: Path, rows: int) -> None:
    """So many random keys."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(1)
    keys = np.lib.format.open_memmap(folder / NAME, "w+", np.uint32, (rows,))
    for begin in range(0, rows, BLOCK):
        block = keys[begin : begin + BLOCK]
        block[:] = rng.integers(0, 1 << 32, len(block), np.uint32)
    keys.flush()


def evict(path: Path) -> None:
    """Drop the pages of a file that the system keeps in memory."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def floor(folder: Path) -> float:
    """Reading and writing all bytes, twice, block by block."""
    source = folder / NAME
    block = memoryview(bytearray(BLOCK * 4))
    evict(source)
    begun = time.perf_counter()
    for copy in (folder / "first", folder / "second"):
        with open(source, "rb", buffering=0) as whole, open(copy, "wb", buffering=0) as file:
            while size := whole.readinto(block):
                file.write(block[:size])
        source = copy
    os.sync()
    found = time.perf_counter() - begun
    for name in ("first", "second"):
        os.unlink(folder / name)
    return found


def seconds(folder: Path, keys: fw.Chunked) -> float:
    """Our sort."""
    evict(folder / NAME)
    begun = time.perf_counter()
    found = order(keys)
    os.sync()  # before the output files are deleted
    taken = time.perf_counter() - begun
    del found
    return taken


def total(keys: fw.Chunked) -> int:
    """All keys added: none is lost, and none is there twice."""
    return sum(int(chunk.sum(dtype=np.uint64)) for chunk in keys)


def is_sorted(keys: fw.Chunked) -> bool:
    """Within chunks, and from each to the next."""
    last = 0
    for chunk in keys:
        if np.any(chunk[:-1] > chunk[1:]) or (len(chunk) and chunk[0] < last):
            return False
        last = int(chunk[-1]) if len(chunk) else last
    return True


def main() -> None:
    """Run, print, and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--make", type=int)
    parser.add_argument("--memory", default="1GiB")
    parser.add_argument("--save", action="store_true", help="keep the result in bench/results")
    options = parser.parse_args()
    if options.make:
        make(options.folder, options.make)
        return
    keys = fw.Chunked.open(options.folder / NAME)
    rows = len(keys)
    with fw.on(memory=options.memory, folder=options.folder):
        order(fw.Chunked.cut(keys.load(0, 4096), 1024))  # compiled
        runs, least, before = [], [], resident()
        for _ in range(ROUNDS):
            least.append(floor(options.folder))
            runs.append(seconds(options.folder, keys))
        most = peak() - before
        found = order(keys)
    fine = len(found) == rows and total(found) == total(keys) and is_sorted(found)
    own, floors = min(runs), min(least)
    each = ", ".join(f"{a:.1f} / {b:.1f}" for a, b in zip(runs, least, strict=True))
    text = (
        f"# Sorting keys in less memory than they and their copies take\n`python -m"
        f" bench.cluster.sort FOLDER --memory {options.memory}`: {rows:,} keys of 32 bits,"
        f" {model()}.\n\n| s | reading and writing all bytes twice, s |"
        f" ratio | peak memory | sorted |\n|---|---|---|---|---|\n| {own:.2f} | {floors:.2f} |"
        f" {own / floors:.2f} | {most / 2**20:.0f} MiB | {'yes' if fine else 'NO'} |\n\n"
        f"All runs: {each}.\n"
    )
    sys.stdout.write(text)
    if options.save:
        keep(text, "sort-out-of-core")


if __name__ == "__main__":
    main()
