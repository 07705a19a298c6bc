"""A warp looks back at many blocks at once, in every order of blocks: the same bits."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.kernel_ir.memory_ops import AcquireLanes, LoadWhole
from flatweave.kernel_ir.warp_ops import ReduceLanes
from flatweave.lower.machine import CUDA
from flatweave.simulator.run import run
from flatweave.simulator.schedules import InOrder, LateBlock, ReverseBlocks, Shuffled, StalledBlock
from flatweave.terms.traverse import walk_lets
from tests.codegen.device_programs import flat, lowered, small_blocks, traced
from tests.simulator.mutants import is_found, mutants, seldom

BLOCK = 64
MANY = [StalledBlock(33, 1), ReverseBlocks(), Shuffled(1)]
PROGRAMS = {
    "exact": (lambda xs: fw.scan(fw.add, 0, xs), np.cumsum),
    "sums": (lambda xs: fw.cumsum(fw.astype(xs, fw.f32) * 0.1), None),
    "wide": (lambda xs: fw.cumsum(fw.astype(xs, fw.f64) * 0.1), None),
    "pairs": (
        lambda xs: fw.scan(
            lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1, 0), (xs * 2 + 1, xs)
        )[1],
        None,
    ),
}


@pytest.mark.parametrize(
    ("name", "blocks", "orders"),
    [
        ("sums", 35, [LateBlock(0)]),
        *(pytest.param(name, 70, [LateBlock(0), *MANY], marks=pytest.mark.slow)
          for name in PROGRAMS),
    ],
)  # fmt: skip
def test_in_every_order_of_blocks(name, blocks, orders):
    """Where all of them run at once and wait for one, it is found windows back."""
    f, wanted = PROGRAMS[name]
    xs = np.random.default_rng(1).integers(-9, 9, blocks * BLOCK - 5)
    unit = lowered(traced("f", f, xs), small_blocks(CUDA, warps=2)).unit.complete()
    one_at_a_time = run(unit, flat(xs), 1, schedule=InOrder())[0]
    if wanted is not None:
        np.testing.assert_array_equal(one_at_a_time, wanted(xs))
    for order in orders:
        found = run(unit, flat(xs), blocks, schedule=order)[0]
        assert found.tobytes() == one_at_a_time.tobytes(), order


def test_exact_operators_are_combined_in_a_tree():
    """Others are folded from left to right."""
    trees = {}
    for name, (f, _) in PROGRAMS.items():
        unit = lowered(traced("f", f, np.zeros(2, np.int64)), small_blocks(CUDA)).unit
        ops = [let.op for kernel in unit.complete().kernels for let in walk_lets(kernel.body)]
        looks = [k for k, op in enumerate(ops) if isinstance(op, AcquireLanes | LoadWhole)]
        trees[name] = any(isinstance(op, ReduceLanes) for op in ops[looks[-1] :])

    assert trees == {"exact": True, "sums": False, "wide": False, "pairs": False}


def test_a_window_is_looked_at_once_more_as_a_whole():
    """Block 0 is late, so that others find its prefix windows back; a plain load is found."""
    xs = np.random.default_rng(1).integers(-9, 9, 35 * BLOCK)
    unit = lowered(traced("f", PROGRAMS["sums"][0], xs), small_blocks(CUDA, warps=2)).unit
    wanted = run(unit.complete(), flat(xs), 1, schedule=InOrder())
    (mutant,) = [mutant for mutant in mutants(unit) if mutant.let.vars in seldom(unit)]

    assert is_found(mutant.unit, flat(xs), wanted, [LateBlock(0)], 35)
