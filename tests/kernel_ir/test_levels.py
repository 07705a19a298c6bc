"""The simulator runs kernels of all levels, and finds what is wrong about them."""

import numpy as np
import pytest

from flatweave.base.errors import CompilerBug
from flatweave.simulator.run import run
from tests.kernel_ir.units import one_kernel

SEEDS = [None, 0, 1]

# Hillis and Steele's scan of 64 elements: after the step with distance d, element i holds the last
# 2d elements that end at i. Steps go from one memory to the other.
SCAN = """
    a: shared i64 = shared i64 64
    b: shared i64 = shared i64 64
    for_all thread 64 (i: i64 =>
        x: i64 = load xs i
        store a i x)
    sync
    STEPS
    for_all thread 64 (i: i64 =>
        x: i64 = load a i
        store out i x)
"""
STEP = """
    for_all thread 64 (i: i64 =>
        x: i64 = load {source} i
        far: bool = le {distance} i
        y: i64 = if far (() =>
            j: i64 = sub i {distance}
            before: i64 = load {source} j
            s: i64 = add before x
            in s) (() =>
            in x)
        store {target} i y)
    {sync}
"""


def scan(sync="sync", target="b"):
    """The kernel, with this between its steps, which go there and back again."""
    steps = [
        STEP.format(distance=2**k, source="ab"[k % 2], target=target if k % 2 == 0 else "a",
                    sync=sync)
        for k in range(6)
    ]  # fmt: skip
    return SCAN.replace("STEPS", "\n".join(steps))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("warps", [1, 4])
def test_a_scan_of_threads(warps, seed):
    """64 threads, on one warp or several."""
    xs = np.random.default_rng(3).integers(-9, 9, 64)
    (out,) = run(one_kernel(scan(), warps=warps), [64, xs], seed=seed)

    np.testing.assert_array_equal(out, np.cumsum(xs))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("warps", [1, 4])
def test_a_missing_barrier_is_found_on_one_warp_too(warps, seed):
    """Lock step hides nothing: threads are in no order."""
    with pytest.raises(CompilerBug, match="race|nobody has written") as caught:
        run(one_kernel(scan(sync=""), warps=warps), [64, np.arange(64)], seed=seed)

    assert "load b" in str(caught.value)


def test_a_scan_in_place_is_a_race():
    """What a thread still reads another may not overwrite, and the message names it."""
    with pytest.raises(CompilerBug, match=r"race: a\[\d+\] is read by one and written by another"):
        run(one_kernel(scan(target="a")), [64, np.arange(64)])


def test_the_thread_is_named():
    """Who uses the element last, in words."""
    body = "for_all thread 4 (i: i64 =>\n j: i64 = floordiv i 2\n store out j 7)"
    message = r"out\[0\] is written by two threads.*block 0, thread 0; block 0, thread 1"
    with pytest.raises(CompilerBug, match=message):
        run(one_kernel(body), [4, np.arange(4)])


WARP_SUMS = """
    for_all warp 5 (w: i64 =>
        t: warp_shared i64 = warp_shared i64 8
        lo: i64 = mul w 8
        for_all thread 8 (i: i64 =>
            j: i64 = add lo i
            x: i64 = load xs j
            store t i x)
        sync level=warp
        s: i64 = for 0 8 1 (i: i64, s: i64 =>
            x: i64 = load t i
            r: i64 = add s x
            in r) [0]
        store out w s)
"""


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("warps", [1, 2, 8])
def test_more_warps_than_there_are(warps, seed):
    """A warp takes several, each with separate memory."""
    made = one_kernel(WARP_SUMS, warps=warps, count="5")
    (out,) = run(made, [40, np.arange(40)], seed=seed)

    np.testing.assert_array_equal(out, np.arange(40).reshape(5, 8).sum(1))


def test_a_missing_barrier_of_a_warp_is_found():
    """Its threads meet in memory only after a barrier."""
    made = one_kernel(WARP_SUMS.replace("sync level=warp", ""), count="5")
    with pytest.raises(CompilerBug, match="t.* is written by one and read by another"):
        run(made, [40, np.arange(40)])


def test_a_barrier_of_a_warp_orders_no_other_warp():
    """What another warp has written waits for the barrier of the block."""
    body = """
        s: shared i64 = shared i64 4
        for_all warp 4 (w: i64 =>
            store s w w
            sync level=warp
            v: i64 = add w 1
            o: i64 = mod v 4
            x: i64 = load s o
            store out w x)
    """
    with pytest.raises(CompilerBug, match="race: s|nobody has written"):
        run(one_kernel(body, count="4"), [4, np.arange(4)])
    split = body.replace("sync level=warp", ")\n sync\n for_all warp 4 (w: i64 =>")
    (out,) = run(one_kernel(split, warps=2, count="4"), [4, np.arange(4)])

    assert out.tolist() == [1, 2, 3, 0]


def test_memory_of_threads():
    """Each thread has separate memory, also where only some of them run."""
    body = """
        for_all thread 40 (i: i64 =>
            m: local i64 = local i64 3
            store m 0 i
            odd: i64 = mod i 2
            p: bool = eq odd 1
            if p (() =>
                x: i64 = load m 0
                y: i64 = mul x 100
                store m 0 y) (() => ())
            k: i64 = for 0 odd 1 (t: i64, k: i64 => add k 1) [0]
            store m k i
            x: i64 = load m 0
            store out i x)
    """
    (out,) = run(one_kernel(body, warps=2, count="40"), [40, np.arange(40)])

    np.testing.assert_array_equal(out, [i * 100 if i % 2 else i for i in range(40)])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("for_all thread 5 (i: i64 => store s i i)", "out of bounds: index 4 of s, which has 4"),
        ("for_all thread 4 (i: i64 =>\n m: local i64 = local i64 3\n store m i i)",
         "out of bounds: index 3 of m, of which a thread has 3"),
        ("for_all thread 4 (i: i64 =>\n m: local i64 = local i64 3\n x: i64 = load m 2\n"
         " store s i x)", "read, but nobody has written it"),
        ("for_all warp 2 (w: i64 => store s 0 5)", "s.0. is written by two units"),
        ("for_all warp 2 (w: i64 => store s w 5)\n x: i64 = load s 1", "written by one and read"),
        ("store s 0 1\n for_all thread 2 (i: i64 =>\n x: i64 = load s 0\n store s 3 x)",
         "written by one and read by another"),
        ("for_all thread 3 (i: i64 =>\n j: i64 = add i 1\n k: i64 = mod j 3\n store s i i\n"
         " sync_or_not\n x: i64 = load s k\n store out i x)", "race: s|nobody"),
    ],
)  # fmt: skip
def test_faults_of_units(body, message):
    """Each with the let that is to blame."""
    made = one_kernel(
        f"s: shared i64 = shared i64 4\n {body.replace('sync_or_not', '')}", count="4"
    )
    with pytest.raises(CompilerBug, match=message) as caught:
        run(made, [4, np.arange(4)])

    assert caught.value.program


def test_updates_of_threads_do_not_race():
    """Indivisible updates need no barrier among each other."""
    body = """
        s: shared i64 = shared i64 2
        for_all thread 2 (i: i64 => store s i 0)
        sync
        for_all thread 40 (i: i64 =>
            j: i64 = mod i 2
            before: i64 = atomic add s j i)
        sync
        for_all thread 2 (i: i64 =>
            x: i64 = load s i
            store out i x)
    """
    (out,) = run(one_kernel(body, warps=2, count="2"), [2, np.arange(2)])

    assert out.tolist() == [sum(range(0, 40, 2)), sum(range(1, 40, 2))]


@pytest.mark.parametrize("count", [0, 1, 33])
def test_a_count_known_at_run_time(count):
    """Nobody runs for nothing."""
    body = "store out n 9\n for_all thread n (i: i64 =>\n x: i64 = load xs i\n store out i x)"
    (out,) = run(one_kernel(body, warps=2, count="64"), [count, np.arange(count)])

    assert out[:count].tolist() == list(range(count))
    assert out[count] == 9
