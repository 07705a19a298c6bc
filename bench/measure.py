"""One row's times, in a separate process: `python -m bench.measure NAME` prints them as JSON.

    round 1:   reference, flatweave, flatweave on 1 thread, C loop, numpy, ..
    round 2:   flatweave, flatweave on 1 thread, C loop, numpy, .., reference
    ...

Everything runs in every round, so all see the same minute of a machine whose memory is now fast,
now slow; the order rotates from round to round. Before each sample all threads rest for `REST`
seconds: OpenMP's and XLA's workers spin for some milliseconds after their work, which would be
charged to whoever comes next.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import flatweave as fw
from bench.elsewhere import Elsewhere
from bench.needs import LEVELS, ONE, OURS, Times, Verdict, ours_at
from bench.row import Row
from bench.rows import ROWS
from bench.tools import Tools
from bench.values import compare, leaves, total_bytes
from flatweave.base.config import config
from flatweave.base.errors import ArgumentError
from flatweave.codegen.llvm.isa import here

REST = 0.01
LEAST, MOST = 7, 31  # rounds
BUDGET = {False: 9.0, True: 1.5}  # seconds for all rounds of a row
STREAMED = 0.05  # writing more than this part of the bytes makes a row a copy, else a read
LARGEST_REFERENCE = 1 << 30


def aligned(size: int) -> np.ndarray[Any, Any]:
    """Bytes on a cache line's start, in memory that is there."""
    room = np.ones(size + 64, np.uint8)
    start = -room.ctypes.data % 64
    return room[start : start + size]


def reference(
    row: Row, tools: Tools, read: int, written: int
) -> tuple[Callable[[], Any] | None, int]:
    """Streams as many bytes as the row must move, or reads them; and how many those are."""
    native = tools.c("reference.c")
    total = read + written
    if native is None or not total:
        return None, 0
    stream = row.stream or ("read" if written < STREAMED * total else "copy")
    if stream == "read":
        size = min(total, LARGEST_REFERENCE) // 256 * 256
        return native.bind("read_sum", aligned(size), size), size
    size = min(total // 2, LARGEST_REFERENCE) // 256 * 256
    return native.bind("copy_stream", aligned(size), aligned(size), size), 2 * size


class Switched:
    """A call under other switches, which are set before a sample's clock starts."""

    def __init__(self, call: Callable[[], Any], **switches: Any) -> None:
        self.call = call
        self.switches = switches

    def __call__(self) -> Any:
        """Call it so."""
        with config.scoped(**self.switches):
            return self.call()


def levels() -> list[str]:
    """The levels of x86-64 whose registers are narrower than those of ours."""
    return [level for level in LEVELS if register_bits(level) < register_bits(config.cpu)]


def register_bits(level: str) -> int:
    """Of the code for a level; more than there are, where this machine cannot run it."""
    with config.scoped(cpu=level):
        try:
            return here().register_bits
        except ArgumentError:
            return sys.maxsize


def contenders(row: Row, tools: Tools, args: tuple[Any, ...]) -> dict[str, Callable[[], Any]]:
    """Ours, on one thread, at lower levels of the CPU, and the peers that can be had."""
    compiled = fw.jit(row.program)
    ours = {OURS: lambda: compiled(*args)}
    if row.is_large:
        ours[ONE] = Switched(ours[OURS], threads=1)
    for level in levels():
        ours[ours_at(level)] = Switched(ours[OURS], cpu=level)
    return ours | row.peers(tools, *args)


def sample(
    call: Callable[[], Any], repeat: int, clock: Callable[[], float], rest: float = REST
) -> float:
    """Seconds per call, after a rest of all threads."""
    if isinstance(call, Switched):
        with config.scoped(**call.switches):
            return sample(call.call, repeat, clock, rest)
    time.sleep(rest)
    if isinstance(call, Elsewhere):
        return call.seconds("cpu" if clock is time.process_time else "wall")
    turns = range(repeat)
    start = clock()
    for _ in turns:
        call()
    return (clock() - start) / repeat


def rounds(
    calls: dict[str, Callable[[], Any]], row: Row, quick: bool, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Seconds of each, round for round, until there are enough and the time is up."""
    order = list(calls)
    seconds: dict[str, list[float]] = {name: [] for name in order}
    end = time.monotonic() + BUDGET[quick]
    for number in range(MOST):
        if number >= LEAST and time.monotonic() > end:
            break
        for name in order:
            repeat = 1 if name == "reference" else row.repeat
            seconds[name].append(sample(calls[name], repeat, clock))
        order = order[1:] + order[:1]
    return seconds


def measure(row: Row, tools: Tools, quick: bool, cpu: bool) -> dict[str, Any]:
    """All of one row, checked and timed; in CPU seconds of all threads where others compute too."""
    args = row.inputs(row.quick if quick else row.size)
    calls = contenders(row, tools, args)
    ours = leaves(calls[OURS]())
    read, written = total_bytes(args), total_bytes(ours)
    for name, call in calls.items():
        compare(row, name, ours, leaves(call()))
    opened = [*shape_of(row, args), *bits_of(row, calls[OURS], ours)]
    del ours
    stream, moved = reference(row, tools, read, written) if row.is_large else (None, 0)
    if stream is not None:
        stream()
        calls = {"reference": stream, **calls}
    seconds = rounds(calls, row, quick, time.process_time if cpu else time.perf_counter)
    base = seconds.pop("reference", [])
    times = Times(seconds, base, moved, read + written, least=cpu)
    verdicts = [need.judge(times) for need in row.needs]
    return report(row, times, [*verdicts, *opened], tools) | {"quick": quick, "cpu_time": cpu}


def shape_of(row: Row, args: tuple[Any, ...]) -> list[Verdict]:
    """Whether the program is one kernel that stores nothing in between, where it must be."""
    if not row.one_kernel:
        return []
    stages = fw.jit(row.program).stages(*args)
    need = "one kernel, no temporaries"
    stored = len(stages.manifest)
    measured = f"{stages.kernels} kernel(s), {stored} array(s) stored"
    results = 1
    return [Verdict(need, measured, stages.kernels == 1 and stored <= results)]


def bits_of(row: Row, call: Callable[[], Any], ours: list[Any]) -> list[Verdict]:
    """Whether every number of threads gives the same bits, where it must."""
    if not row.same_bits:
        return []
    counts = (1, 2, 3, 7)
    other = [n for n in counts if any(map(differ, ours, leaves(Switched(call, threads=n)())))]
    measured = f"{', '.join(map(str, other))} threads differ" if other else "same"
    return [Verdict(f"same bits on {', '.join(map(str, counts))} threads", measured, not other)]


def differ(mine: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> bool:
    """Whether a bit does."""
    return mine.tobytes() != other.tobytes()


def report(row: Row, times: Times, verdicts: list[Verdict], tools: Tools) -> dict[str, Any]:
    """The row as JSON: medians in seconds, verdicts, and what was not there to compare with."""
    return {
        "name": row.name,
        "title": row.title,
        "seconds": {name: times.typical(name) for name in times.seconds},
        "rounds": len(times.seconds[OURS]),
        "compulsory_bytes": times.compulsory,
        "floor": sorted(times.floors)[len(times.floors) // 2] if times.reference else None,
        "of_floor": times.of_floor(OURS) if times.reference else None,
        "times_faster": {
            name: times.ratio(name, OURS) for name in times.seconds if not name.startswith(OURS)
        },
        "threads": {name: row.threads_of(name, config.threads or 1) for name in times.seconds},
        "verdicts": [vars(verdict) for verdict in verdicts],
        "missing": tools.missing,
        "load": round(os.getloadavg()[0], 2),
    }


def main() -> None:
    """Measure the row named on the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--without", default="")
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    tools = Tools(tuple(options.without.split(",")))
    found = measure(ROWS[options.name], tools, options.quick, options.cpu)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
