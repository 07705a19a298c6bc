"""One of two workers killed halfway: python -m bench.cluster.halfway [--save]

Two processes, each with one thread, compute a program of over 30 seconds: a loop whose state stays
in chunks on the workers, so that what is lost must be computed again from its first turn on, then a
sort and a scan of the result. Once undisturbed; then again, and one of them is killed, by SIGKILL,
when half of that time is over. Dask's nanny begins another one. Bits must be the same.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster

import flatweave as fw
from bench.cluster.kills import bits
from bench.machine import keep, model

LENGTH = 1 << 22
ROWS = LENGTH // 16
AT_MOST = 1.8


@fw.jit
def job(xs: Any, turns: int) -> Any:
    """A chaotic map applied again and again, with a sum in each iteration."""

    def turn(i: Any, state: Any) -> Any:
        centre = fw.mean(state)
        moved = fw.map(lambda x: fw.fori_loop(0, 2000, lambda k, y: 3.9 * y * (1 - y), x), state)
        return moved * 0.9 + centre * 0.1

    state = fw.fori_loop(0, turns, turn, xs)
    return fw.sort(state), fw.cumsum(state), fw.sum(state)


def measured(turns: int) -> dict[str, Any]:
    """The seconds undisturbed and disturbed, and whether both gave the same bits."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "xs.npy")
        np.save(path, np.random.default_rng(1).random(LENGTH))
        xs = fw.Chunked.open(path, ROWS)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
            ) as cluster,
            Client(cluster) as client,
            fw.on(client),
        ):  # fmt: skip
            job(xs, 2)  # which compiles
            began = time.perf_counter()
            wanted = bits(job(xs, turns))
            alone = time.perf_counter() - began
            victim = next(iter(cluster.workers.values())).pid
            killer = threading.Timer(alone / 2, os.kill, [victim, signal.SIGKILL])
            killer.start()
            began = time.perf_counter()
            found = bits(job(xs, turns))
            disturbed = time.perf_counter() - began
            killer.join()
    return {"alone": alone, "disturbed": disturbed, "same": found == wanted}


def main() -> None:
    """Run, print, and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--save", action="store_true", help="keep the result in bench/results")
    options = parser.parse_args()
    found = measured(options.turns)
    ratio = found["disturbed"] / found["alone"]
    text = (
        f"# One of two workers killed halfway\n`python -m bench.cluster.halfway --turns"
        f" {options.turns}`, {model()}, two worker processes with one thread each.\n\n"
        f"| undisturbed | one killed halfway | ratio | at most | same bits |\n"
        f"|---|---|---|---|---|\n"
        f"| {found['alone']:.1f} s | {found['disturbed']:.1f} s | {ratio:.2f} | {AT_MOST} |"
        f" {'yes' if found['same'] else 'no'} |\n"
    )
    sys.stdout.write(text)
    if options.save:
        keep(text, "halfway")
    if ratio > AT_MOST or not found["same"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
