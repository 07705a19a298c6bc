"""Warps that hold values each find what those before them have, and what all have."""

import numpy as np
import pytest

from flatweave.algorithms.operator import addition, by_first_warp, meet, meet_all
from flatweave.base.dtypes import i64
from flatweave.kernel_ir.lane_facts import Variation
from flatweave.kernel_ir.syntax import BlockIndex, Kernel, Store, WarpIndex
from flatweave.kernel_ir.units import print_kernel, verify
from flatweave.simulator.run import run
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Lambda
from tests.kernel_ir.staged import staged

TEXT = """\
kernel k() warps 8 =>
    t_1: i64 = warp_index
    t_2: i64 = warp_index
    t_3: shared i64 = shared i64 8
    store t_3 t_2 t_1
    sync
    s_8: i64 = for 0 t_2 1 (w_4: i64, s_5: i64 =>
        t_6: i64 = load t_3 w_4
        t_7: i64 = add s_5 t_6
        in t_7) [0]
    s_13: i64 = for t_2 8 1 (w_9: i64, s_10: i64 =>
        t_11: i64 = load t_3 w_9
        t_12: i64 = add s_10 t_11
        in t_12) [s_8]
    t_14: shared i64 = shared i64 1
    t_15: i64 = warp_index
    t_16: bool = eq t_15 0
    if t_16 (() =>
        t_17: i64 = block_index
        store t_14 0 t_17) (() => ())
    sync
    t_18: i64 = load t_14 0
"""


def test_the_text():
    """One memory and one barrier; each warp folds what those before it have, and then the rest."""
    b = Builder()
    meet(b, addition(), b.emit(WarpIndex()), 8)
    by_first_warp(b, (i64,), lambda c: c.emit(BlockIndex()))
    kernel = Kernel("k", (), Lambda((), tuple(b.lets), ()), 8)

    assert print_kernel(kernel) == TEXT


@pytest.mark.parametrize("warps", [1, 4])
def test_warps_meet(warps):
    """Warp w brings w + 3."""

    def write(b, n, xs, ys):
        warp = b.emit(WarpIndex())[0]
        mine = (b.add(warp, index(3)),)
        before, whole = meet(b, addition(), mine, warps)
        values = *before, *whole, *meet_all(b, addition(), mine, warps)
        for buffer, value in zip(ys, values, strict=True):
            b.emit(Store(buffer, warp, value))

    unit = staged(write, (), (i64,) * 3)
    kernel = unit.kernels[0]
    made = Kernel(kernel.name, kernel.params, kernel.body, warps)
    unit = type(unit)(unit.host, (made,))
    verify(unit)
    before, *both = run(unit, [0, warps], seed=1)
    mine = np.arange(warps) + 3

    assert before.tolist() == (np.cumsum(mine) - mine).tolist()
    assert [whole.tolist() for whole in both] == [[mine.sum()] * warps] * 2


def test_what_all_warps_have_is_the_same_in_all():
    """As is the control that depends on it."""
    b = Builder()
    (found,) = meet_all(b, addition(), b.emit(WarpIndex()), 8)

    assert not Variation(Lambda((), tuple(b.lets), ())).of(found)
