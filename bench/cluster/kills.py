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
from distributed import Client, LocalCluster

import flatweave as fw
from bench.machine import keep, model

LENGTH = 400_000
ROWS = 25_000
PAUSE = 0.5  # seconds between two kills, on the average, once both workers are there
GIVEN_UP = 10.0  # seconds after which a worker that was killed will not come back
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
    """Kills one worker after the other, so many in all, at random moments."""

    def __init__(self, cluster: Any, kills: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.cluster = cluster
        self.left = kills
        self.victims: set[int] = set()
        self.wanted = 2
        self.both = time.monotonic()  # when two were there last
        self.seen: dict[int, float] = {}  # when each process was seen first
        self.random = random.Random(seed)

    def run(self) -> None:
        while self.left:
            time.sleep(self.random.expovariate(1 / PAUSE))
            living = self._workers()
            if len(living) < 2:
                self._replace()
                continue
            self.both = time.monotonic()
            victim = self.random.choice(living)
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue
            self.victims.add(victim)
            self.left -= 1

    def _replace(self) -> None:
        """Ask for one worker more, as whoever runs a cluster does when a nanny has given up."""
        if time.monotonic() - self.both > GIVEN_UP:
            self.wanted += 1
            self.cluster.scale(self.wanted)
            self.both = time.monotonic()

    def _workers(self) -> list[int]:
        """The processes of workers that have come up: a nanny gives up on one that never does."""
        known = set(self.cluster.scheduler.workers)
        nannies = [each for each in self.cluster.workers.values() if each.worker_address in known]
        now = time.monotonic()
        began = {nanny.pid: self.seen.setdefault(nanny.pid, now) for nanny in nannies if nanny.pid}
        ready = [pid for pid, first in began.items() if now - first > COME_UP]
        return [pid for pid in ready if pid not in self.victims]


def disturbed(kills: int, seed: int) -> dict[str, Any]:
    """How many runs had the same bits, how many killed processes are left."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "xs.npy")
        np.save(path, np.random.default_rng(seed).random(LENGTH))
        xs = fw.Chunked.open(path, ROWS)
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": MOST_FAILURES}),
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
            ) as cluster,
            Client(cluster) as client,
            fw.on(client),
        ):  # fmt: skip
            wanted, began = bits(job(xs)), time.perf_counter()
            killer = Killer(cluster, kills, seed)
            killer.start()
            runs = different = 0
            while killer.left:
                different += bits(job(xs)) != wanted
                runs += 1
                if runs % 10 == 0:
                    sys.stderr.write(f"{runs} runs, {kills - killer.left} kills\n")
            killer.join()
            seconds = time.perf_counter() - began
        time.sleep(2)
        left = [pid for pid in killer.seen if Path(f"/proc/{pid}").exists()]
    return {
        "kills": kills, "replaced": killer.wanted - 2, "runs": runs, "different": different,
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
        f"| kills | processes that were workers | workers that Dask did not begin again | runs of"
        f" the program | runs with other bits | processes left behind | seconds |\n"
        f"|---|---|---|---|---|---|---|\n| {found['kills']} | {found['workers']} |"
        f" {found['replaced']} | {found['runs']} | {found['different']} |"
        f" {found['left']} | {found['seconds']} |\n"
    )
    sys.stdout.write(text)
    if options.save:
        keep(text, "kills")
    if found["different"] or found["left"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
