"""Where each operation stops scaling: python -m bench.cluster.simulate FILE.json [--save]

FILE holds what was measured on this machine; without it, that is measured first, and kept in it:
costs, tasks and whole programs alternately, the minimum of several rounds, as a machine with others
is slower at one time than at another.
A program's plan is recorded as the client makes it, at any number of chunks, of few rows each
(`recorded.py`); what its tasks cost is measured on full chunks (`costs.py`); and a cluster is
simulated (`simulation.py`). Checked on 1, 2 and 4 processes of this machine, then reported for
up to 1,000 workers with a core each.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from distributed import Client, LocalCluster

import flatweave as fw
from bench.cluster.costs import CHUNKS, Rate, by_kind, costs_of, rates
from bench.cluster.programs import PROGRAMS, keys
from bench.cluster.recorded import Recorder
from bench.cluster.simulation import Costs, Simulation
from bench.machine import keep, model
from flatweave.cluster import on_dask

ROWS = 1 << 25  # of a chunk: 128 MiB
PROCESSES = (1, 2, 4)
EACH = 2  # chunks for each process, where it is checked
CORES = 2
WORKERS = (1, 2, 4, 8, 16, 32, 64, 125, 250, 500, 1000)
FEW = 64  # rows of a chunk of a recording, for each chunk that there is
LIKE = {"asked": "looked_up_0"}  # tasks that only many workers have, and those that do the same
LARGE = 1 << 20  # bytes; larger results grow with the rows of a chunk
LIMITS = ("SMALL", "APART", "REPLICATED")  # of bytes, which shrink with a recording's rows
ROUNDS, LONGEST = 3, 200.0  # the last one begins within LONGEST seconds
FIRST, LEAST, MOST, BUDGET = 2, 3, 6, 1.5  # runs that do not count, that do, seconds for these
REST = 0.05  # seconds between two of them
NETWORK = 1.25e9  # bytes a second between machines
MESSAGE = 2.2e-3  # seconds, of which Dask collects messages for 2 ms


class Measured(NamedTuple):
    """What was measured on this machine, by the number of processes: seconds and bytes of tasks,
    what a cluster costs, and seconds of whole programs."""

    rates: dict[int, dict[str, Rate]]
    costs: dict[int, Costs]
    seconds: dict[int, dict[str, float]]


def recorded(name: str, workers: int, each: int) -> tuple[Recorder, int]:
    """A program's plan on `workers` workers, with some chunks for each, and the rows of each of
    these has."""
    chunks = workers * each
    rows, program = FEW * chunks, PROGRAMS[name]
    shrunk = {each: getattr(on_dask, each) * rows // ROWS for each in LIMITS}
    with mock.patch.multiple(on_dask, **shrunk):
        with fw.on(Recorder(workers)):
            program(keys(min(chunks, CHUNKS[-1]), rows))  # traced and compiled
        recorder = Recorder(workers)
        with fw.on(recorder):
            xs = keys(chunks, rows)
            recorder.mark()
            program(xs)
    return recorder, rows


def predicted(
    name: str, workers: int, each: int, found: Mapping[str, Rate], cores: int, costs: Costs, *,
    shared: bool = False,
) -> float:  # fmt: skip
    """The time of a program on `workers` workers, with some chunks for each."""
    plan, rows = recorded(name, workers, each)
    sizes, seconds = [], []
    small = by_kind(plan)
    for task in plan.tasks:
        rate = found.get(task.kind) or _alike(task.kind, found) or small[task.kind]
        size = task.size * ROWS / rows if rate.size > LARGE else task.size
        sizes.append(size)
        seconds.append(rate.seconds * (size / rate.size if rate.size > LARGE else 1))
    run = Simulation(plan.tasks, seconds, sizes, workers, cores, costs, shared=shared)
    return run.run(plan.events, plan.marked)


def _alike(kind: str, found: Mapping[str, Rate]) -> Rate | None:
    """The slowest program of the same name: those that part chunks differ by how many parts."""
    own = kind.partition(" ")[0]
    name = LIKE.get(own, own)
    rates = [rate for key, rate in found.items() if key != name and key.partition(" ")[0] == name]
    return max(rates, key=lambda rate: rate.seconds, default=None)


def measured() -> Measured:
    """All of it; takes some minutes."""
    found, begun = Measured({}, {}, {}), time.perf_counter()
    for turn in range(ROUNDS):
        if turn and time.perf_counter() - begun > LONGEST:
            break
        for processes in PROCESSES:
            sys.stderr.write(f"round {turn}, {processes} processes\n")
            _measure(processes, found)
    return found


def _measure(processes: int, found: Measured) -> None:
    """One round: what is less than before is kept."""
    if processes <= CORES:
        before, made = found.rates.get(processes, {}), rates(processes, ROWS)
        found.rates[processes] = {k: min(before.get(k, x), x) for k, x in made.items()}
    with (
        LocalCluster(n_workers=processes, threads_per_worker=1, dashboard_address=":0",
                     memory_limit=None, silence_logs=50) as cluster,
        Client(cluster) as client, fw.on(client),
    ):  # fmt: skip
        costs = [costs_of(client)]
        xs = keys(processes * EACH, ROWS)
        seconds = found.seconds.setdefault(processes, {})
        for name, program in PROGRAMS.items():
            seconds[name] = min(seconds.get(name, float("inf")), _seconds(program, xs))
        costs += [costs_of(client), *filter(None, [found.costs.get(processes)])]
        found.costs[processes] = Costs.least(costs)


def _seconds(program: Any, xs: Any) -> float:
    """The shortest of some runs, as others use this machine, too; the first ones aside, in which
    programs are compiled, and memory is used for the first time."""
    times: list[float] = []
    for turn in range(FIRST + MOST):
        time.sleep(REST)
        begun = time.perf_counter()
        result = program(xs)
        if turn >= FIRST:
            times.append(time.perf_counter() - begun)
        del result
        if len(times) >= LEAST and sum(times) > BUDGET:
            break
    return min(times)


def checked(found: Measured) -> str:
    """A table of simulated and measured times; four processes share two cores, by
    what they cost where there are two."""
    heads = [f"{what}, {p}" for p in PROCESSES for what in ("simulated", "measured", "ratio")]
    lines = [f"| program | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for name in PROGRAMS:
        cells = []
        for processes in PROCESSES:
            few = min(processes, CORES)
            rate, costs = found.rates[few], found.costs[processes]
            costs = costs._replace(bandwidth=found.costs[few].bandwidth)
            ours = predicted(name, processes, EACH, rate, CORES, costs, shared=True)
            theirs = found.seconds[processes][name]
            cells += [f"{1e3 * ours:.0f} ms", f"{1e3 * theirs:.0f} ms", f"{ours / theirs:.2f}"]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def scaled(found: Measured) -> str:
    """A table of seconds by the number of workers, a core and one chunk for each of them."""
    costs = found.costs[2]._replace(
        latency=MESSAGE, bandwidth=min(NETWORK, found.costs[2].bandwidth)
    )
    lines = [f"| program | {' | '.join(map(str, WORKERS))} |", "|---" * (1 + len(WORKERS)) + "|"]
    for name in PROGRAMS:
        cells = []
        for workers in WORKERS:
            seconds = predicted(name, workers, 1, found.rates[1], workers, costs)
            cells.append(f"{seconds:.3g} s")
            sys.stderr.write(f"{name} {workers}: {cells[-1]}\n")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def read(path: Path) -> Measured:
    """What was kept."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    return Measured(
        {int(p): {k: Rate(*r) for k, r in each.items()} for p, each in kept["rates"].items()},
        {int(p): Costs(*each) for p, each in kept["costs"].items()},
        {int(p): each for p, each in kept["seconds"].items()},
    )


def main() -> None:
    """Measure if needed, check, and go on to many workers."""
    parser = argparse.ArgumentParser(description="where each operation stops scaling")
    parser.add_argument("file", type=Path, help="what was measured, or will be")
    parser.add_argument("--check", action="store_true", help="stop after the check")
    parser.add_argument("--save", action="store_true", help="keep the tables in bench/results")
    options = parser.parse_args()
    if not options.file.exists():
        options.file.write_text(json.dumps(measured()._asdict()), encoding="utf-8")
    found = read(options.file)
    costs = "; ".join(f"{k} {v:.3g}" for k, v in found.costs[2]._asdict().items())
    text = (
        f"# Scaling, simulated\n`python -m bench.cluster.simulate {options.file.name}`, {model()},"
        f" {CORES} cores; chunks of {ROWS:,} u32. Costs in seconds and bytes a second: {costs}.\n\n"
        f"## Beside measurements\n{EACH} chunks for each process.\n\n{checked(found)}"
    )
    sys.stdout.write(text)
    if options.check:
        return
    more = (
        f"\n## Weak scaling\nSeconds by the number of workers, one chunk for each, a network of"
        f" {NETWORK / 1e9} GB/s.\n\n{scaled(found)}"
    )
    sys.stdout.write(more)
    if options.save:
        keep(text + more, "scale")


if __name__ == "__main__":
    main()
