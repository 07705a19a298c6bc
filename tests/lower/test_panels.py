"""Stencils: rows visited in panels, their ends by steps that lie over others, the same values."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.errors import CompilerBug
from flatweave.base.records import replace
from flatweave.base.schedule import CHOSEN
from flatweave.lower.machine import CPU_AVX512, CUDA, NARROWEST_PANEL, TALLER
from flatweave.lower.schedule.choose import plan_sweep
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.steps import BY_PANELS, Axis, Split, Tail
from flatweave.lower.schedule.verify import verify_plan
from flatweave.ops import Sweep
from flatweave.terms.traverse import walk_lets

PANEL = 1024
"""Columns of f32 whose own row, two neighbours and result fill half of the nearest cache."""


def five_point(xs):
    """A cross of five."""
    return fw.stencil(lambda n: n[0, 0] - 2 * (n[-1, 0] + n[1, 0]) + n[0, -1] * n[0, 1], xs, (3, 3))


def by_hand(xs):
    """The same in NumPy, the edges repeated."""
    around = np.pad(xs, 1, mode="edge")
    beside = around[1:-1, :-2] * around[1:-1, 2:]
    return xs - 2 * (around[:-2, 1:-1] + around[2:, 1:-1]) + beside


def sliced(xs):
    """Of the inner elements, by slices."""
    return xs[:-2, 1:-1] + xs[2:, 1:-1] - xs[1:-1, :-2] * xs[1:-1, 2:]


def sweep(fn, *args):
    """The last sweep of a program."""
    program = fw.jit(fn, target="cuda").stages(*args).executable.program
    return [let.op for let in walk_lets(program.fn) if isinstance(let.op, Sweep)][-1]


def neighbours(fn, *args):
    """What that sweep reads of other rows."""
    return SweepFacts(sweep(fn, *args)).neighbours


def plan(fn, *args, machine=CPU_AVX512):
    """The plan of that sweep."""
    return plan_sweep(SweepFacts(sweep(fn, *args)), machine, CHOSEN)


SQUARE = np.ones((4, 4), np.float32)


@pytest.mark.parametrize("boundary", ["clamp", "mirror", "wrap"])
def test_the_furthest_row_is_found_whatever_is_beyond_the_edges(boundary):
    """Three rows are read, of which the one below is the last; one is stored."""
    found = neighbours(
        lambda xs: fw.stencil(lambda n: n[-1, 0] + n[1, 1] + n[0, 0], xs, (3, 3), boundary), SQUARE
    )

    assert found is not None
    assert len(found.furthest) == 1
    assert found.column_bytes == 4 * SQUARE.itemsize


def test_every_array_has_a_furthest_row():
    """Also one that is read at the element's index only."""
    found = neighbours(lambda xs, ys: five_point(xs) + ys, SQUARE, SQUARE.astype(np.float64))

    assert found is not None
    assert sorted(read.xs.type.dtype.bytes for read in found.furthest) == [4, 8]


@pytest.mark.parametrize(
    "fn",
    [
        lambda xs: xs * 2,
        lambda xs: fw.stencil(lambda n: n[0, -1] + n[0, 1], xs, (1, 3)),
        lambda xs: xs[1:] - xs[:-1],
        lambda xs: fw.transpose(xs) * 1.0,
        lambda xs: fw.stencil(lambda n: n[-1, 0, 0], fw.reshape(xs, (2, 2, 4)), (3, 1, 1)),
    ],
    ids=["own place", "along rows", "two rows", "turned", "other planes"],
)  # fmt: skip
def test_others_have_no_neighbours(fn):
    """Too little of the rows around is shared, or not by rows that follow each other."""
    assert neighbours(fn, SQUARE) is None


def test_stencils_are_visited_in_panels():
    """As wide as the nearest cache allows, of taller blocks; not on a GPU."""
    made, plain = plan(five_point, SQUARE), plan(lambda xs: fw.transpose(xs) * 1.0, SQUARE)

    assert (made.plain.panel, plain.plain.panel) == (PANEL, 0)
    assert made.bind.most == TALLER * plain.bind.most
    assert plan(five_point, SQUARE.astype(np.float64)).plain.panel == PANEL // 2
    assert plan(five_point, SQUARE, machine=CUDA).plain.panel == 0
    narrow = replace(CPU_AVX512, first_level=64)
    assert plan(five_point, SQUARE, machine=narrow).plain.panel == NARROWEST_PANEL


def test_ends_of_rows_are_visited_by_steps_that_overlap():
    """Also those that need no panels; where positions go on from row to row, there are none."""
    assert plan(five_point, SQUARE).plain.lanes.tail is Tail.SHIFT
    assert plan(lambda xs: fw.transpose(xs) * 1.0, SQUARE).plain.lanes.tail is Tail.SHIFT
    assert plan(lambda xs: xs * 2, SQUARE).plain.lanes.tail is Tail.SCALAR
    assert plan(five_point, SQUARE, machine=CUDA).plain.lanes.tail is Tail.PREDICATE


def test_panels_and_overlaps_are_of_rows():
    """A plan that says otherwise is refused."""
    made, facts = plan(five_point, SQUARE), SweepFacts(sweep(five_point, SQUARE))

    verify_plan(made, facts, CPU_AVX512)
    plain, lanes = made.plain, made.plain.lanes
    for wrong in (
        plain.but(replace(lanes, axis=Axis.SPACE, tail=Tail.SCALAR)),
        plain.only(type(lanes)).but(replace(lanes, axis=Axis.SPACE)),
        plain.but(Split(Axis.LAST, PANEL + 1)),
        plain.only(type(lanes), type(BY_PANELS)),
    ):
        with pytest.raises(CompilerBug, match=r"panels|do not end by"):
            verify_plan(replace(made, versions=(wrong,)), facts, CPU_AVX512)


def test_each_step_asks_for_the_row_behind_the_furthest_that_it_reads():
    """A prefetch for each line of a whole step, in the kernel that streams and in the other."""
    text = fw.jit(five_point).stages(SQUARE).text["kernel"]

    assert text.count("prefetch ") == 2


STENCIL, SLICED = fw.jit(five_point), fw.jit(sliced)
BESIDE = fw.jit(lambda xs, row: fw.map(lambda x: x * row, xs))
LARGEST = fw.jit(lambda xs: fw.max(five_point(xs)))
SIZES = [
    (0, 5), (5, 0), (1, 1), (1, 2), (2, 1), (3, 3), (7, 15), (7, 17), (3, 63), (3, 64), (3, 65),
    (5, 66), (5, 67), (5, 127), (5, 128), (5, 129), (9, 1023), (9, 1024), (40, 1025), (300, 1087),
    (600, 2048), (3, 70000),
]  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_values_are_those_of_numpy(size, dtype):
    """Rows shorter and longer than a step and a panel, blocks that end within a row."""
    xs = np.random.default_rng(1).integers(-9, 10, size).astype(dtype)
    for threads in (1, 2, 3, 7):
        with config.scoped(threads=threads):
            assert np.array_equal(np.asarray(BESIDE(xs, xs[0] if len(xs) else xs.sum(0))),
                                  xs * (xs[0] if len(xs) else xs.sum(0)))  # fmt: skip
            if xs.size == 0:
                assert np.asarray(STENCIL(xs)).shape == xs.shape
                continue
            assert np.array_equal(np.asarray(STENCIL(xs)), by_hand(xs))
            assert np.asarray(LARGEST(xs)) == by_hand(xs).max()
            if min(size) > 2:
                assert np.array_equal(np.asarray(SLICED(xs)), sliced(xs))
