"""What programs do on a GPU, counted without one, and the times that a model gives from that.

    python -m bench.gpu_counts                      all rows of bench/gpu.py, as Markdown
    python -m bench.gpu_counts --only scan          rows whose names have this word
    python -m bench.gpu_counts --tools DIR          `ptxas` and `nvdisasm` of NVRTC's version in DIR

Each program runs on the interpreter of PTX (`tests/ptx`) at two sizes, on a device that wants as
many times fewer blocks; each count is extended to the full size along the line through both.
Machine code has other instructions than PTX: the assembler's table of lines says which instructions
each one became (PyPI: nvidia-cuda-nvcc, nvidia-cuda-nvdisasm). `gpu_model.py` has the model.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))

import numpy as np

import flatweave as fw
from bench import gpu_rows
from bench.gpu import agree
from bench.gpu_machine_code import Kernel, Tools, assembled
from bench.gpu_model import H100, Gpu, Work, seconds
from flatweave import targets
from flatweave.base import records
from flatweave.base.config import config
from tests.ptx.counts import Counts
from tests.ptx.driver import PtxCuda, cuda_by_ptx

HALVED = (8, 7)  # how often: the two sizes
WANTED = targets.CUDA.blocks_wanted
THREADS = 1 << 22  # of a launch
GROWS = 2  # times as many instructions
REPEATED = {"block ": 1 << 14, "network ": 1 << 11}
"""Programs of `fk` whose blocks are all the same: how many more the full size has."""
FIXED = ("sparse", "expand", "sieve", "breadth", "render")
"""Programs that do not get larger along a line: counted at their small size, not predicted."""


@dataclass
class Launch:
    """What one launch did, or several of one kernel."""

    name: str
    threads: int
    registers: int
    spilled: int
    shared: int
    numbers: Counter[str] = field(default_factory=Counter)

    def work(self) -> Work:
        """What the model asks for."""
        n = self.numbers
        waits = {kind: float(n[f"waits {kind}"]) for kind in ("shared", "shuffle", "global")}
        return Work(
            self.name, n["grid"], self.threads, n["instructions"], n["distinct"], n["sectors"],
            n["passes"], waits, self.registers, self.shared,
        )  # fmt: skip


def numbers(counts: Counts, instructions: float) -> Counter[str]:
    """Of a launch; `instructions` are those of the machine."""
    found: Counter[str] = Counter(grid=counts.grid)
    found["instructions"] = round(instructions)
    found["ptx"] = int(counts.executed.sum())
    found |= Counter({f"kind {kind}": count for kind, count in counts.kinds().items()})
    found |= Counter({f"waits {kind}": count for kind, count in counts.waits().items()})
    for name, traffic in counts.traffic.items():
        space, _, kind = name.partition(" ")
        if space == "shared":
            found["passes"] += traffic.units
            found["conflicts"] += traffic.units - traffic.least
        elif space == "global":
            found["sectors"] += traffic.units
            found["bytes"] += traffic.bytes
            found["distinct"] += traffic.distinct * (2 if kind == "atomic" else 1)
        else:
            found["local"] += traffic.units
    return found


@contextlib.contextmanager
def smaller(halvings: int) -> Iterator[None]:
    """A device that wants 2^halvings times fewer blocks, and sizes smaller by the same factor."""
    before = targets.CUDA
    targets.CUDA = records.replace(before, blocks_wanted=max(1, WANTED >> halvings))
    try:
        with gpu_rows.halved(halvings):
            yield
    finally:
        targets.CUDA = before


def counted(
    row: gpu_rows.Row, halvings: int | None, tools: Tools, driver: PtxCuda
) -> list[Launch]:
    """The launches of a row's program."""
    scaled = contextlib.nullcontext() if halvings is None else smaller(halvings)
    with scaled, fw.target("cuda"), config.scoped(no_cache=True):
        case = row.make(True)
        put = fw.jit(lambda *xs: xs)
        args = [a if isinstance(a, int | np.generic) else put(a)[0] for a in case.args]
        driver.counts = []
        result = case.run(*args)
        if not agree(result, case.expected(), case.rtol):
            raise ValueError(f"{row.name}: wrong values in the interpreter of PTX")
        images = {id(module): image for image, module in driver.modules.items()}
        return [
            _launch(counts, assembled(tools, images[id(counts.module)])[counts.name])
            for counts in driver.counts
        ]


def _launch(counts: Counts, code: Kernel) -> Launch:
    return Launch(
        counts.name, counts.threads, code.registers, code.spilled, code.shared,
        numbers(counts, code.executed(counts)),
    )  # fmt: skip


def extended(small: Launch, large: Launch) -> Launch:
    """At the full size, by the line through both."""
    shrunk = [1 / (1 << halvings) for halvings in HALVED]
    found: Counter[str] = Counter()
    for name in {*small.numbers, *large.numbers}:
        low, high = small.numbers[name], large.numbers[name]
        slope = (high - low) / (shrunk[1] - shrunk[0])
        found[name] = max(0, round(low + slope * (1 - shrunk[0])))
    growth = found["instructions"] / max(1, large.numbers["instructions"])
    if 1 < large.numbers["grid"] == small.numbers["grid"] and growth > GROWS:
        # blocks have a least size, which small programs do not fill
        found["grid"] = round(large.numbers["grid"] * growth)
    return replace(large, numbers=found)


def measured(row: gpu_rows.Row, tools: Tools, driver: PtxCuda) -> tuple[list[Launch], bool]:
    """The launches of a row, and whether they are those of the full size."""
    for prefix, times in REPEATED.items():
        if row.name.startswith(prefix):
            found = counted(row, None, tools, driver)
            return [replace(each, numbers=Counter({
                name: count * times for name, count in each.numbers.items()
            })) for each in found], True  # fmt: skip
    if row.name.startswith(FIXED):
        return counted(row, None, tools, driver), False
    small, large = (counted(row, halvings, tools, driver) for halvings in HALVED)
    if [each.name for each in small] != [each.name for each in large]:
        return large, False
    return [extended(*both) for both in zip(small, large, strict=True)], True


HEAD = (
    "program", "launches", "instructions (PTX)", "of them loads, stores, shuffles, barriers",
    "bytes (sectors x 32)", "conflicts", "registers, spilled", "time, of copy", "bound",
)  # fmt: skip


def line(row: gpu_rows.Row, launches: Sequence[Launch], is_full: bool, moved: int, gpu: Gpu) -> str:
    """A row of the table; counts of instructions are those of warps, in millions."""
    total: Counter[str] = Counter()
    for launch in launches:
        total.update(launch.numbers)
    kinds = ", ".join(f"{total[f'kind {k}'] / 1e6:,.3g}"
                      for k in ("load", "store", "shuffle", "barrier"))  # fmt: skip
    largest = max(launches, key=lambda each: each.numbers["instructions"])
    cells = [
        row.name if is_full else f"{row.name} (small)", f"{len(launches)}",
        f"{total['instructions'] / 1e6:,.3g} ({total['ptx'] / 1e6:,.3g})", kinds,
        f"{total['bytes'] / 1e6:,.4g} ({total['sectors'] * 32 / 1e6:,.4g})",
        f"{total['conflicts'] / 1e6:,.3g}", f"{largest.registers}, {largest.spilled}",
    ]  # fmt: skip
    if is_full:
        times = [seconds(launch.work(), gpu) for launch in launches]
        took = sum(time for time, _ in times)
        share = f", {moved / gpu.copy / took:.2f}" if moved else ""
        cells += [f"{took * 1e3:.3g} ms{share}", max(times)[1]]
    return "| " + " | ".join(cells + [""] * (len(HEAD) - len(cells))) + " |"


def main(argv: Sequence[str]) -> None:
    """The table; --save also keeps the counts of all launches, as JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--tools", type=Path)
    parser.add_argument("--save", type=Path)
    given = parser.parse_args(argv)
    tools = Tools.found(given.tools)
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|")
    with cuda_by_ptx() as driver:  # kernels of `fk` stay loaded, so that there is one
        driver.most = THREADS
        for row in gpu_rows.rows():
            if given.only not in row.name:
                continue
            launches, is_full = measured(row, tools, driver)
            moved = full_bytes(row) if is_full else 0
            print(line(row, launches, is_full, moved, H100), flush=True)
            if given.save:
                with given.save.open("a") as file:
                    print(json.dumps(record(row.name, launches, is_full, moved)), file=file)


def full_bytes(row: gpu_rows.Row) -> int:
    """The bytes that the full size has to move, by those of the smallest ones."""
    for prefix, times in REPEATED.items():
        if row.name.startswith(prefix):
            return times * sum(row.make(True).moved)
    both = []
    for halvings in HALVED:
        with gpu_rows.halved(halvings):
            both.append(sum(row.make(True).moved))
    low, high = both
    return low + (high - low) * ((1 << HALVED[0]) - 1)


def record(name: str, launches: Sequence[Launch], is_full: bool, moved: int) -> dict[str, Any]:
    """All of it."""
    return {"row": name, "is_full": is_full, "moved": moved, "launches": [
        {"name": each.name, "threads": each.threads, "registers": each.registers,
         "spilled": each.spilled, "shared": each.shared, **each.numbers}
        for each in launches
    ]}  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
