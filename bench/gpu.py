"""All that a GPU is measured by, in one run of a few minutes: values are checked, times taken.

    python bench/gpu.py [--target cuda] [--save]         the whole table, as Markdown
    python bench/gpu.py --small --target opencl          the same programs, a thousandth of the size
    python bench/gpu.py --only scan,sort                 rows whose names have one of these words
    python bench/gpu.py --alone --seconds 60             no peers, and no row begun after a minute

Times are medians, by events on the device; inputs smaller than its cache are rotated. A
row that misses its target is marked. CuPy (with CUB) and PyTorch are measured where
they are installed, and read nothing but their own memory.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ["CUPY_ACCELERATORS"] = "cub"

import numpy as np

import flatweave as fw
from bench.gpu_clocks import EventClock, HostClock, cupy_clock, torch_clock
from bench.gpu_rows import Case, Row, rows
from bench.machine import keep
from flatweave.base.config import config
from flatweave.runtime.devices import cuda, opencl

ALL_ROWS = 440.0  # seconds, after which no row begins
OF_A_ROW, LEAST, MOST = 1.0, 3, 25  # seconds for samples of one program, and how many
OF_OTHERS = 0.4  # the same for what it is compared with, of which there may be many
CACHED = 192 << 20  # bytes of inputs that no cache holds
COPIED = 1 << 28  # bytes
Run = Callable[[], Any]


class Bench:
    """A target's device, the compared libraries, and its copy bandwidth."""

    def __init__(self, target: str, small: bool, alone: bool = False) -> None:
        self.target, self.small = target, small
        self.device = (cuda if target.startswith("cuda") else opencl).device()
        has_peers = target == "cuda" and not alone
        self.cupy = _installed("cupy") if has_peers else None
        self.torch = _installed("torch") if has_peers else None
        if target == "cuda":
            self.clock: Any = EventClock(self.device, cuda.bindings())
        else:
            self.clock = HostClock(self.device.wait)
        with fw.target(target):
            self._put = fw.jit(lambda *xs: xs)
        self.copy_rate = self._copy_rate()
        self.read_rate = max(self.copy_rate, self._read_rate())

    def _copy_rate(self) -> float:
        """Bytes read and written in a second by a copy on the device."""
        size = COPIED >> (6 if self.small else 0)
        source, to = self.device.allocate(size), self.device.allocate(size)
        self.device.fill(source, np.uint8(1), 0, size)
        took = median(self.clock, [lambda: self.device.copy(to, 0, source, 0, size)])
        return 2 * size / took

    def _read_rate(self) -> float:
        """Bytes read in a second by PyTorch's sum, which may be more than a copy moves."""
        if self.torch is None:
            return 0.0
        xs = self.torch.ones(COPIED, dtype=self.torch.float32, device="cuda")
        return xs.numel() * 4 / median(torch_clock(self.torch), [xs.sum])

    def put(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments on the device; numbers stay what they are."""
        def placed(arg: Any) -> Any:
            return arg if isinstance(arg, int | np.generic) else self._put(arg)[0]

        return tuple(map(placed, args))

    def measured(self, row: Row) -> list[str]:
        """The cells of a row's line."""
        try:
            case = row.make(self.small)
        except ImportError as missing:
            return [row.name, f"left out: {missing}"]
        with fw.target(self.target):
            return [row.name, *self._cells(case)]

    def _cells(self, case: Case) -> list[str]:
        given = [self.put(case.args)]
        begun = time.perf_counter()
        result = case.run(*given[0])
        self.device.wait()
        first = time.perf_counter() - begun
        wrong = "" if agree(result, case.expected(), case.rtol) else "WRONG VALUES"
        del result
        size = sum(leaf.nbytes for leaf in leaves(case.args))
        given += [self.put(case.args) for _ in range(min(7, CACHED // max(1, size)))]
        ours = median(self.clock, [lambda g=g: case.run(*g) for g in given])
        beside = {
            name: median(self.clock, [lambda g=g, run=run: run(*g) for g in given], OF_OTHERS)
            for name, run in case.others.items()
        } | self._peers(case)
        moved = sum(case.moved)
        rate = moved / ours
        return [
            milliseconds(ours), f"{rate / 1e9:,.0f}" if moved else "",
            f"{rate / self.copy_rate:.2f}" if moved else "",
            ", ".join(f"{name} {milliseconds(t)} ({t / ours:.2f})" for name, t in beside.items()),
            wrong or self._verdict(case, ours, beside), milliseconds(first),
        ]  # fmt: skip

    def _peers(self, case: Case) -> dict[str, float]:
        found = {}
        for name, library, peer in (
            ("cupy", self.cupy, case.cupy), ("torch", self.torch, case.torch)
        ):  # fmt: skip
            if library is None or peer is None:
                continue
            clock = (cupy_clock if name == "cupy" else torch_clock)(library)
            arrays = [leaf for leaf in leaves(case.args) if leaf.ndim]
            on_device = (
                tuple(map(library.asarray, arrays))
                if name == "cupy"
                else tuple(library.from_numpy(array).cuda() for array in arrays)
            )
            found[name] = median(clock, [peer(library, on_device)])
        return found

    def _verdict(self, case: Case, ours: float, beside: dict[str, float]) -> str:
        """What has to be reached, and how far this is."""
        against, factor = case.must
        moved = sum(case.moved)
        variants = {name: t for name, t in beside.items() if name not in ("cupy", "torch")}
        if against in ("read", "copy"):
            have = moved / ours / (self.read_rate if against == "read" else self.copy_rate)
        elif against == "copy time":
            have, factor = moved / self.copy_rate / ours, 1 / factor
        elif against in beside:
            have = beside[against] / ours
        else:
            return ""
        best = min(variants.values(), default=ours) / ours
        text = f"{have:.2f} of {against}, {factor:.2f} wanted"
        if len(variants) > 1:
            text += f"; {1 / min(1.0, best):.2f} of the best variant's time, 1.10 wanted"
        return text if have >= factor and (len(variants) < 2 or best > 0.9) else f"**{text}**"


def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def median(clock: Any, runs: Sequence[Run], most: float = OF_A_ROW) -> float:
    """The median time of programs that are the same on several inputs, alternately."""
    for run in runs:
        run()
    samples: list[float] = []
    begun = time.perf_counter()
    while len(samples) < LEAST or (
        len(samples) < MOST and time.perf_counter() - begun < most
    ):
        samples.append(clock.seconds(runs[len(samples) % len(runs)]))
    return statistics.median(samples)


def leaves(tree: Any) -> list[Any]:
    """The arrays in nested tuples, NamedTuples and Ragged values."""
    if isinstance(tree, fw.Ragged):
        return leaves((tree.values, tree.offsets))
    if isinstance(tree, tuple | list):
        return [leaf for part in tree for leaf in leaves(part)]
    return [np.asarray(tree)] if hasattr(tree, "shape") else []


def agree(result: Any, expected: Any, rtol: float) -> bool:
    """Whether all leaves are equal, or close where floats are grouped otherwise."""
    found, wanted = leaves(result), leaves(expected)
    return len(found) == len(wanted) and all(
        a.shape == b.shape and (np.allclose(a, b, rtol, rtol) if rtol else np.array_equal(a, b))
        for a, b in zip(found, wanted, strict=True)
    )


def milliseconds(seconds: float) -> str:
    """Three digits."""
    return f"{seconds * 1e3:.3g} ms"


def launches(bench: Bench) -> list[list[str]]:
    """What a call costs in Python, and the first one without caches."""
    calls = 100 if bench.small else 2000
    with fw.target(bench.target), config.scoped(no_cache=True):
        begun = time.perf_counter()
        f = fw.jit(lambda xs: xs * 2 + 1)
        xs = bench.put((np.arange(1000.0),))[0]
        np.asarray(f(xs))
        first = time.perf_counter() - begun
        begun = time.perf_counter()
        for _ in range(calls):
            f(xs)
        each = (time.perf_counter() - begun) / calls
        bench.device.wait()
    limit = 15e-6
    said = f"{each * 1e6:.1f} us, {limit * 1e6:.0f} wanted"
    return [["a call from Python", milliseconds(each), "", "", "",
             said if each <= limit else f"**{said}**", milliseconds(first)]]  # fmt: skip


HEAD = ("program", "time", "GB/s", "of copy", "others (their time over ours)", "to reach",
        "first call")  # fmt: skip


def line(cells: Sequence[str]) -> str:
    """A line of the table."""
    return "| " + " | ".join([*cells, *[""] * (len(HEAD) - len(cells))]) + " |"


def table(bench: Bench, only: str, seconds: float = ALL_ROWS) -> list[str]:
    """The page; each line is also shown when it is there."""
    lines: list[str] = []

    def tell(text: str) -> None:
        lines.append(text)
        print(text, flush=True)

    tell(f"# {bench.device.name}")
    about = "small sizes, to check the programs; " if bench.small else ""
    tell(f"{about}{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, flatweave {fw.__version__}, a copy on "
         f"the device {bench.copy_rate / 1e9:,.0f} GB/s, reads {bench.read_rate / 1e9:,.0f} GB/s; "
         "medians; bold is slower than wanted.\n")  # fmt: skip
    tell(line(HEAD))
    tell("|---" * len(HEAD) + "|")
    begun = time.perf_counter()
    for row in rows():
        if not any(word in row.name for word in only.split(",")):
            continue
        if time.perf_counter() - begun > seconds:
            tell(line([row.name, "left out: no time"]))
            continue
        try:
            tell(line(bench.measured(row)))
        except Exception as failure:  # the other rows are still worth having
            tell(line([row.name, f"**{type(failure).__name__}: {str(failure).splitlines()[0]}**"]))
    if any(word in "call" for word in only.split(",")):
        for cells in launches(bench):
            tell(line(cells))
    tell(f"\n{time.perf_counter() - begun:.0f} s.")
    return lines


def main(argv: Sequence[str]) -> int:
    """Measure; 1 where values are wrong or a program fails."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--target", default="cuda", choices=["cuda", "opencl"])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--seconds", type=float, default=ALL_ROWS)
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args(argv)
    bench = Bench(given.target, given.small, given.alone)
    lines = table(bench, given.only, given.seconds)
    if given.save:
        name = "-".join(bench.device.name.lower().replace(",", "").split()[:4])
        keep("\n".join(lines) + "\n", device=name)
    return int(any("WRONG" in each or "Error" in each for each in lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
