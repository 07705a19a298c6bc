"""Steps of threads are as wide as their values leave registers, and as what is left."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.kernel_ir.hierarchy import ForAll
from flatweave.kernel_ir.syntax import Lanes
from flatweave.kernel_passes.distribute import BlockShape, distribute
from flatweave.kernel_passes.steps import Registers, parts, step_widths
from flatweave.terms.build import index
from flatweave.terms.traverse import walk_lets
from tests.kernel_ir.units import unit

REGISTERS = Registers(32, 64)
SUMS = """
    for_all thread {count} (i: i64 =>
        a: f32 = load fs i
        s: f32 = for 1 9 1 (k: i64, s: f32 =>
            j: i64 = add i k
            x: f32 = load fs j
            t: f32 = add s x
            in t) [a]
        store fout i s)
"""
HALVES = """
    for_all thread {count} (i: i64 =>
        n: i64 = load xs i
        s: i64 = while (s: i64 =>
            p: bool = lt 0 s
            in p) (s: i64 =>
            t: i64 = floordiv s 2
            in t) [n]
        store out i s)
"""


def unit_of(body, count):
    """A kernel of this text."""
    return unit(f"""
        host(n: i64, xs: global i64, fs: global f32) =>
            out: global i64 = alloc i64 n 0
            fout: global f32 = alloc f32 n 0
            launch k 1 [n, xs, fs, out, fout]
            in out, fout

        kernel k(n: i64, xs: global i64, fs: global f32, out: global i64, fout: global f32) =>
            {body.format(count=count)}
        """)


def for_all_of(body, count=256):
    """The loop over threads that a text has."""
    (kernel,) = unit_of(body, count).kernels
    return next(let.op for let in walk_lets(kernel.body) if isinstance(let.op, ForAll))


def test_sums_that_need_few_registers_take_wide_steps():
    """Eight registers of 16 lanes: two values are held at once."""
    assert step_widths(for_all_of(SUMS), REGISTERS) == (128, 16)


def test_few_registers_are_not_filled_with_one_value():
    """A quarter of them for each value: AVX2 has 16."""
    assert step_widths(for_all_of(SUMS), Registers(16, 32)) == (32, 8)


def test_lanes_that_loop_each_as_often_as_they_must_fill_one_register():
    """A step iterates until its last lane has ended."""
    assert step_widths(for_all_of(HALVES), REGISTERS) == (8, 8)


@pytest.mark.parametrize(
    "count, wanted",
    [
        (256, [(128, 256)]),
        (96, [(32, 96)]),
        (100, [(64, 64), (32, 96), (1, 100)]),
        (20, [(16, 16), (4, 20)]),
        (5, [(4, 4), (1, 5)]),
        (1, [(1, 1)]),
    ],
)
def test_what_is_left_of_a_known_number_goes_in_narrower_steps(count, wanted):
    """Few threads are never taken one by one."""
    assert parts(for_all_of(SUMS), index(count), REGISTERS) == wanted


def test_a_number_known_at_run_time_goes_in_three_widths():
    """Where each ends is found when it runs."""
    made = for_all_of(SUMS, "n")
    assert parts(made, made.count, REGISTERS) == [(128, None), (16, None), (1, None)]


def test_a_machine_without_registers_keeps_its_width():
    """Whole steps, then one by one."""
    made = distribute(unit_of(SUMS, 20), BlockShape(1, 8, simt=False))
    widths = [let.op.width for let in walk_lets(made.kernels[0].body) if isinstance(let.op, Lanes)]
    assert widths == [8, 1]


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "?"])
@pytest.mark.parametrize("n", [0, 1, 2, 17, 63, 65, 127, 128, 129, 1025, 40000])
def test_any_element_in_steps_of_any_width(dtype, n):
    """Straight, gathered, by branches and by loops."""
    xs = np.random.default_rng(n).integers(0, 100, n).astype(dtype)

    @fk.kernel
    def turned(xs):
        return fk.ix_map(lambda i: (i * 7) % xs.length, xs)

    @fk.kernel
    def branches(xs):
        return fk.map(
            lambda x: fk.cond(
                x.astype(fw.i32) % 3 == 0, lambda: x.astype(fw.i32), lambda: -x.astype(fw.i32)
            ),
            xs,
        )

    @fk.kernel
    def bits(xs):
        return fk.map(
            lambda x: fk.seq_while(
                lambda s: s[0] > 0, lambda s: (s[0] // 2, s[1] + 1), (x.astype(fw.i32), 0)
            )[1],
            xs,
        )

    whole = xs.astype(np.int32)
    assert np.array_equal(turned(xs), xs[np.arange(n) * 7 % max(n, 1)])
    assert np.array_equal(branches(xs), np.where(whole % 3 == 0, whole, -whole))
    assert np.array_equal(bits(xs), [int(x).bit_length() for x in whole])


@pytest.mark.sampled
@pytest.mark.parametrize("count", [*range(1, 35), 63, 64, 65, 100, 127, 129, 255, 257])
def test_blocks_of_any_number_of_threads(count):
    """Each is written once, in whatever step it falls."""
    xs = np.random.default_rng(count).integers(0, 100, count * 3).astype(np.uint8)

    @fk.kernel
    def tripled(xs):
        def block(part):
            return fk.reverse(fk.force(fk.map(lambda x: x * 3, part)))

        return fk.pconcat_map(block, fk.split_up(count, xs))

    want = (xs * np.uint8(3)).reshape(-1, count)[:, ::-1].reshape(-1)
    assert np.array_equal(tripled(xs), want)


@pytest.mark.parametrize(
    ("place", "lanes"),
    [
        ("floordiv i 32", 32), ("mod i 48", 16), ("and i 31", 32), ("and i -64", 64),
        ("xor i 15", 16), ("shr i 5", 32), ("floordiv i 8", 128), ("xor i 1", 128),
        ("add i 32", 128),
    ],
)  # fmt: skip
def test_steps_stay_in_a_row(place, lanes):
    """Rows of less than a register do not count."""
    body = f"""
        for_all thread {{count}} (i: i64 =>
            j: i64 = {place}
            x: f32 = load fs j
            store fout i x)
    """

    assert step_widths(for_all_of(body, 1024), REGISTERS) == (lanes, 16)
