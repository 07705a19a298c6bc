"""A cluster that is not there: a plan as it was recorded, on so many workers, as discrete events.

    client      its own work between tasks, and so many seconds for each that it submits; blocked
                while it waits for results
    scheduler   one task after the other: half of its work when a task is ready, half when it is
                done; a task goes to that one of the workers with something of what it takes that
                would be first with what it has to do and to receive; without any, of all workers,
                and of equals to the one whose turn it is
    network     each worker sends and receives so many bytes a second, of all results together
    workers     one task at a time, on a core each, where there are as many
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bench.cluster.recorded import Event, Task


class Costs(NamedTuple):
    """What is not the program's own work, in seconds and in bytes a second."""

    submit: float  # the client, for each task
    schedule: float  # the scheduler, for each task
    start: float  # a worker, for each task
    latency: float  # a message
    call: float  # a question to the scheduler, and its answer
    bandwidth: float  # between two workers
    fetch: float  # from a worker to the client


class Worker:
    """What one worker has to do, and when its network is free."""

    def __init__(self) -> None:
        self.queue: deque[int] = deque()
        self.is_busy = False
        self.expected = 0.0  # seconds of work that it was given and has not done
        self.sends = 0.0  # free from then on
        self.receives = 0.0


class Simulation:
    """One run; `seconds` of a task and `size` of its result are those of the real chunks. Client
    and scheduler may be `shared`: one process, as where Dask begins a cluster by itself."""

    def __init__(
        self, tasks: Sequence[Task], seconds: Sequence[float], sizes: Sequence[float],
        workers: int, cores: int, costs: Costs, *, shared: bool = False,
    ) -> None:  # fmt: skip
        self.tasks = tasks
        self.seconds = seconds
        self.sizes = sizes
        self.costs = costs
        self.shared = shared
        self.workers = [Worker() for _ in range(workers)]
        self.cores = self.all_cores = cores
        self.waiting: deque[int] = deque()  # workers that have a task and no core
        self.has: list[set[int]] = [set() for _ in tasks]  # the workers that have a result
        self.given: dict[int, int] = {}  # the worker of a task
        self.dependents: list[list[int]] = [[] for _ in tasks]
        self.missing = [0] * len(tasks)
        self.done: dict[int, float] = {}  # when the client may know
        self.scheduler = 0.0  # free from then on
        self.now = 0.0
        self._next = 0
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []

    def run(self, events: Sequence[Event], marked: int) -> float:
        """How long the client takes for its events from the marked one on."""
        clock = begun = 0.0
        for number, event in enumerate(events):
            if number == marked:
                begun = clock
            clock = self._worked(clock, event.gap + (0 if event.waits else self.costs.submit))
            if event.waits:
                clock = max(clock, self._until(event.tasks))
                if event.brings:
                    size = sum(self.sizes[task] for task in event.tasks)
                    clock += self.costs.call + size / self.costs.fetch
            else:
                self.at(clock + self.costs.latency, self._submitted, *event.tasks)
        return clock - begun

    def _worked(self, clock: float, seconds: float) -> float:
        """When the client has done its own work; where it shares a process with the scheduler, only
        one of them works at a time."""
        if not self.shared:
            return clock + seconds
        while self._events and self._events[0][0] <= clock:
            self._step()
        self.scheduler = max(self.scheduler, clock) + seconds * self._slower()
        return self.scheduler

    def _slower(self) -> float:
        """How much longer the scheduler takes where it shares the workers' cores with them."""
        busy = sum(worker.is_busy for worker in self.workers) if self.shared else 0
        return max(1.0, (busy + 1) / self.all_cores)

    def _step(self) -> None:
        self.now, _, what, args = heapq.heappop(self._events)
        what(*args)

    def at(self, when: float, what: Callable[..., None], *args: Any) -> None:
        """Let something happen then."""
        self._next += 1
        heapq.heappush(self._events, (when, self._next, what, args))

    def _until(self, tasks: Sequence[int]) -> float:
        """When the client knows that some tasks are done."""
        while any(task not in self.done for task in tasks):
            self._step()
        return max(self.done[task] for task in tasks)

    # -- the scheduler ----------------------------------------------------------------------------

    def _submitted(self, task: int) -> None:
        missing = [each for each in self.tasks[task].needs if not self.has[each]]
        for each in missing:
            self.dependents[each].append(task)
        self.missing[task] = len(missing)
        if not missing:
            self._ready(task)

    def _ready(self, task: int) -> None:
        self.scheduler = max(self.scheduler, self.now) + self.costs.schedule / 2 * self._slower()
        number = self._chosen(task)
        self.given[task] = number
        self.workers[number].expected += self.seconds[task]
        self.at(self.scheduler + self.costs.latency, self._taken, task, number)

    def _chosen(self, task: int) -> int:
        """The worker that would be the first one to begin, as Dask chooses it."""
        here: dict[int, float] = {}
        total = 0.0
        for each in self.tasks[task].needs:
            total += self.sizes[each]
            for number in self.has[each]:
                here[number] = here.get(number, 0.0) + self.sizes[each]

        def cost(number: int) -> tuple[float, int]:
            brought = (total - here.get(number, 0.0)) / self.costs.bandwidth
            turn = (number - len(self.given)) % len(self.workers)
            return self.workers[number].expected + brought, turn

        return min(here or range(len(self.workers)), key=cost)

    def _finished(self, task: int) -> None:
        self.scheduler = max(self.scheduler, self.now) + self.costs.schedule / 2 * self._slower()
        self.done[task] = self.scheduler + self.costs.latency
        for each in self.dependents[task]:
            self.missing[each] -= 1
            if not self.missing[each]:
                self.at(self.scheduler, self._ready, each)

    # -- the workers ------------------------------------------------------------------------------

    def _taken(self, task: int, number: int) -> None:
        """A worker has been given a task: it asks others for what it takes."""
        mine, there = self.workers[number], self.now
        for each in self.tasks[task].needs:
            if number not in self.has[each]:
                other = self.workers[self.given[each]]
                seconds = self.sizes[each] / self.costs.bandwidth
                mine.receives = max(self.now, mine.receives) + seconds
                other.sends = max(self.now, other.sends) + seconds
                there = max(there, mine.receives, other.sends)
                self.has[each].add(number)
        if there > self.now:
            there += 2 * self.costs.latency
        self.at(there, self._queued, task, number)

    def _queued(self, task: int, number: int) -> None:
        self.workers[number].queue.append(task)
        self._begin(number)

    def _begin(self, number: int) -> None:
        worker = self.workers[number]
        if worker.is_busy or not worker.queue:
            return
        worker.is_busy = True
        if self.cores:
            self._on_core(number)
        else:
            self.waiting.append(number)

    def _on_core(self, number: int) -> None:
        self.cores -= 1
        task = self.workers[number].queue.popleft()
        self.at(self.now + self.costs.start + self.seconds[task], self._ended, task, number)

    def _ended(self, task: int, number: int) -> None:
        worker = self.workers[number]
        worker.is_busy = False
        worker.expected -= self.seconds[task]
        self.cores += 1
        self.has[task].add(number)
        self.at(self.now + self.costs.latency, self._finished, task)
        self._begin(number)
        if self.waiting and self.cores:
            self._on_core(self.waiting.popleft())
