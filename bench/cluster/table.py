"""Two workers compared with one process and with dask.array: python -m bench.cluster.table [--save]

    one process     both cores, the array in its memory
    two workers     one thread each, the array in chunks in their memory
    dask.array      the same workers, the same chunks

Dask, whose jobs hold several arrays at a time, has half as many bytes. Results that are arrays
stay where they are computed. What is kept of some runs is the shortest, as
others use this machine, too; the results are compared.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import flatweave as fw
from bench.machine import keep, model

BINS = 256
ROUNDS = 5


class Job(NamedTuple):
    """A program, the same in Dask, whether it takes keys, and what must be reached."""

    ours: Any
    dask: Callable[[Any], Any]
    takes_keys: bool
    overhead: float
    faster: float
    rounding: float = 0


JOBS = {
    "sum": Job(fw.jit(lambda x: fw.sum(x)), lambda x: x.sum(), False, 1.25, 1, 1e-2),
    "scan": Job(
        fw.jit(lambda x: fw.cumsum(x)), lambda x: da.cumsum(x, axis=0), False, 1.8, 4, 1e-2
    ),
    "filter": Job(fw.jit(lambda x: x[x > 0]), lambda x: x[x > 0], False, 1.3, 2),
    "histogram": Job(
        fw.jit(lambda k: fw.histogram(BINS, k)), lambda k: da.bincount(k, minlength=BINS),
        True, 1.3, 3,
    ),
}  # fmt: skip


@fw.jit
def drawn(blocks: Any, rows: Any) -> Any:
    """Numbers that look random, 24 bits each, `rows` for every block."""

    def number(at: Any) -> Any:
        x = at.astype(fw.u32) * fw.u32(2654435761)
        return ((x ^ (x >> 15)) * fw.u32(2246822519)) >> 8

    def block(k: Any) -> Any:
        return fw.generate(rows, lambda j: number(k * rows + j))

    return fw.reshape(fw.map(block, blocks), (-1,))


@fw.jit
def floats(blocks: Any, rows: Any) -> Any:
    """From -0.5 to 0.5: sums of very many others stop to grow, where one is added to another."""
    return drawn(blocks, rows).astype(fw.f32) * np.float32(2**-24) - np.float32(0.5)


@fw.jit
def keys(blocks: Any, rows: Any) -> Any:
    """Numbers of bins."""
    return (drawn(blocks, rows) >> 16).astype(fw.i32)


Timed = tuple[float, Any]


def shortest(job: Callable[[], Any], settled: Callable[[], None]) -> Timed:
    """The shortest of some runs after a first one, and a short result."""
    best = np.inf
    for turn in range(ROUNDS + 1):
        settled()
        begun = time.perf_counter()
        result = job()
        if turn:
            best = min(best, time.perf_counter() - begun)
        found = _short(result)
        del result
    return best, found


def _short(result: Any) -> Any:
    """What is compared: a length and some elements of what is long."""
    if isinstance(result, da.Array):
        result = result.compute_chunk_sizes()
        n = result.shape[0]
        return [n, *(float(result[k].compute()) for k in _places(n))]
    if isinstance(result, fw.Chunked):
        return [len(result), *(float(result.load(k, k + 1)[0]) for k in _places(len(result)))]
    values = np.asarray(result)
    if values.size <= BINS:
        return values.tolist()
    return [len(values), *(float(values[k]) for k in _places(len(values)))]


def _places(n: int) -> list[int]:
    return [0, n // 3, n - 1]


def alone(blocks: Any, rows: int) -> dict[str, Timed]:
    """Every job in this process."""
    found = {}
    for make in (floats, keys):
        values = np.asarray(make(blocks, rows))
        for name, job in JOBS.items():
            if job.takes_keys == (make is keys):
                found[name] = shortest(partial(job.ours, values), lambda: None)
    return found


def on_workers(
    blocks: Any, rows: int, client: Client, *, dask_too: bool = False
) -> dict[str, tuple[Timed, Timed | None]]:
    """Every job by the workers: ours, then Dask's."""
    found: dict[str, tuple[Timed, Timed | None]] = {}
    for make in (floats, keys):
        xs = make(fw.Chunked.cut(blocks, 1), rows)
        theirs = in_dask(xs) if dask_too else None
        settled = settling(client)
        for name, job in JOBS.items():
            if job.takes_keys == (make is keys):
                mine = shortest(partial(job.ours, xs), settled)
                peer = shortest(partial(_dasks, job, theirs), settled) if dask_too else None
                found[name] = mine, peer
    return found


def in_dask(xs: fw.Chunked) -> da.Array:
    """The same chunks as an array of Dask's; nothing is copied."""
    first = dask.delayed(lambda results, number: results[number], pure=True)
    parts = [
        da.from_delayed(first(piece.task.future, piece.task.number), (piece.rows,), xs.dtype)
        for piece in xs.pieces
    ]
    made = da.concatenate(parts).persist()
    wait(made)
    return made


def computed(array: da.Array) -> Any:
    """Small results here, others where they are."""
    if array.ndim == 0 or array.npartitions == 1:
        return array.compute()
    made = array.persist()
    wait(made)
    return made


def _dasks(job: Job, array: da.Array) -> Any:
    return computed(job.dask(array))


def settling(client: Client) -> Callable[[], None]:
    """Waits until no more tasks are known than now: results are let go some time after."""

    def known() -> int:
        return int(client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))

    time.sleep(0.5)
    before = known()

    def settled() -> None:
        while known() > before:
            time.sleep(0.02)

    return settled


def agrees(found: Any, wanted: Any, rounding: float) -> bool:
    """Sums of floats in another order differ by what rounds."""
    return bool(np.allclose(found, wanted, rtol=rounding))


def tables(total: int, chunk: int) -> str:
    """Both tables in Markdown."""
    rows, blocks = chunk // 4, np.arange(total // chunk)
    one = alone(blocks, rows)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0",
                     memory_limit=None, silence_logs=50) as cluster,
        Client(cluster) as client, fw.on(client),
    ):  # fmt: skip
        many = on_workers(blocks, rows, client)
        half = on_workers(blocks[: len(blocks) // 2], rows, client, dask_too=True)
    lines = ["| work | one process | two workers | ratio | must be | same |", "|---" * 6 + "|"]
    for name, job in JOBS.items():
        (mine, wanted), (ours, found) = one[name], many[name][0]
        lines.append(
            f"| {name} | {1e3 * mine:.0f} ms | {1e3 * ours:.0f} ms | {ours / mine:.2f} |"
            f" {job.overhead} | {'yes' if agrees(found, wanted, job.rounding) else 'NO'} |"
        )
    lines += ["", "| work | two workers | dask.array | times faster | must be | same |"]
    lines += ["|---" * 6 + "|"]
    for name, job in JOBS.items():
        (ours, found), peer = half[name]
        assert peer is not None
        lines.append(
            f"| {name} | {1e3 * ours:.0f} ms | {1e3 * peer[0]:.0f} ms | {peer[0] / ours:.1f} |"
            f" {job.faster} | {'yes' if agrees(found, peer[1], job.rounding) else 'NO'} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description="two workers compared with one process and Dask")
    parser.add_argument("--gib", type=float, default=4, help="bytes of the array")
    parser.add_argument("--chunk", type=int, default=256, help="MiB of a chunk")
    parser.add_argument("--save", action="store_true", help="keep the table in bench/results")
    options = parser.parse_args()
    found = tables(int(options.gib * (1 << 30)), options.chunk << 20)
    text = (
        f"# Two workers next to one process\n`python -m bench.cluster.table --gib {options.gib:g}"
        f" --chunk {options.chunk}`, {model()}, 2 cores, AVX-512; {options.gib:g} GiB of f32 in"
        f" chunks of {options.chunk} MiB, keys as many i32, for Dask half of it; the shortest of"
        f" {ROUNDS} runs.\n\n"
        f"{found}"
    )
    sys.stdout.write(text)
    if options.save:
        keep(text, "cluster")


if __name__ == "__main__":
    main()
