"""Random programs of the array language, for the laws that every pass must keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DType, bool_
from tests.laws.row_steps import (
    expand_reduce_step,
    expand_step,
    ragged_step,
    reshape_step,
    row_reduce_step,
)
from tests.laws.steps import (
    best_step,
    branch_step,
    concat_step,
    filter_step,
    gather_step,
    loop_step,
    map_step,
    pair_scan_step,
    permute_step,
    reduce_step,
    scan_step,
    scatter_step,
    segments_step,
    sort_step,
    stencil_step,
)
from tests.laws.writer import Writer

STEPS: tuple[Callable[[Writer], Any], ...] = (
    map_step, map_step, map_step, scan_step, pair_scan_step, best_step, reduce_step, reduce_step,
    segments_step, filter_step, filter_step, gather_step, stencil_step, scatter_step, permute_step,
    concat_step, reshape_step, row_reduce_step, loop_step, branch_step, expand_reduce_step,
    expand_step, ragged_step, sort_step,
)  # fmt: skip


def random_program(seed: int, length: int) -> tuple[Program, list[DType]]:
    """The program of a seed, and the dtypes of its three inputs."""
    w = Writer(Random(seed))
    params, dtypes = w.inputs()
    for _ in range(length):
        w.random.choice(STEPS)(w)
    return w.program(params), dtypes


def random_args(seed: int, n: int, dtypes: Sequence[DType]) -> list[Any]:
    """Arguments for a random program."""
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(0, 2 if d is bool_ else 100, n).astype(d.numpy) for d in dtypes]
    halves = (xs * xs.dtype.type(0.5) if xs.dtype.kind == "f" else xs for xs in arrays)
    return [n, *halves]
