"""Which chunks of a step are one task of a cluster: neighbours, where there are many small ones.

    32 chunks of 64 MiB, 2 cores                8 tasks of 4 chunks
    8 chunks, or chunks of 512 MiB              a task for each

A task costs a cluster about as much as going through 16 MiB does, whatever it has to do. Chunks are
computed each by itself, so results do not depend on which of them are together. Those whose rows
are results of one task stay together: others would have to be sent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.cluster.place import Job, Rows
from flatweave.frontend.values.chunked import Held
from flatweave.terms.syntax import ArrayType, Atom, Const

FAT = 1 << 29
"""Bytes that a task of several chunks goes through at most."""
EACH = 4
"""Tasks that every core has at least, so that all have about as much to do."""
SHARE = 8
"""What the chunks of a task take is this part of the memory that a core has, at most."""
MOVED = 1 << 20
"""Bytes of rows that may be anywhere."""


class Cluster(NamedTuple):
    """How many chunks it computes at once, and the bytes of memory for each of them."""

    cores: int
    memory: float

    @classmethod
    def of(cls, workers: Sequence[Any]) -> Cluster:
        """What Dask says of workers; they come and go."""
        memory = [(each["memory_limit"] or 0) / each["nthreads"] for each in workers]
        return cls(
            max(sum(each["nthreads"] for each in workers), 1),
            min(filter(None, memory), default=math.inf),
        )


def grouped(program: Program, jobs: Sequence[Job], cluster: Cluster) -> list[list[Job]]:
    """The chunks of a step, those of a task together."""
    most = min(FAT, cluster.memory / SHARE)
    count = len(jobs) // (EACH * cluster.cores)
    found: list[list[Job]] = []
    size, home = 0, None
    for job in jobs:
        mine, there = _size(program, job), _home(job)
        if found and there == home and len(found[-1]) < count and size + mine <= most:
            found[-1].append(job)
            size += mine
        else:
            found.append([job])
            size, home = mine, there
    return found


def _home(job: Job) -> Any:
    """What has most of the rows that a chunk takes: a task, or an array; None where all are in
    files, or few."""
    rows = [each for each in job.args if isinstance(each, Rows) and each.parts]
    largest = max(rows, key=lambda each: each.nbytes, default=None)
    if largest is None:
        return None
    piece = largest.parts[0][0]
    task = getattr(piece, "task", None)
    if task is not None:
        return task.future.key
    if isinstance(piece, Held):
        return id(piece) if largest.nbytes > MOVED else None
    return getattr(piece, "home", None)


def _size(program: Program, job: Job) -> int:
    """The bytes that a chunk takes or gives, whichever are more. An extent that only its program
    knows is taken for its number of rows."""
    takes = sum(each.nbytes for each in job.args if isinstance(each, Rows))
    values = dict(zip(program.fn.params, job.args, strict=True))
    count = job.chunk.end - job.chunk.begin

    def extent(atom: Atom) -> int:
        return int(atom.value if isinstance(atom, Const) else values.get(atom, count))

    gives = sum(
        math.prod(map(extent, each.type.shape)) * np.dtype(each.type.dtype.numpy).itemsize
        for each in program.fn.results if isinstance(each.type, ArrayType)
    )  # fmt: skip
    return max(takes, gives)
