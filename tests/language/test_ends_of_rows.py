"""Reductions along rows of any length: what no step is full of is one predicated step."""

import ctypes
import mmap

import numpy as np
import pytest

import flatweave as fw
from flatweave.codegen.llvm.memory import PAGE
from flatweave.lower.schedule.steps import Axis, Tail
from flatweave.tuning.search import parse_plans
from tests.codegen.levels import LEVELS, in_force
from tests.language.test_same_bits import noisy, outcomes

DTYPES = ["u1", "i2", "f4", "f8", "i8", "?"]
LENGTHS = (1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 130)


def rows(length, dtype, count=37):
    """Rows of small numbers between two columns that no result reads."""
    made = np.random.default_rng(length).integers(0, 100, (count, length + 2))
    made[:, [0, -1]] = 127
    return made.astype(dtype)


def inner(m):
    """The rows without the first and the last column."""
    return m[:, 1:-1]


def lanes_of(fn, *args):
    """How the lanes of a program's last sweep run."""
    plans = parse_plans(fw.jit(fn, target="cpu").stages(*args).text["plan"])
    return list(plans.values())[-1].plain.lanes


@fw.jit
def totals(m):
    """Sums, both extremes, and an operator of a user on pairs."""
    low, high = fw.reduce(
        lambda a, b: (fw.minimum(a[0], b[0]), fw.maximum(a[1], b[1])), (1000, -1000),
        (inner(m).ravel().astype(np.int64), inner(m).ravel().astype(np.int64)),
    )  # fmt: skip
    return fw.sum(inner(m).astype(np.int64)), fw.min(inner(m)), fw.max(inner(m)), low, high


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_no_element_counts_twice_and_none_is_left_out(level, dtype):
    """Rows of 1 to 130 elements, as NumPy has them."""
    with in_force(level):
        for length in LENGTHS:
            m = rows(length, dtype)
            x = m[:, 1:-1]
            wanted = x.sum(dtype=np.int64), x.min(), x.max(), x.min(), x.max()
            assert totals(m) == wanted


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("length", [5, 13, 100, 1000])
def test_sums_of_floats_have_the_same_bits(dtype, length, crowd):
    """Grouping depends on the shape alone."""
    m = noisy(dtype, 60_000 // length * length).reshape(-1, length)

    assert len(outcomes(lambda m: (fw.sum(inner(m)), fw.max(inner(m))), m)) == 1


def test_sums_of_floats_are_as_exact():
    """Some 64 steps are a block of rows, whose sums start anew."""
    m = np.full((100_000, 13), 1.1, np.float32)
    found = fw.jit(lambda m: fw.sum(inner(m)))(m)

    assert abs(found / (np.float64(np.float32(1.1)) * 1_100_000) - 1) < 3e-6


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.int64])
def test_nothing_is_read_behind_the_last_row(level, dtype):
    """The array ends where a page does that nobody may read."""
    both = mmap.mmap(-1, 2 * PAGE)
    page = np.frombuffer(both, np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    assert protect(page.ctypes.data + PAGE, PAGE, 0) == 0
    greatest = fw.jit(lambda m: fw.max(m[:, 1:]))
    xs = page[:PAGE].view(dtype)
    xs[:] = np.arange(xs.size) % 101
    with in_force(level):
        for length in range(2, 40):
            m = xs[xs.size - 3 * length :].reshape(3, length)
            assert greatest(m) == m[:, 1:].max()
    assert protect(page.ctypes.data + PAGE, PAGE, 3) == 0


STENCILS = {
    "clamped": lambda m: fw.stencil(lambda n: n[0, -1] + 2 * n[0, 1] - n[0, 0], m, (1, 3)),
    "of columns": lambda m: fw.stencil(lambda n: n[-1, 0] + 3 * n[1, 0] - n[0, 1], m, (3, 3)),
    "wrapped": lambda m: fw.stencil(lambda n: n[0, -2] - n[0, 2], m, (1, 5), "wrap"),
}


@pytest.mark.parametrize("name", STENCILS)
def test_rows_whose_ends_are_tested(name):
    """Elements near both ends of a row are predicated steps, too."""
    values = STENCILS[name]
    for length in LENGTHS:
        m = rows(length + 4, "i8", 9)
        found = fw.jit(lambda m: (fw.sum(values(m)), fw.max(values(m))))(m)
        with fw.target("interp"):
            assert found == fw.jit(lambda m: (fw.sum(values(m)), fw.max(values(m))))(m)


def test_which_sweeps_end_so():
    """Those that only combine, each lane separately; what is counted or stored ends one by one."""
    m = np.ones((40, 30))

    assert lanes_of(lambda m: fw.max(inner(m)), m).tail is Tail.PREDICATE
    assert lanes_of(lambda m: fw.sum(inner(m)), m > 3).tail is Tail.SCALAR
    assert lanes_of(lambda m: inner(m) * 2, m).tail is Tail.SHIFT
    assert lanes_of(lambda m: fw.max(m), m).axis is Axis.SPACE


def test_lanes_that_combine_nothing_are_not_idle_on_a_cpu():
    """What a lane without an element stores would be anything."""
    f, m = fw.jit(lambda m: inner(m) * 2, target="cpu"), np.ones((40, 30))
    text = f.stages(m).text["plan"].replace("tail=shift", "tail=predicate")

    with fw.schedule(text), pytest.raises(fw.ArgumentError, match="lanes are idle where"):
        f(m)


def test_masks_have_lanes_as_wide_as_what_they_select():
    """Positions of 64 bits would take two registers for each of numbers of 32 bits."""
    text = fw.jit(lambda m: fw.max(inner(m)), target="cpu").stages(rows(9, "f4")).text["llvm"]

    assert "x i32> <i32 0, i32 1, i32 2" in text
    assert "x i64> <i64 0, i64 1, i64 2" not in text[: text.index("define internal void @k_t_22_s")]
