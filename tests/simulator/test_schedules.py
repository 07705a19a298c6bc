"""Blocks, warps and units run in any requested order, and nothing depends on it."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.base.errors import CompilerBug
from flatweave.simulator import schedules
from flatweave.simulator.counts import Counter
from flatweave.simulator.run import run
from tests.kernel_ir.units import one_kernel, unit

ORDERED = """
host(n: i64, xs: global i64) =>
    out: global i64 = alloc i64 n 0
    ticket: global i64 = alloc i64 1 0
    store ticket 0 0
    launch k {grid} [out, ticket]
    free ticket
    in out

kernel k(out: global i64, ticket: global i64) warps {warps} =>
    b: i64 = block_index
    w: i64 = warp_index
    p: i64 = mul b {warps}
    q: i64 = add p w
    lanes 1 (() =>
        mine: i64 = atomic add ticket 0 1
        store out mine q)
"""
"""Blocks and warps write down who comes first."""


def order_of(schedule, grid=1, warps=1, at_once=8):
    made = unit(ORDERED.format(grid=grid, warps=warps))
    (out,) = run(made, [grid * warps, np.zeros(1, np.int64)], at_once, schedule=schedule)
    return out.tolist()


@pytest.mark.parametrize(
    ("schedule", "order"),
    [
        (schedules.InOrder(), [0, 1, 2, 3]),
        (schedules.ReverseBlocks(), [3, 2, 1, 0]),
        (schedules.LateBlock(1), [0, 2, 3, 1]),
        (schedules.StalledBlock(0, 1), [1, 2, 3, 0]),
    ],
    ids=repr,
)
def test_the_order_of_blocks(schedule, order):
    """Who stalls or begins late comes last."""
    assert order_of(schedule, grid=4) == order


def test_blocks_begin_in_order_where_few_run_at_a_time():
    """A block may wait for earlier ones: it never begins before them."""
    assert order_of(schedules.ReverseBlocks(), grid=6, at_once=2) == [1, 2, 3, 4, 5, 0]


@pytest.mark.parametrize(
    ("schedule", "order"),
    [
        (schedules.InOrder(), [0, 1, 2, 3]),
        (schedules.ReverseWarps(), [3, 2, 1, 0]),
        (schedules.WarpAhead(2), [2, 0, 1, 3]),
    ],
    ids=repr,
)
def test_the_order_of_warps(schedule, order):
    """Of one block."""
    assert order_of(schedule, warps=4) == order


def test_random_orders_differ_and_are_repeated():
    """By their seeds."""
    orders = [order_of(schedules.Shuffled(seed), grid=8) for seed in (1, 2, 1)]

    assert orders[0] == orders[2] != orders[1]
    assert sorted(orders[0]) == list(range(8))


UNITS = """
    store out 40 0
    sync
    for_all thread 40 (i: i64 =>
        mine: i64 = atomic add out 40 1
        store out mine i)
"""


@pytest.mark.parametrize(
    ("schedule", "first"),
    [
        (schedules.InOrder(), [0, 1, 2]),
        (schedules.ReverseUnits(), [39, 38, 37]),
    ],
    ids=repr,
)
def test_the_order_of_units(schedule, first):
    """A cursor shows who came when."""
    (out,) = run(one_kernel(UNITS, count="41"), [0, np.zeros(1, np.int64)], schedule=schedule)

    assert out[:3].tolist() == first
    assert sorted(out[:40]) == list(range(40))


@pytest.mark.sampled
@pytest.mark.parametrize("schedule", schedules.adversaries(), ids=repr)
def test_a_user_may_ask_for_each(schedule):
    """And gets the same results."""

    @fk.kernel
    def sums(xs):
        def block(part):
            while part.length > 1:
                part = fk.force(fk.zip_with(lambda a, b: a + b, *fk.halve(part)))
            return part

        return fk.pconcat_map(block, fk.split_up(64, xs))

    xs = np.arange(256)
    for threads in (None, 64):
        found = sums.simulate(xs, blocks=3, schedule=schedule, threads=threads)
        np.testing.assert_array_equal(found, xs.reshape(4, 64).sum(1))


def test_a_result_that_depends_on_the_order_shows_it():
    """A cursor that threads share gives indices in the order in which they come."""

    @fk.kernel
    def compacted(xs):
        cursor = fk.fill(fk.replicate(1, 0))

        def write(put):
            def thread(i):
                fk.when(xs[i] > 0, lambda: put(fk.atomic_inc(cursor, 0), xs[i]))

            fk.for_all(1, lambda b: fk.for_all(8, thread))

        return fk.make_push(4, write)

    xs = np.array([0, 1, 2, 0, 3, 0, 0, 4])

    assert compacted.simulate(xs).tolist() == [1, 2, 3, 4]
    turned = compacted.simulate(xs, schedule=schedules.ReverseUnits()).tolist()
    assert turned == [4, 3, 2, 1]


def handed_on(length, first, other):
    """Two blocks of two warps: `length` data that the first one hands to the other by a flag, and
    the texts of what each does."""
    return """
    host(n: i64, xs: global i64) =>
        out: global i64 = alloc i64 2 0
        data: global i64 = alloc i64 LENGTH 0
        flag: global i64 = alloc i64 1 0
        store flag 0 0
        store out 0 7
        store out 1 7
        launch k 2 [out, data, flag]
        free data
        free flag
        in out

    kernel k(out: global i64, data: global i64, flag: global i64) warps 2 =>
        b: i64 = block_index
        w: i64 = warp_index
        first: bool = eq b 0
        if first (() =>
            FIRST) (() =>
            OTHER)
    """.replace("LENGTH", str(length)).replace("FIRST", first).replace("OTHER", other)


def by_warp(number, body):
    """What one warp does."""
    return f"""
            own{number}: bool = eq w {number}
            if own{number} (() =>
                {body}) (() => ())"""


WAIT = """
            seen: i64, turns: i64 = while (s: i64, k: i64 => eq s 0) (s: i64, k: i64 =>
                backoff k
                now: i64 = acquire flag 0
                more: i64 = add k 1
                in now, more) [0, 0]
"""
NONE = [0, np.zeros(1, np.int64)]


def test_a_warp_that_acquires_tells_its_block_nothing():
    """The other warps have to meet it before they read: the simulator finds the missing barrier."""
    release = by_warp(0, "store data 0 7\n                release flag 0 1")
    wait = by_warp(0, WAIT.replace("\n", "\n    ") + "            in ()")
    read = "\n            {}\n            x: i64 = load data 0\n            store out w x"

    (out,) = run(unit(handed_on(1, release, wait + read.format("sync"))), NONE, threads=2)
    assert out.tolist() == [7, 7]

    alone = unit(handed_on(1, release, wait + read.format("")))
    with pytest.raises(CompilerBug, match=r"data\[0\] is written by one and read|nobody"):
        run(alone, NONE, threads=2)


def test_what_is_released_without_a_barrier_is_that_warp_alone():
    """The writes of the block's other warps are published only after a barrier."""
    store = "\n            store data w w\n            {}" + by_warp(1, "release flag 0 1")
    read = WAIT + "            x: i64 = load data 0\n            store out 0 x"

    (out,) = run(unit(handed_on(2, store.format("sync"), read)), NONE, threads=2)
    assert out.tolist() == [0, 7]

    with pytest.raises(CompilerBug, match=r"data\[0\] is written by one and read by another"):
        run(unit(handed_on(2, store.format(""), read)), NONE, threads=2)


def test_readers_in_several_blocks_are_all_remembered():
    """A block that writes what two others read races with both, also with the first one."""
    text = """
    host(n: i64, xs: global i64) =>
        out: global i64 = alloc i64 2 0
        store out 0 1
        store out 1 1
        launch k 2 [out]
        in out

    kernel k(out: global i64) =>
        b: i64 = block_index
        x: i64 = load out 0
        sync
        last: bool = eq b 1
        if last (() =>
            store out 0 9) (() => ())
    """
    with pytest.raises(CompilerBug, match=r"read by one and written by another.*block 1\)"):
        run(unit(text), [0, np.zeros(1, np.int64)])


def test_an_element_has_one_lock():
    """Two updates that take different locks are not ordered by them."""
    text = """
    host(n: i64, xs: global i64) =>
        out: global i64 = alloc i64 1 0
        store out 0 3
        locks: global u32 = alloc u32 4 0
        for 0 4 1 (k: i64 =>
            store locks k 0u32) []
        launch k 2 [locks, out]
        free locks
        in out

    kernel k(locks: global u32, out: global i64) =>
        b: i64 = block_index
        lanes 4 (() =>
            locked_update (a: i64, c: i64 =>
                d: i64 = add a c
                in d) locks 4 [out] 0 [1]
            locked_update (a2: i64, c2: i64 =>
                d2: i64 = add a2 c2
                in d2) locks STRIPES [out] 0 [1])
    """
    args = [0, np.zeros(1, np.int64)]
    for seed in range(5):
        (out,) = run(unit(text.replace("STRIPES", "4")), args, threads=2, seed=seed)
        assert out.tolist() == [3 + 16]
    plain = text.replace("""            locked_update (a2: i64, c2: i64 =>
                d2: i64 = add a2 c2
                in d2) locks STRIPES [out] 0 [1])""", "            store out 0 5)")
    with pytest.raises(CompilerBug, match="written with different values|written by|race"):
        run(unit(plain), args, threads=2, seed=1)


def test_counting_changes_nothing():
    """The counter receives them, and that is all."""
    made = one_kernel(UNITS, count="41")
    args = [0, np.zeros(1, np.int64)]

    (one,), (two,) = run(made, args), run(made, args, counter=Counter())
    np.testing.assert_array_equal(one, two)


def test_a_kernel_of_a_user_may_not_fail_as_ours():
    """KernelError is a UserError, with the line."""

    @fk.kernel
    def wrong(xs):
        def block(part):
            m = fk.fill(part)
            fk.for_all(8, lambda i: m.__setitem__(0, i))
            return m.pull()

        return fk.pconcat_map(block, fk.split_up(8, xs))

    with pytest.raises(fw.KernelError) as caught, fw.target("interp"):
        wrong(np.arange(8))
    assert "m.__setitem__(0, i)" in str(caught.value)
