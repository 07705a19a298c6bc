"""The simulator gives what kernels compute, and finds what real machines would not forgive."""

import numpy as np
import pytest

from flatweave.base.dtypes import DTYPES, i64
from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir.units import parse_unit, verify
from flatweave.simulator.run import run
from flatweave.simulator.schedules import Failure
from tests.kernel_ir.units import one_kernel, unit

SEEDS = [None, 0, 1, 2]

BLOCK_SUM = """
    b: i64 = block_index
    w: i64 = warp_index
    lo: i64 = mul b 128
    first: i64 = mul w 32
    at: i64 = add lo first
    own: i64 = lanes 32 (() =>
        j: i64 = lane at
        x: i64 = load xs j
        s: i64 = reduce_lanes (add i64) [x]
        in s)
    store tile w own
    sync
    lanes 4 (() =>
        j: i64 = lane 0
        x: i64 = load tile j
        s: i64 = reduce_lanes (add i64) [x]
        store out b s)
"""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_block_adds_with_four_warps(seed):
    """Each warp its part, through shared memory and a barrier to the sum of the block."""
    made = one_kernel(
        BLOCK_SUM, shared="tile: shared i64 = shared i64 4", warps=4, grid="3", count="3"
    )
    xs = np.arange(384)
    (sums,) = run(made, [384, xs], threads=2, seed=seed)

    np.testing.assert_array_equal(sums, xs.reshape(3, 128).sum(1))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_missing_barrier_is_found(seed):
    """Whoever reads another warp's part needs a barrier first."""
    made = one_kernel(
        BLOCK_SUM.replace("sync", ""), shared="tile: shared i64 = shared i64 4", warps=4,
        grid="3", count="3",
    )  # fmt: skip
    with pytest.raises(CompilerBug, match="race: tile|nobody has written") as caught:
        run(made, [384, np.arange(384)], seed=seed)

    assert "load tile" in str(caught.value)


def test_a_missing_barrier_before_writing_again_is_found():
    """What one warp still reads another may not overwrite."""
    body = """
        w: i64 = warp_index
        store tile w w
        sync
        p: bool = eq w 0
        if p (() =>
            x: i64 = load tile 1
            in ()) (() => store tile 1 7)
    """
    made = one_kernel(body, shared="tile: shared i64 = shared i64 2", warps=2)
    with pytest.raises(CompilerBug, match="read by one and written by another"):
        run(made, [4, np.arange(4)])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("lanes 4 (() =>\n j: i64 = lane 2\n store out j j)", "out of bounds: index 4 of out"),
        ("x: i64 = load xs -1\n store out 0 x", "out of bounds: index -1 of xs"),
        ("x: i64 = load out 0", "nobody has written it"),
        ("store xs 0 1", "belongs to the caller"),
        ("lanes 4 (() =>\n j: i64 = lane 0\n store out 0 j)", "two lanes write different"),
        ("r: i64 = lanes 4 (() =>\n j: i64 = lane 0\n in j)", "differs from lane to lane"),
        ("lanes 4 (() =>\n j: i64 = lane 0\n lanes 4 (() => ()))", "lanes inside lanes"),
        (
            "lanes 4 (() =>\n j: i64 = lane 0\n p: bool = lt j 2\n if p (() =>\n"
            " s: i64 = reduce_lanes (add i64) [j]\n in ()) (() => ()))",
            "2 of 4 lanes run a collective",
        ),
        (
            "lanes 4 (() =>\n j: i64 = lane 1\n k: i64 = mod j 4\n"
            " store out k j streaming=true)",
            "not aligned and linear",
        ),
        (
            "lanes 4 (() =>\n j: i64 = lane 0\n p: bool = lt j 3\n"
            " store_compact [out] 2 4 p [j])",
            "beyond its limit",
        ),
    ],
)
def test_faults_of_one_warp(body, message):
    """Each with the let that is to blame."""
    made = one_kernel(body + ("" if "store out 0 x" in body else "\n store out 0 1"), checked=False)
    with pytest.raises(CompilerBug, match=message) as caught:
        run(made, [4, np.arange(4)])

    assert caught.value.program


def test_blocks_that_write_different_values_race():
    """Nothing orders the blocks of a launch."""
    body = "b: i64 = block_index\n store out 0 b"
    with pytest.raises(CompilerBug, match="race: out"):
        run(one_kernel(body, grid="2"), [4, np.arange(4)])

    same = "store out 0 5\n store out 1 5\n store out 2 5\n store out 3 5"
    (out,) = run(one_kernel(same, grid="2"), [4, np.arange(4)])
    np.testing.assert_array_equal(out, 5)


def test_blocks_that_read_what_others_write_race():
    """A launch cannot return results."""
    body = """
        b: i64 = block_index
        store out b b
        p: bool = eq b 1
        if p (() =>
            x: i64 = load out 0
            in ()) (() => ())
    """
    with pytest.raises(CompilerBug, match="written by one and read by another"):
        run(one_kernel(body, grid="2"), [2, np.arange(2)])


def test_atomics_do_not_race():
    """And give the sum whatever the order."""
    made = unit("""
        host(n: i64, xs: global i64) =>
            out: global i64 = alloc i64 1 0
            store out 0 100
            launch k 2 [xs, out]
            in out

        kernel k(xs: global i64, out: global i64) warps 2 =>
            lanes 4 (() =>
                j: i64 = lane 0
                x: i64 = load xs j
                before: i64 = atomic add out 0 x)
    """)
    (out,) = run(made, [4, np.arange(4)])

    assert out[0] == 100 + 4 * 6


def test_updates_by_any_function_do_not_race():
    """Elements of two words, and of two arrays under locks: what all lanes bring is in them."""
    made = unit("""
        host(n: i64, xs: global i64) =>
            words: global u64 = alloc u64 2 0
            store words 0 1u64
            store words 1 2u64
            out: global i64 = alloc i64 1 0
            store out 0 3
            locks: global u32 = alloc u32 4 0
            for 0 4 1 (k: i64 =>
                store locks k 0u32) []
            launch k 2 [xs, words, out, locks]
            free locks
            in words, out

        kernel k(xs: global i64, words: global u64, out: global i64, locks: global u32) warps 2 =>
            lanes 4 (() =>
                j: i64 = lane 0
                x: i64 = load xs j
                y: u64 = cast u64 x
                atomic_update (a: u64, b: u64, c: u64, d: u64 =>
                    e: u64 = add a c
                    f: u64 = maximum b d
                    in e, f) words 0 [1u64, y]
                locked_update (a: i64, b: i64 =>
                    c: i64 = add a b
                    in c) locks 4 [out] 0 [x])
    """)
    words, out = run(made, [4, np.arange(4)], threads=2, seed=1)

    assert words.tolist() == [1 + 16, 3]
    assert out[0] == 3 + 4 * 6


def test_not_all_warps_reach_the_barrier():
    """The verifier finds it where it can be seen, the simulator where it happens."""
    body = """
        w: i64 = warp_index
        p: bool = eq w 0
        if p (() => sync) (() => ())
    """
    with pytest.raises(CompilerBug, match="not all warps arrive"):
        one_kernel(body, warps=2)
    with pytest.raises(CompilerBug, match="1 of 2 warps never reach"):
        run(one_kernel(body, warps=2, checked=False), [1, np.arange(1)])


SCAN = """
host(n: i64, xs: global i64) =>
    out: global i64 = alloc i64 n 0
    blocks: i64 = floordiv n 4
    slots: i64 = add blocks 1
    states: global i64 = alloc i64 slots 0
    sums: global i64 = alloc i64 slots 0
    for 0 slots 1 (t: i64 =>
        store states t 0) []
    store sums 0 0
    store states 0 1
    launch scan blocks [xs, out, states, sums]
    free states
    free sums
    in out

kernel scan(xs: global i64, out: global i64, states: global i64, sums: global i64) =>
    b: i64 = block_index
    lo: i64 = mul b 4
    seen: i64, turns: i64 = while (s: i64, k: i64 => eq s 0) (s: i64, k: i64 =>
        backoff k
        now: i64 = acquire states b
        more: i64 = add k 1
        in now, more) [0, 0]
    before: i64 = load sums b
    end: i64 = lanes 4 (() =>
        j: i64 = lane lo
        x: i64 = load xs j
        p: i64 = scan_lanes (add i64) [0] [x]
        y: i64 = add p before
        store out j y
        last: i64 = last_lane [y]
        in last)
    next: i64 = add b 1
    store sums next end
    release states next 1
"""


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_chain_of_blocks(threads, seed):
    """Waiting blocks yield; what was released before is seen after acquiring."""
    (out,) = run(unit(SCAN), [24, np.arange(24)], threads=threads, seed=seed)

    np.testing.assert_array_equal(out, np.cumsum(np.arange(24)))


def test_a_chain_without_release_races():
    """A plain flag orders nothing."""
    plain = SCAN.replace("release states next 1", "store states next 1")
    with pytest.raises(CompilerBug, match="without a release"):
        run(unit(plain), [24, np.arange(24)])


def test_a_chain_that_publishes_too_early_races():
    """What is written after the release is not seen."""
    early = SCAN.replace("    store sums next end\n    release states next 1\n",
                         "    release states next 1\n    store sums next end\n")
    with pytest.raises(CompilerBug, match="written by one and read by another|nobody has written"):
        run(unit(early), [24, np.arange(24)], threads=2, seed=0)


def test_blocks_that_wait_for_ever():
    """A deadlock is found, not waited for."""
    never = SCAN.replace("release states next 1", "release states next 0")
    with pytest.raises(CompilerBug, match="wait for ever"):
        run(unit(never), [24, np.arange(24)])


def test_collectives():
    """Shift, count, compact, reverse lanes, lanes with different numbers of iterations."""
    body = """
        lanes 8 (() =>
            j: i64 = lane 0
            r: i64 = lane 7 reverse=true
            x: i64 = load xs r
            odd: i64 = mod x 2
            keep: bool = eq odd 1
            kept: i64 = count_lanes keep
            store_compact [out] 0 8 keep [x]
            s: i64 = shift_lanes [kept] [x]
            t: i64 = for 0 j 1 (k: i64, sum: i64 => add sum k) [0]
            l: i64 = last_lane [t]
            a: i64 = add j 8
            store out a s
            b: i64 = add j 16
            store out b t
            store out 24 l
            if keep (() => store out 25 kept) (() => ())
            for 4 8 1 (k: i64 =>
                store out k 0) [])
    """
    (out,) = run(one_kernel(body, count="26"), [8, np.arange(8)])
    triangles = [0, 0, 1, 3, 6, 10, 15, 21]

    np.testing.assert_array_equal(out[:8], [7, 5, 3, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(out[8:16], [4, 7, 6, 5, 4, 3, 2, 1])
    np.testing.assert_array_equal(out[16:], [*triangles, 21, 4])


def test_an_operator_that_does_not_commute_keeps_the_lanes_order():
    """Lane 0 is leftmost."""
    body = """
        lanes 8 (() =>
            j: i64 = lane 0
            x: i64 = load xs j
            a: i64, b: i64 = scan_lanes (a1: i64, b1: i64, a2: i64, b2: i64 =>
                a3: i64 = mul a1 a2
                b3: i64 = mul b1 a2
                b4: i64 = add b3 b2
                in a3, b4) [1, 0] [2, x]
            store out j b
            c: i64, d: i64 = reduce_lanes (a5: i64, b5: i64, a6: i64, b6: i64 =>
                a7: i64 = mul a5 a6
                b7: i64 = mul b5 a6
                b8: i64 = add b7 b6
                in a7, b8) [2, x]
            store out 8 d)
    """
    (out,) = run(one_kernel(body, count="9"), [8, np.arange(8)])
    expected, total = [], 0
    for x in range(8):
        total = 2 * total + x
        expected.append(total)

    np.testing.assert_array_equal(out, [*expected, total])


def test_reports_and_failures():
    """The smallest index of a launch wins; a failure ends the program."""
    body = """
        b: i64 = block_index
        store out b b
        k: i64 = sub 9 b
        lanes 4 (() =>
            j: i64 = lane k
            p: bool = ne j 8
            if p (() => report 2 5 j b n) (() => ()))
    """
    assert run(one_kernel(body, grid="2", count="2"), [3, np.arange(3)]) == Failure(2, 5, 9, 0, 3)

    fails = parse_unit("host(n: i64) =>\n p: bool = lt n 4\n fail p 3 1 n 4\n in n")
    assert run(fails, [4]) == [4]
    assert run(fails, [3]) == Failure(3, 1, -1, 3, 4)
    memory = parse_unit("host(n: i64) =>\n b: global i64 = alloc i64 n 6\n in b")
    assert run(memory, [-2]) == Failure(1, 6, 0, -2, DTYPES.index(i64))


def test_verified_units_stay_verified():
    """The texts of this file are well-formed."""
    verify(unit(SCAN))
