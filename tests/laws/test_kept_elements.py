"""What is done with the elements that a filter keeps means the same done under its flag."""

from __future__ import annotations

from random import Random

import pytest

from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Program, same
from flatweave.base.config import config
from flatweave.base.dtypes import DType
from flatweave.passes.cse import cse
from flatweave.passes.dce import dce
from flatweave.passes.fuse import fuse
from flatweave.passes.mask import mask
from flatweave.passes.sweep import sweep
from tests.laws.programs import random_args
from tests.laws.row_steps import expand_step
from tests.laws.small_blocks import Small
from tests.laws.steps import (
    best_step,
    filter_step,
    gather_step,
    map_step,
    pair_scan_step,
    permute_step,
    reduce_step,
    scan_step,
    scatter_step,
    segments_step,
    stencil_step,
)
from tests.laws.test_programs import LARGEST, THREADS, agree
from tests.laws.writer import Writer

GROUPS = range(6)
STEPS = (
    map_step, map_step, scan_step, pair_scan_step, best_step, reduce_step, reduce_step,
    segments_step, filter_step, filter_step, gather_step, stencil_step, scatter_step, permute_step,
    expand_step,
)  # fmt: skip


def random_filter(seed: int) -> tuple[Program, list[DType]]:
    """A filter, and a few steps that mostly go on with what it keeps."""
    w = Writer(Random(seed))
    params, dtypes = w.inputs()
    filter_step(w)
    w.arrays += w.arrays[-2:] * 3
    for _ in range(2 + seed % 5):
        w.random.choice(STEPS)(w)
    return w.program(params), dtypes


@pytest.mark.sampled
@pytest.mark.parametrize("group", GROUPS)
def test_the_interpreter_gives_the_same(group: int) -> None:
    """Before and after; and most programs are changed."""
    seeds = range(group, 300, len(GROUPS))
    moved = 0
    for seed in seeds:
        program, dtypes = random_filter(seed)
        before = dce(fuse(cse(sweep(program))))
        after = mask(before)
        moved += not same(before, after)
        for n in (0, 1, 2, 17, 129):
            args = random_args(seed, n, dtypes)
            want = interp.run(program, args)
            assert agree(want, interp.run(after, args)), f"{seed}: at n = {n}"

    assert moved > 0.5 * len(seeds)


@pytest.mark.sampled
@pytest.mark.parametrize("group", GROUPS)
def test_machine_code_gives_the_same(group: int) -> None:
    """Blocks of one step, with kept elements anywhere in them."""
    for seed in range(1000 + group, 1024, len(GROUPS)):
        program, dtypes = random_filter(seed)
        compiled = Small(program)
        for n in (0, 1, 65, LARGEST):
            args = random_args(seed, n, dtypes)
            want = interp.run(program, args)
            for threads in THREADS:
                with config.scoped(threads=threads):
                    assert agree(want, compiled.run(args)), f"{seed}: at n = {n}, {threads} threads"
