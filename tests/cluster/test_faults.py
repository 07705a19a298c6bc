"""What a cluster loses, with real processes and signals: time, or a message that says what."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import flatweave as fw
from flatweave.cluster.executor import Job, Rows
from flatweave.cluster.files import Region, Stored

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")
remote = pytest.importorskip("flatweave.cluster.dask_worker")
lost = pytest.importorskip("flatweave.cluster.dask_tasks")
OnDask = pytest.importorskip("flatweave.cluster.on_dask").OnDask


MOST_SECONDS = 600
WAITS = {
    "distributed.deploy.lost-worker-timeout": 300,
    "distributed.comm.timeouts.connect": "120s",
    "distributed.comm.timeouts.tcp": "120s",
}


def too_late(signal_number, frame):
    """A cluster that does not recover fails its test."""
    raise TimeoutError(f"the cluster has not recovered within {MOST_SECONDS} s")


@pytest.fixture(autouse=True)
def patience():
    """A process whose worker is lost has as long as a busy machine takes to begin another one:
    after 15 seconds LocalCluster would close it, and nobody would be left. No test waits
    forever."""
    before = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(MOST_SECONDS)
    try:
        with dask.config.set(WAITS):
            yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def cluster(**options):
    """Some processes of this machine; no dashboard, no logs."""
    options = {"n_workers": 1, "threads_per_worker": 1, **options}
    return distributed.LocalCluster(dashboard_address=":0", silence_logs=50, **options)


def sparse(path, rows):
    """A sparse file of zeros, which takes no space on disk."""
    np.lib.format.open_memmap(path, "w+", np.float64, (rows,)).flush()
    return path


def has_come_up(nanny):
    """Whether a nanny begins another worker when this one is lost: not while it waits for it."""
    return nanny.process is not None and nanny.process.status is distributed.Status.running


KINDS = {"kept", "run", "some", "of_results", "parts", "joined", "part", "picked_of"}
"""What workers are asked to do (`dask_worker.py`)."""


@fw.jit
def everything(xs, places):
    """One of each kind of task."""
    kept = xs[xs % 3 == 0]
    return (
        fw.sum(kept), fw.sort(xs), fw.histogram(8, xs % 8), xs[1:] - xs[:-1], fw.cumsum(xs[places]),
    )  # fmt: skip


@pytest.mark.slow
def test_a_worker_killed_in_any_phase_costs_time_alone(monkeypatch):
    """Whichever kind of task was just asked for, when a worker is killed."""
    for name in ("on_dask.TASK_BYTES", "on_dask.REPLICATED", "executor.AT_CLIENT"):
        monkeypatch.setattr(f"flatweave.cluster.{name}", 0)
    xs, places = np.arange(4000) * 7919 % 4001, np.arange(4000) * 31 % 4000
    wanted = [np.asarray(each) for each in everything(xs, places)]
    submitted, seen, victims = OnDask._submitted, set(), []

    def killing(self, function, *columns, **named):
        made = submitted(self, function, *columns, **named)
        if function.__name__ not in seen:
            processes = self.client.cluster
            known = set(processes.scheduler.workers)
            up = [
                each.pid for each in processes.workers.values()
                if each.worker_address in known and has_come_up(each)
            ]  # fmt: skip
            living = [pid for pid in up if pid and pid not in victims]
            if living:  # the others are on their way
                seen.add(function.__name__)
                victims.append(living[0])
                os.kill(living[0], signal.SIGKILL)
        return made

    monkeypatch.setattr(OnDask, "_submitted", killing)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 100}),
        cluster(n_workers=2) as processes, distributed.Client(processes) as client,
        fw.on(client),
    ):  # fmt: skip
        for _ in range(40):
            client.wait_for_workers(2)  # a result is cut for those that there are
            given = fw.Chunked.cut(xs, 400), fw.Chunked.cut(places, 300)
            for mine, theirs in zip(everything(*given), wanted, strict=True):
                assert np.array_equal(np.asarray(mine), theirs)
            if len(seen) == len(KINDS):
                break

    assert seen == KINDS
    assert not any(Path(f"/proc/{victim}").exists() for victim in victims)


@pytest.mark.slow
def test_a_worker_spills_what_does_not_fit(tmp_path):
    """Results of more than its memory; Dask writes them to its folder."""
    xs = fw.Chunked.open(sparse(tmp_path / "xs.npy", 1 << 26), 1 << 20)
    with (
        dask.config.set({"temporary-directory": str(tmp_path)}),
        cluster(memory_limit="400MiB") as processes, distributed.Client(processes) as client,
        fw.on(client),
    ):  # fmt: skip
        ys = fw.jit(lambda x: x + fw.iota(x.shape[0]))(xs)
        assert float(fw.jit(fw.sum)(ys)) == float(sum(range(1 << 26)))


@pytest.mark.slow
def test_a_worker_without_memory_fails_with_the_name_of_the_array(tmp_path):
    """The size of the chunk, its rows, and what to do."""
    prices = fw.Chunked.open(sparse(tmp_path / "prices.npy", 1 << 26), 1 << 26)
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        cluster(memory_limit="400MiB") as processes, distributed.Client(processes) as client,
        fw.on(client),
        pytest.raises(fw.DeviceError) as found,
    ):  # fmt: skip
        fw.jit(lambda prices: fw.sum(fw.sort(prices)))(prices)

    assert "2 workers were lost" in str(found.value)
    assert "one chunk of prices, 512.0 MiB" in str(found.value)
    assert "in chunk 0, rows 0 to 67108863" in str(found.value)


def test_lost_workers_in_words():
    """The names in the message if a task has no arrays, or two."""
    chunk = lost.Chunk(3, 20, 30)
    found = str(lost.without_workers([lost.Begun(None, chunk, (("x_1", 80), ("y_2", 8192)))], 4))
    assert "4 workers were lost in succession" in found
    assert "one chunk of x, 80 B and y, 8.0 KiB" in found
    assert "in chunk 3, rows 20 to 29" in found

    assert "a worker was lost while it computed one chunk." in str(lost.without_workers([], 1))


class Deadly:
    """A file that ends whoever reads it."""

    def read(self, columns, begin, end):
        os.kill(os.getpid(), signal.SIGKILL)


def test_what_is_lost_is_told_where_no_program_runs():
    """A worker that reads a file for the client; a scheduler, while files are written."""
    piece = Stored([Region(Deadly(), 0, 4)])
    rows = Rows(((piece, 0, 4),), np.dtype(np.int64), ())
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        cluster() as processes, distributed.Client(processes) as client,
    ):  # fmt: skip
        place = OnDask(client)
        with pytest.raises(fw.DeviceError, match=r"a worker was lost while it computed one chunk"):
            place.extremes([rows])
    with pytest.raises(fw.DeviceError, match="scheduler is lost"):
        place.done(print, [Job(lost.Chunk(2, 8, 12), [1])])


def test_a_closed_cluster_is_an_error_at_once():
    """Nothing waits for a connection to come back."""
    with cluster(processes=False) as threads, distributed.Client(threads) as client:
        client.close()
        with fw.on(client), pytest.raises(fw.DeviceError, match="scheduler is lost") as found:
            fw.jit(fw.sum)(fw.Chunked.cut(np.arange(10), 4))

    assert "client = Client(address)" in str(found.value)


@pytest.mark.slow
def test_a_lost_scheduler_is_an_error_at_once(tmp_path, monkeypatch):
    """While a program runs, and after; workers go with it."""
    where = tmp_path / "scheduler.json"
    began = [sys.executable, "-m"]
    options = ["--scheduler-file", str(where), "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen(
        [*began, "distributed.cli.dask_scheduler", "--port", "0", *options], **quiet
    )
    worker = subprocess.Popen(
        [*began, "distributed.cli.dask_worker", "--nthreads", "1", *options], **quiet
    )
    try:
        client = distributed.Client(scheduler_file=str(where), timeout=30)
        client.wait_for_workers(1)
        (process,) = client.run(os.getpid).values()
        submitted, count = OnDask._submitted, []

        def killing(self, function, *columns, **named):
            count.append(1)
            if len(count) == 30:
                scheduler.kill()
            return submitted(self, function, *columns, **named)

        monkeypatch.setattr(OnDask, "_submitted", killing)
        xs = fw.Chunked.cut(np.arange(1000.0), 100)
        loop = fw.jit(lambda x: fw.fori_loop(0, 10**6, lambda i, s: s + fw.sum(x), 0.0))
        for _ in range(2):
            with fw.on(client), pytest.raises(fw.DeviceError, match="scheduler is lost"):
                loop(xs)
        worker.wait(30)
        assert not Path(f"/proc/{process}").exists()
    finally:
        for each in (worker, scheduler):
            each.kill()
            each.wait()
        client.close(timeout=1)
