"""Which chunks of a step are one task of a cluster."""

import math

import numpy as np
import pytest

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import f64, i64
from flatweave.cluster.executor import Chunk, Job, Rows
from flatweave.cluster.files import Region, Stored
from flatweave.frontend.values.chunked import Held
from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType

groups = pytest.importorskip("flatweave.cluster.dask_tasks")
MIB = 1 << 20


def program(give):
    """One that takes rows, and gives as many again or one number."""
    b = Builder()
    count = b.param("count", i64)
    xs = b.param("xs", ArrayType(f64, (count,)))
    return Program("step", b.close([count, xs], [xs if give else count]))


def sizes(pieces, size, cores, memory=0, give=False):
    """The number of chunks of each task, for chunks of some bytes; None means files."""
    rows, jobs = size // 8, []
    for k, piece in enumerate(pieces):
        piece = piece or Stored([Region(None, k * rows, (k + 1) * rows)])
        part = Rows(((piece, 0, rows),), np.dtype(np.float64), ())
        jobs.append(Job(Chunk(k, k * rows, (k + 1) * rows), [rows, part]))
    cluster = groups.Cluster(cores, memory or math.inf)
    return [len(group) for group in groups.grouped(program(give), jobs, cluster)]


def test_every_core_has_four_tasks():
    """And none has fewer chunks than it must for that."""
    assert sizes([None] * 32, 8 * MIB, 2) == [4] * 8
    assert sizes([None] * 15, 8 * MIB, 2) == [1] * 15
    assert sizes([None] * 17, 8 * MIB, 2) == [2] * 8 + [1]
    assert sizes([None], 8 * MIB, 2) == [1]
    assert sizes([], 8 * MIB, 2) == []


def test_a_task_goes_through_no_more_than_fits():
    """512 MiB, or a part of a core's memory; whether it takes them or gives them."""
    assert sizes([None] * 64, 200 * MIB, 1) == [2] * 32
    assert sizes([None] * 64, 600 * MIB, 1) == [1] * 64
    assert sizes([None] * 64, 8 * MIB, 1, memory=200 * MIB) == [3] * 21 + [1]
    assert sizes([None] * 64, 200 * MIB, 1, give=True) == [2] * 32


def test_what_is_in_memory_stays_where_it_is():
    """Small arrays may go anywhere."""
    large, small = (Held(np.empty(size // 8)) for size in (4 * MIB, MIB // 2))
    assert sizes([large, large, None, None, large, *[None] * 3], 4 * MIB, 1) == [2, 2, 1, 2, 1]
    assert sizes([small] * 8, MIB // 2, 1) == [2] * 4


def test_what_dask_says_of_workers():
    """The memory of the least one for each thread; none may be there yet, or have a bound."""
    workers = [{"nthreads": 2, "memory_limit": 8}, {"nthreads": 1, "memory_limit": 3}]

    assert groups.Cluster.of(workers) == (3, 3)
    assert groups.Cluster.of([]) == (1, math.inf)
    assert groups.Cluster.of([{"nthreads": 2, "memory_limit": None}]) == (2, math.inf)
