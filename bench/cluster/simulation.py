"""A cluster that is not there: a recorded plan on some workers, as discrete events.

    client      its own work between tasks, and some seconds for each that it submits; blocked
                while it waits for results
    scheduler   one task after the other: half of its work when a task is ready, half when it is
                done; a task goes to that one of the workers with something of what it takes that
                would be first with what it has to do and to receive; without any, of all workers,
                and of equals to the one whose turn it is
    network     each worker sends and receives at some rate, for all results together
    workers     one task at a time
    cores       a core for everybody; where all share a machine, whoever has work at a time has as
                much of its cores as the others: workers, client and scheduler, what is sent
"""

from __future__ import annotations

import heapq
import math
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

    @classmethod
    def least(cls, found: Sequence[Costs]) -> Costs:
        """The least of seconds, the most bytes a second."""
        *seconds, between, here = zip(*found, strict=True)
        return cls(*map(min, seconds), max(between), max(here))


class Worker:
    """What one worker has to do, and when its network is free."""

    def __init__(self) -> None:
        self.queue: deque[int] = deque()
        self.is_busy = False
        self.expected = 0.0  # seconds of work that it was given and has not done
        self.sends = 0.0  # free from then on
        self.receives = 0.0


class Cores:
    """Work in progress, which shares some cores evenly. `done` counts the seconds of work that
    each had that was there all the time; so the next one to end is known without looking at all."""

    def __init__(self, count: float) -> None:
        self.count = count
        self.done = 0.0
        self._now = 0.0
        self._number = 0
        self._work: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []

    def begin(self, now: float, seconds: float, what: Callable[..., None], *args: Any) -> None:
        """Let something happen when so much work is done."""
        self._go_on(now)
        self._number += 1
        heapq.heappush(self._work, (self.done + seconds, self._number, what, args))

    def slower(self) -> float:
        """How much longer something takes that begins now."""
        return max(1.0, (len(self._work) + 1) / self.count)

    def next(self) -> float:
        """When the next work ends, if none begins before."""
        return self._now + (self._work[0][0] - self.done) / self._pace() if self._work else math.inf

    def end(self, now: float) -> None:
        """End this work."""
        self._go_on(now)
        _, _, what, args = heapq.heappop(self._work)
        what(*args)

    def _pace(self) -> float:
        return min(1.0, self.count / len(self._work))

    def _go_on(self, now: float) -> None:
        if self._work:
            self.done += (now - self._now) * self._pace()
        self._now = now


class Simulation:
    """One run; `seconds` of a task and `size` of its result are those of the real chunks. All may
    be `shared`: one machine with some cores, client and scheduler one process of it, as where
    Dask starts a local cluster."""

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
        self.cores = Cores(cores if shared or cores < workers else math.inf)
        self.has: list[set[int]] = [set() for _ in tasks]  # the workers that have a result
        self.given: dict[int, int] = {}  # the worker of a task
        self.dependents: list[list[int]] = [[] for _ in tasks]
        self.missing = [0] * len(tasks)
        self.done: dict[int, float] = {}  # when the client may know
        self.scheduler: deque[tuple[float, Callable[..., None], tuple[Any, ...]]] = deque()
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
        while self._next_at() <= clock:
            self._step()
        self.now = max(self.now, clock)
        ended: list[float] = []
        self._scheduled(seconds, lambda: ended.append(self.now))
        while not ended:
            self._step()
        return ended[0]

    def _next_at(self) -> float:
        return min(self._events[0][0] if self._events else math.inf, self.cores.next())

    def _step(self) -> None:
        work = self.cores.next()
        if not self._events or work <= self._events[0][0]:
            self.now = work
            self.cores.end(work)
        else:
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

    def _scheduled(self, seconds: float, what: Callable[..., None], *args: Any) -> None:
        """Work of the scheduler, after its pending work."""
        self.scheduler.append((seconds, what, args))
        if len(self.scheduler) == 1:
            self.cores.begin(self.now, seconds, self._was_scheduled)

    def _was_scheduled(self) -> None:
        _, what, args = self.scheduler.popleft()
        if self.scheduler:
            self.cores.begin(self.now, self.scheduler[0][0], self._was_scheduled)
        what(*args)

    def _submitted(self, task: int) -> None:
        missing = [each for each in self.tasks[task].needs if not self.has[each]]
        for each in missing:
            self.dependents[each].append(task)
        self.missing[task] = len(missing)
        if not missing:
            self._ready(task)

    def _ready(self, task: int) -> None:
        self._scheduled(self.costs.schedule / 2, self._give, task)

    def _give(self, task: int) -> None:
        number = self._chosen(task)
        self.given[task] = number
        self.workers[number].expected += self.seconds[task]
        self.at(self.now + self.costs.latency, self._taken, task, number)

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
        self._scheduled(self.costs.schedule / 2, self._is_done, task)

    def _is_done(self, task: int) -> None:
        self.done[task] = self.now + self.costs.latency
        for each in self.dependents[task]:
            self.missing[each] -= 1
            if not self.missing[each]:
                self._ready(each)

    # -- the workers ------------------------------------------------------------------------------

    def _taken(self, task: int, number: int) -> None:
        """A worker has been given a task: it asks others for what it takes."""
        mine, there = self.workers[number], self.now
        for each in self.tasks[task].needs:
            if number not in self.has[each]:
                other = self.workers[self.given[each]]
                seconds = self.sizes[each] / self.costs.bandwidth
                if self.shared:  # who sends and who receives take a core's time together
                    begun = max(self.now, mine.receives, other.sends)
                    self.at(begun, self.cores.begin, begun, seconds, _nothing)
                    seconds *= self.cores.slower()
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
        task = worker.queue.popleft()
        seconds = self.costs.start + self.seconds[task]
        self.cores.begin(self.now, seconds, self._ended, task, number)

    def _ended(self, task: int, number: int) -> None:
        worker = self.workers[number]
        worker.is_busy = False
        worker.expected -= self.seconds[task]
        self.has[task].add(number)
        self.at(self.now + self.costs.latency, self._finished, task)
        self._begin(number)


def _nothing() -> None:
    """What is sent has been sent."""
