"""One kernel of all levels gives the same values in the simulator, by LLVM and by PoCL."""

import numpy as np
import pytest

from flatweave.base.dtypes import i64
from flatweave.base.errors import CompilerBug, Unsupported
from flatweave.kernel_ir.hierarchy import ForAll, WarpShared
from flatweave.kernel_ir.units import print_unit
from flatweave.kernel_passes.distribute import BlockShape, distribute
from flatweave.terms.traverse import walk_lets
from tests.kernel_ir.machines import (
    ALL_SHAPES,
    CPU_SHAPES,
    CUDA_SHAPES,
    OPENCL_SHAPES,
    OnOpenCl,
    cuda_text,
    distributed,
    on_cpu,
    simulated,
)
from tests.kernel_ir.test_hierarchy import GOOD
from tests.kernel_ir.units import one_kernel

TURNED = """
    s: shared i64 = shared i64 100
    b: i64 = block_index
    lo: i64 = mul b 100
    for_all thread 100 (i: i64 =>
        j: i64 = add lo i
        x: i64 = load xs j
        store s i x)
    sync
    for_all thread 100 (i: i64 =>
        j: i64 = sub 99 i
        x: i64 = load s j
        k: i64 = add lo i
        store out k x)
"""
COUNTED = """
    for_all thread n (i: i64 =>
        x: i64 = load xs i
        p: bool = lt x 0
        if p (() => store out i 7) (() => store out i x))
"""
PRIVATE = """
    for_all thread n (i: i64 =>
        m: local i64 = local i64 4
        for 0 4 1 (k: i64 =>
            x: i64 = mul i k
            store m k x) []
        q: i64 = mod i 4
        x: i64 = load m q
        y: i64 = load m 3
        z: i64 = add x y
        store out i z)
"""
WARPS = """
    s: shared i64 = shared i64 10
    for_all warp 10 (w: i64 =>
        t: warp_shared i64 = warp_shared i64 40
        lo: i64 = mul w 10
        for_all thread 40 (i: i64 =>
            k: i64 = mod i 10
            j: i64 = add lo k
            x: i64 = load xs j
            store t i x)
        sync level=warp
        u: i64 = add w 1
        sum: i64 = for 0 40 1 (i: i64, sum: i64 =>
            x: i64 = load t i
            y: i64 = mul x u
            r: i64 = add sum y
            in r) [0]
        store s w sum)
    sync
    for_all thread n (i: i64 =>
        w: i64 = mod i 10
        x: i64 = load s w
        store out i x)
"""


def turned(xs):
    """Each hundred backwards."""
    return xs.reshape(-1, 100)[:, ::-1].reshape(-1)


def private(xs):
    """i (i mod 4) + 3 i"""
    i = np.arange(len(xs))
    return i * (i % 4) + 3 * i


def warps(xs):
    """Four times the sum of each ten, times one more than its number."""
    sums = 4 * xs[:100].reshape(10, 10).sum(1) * np.arange(1, 11)
    return np.resize(sums, len(xs))


CASES = {
    "turned": (TURNED, turned, "3"),
    "counted": (COUNTED, lambda xs: np.where(xs < 0, 7, xs), "1"),
    "private": (PRIVATE, private, "1"),
    "warps": (WARPS, warps, "1"),
}
XS = np.random.default_rng(5).integers(-50, 50, 300)


def case(name):
    """The unit, and what it gives."""
    body, meaning, grid = CASES[name]
    return one_kernel(body, warps=2, grid=grid), meaning(XS)


@pytest.mark.parametrize("name", CASES)
def test_the_simulator(name):
    """As written, and as each machine gets it: without races, and the same."""
    unit, expected = case(name)
    np.testing.assert_array_equal(simulated(unit, [300, XS])[0], expected)
    for shape in ALL_SHAPES:
        made = distributed(unit, shape)
        assert not any(isinstance(let.op, ForAll | WarpShared)
                       for let in walk_lets(made.kernels[0].body))  # fmt: skip
        np.testing.assert_array_equal(simulated(made, [300, XS])[0], expected)


@pytest.mark.parametrize("shape", CPU_SHAPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_machine_code(name, shape):
    """By LLVM, on one warp of any number of lanes."""
    unit, expected = case(name)
    (out,) = on_cpu(unit, shape, [300, XS], [(i64, 300)])

    np.testing.assert_array_equal(out, expected)


@pytest.mark.needs_opencl
@pytest.mark.parametrize("shape", OPENCL_SHAPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_opencl(name, shape):
    """By PoCL, on any number of warps."""
    unit, expected = case(name)
    (out,) = OnOpenCl(unit, shape, [i64]).run([300, XS], [300])

    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("name", CASES)
def test_cuda_compiles(compiler, name):
    """By NVRTC, where it is."""
    unit, _ = case(name)
    for shape in CUDA_SHAPES:
        assert ".entry k_k" in compiler.ptx(cuda_text(unit, shape))


def test_a_barrier_of_a_warp_in_cuda():
    """It is for the warp alone; the memory of a warp is its part of the block's."""
    text = cuda_text(case("warps")[0], BlockShape(4, 32))

    assert "__syncwarp();" in text
    assert "[160];" in text


def test_one_turn_needs_no_loop_and_whole_steps_no_mask():
    """What is known is not asked at run time."""
    body = "for_all thread 64 (i: i64 => store out i i)"
    two = print_unit(distribute(one_kernel(body), BlockShape(2, 32)))
    one = print_unit(distribute(one_kernel(body), BlockShape(1, 32)))
    four = print_unit(distribute(one_kernel(body), BlockShape(4, 32)))

    assert "for " not in two and "if " not in two
    assert "for 0 64 32" in one and "if " not in one
    assert "for " not in four and "if " in four


def test_a_kernel_without_levels_stays():
    """There is nothing to distribute."""
    unit = one_kernel("store out 0 1")

    assert distribute(unit, BlockShape(4, 32)).kernels[0] is unit.kernels[0]


def test_collectives_of_warps():
    """Code of a warp uses its lanes directly; where all must meet, 2 of 4 have no work."""
    unit = one_kernel(GOOD.replace("lanes 8", "lanes 32"), warps=2, count="2")
    xs = np.arange(64)
    expected = xs.reshape(2, 32).sum(1)
    whole = [BlockShape(warps, 32, warps_meet_alone=False) for warps in (2, 4)]
    for shape in (*CUDA_SHAPES, *whole):
        np.testing.assert_array_equal(simulated(distributed(unit, shape), [64, xs])[0], expected)


def test_memory_of_threads_is_used_element_by_element():
    """An update of two words is refused on a machine where it becomes a part of the block's."""
    body = """
        for_all thread 4 (i: i64 =>
            m: local u64 = local u64 2
            store m 0 1u64
            store m 1 1u64
            atomic_update (a: u64, b: u64, c: u64, d: u64 =>\n in a, d) m 0 [1u64, 2u64])
    """
    with pytest.raises(CompilerBug, match="atomic_update on memory of a thread"):
        distribute(one_kernel(body), CPU_SHAPES[1])


def test_warps_that_meet_take_the_same_turns():
    """Where a warp's barrier is the block's, a separate loop would leave others waiting."""
    body = """
        for_all warp 4 (w: i64 =>
            lanes 32 (() =>
                for 0 w 1 (t: i64 =>
                    j: i64 = lane 0
                    s: i64 = reduce_lanes (add i64) [j]) []))
    """
    unit = one_kernel(body)
    distribute(unit, BlockShape(4, 32))
    with pytest.raises(Unsupported, match="warps meet at reduce_lanes inside for"):
        distribute(unit, BlockShape(4, 32, warps_meet_alone=False))
