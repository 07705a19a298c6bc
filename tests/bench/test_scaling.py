"""bench/cluster: plans are recorded as they are; simulated clusters take the time they should."""

import numpy as np
import pytest

import flatweave as fw

pytest.importorskip("distributed")
recorded = pytest.importorskip("bench.cluster.recorded")
simulation = pytest.importorskip("bench.cluster.simulation")
Event, Task = recorded.Event, recorded.Task

FREE = simulation.Costs(0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0)
WAIT = True


def taken(tasks, events, workers=1, cores=None, costs=FREE, sizes=None, shared=False):
    """How long a plan takes whose tasks have their own seconds and sizes."""
    made = [Task(str(k), tuple(needs), size, seconds) for k, (needs, size, seconds) in
            enumerate(tasks)]  # fmt: skip
    run = simulation.Simulation(
        made, [each.seconds for each in made], [each.size for each in made], workers,
        workers if cores is None else cores, costs, shared=shared,
    )  # fmt: skip
    return run.run(events, 0)


def submitted(*numbers):
    """The client submits these tasks at once, and waits for all."""
    return [*(Event(0.0, (k,)) for k in numbers), Event(0.0, numbers, WAIT)]


def test_workers_share_tasks():
    """Each takes every second core; with one core they alternate."""
    tasks = [((), 0, 3.0)] * 4

    assert taken(tasks, submitted(0, 1, 2, 3)) == 12
    assert taken(tasks, submitted(0, 1, 2, 3), workers=2) == 6
    assert taken(tasks, submitted(0, 1, 2, 3), workers=2, cores=1) == 12


def test_cores_are_shared_by_who_has_work():
    """Three tasks on two cores go on at two thirds of their pace, until the shortest has ended."""
    tasks = [((), 0, 2.0), ((), 0, 3.0), ((), 0, 3.0)]

    assert taken(tasks[:2], submitted(0, 1), workers=2, cores=2) == 3
    assert taken(tasks, submitted(0, 1, 2), workers=3, cores=2) == pytest.approx(3 + 1)


def test_what_is_sent_takes_time_of_the_cores_of_one_machine():
    """Of two cores one computes on; a single one does both."""
    tasks = [((), 4, 0.0), ((), 9, 0.0), ((), 0, 4.0), ((0, 1), 0, 0.0)]
    events = [Event(0.0, (k,)) for k in range(4)] + [Event(0.0, (2, 3), WAIT)]
    alone = taken(tasks, events, workers=3, shared=False)

    assert alone == 4
    assert taken(tasks, events, workers=3, cores=1, shared=True) > 1.5 * alone


def test_of_several_measurements_the_least_counts():
    """Of seconds; of bytes a second the most."""
    found = [simulation.Costs(1, 5, 1, 5, 1, 5, 1), simulation.Costs(2, 4, 2, 4, 2, 4, 2)]

    assert simulation.Costs.least(found) == (1, 4, 1, 4, 1, 5, 2)


def test_a_task_goes_where_its_results_are():
    """Of two the larger one stays, the other one is sent."""
    tasks = [((), 5, 1.0), ((), 2, 1.0), ((0, 1), 0, 1.0)]

    assert taken(tasks, submitted(0, 1, 2), workers=2) == 1 + 2 + 1


def test_a_worker_sends_one_result_after_the_other():
    """Two others take the same one, each to what it has more of."""
    tasks = [((), 4, 1.0), ((), 9, 1.0), ((), 9, 1.0), ((0, 1), 0, 9.0), ((0, 2), 0, 9.0)]

    assert taken(tasks, submitted(0, 1, 2, 3, 4), workers=3) == 1 + 4 + 4 + 9


def test_the_client_and_the_scheduler_take_time_for_every_task():
    """The first is submitted, scheduled, computed, and heard of; the others meanwhile."""
    costs = simulation.Costs(1.0, 2.0, 0.5, 0.25, 0.0, 1.0, 1.0)

    assert taken([((), 0, 4.0)], submitted(0), costs=costs) == 1 + 2 + 0.5 + 4 + 4 * 0.25
    many = taken([((), 0, 0.0)] * 50, submitted(*range(50)), workers=50, costs=costs)
    assert many == pytest.approx(50 * 2.0, rel=0.05)  # the scheduler bounds it
    both = taken([((), 0, 0.0)] * 50, submitted(*range(50)), 50, costs=costs, shared=True)
    assert both == pytest.approx(50 * 3.0, rel=0.05)


def test_what_is_brought_takes_time():
    """By its bytes."""
    events = [Event(0.0, (0,)), Event(0.0, (0,), WAIT, True)]

    assert taken([((), 7, 1.0)], events) == 8


def test_a_plan_is_recorded():
    """A sum: a task for each chunk, one wait for all; before it, what made the array."""
    recorder = recorded.Recorder(workers=2)
    total = fw.jit(lambda x: fw.sum(x))
    with fw.on(recorder):
        xs = fw.jit(lambda x: x * 2)(fw.Chunked.cut(np.arange(20), 5))
        recorder.mark()
        assert int(total(xs)) == 380

    measured = recorder.events[recorder.marked :]
    assert [event.waits for event in measured] == [False] * 4 + [True]
    made = [recorder.tasks[event.tasks[0]] for event in measured[:4]]
    assert len({task.kind for task in made}) == 1
    assert [recorder.tasks[task.needs[0]].size for task in made] == [40] * 4
