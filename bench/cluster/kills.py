"""Workers killed at random moments: python -m bench.cluster.kills --kills 200 [--save]

Two processes compute one program again and again: sums, a scan, a filter, a sort, a histogram and
a loop over an array in a file. Meanwhile one of them is killed, by SIGKILL, once in two seconds on
the average; Dask's nanny begins another one. Every result must have the bits of the first run,
which nobody disturbed, and no process may be left when the cluster is closed.
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
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import flatweave as fw
from bench.machine import model, slug

RESULTS = Path(__file__).resolve().parents[1] / "results"
LENGTH = 400_000
ROWS = 25_000
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
        self.seen: set[int] = set()
        self.random = random.Random(seed)

    def run(self) -> None:
        while self.left:
            time.sleep(self.random.expovariate(0.5))
            living = self._workers()
            if len(living) < 2:
                continue
            victim = self.random.choice(living)
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue
            self.left -= 1

    def _workers(self) -> list[int]:
        """The processes of workers that have come up: a nanny gives up on one that never does."""
        known = set(self.cluster.scheduler.workers)
        nannies = [each for each in self.cluster.workers.values() if each.worker_address in known]
        pids = [nanny.pid for nanny in nannies if nanny.pid]
        self.seen.update(pids)
        return pids


def disturbed(kills: int, seed: int) -> dict[str, Any]:
    """How many runs had the same bits, how many killed processes are left."""
    import dask
    from distributed import Client, LocalCluster

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
        "kills": kills, "runs": runs, "different": different, "left": len(left),
        "workers": len(killer.seen), "seconds": round(seconds),
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
        f"| kills | processes that were workers | runs of the program | runs with other bits |"
        f" processes left behind | seconds |\n|---|---|---|---|---|---|\n"
        f"| {found['kills']} | {found['workers']} | {found['runs']} | {found['different']} |"
        f" {found['left']} | {found['seconds']} |\n"
    )
    sys.stdout.write(text)
    if options.save:
        day = datetime.now(UTC).strftime("%Y-%m-%d")
        (RESULTS / f"{day}-{slug()}-kills.md").write_text(text, encoding="utf-8")
    if found["different"] or found["left"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
