"""Counts of launches, from programs whose counts are known, and those of some rows of `bench`."""

import numpy as np
import pytest

import flatweave as fw
from bench import gpu_rows
from bench.gpu_counts import numbers, smaller
from flatweave.base.config import config
from tests.ptx.counts import Counts
from tests.ptx.driver import cuda_by_ptx
from tests.ptx.grid import launch
from tests.ptx.memory import GlobalMemory
from tests.ptx.parse import parse

STRIDED = """
.visible .entry k(.param .u64 a, .param .u32 stride)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<5>;
    .shared .align 4 .b8 tile[8192];
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r1, [stride];
    mov.u32 %r2, %tid.x;
    mul.lo.s32 %r3, %r2, %r1;
    mul.wide.s32 %rd2, %r3, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r4, [%rd3];
    shl.b32 %r5, %r3, 2;
    mov.u32 %r6, tile;
    add.s32 %r7, %r6, %r5;
    st.shared.u32 [%r7], %r4;
    bar.sync 0;
    ret;
}
"""


@pytest.mark.parametrize(
    ("stride", "sectors", "passes"), [(1, 8, 2), (2, 16, 4), (8, 64, 16), (32, 64, 64), (0, 2, 2)]
)
def test_strides(stride, sectors, passes):
    """64 lanes read words: neighbours share a sector of 8, and lanes a bank where strides meet."""
    module = parse(STRIDED)
    memory = bytearray(8192)
    counts = Counts(module, "k", 1, 64)
    given = {"a": (1 << 41).to_bytes(8, "little"), "stride": stride.to_bytes(4, "little")}
    launch(module, "k", GlobalMemory({1 << 41: memory}), 1, 64, given, counts=counts)
    found = numbers(counts, 0)

    assert found["ptx"] == 2 * 13
    assert found["kind load"] == found["kind store"] == found["kind barrier"] == 2
    assert (found["sectors"], found["passes"]) == (sectors, passes)
    assert found["conflicts"] == passes - 2
    assert found["distinct"] == len({4 * stride * k // 32 for k in range(64)})
    assert counts.waits() == {"global": 2}


# Per 32 elements: instructions of PTX, sectors, passes. A change may lower them, and then writes
# here what the failure would show; what raises them needs a reason.
GOLDEN = {
    "reduce int32, 1 GiB": (13.41, 4.04, 0.16),
    "scan int32, 1 GiB": (46.38, 8.2, 0.46),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_counts_of_rows(compiler, name):
    """What a program costs does not grow without being seen."""
    row = next(each for each in gpu_rows.rows() if each.name == name)
    with smaller(12), cuda_by_ptx() as driver, fw.target("cuda"), config.scoped(no_cache=True):
        case = row.make(True)
        driver.counts = []
        found = np.asarray(case.run(*case.args))
        assert np.array_equal(found, case.expected())
        launches = [numbers(each, 0) for each in driver.counts]
    warps = case.args[0].size / 32
    total = [sum(each[what] for each in launches) / warps for what in ("ptx", "sectors", "passes")]

    for cost, most in zip(total, GOLDEN[name], strict=True):
        assert cost <= 1.1 * most + 0.05, total
