"""Workers killed at random moments: python -m bench.cluster.kills --kills 200 [--save]

Two processes compute one program again and again: sums, a scan, a filter, a sort, a histogram and
a loop over an array in a file. Meanwhile one of them is killed, by SIGKILL, at a random moment,
whenever both are there; Dask's nanny begins another one. Every result must have the bits of the
first run, which nobody disturbed, and no process may be left when the cluster is closed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client, LocalCluster, Status

import flatweave as fw
from bench.machine import keep, model

WORKERS = 2
LENGTH = 400_000
ROWS = 25_000
PAUSE = 0.5  # seconds between two kills, on the average, once both workers are there
GIVEN_UP = (Status.closing, Status.closed, Status.failed)  # of a nanny whose worker stays away
PATIENCE = 300.0  # seconds in which a worker comes back, on a machine that has other things to do
LATE = 15.0  # seconds after which a nanny without a worker is taken for one that has given up
COME_UP = 1.0  # seconds before a process that was just begun is killed
MOST_FAILURES = 1000  # of one task, before Dask gives it up; its own default is 3


@fw.jit
def job(xs: Any) -> Any:
    """A bit of everything."""
    centred = xs - fw.mean(xs)
    far = centred[centred > 0.25]
    places = fw.astype(xs * 64, fw.i64)
    smooth = fw.fori_loop(0, 3, lambda i, s: (s + s[::-1]) / 2, centred)
    return (
        fw.sum(centred * centred), fw.cumsum(far), fw.sort(xs), fw.histogram(64, places),
        fw.max(smooth),
    )  # fmt: skip


def bits(found: Any) -> list[bytes]:
    """Every result as bytes."""
    return [np.asarray(each).tobytes() for each in found]


class Killer(threading.Thread):
    """Kills workers at random moments, a given number in all; ends when both are
    there again."""

    def __init__(self, cluster: Any, kills: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.cluster = cluster
        self.left = kills
        self.victims: set[int] = set()
        self.replaced = 0
        self.ready = 0
        self.both = self.asked = time.monotonic()  # when two were there last, or one was asked for
        self.seen: dict[int, float] = {}  # when each process was seen first
        self.random = random.Random(seed)

    def run(self) -> None:
        while time.monotonic() - self.both < PATIENCE:
            time.sleep(self.random.expovariate(1 / PAUSE))
            living = self._workers()
            self.ready = len(living)
            if self.ready < WORKERS:
                self.replaced += self.cluster.sync(self._replace)
                continue
            if not self.left:
                return
            self.both = time.monotonic()
            victim = self.random.choice(living)
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue
            self.victims.add(victim)
            self.left -= 1

    async def _replace(self) -> int:
        """One worker more for each nanny that has given up, was let go by the cluster, or has had
        nothing to show for long, as whoever runs a cluster does; none for those that are still
        being begun."""
        nannies, known = self.cluster.workers, self.cluster.scheduler.workers
        late = time.monotonic() - max(self.both, self.asked) > LATE
        gone = [
            name for name, nanny in nannies.items()
            if nanny.status in GIVEN_UP or (late and nanny.worker_address not in known)
        ]  # fmt: skip
        for name in gone:
            nanny = nannies.pop(name)
            del self.cluster.worker_spec[name]
            if nanny.status not in GIVEN_UP:
                await nanny.close(timeout=LATE)
        missing = WORKERS - len(nannies) if late else len(gone)
        if missing:
            self.asked = time.monotonic()
            self.cluster.scale(WORKERS)
        return missing

    def _workers(self) -> list[int]:
        """The processes of workers that have come up: a nanny gives up on one that never does."""
        known = set(self.cluster.scheduler.workers)
        nannies = list(self.cluster.workers.values())
        now = time.monotonic()
        began = {
            nanny.pid: self.seen.setdefault(nanny.pid, now)
            for nanny in nannies if nanny.pid and nanny.worker_address in known
        }  # fmt: skip
        ready = [pid for pid, first in began.items() if now - first > COME_UP]
        return [pid for pid in ready if pid not in self.victims]


def disturbed(kills: int, seed: int) -> dict[str, Any]:
    """How many runs had the same bits, how many killed processes are left."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "xs.npy")
        np.save(path, np.random.default_rng(seed).random(LENGTH))
        xs = fw.Chunked.open(path, ROWS)
        with (
            dask.config.set({
                "distributed.scheduler.allowed-failures": MOST_FAILURES,
                "distributed.deploy.lost-worker-timeout": PATIENCE,  # then a nanny is closed
            }),
            LocalCluster(
                n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0", silence_logs=50
            ) as cluster,
            Client(cluster) as client,
            fw.on(client),
        ):  # fmt: skip
            wanted, began = bits(job(xs)), time.perf_counter()
            killer = Killer(cluster, kills, seed)
            killer.start()
            runs = different = 0
            while killer.is_alive():
                different += bits(job(xs)) != wanted
                runs += 1
                if runs % 10 == 0:
                    sys.stderr.write(f"{runs} runs, {kills - killer.left} kills\n")
            seconds = time.perf_counter() - began
        time.sleep(2)
        left = [pid for pid in killer.seen if Path(f"/proc/{pid}").exists()]
    return {
        "kills": kills - killer.left, "ready": killer.ready, "replaced": killer.replaced,
        "runs": runs, "different": different,
        "left": len(left), "workers": len(killer.seen), "seconds": round(seconds),
    }  # fmt: skip


def main() -> None:
    """Run, print, and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="keep the result in bench/results")
    options = parser.parse_args()
    found = disturbed(options.kills, options.seed)
    text = (
        f"# Workers killed at random moments\n`python -m bench.cluster.kills --kills"
        f" {options.kills} --seed {options.seed}`, {model()}, two worker processes.\n\n"
        f"| kills | processes that were workers | workers that Dask did not begin again"
        f" | workers at the end | runs of the program | runs with other bits | processes left"
        f" left | seconds |\n|---|---|---|---|---|---|---|---|\n| {found['kills']} |"
        f" {found['workers']} |"
        f" {found['replaced']} | {found['ready']} | {found['runs']} | {found['different']} |"
        f" {found['left']} | {found['seconds']} |\n"
    )
    sys.stdout.write(text)
    if options.save:
        keep(text, "kills")
    complete = found["kills"] == options.kills and found["ready"] == WORKERS
    if found["different"] or found["left"] or not complete:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
