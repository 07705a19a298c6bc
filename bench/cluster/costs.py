"""The measured overhead of a cluster on this machine: `simulation.Costs`; and
how long each kind of task of a program takes on one core, while others work as well.
"""

from __future__ import annotations

import multiprocessing
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from distributed import wait

import flatweave as fw
from bench.cluster.programs import PROGRAMS, keys
from bench.cluster.recorded import Recorder
from bench.cluster.simulation import Costs

MANY = 2000
RUNS, REST = 2, 0.01
LARGE = 1 << 27  # bytes that are sent
CHUNKS = (1, 2, 4)  # alone; so few that the array goes to everyone; more


class Rate(NamedTuple):
    """Of one kind of task: seconds, and bytes of its result."""

    seconds: float
    size: float


def nothing(k: int) -> int:
    """A task without work."""
    return k


def filled(size: int) -> Any:
    """A result of `size` bytes."""
    return np.ones(size, np.uint8)


def received(values: Any) -> int:
    """A task that takes such a result, and gives little."""
    return int(values[-1])


def costs_of(client: Any) -> Costs:
    """The costs of a cluster of two or more processes."""
    client.gather(client.map(nothing, range(100), pure=False))
    mine, ours = time.thread_time(), time.process_time()
    theirs = sum(client.run(time.process_time).values())
    client.gather(client.map(nothing, range(MANY), pure=False))
    mine, ours = time.thread_time() - mine, time.process_time() - ours
    theirs = sum(client.run(time.process_time).values()) - theirs
    submit, schedule, start = mine / MANY, (ours - mine) / MANY, theirs / MANY
    once = _median(lambda: client.submit(nothing, 1, pure=False).result(), 50)
    known = client.submit(nothing, 1, pure=False)
    known.exception()
    call = _median(known.result, 50)
    latency = max(once - submit - schedule - start - call, 0) / 4
    workers = list(client.scheduler_info(n_workers=-1)["workers"])

    def moved() -> float:
        """Every worker sends to the next one, and receives from the one before."""
        made = [client.submit(filled, LARGE, pure=False, workers=[each]) for each in workers]
        wait(made)
        begun = time.perf_counter()
        pairs = zip(made, workers[1:] + workers[:1], strict=True)
        client.gather(
            [client.submit(received, x, pure=False, workers=[each]) for x, each in pairs]
        )
        return time.perf_counter() - begun

    def fetched() -> float:
        made = client.submit(filled, LARGE, pure=False)
        made.exception()
        begun = time.perf_counter()
        made.result()
        return time.perf_counter() - begun

    between, here = (statistics.median(job() for _ in range(5)) for job in (moved, fetched))
    return Costs(submit, schedule, start, latency, call, LARGE / between, LARGE / here)


def rates(processes: int, rows: int) -> dict[str, Rate]:
    """Seconds and bytes of each kind of task on chunks of `rows` rows, while several processes do
    the same."""
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(processes), context.Queue()
    started = [
        context.Process(target=_rated, args=(rows, barrier, results)) for _ in range(processes)
    ]
    for process in started:
        process.start()
    found: list[Mapping[str, Rate]] = [results.get() for _ in started]
    for process in started:
        process.join()
    return {
        kind: Rate(*(statistics.mean(each[kind][k] for each in found) for k in (0, 1)))
        for kind in found[0]
    }


def _rated(rows: int, barrier: Any, results: Any) -> None:
    made: dict[str, Rate] = {}
    of_all = statistics.median if barrier.parties > 1 else min  # others are in each other's way
    for chunks in CHUNKS:
        recorder = Recorder(chunks)
        with fw.on(recorder):
            xs = keys(chunks, rows)
            made.update(by_kind(recorder))
            for program in PROGRAMS.values():
                program(xs)
                recorder.tasks.clear()
                for _ in range(RUNS):
                    barrier.wait()
                    program(xs)
                made.update(by_kind(recorder, of_all))
    results.put(made)


def by_kind(
    recorder: Recorder, of_all: Callable[[list[float]], float] = min
) -> dict[str, Rate]:
    """Of each kind of task the fastest, or what is asked for of all."""
    found = defaultdict(list)
    for task in recorder.tasks:
        found[task.kind].append(task)
    return {
        kind: Rate(
            of_all([each.seconds for each in tasks]),
            statistics.median(each.size for each in tasks),
        )
        for kind, tasks in found.items()
    }  # fmt: skip


def _median(job: Callable[[], Any], times: int) -> float:
    found = []
    for _ in range(times):
        time.sleep(REST)  # Dask sends at once what comes 2 ms after the last message
        begun = time.perf_counter()
        job()
        found.append(time.perf_counter() - begun)
    return statistics.median(found)
