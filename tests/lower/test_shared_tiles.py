"""Stencils on devices: what is read around an element, which tile holds it, and its kernels."""

from math import prod

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.base.errors import CompilerBug
from flatweave.base.plan import INDEX_ERROR
from flatweave.base.records import replace
from flatweave.base.schedule import CHOSEN, Schedule
from flatweave.codegen import cuda
from flatweave.lower.machine.machine import CPU_AVX512, CUDA, OPENCL
from flatweave.lower.program import lower
from flatweave.lower.scatter.choose import plan_of
from flatweave.lower.schedule.choose import shared_tile_of
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.text import parse_plans, print_plans
from flatweave.lower.schedule.verify import verify_plan
from flatweave.nest.schedule import Axis, Split
from flatweave.ops import Sweep
from flatweave.runtime.devices import nvrtc
from flatweave.simulator.counts import Counting
from flatweave.simulator.run import run
from flatweave.terms.traverse import walk_lets
from tests.codegen.device_programs import (
    agree,
    expected,
    flat,
    lowered,
    on_opencl,
    simulated,
    small_blocks,
    traced,
)

TILES, CACHES = Schedule(stencil="tiles"), Schedule(stencil="caches")
SMALL = small_blocks(CUDA, warps=2)
BOUNDARIES = ("clamp", "mirror", "wrap", ("constant", 3))


def five(xs, boundary="clamp"):
    """A cross of five."""
    return fw.stencil(
        lambda n: n[-1, 0] * 2 + n[1, 0] * 3 - n[0, -1] + n[0, 1] - n[0, 0], xs, (3, 3), boundary
    )


def line(xs, boundary="clamp"):
    """Three elements of seven."""
    return fw.stencil(lambda n: n[-3] * 2 + n[0] - n[1], xs, 7, boundary)


def seven(xs, boundary="clamp"):
    """A cross of seven in three dimensions."""
    return fw.stencil(
        lambda n: n[-1, 0, 0] - n[1, 0, 0] + n[0, -1, 0] * 2 + n[0, 1, 0] - n[0, 0, -1]
        + n[0, 0, 1] + n[0, 0, 0],
        xs, (3, 3, 3), boundary,
    )  # fmt: skip


def pairs(xs, boundary="clamp"):
    """Two arrays around an element, a third at its index, and two results."""
    ys = fw.astype(xs, fw.f64)
    return fw.stencil(
        lambda n: (n[-1, 1][0] + n[1, 0][0], n[0, -2][1] * n[0, 0][1] + n[0, 2][1]),
        (xs, ys), (3, 5), boundary,
    )  # fmt: skip


def sliced(xs):
    """Of the inner elements, by slices."""
    return xs[:-2, 1:-1] + xs[2:, 1:-1] - xs[1:-1, :-2] * xs[1:-1, 2:]


def at_indices(xs):
    """By indices that are looked at, some of them outside where rows are few."""
    n, m = xs.shape
    return fw.generate((n, m), lambda i, j: xs[fw.maximum(i - 1, 0), j] + xs[(i + 3) % n, j] * 2)


def failing(xs):
    """One of the elements is outside."""
    n, m = xs.shape
    return fw.generate((n, m), lambda i, j: xs[i, j] + xs[i + 1, j])


STENCILS = {1: line, 2: five, 3: seven}


def values(shape, dtype=np.float32):
    """Random numbers, small ones."""
    return np.random.default_rng(prod(shape)).integers(0, 9, shape).astype(dtype)


def facts(f, *args):
    """Of the last sweep of a program."""
    program = list(pipeline.optimise(traced("f", f, *args)).values())[-1]
    sweeps = [let.op for let in walk_lets(program.fn) if isinstance(let.op, Sweep)]
    return SweepFacts(sweeps[-1])


def tile(f, *args, machine=CUDA):
    """The tile of the last sweep of a program, and how its neighbours are read."""
    found = facts(f, *args)
    plan = plan_of(found, machine, CHOSEN)
    tile = shared_tile_of(found, machine, plan.plain.lanes, ())
    return tile, any(version.is_shared for version in plan.versions)


def wide(reach):
    """The sum of a neighbourhood along one axis."""
    return lambda xs: fw.stencil(
        lambda n: sum(n[d] for d in range(-reach, reach + 1)), xs, 2 * reach + 1
    )


# -- what is read ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("boundary", "lo", "hi"), [
    ("clamp", (3,), (1,)), ("mirror", (3,), (3,)), ("wrap", (3,), (1,)),
    (("constant", 1), (3,), (1,)),
], ids=str)  # fmt: skip
def test_what_is_read_around_an_element(boundary, lo, hi):
    """As far as it lies; a mirror may show an element as far away on the other side."""
    (around,) = facts(lambda xs: line(xs, boundary), values((4,))).stencil.arrays

    assert (around.lo, around.hi, len(around.reads)) == (lo, hi, 3)
    assert all(near.spans[0].sure for near in around.reads) is (boundary != "wrap")


def test_every_array_has_reads_of_its_own():
    """One that is read at one index has no tile; slices begin after an element's index."""
    two = facts(lambda xs, ys: pairs(xs)[1] + ys, values((4, 5)), values((4, 5))).stencil.arrays
    (one,) = facts(sliced, values((4, 5))).stencil.arrays

    assert [(around.lo, around.hi) for around in two] == [((0, 2), (0, 2))]
    assert (one.lo, one.hi, len(one.reads), one.rows) == ((0, 0), (2, 2), 4, 3)


@pytest.mark.parametrize("f", [
    lambda xs: xs * 2, lambda xs: fw.transpose(xs) + xs, lambda xs: fw.sum(five(xs)),
    lambda xs: fw.cumsum(xs[:-1] + xs[1:], axis=1),
], ids=["own place", "turned", "summed", "scanned"])  # fmt: skip
def test_others_are_none(f):
    """Nothing is read at several indices, or elements are not just stored."""
    assert facts(f, values((4, 4))).stencil is None


# -- which tile -----------------------------------------------------------------------------------


def test_tiles_where_reuse_pays():
    """Of two axes and more always, as positions need not be divided; of one where neighbours are
    many. Shared memory holds two of them."""
    for f, rank in ((five, 2), (seven, 3), (pairs, 2)):
        found, is_read = tile(f, values((4,) * rank))
        assert is_read
        assert found.loads < found.reads
        assert prod(found.shape) == 8 * CUDA.warps * 32
    few, many = tile(wide(1), values((4,))), tile(wide(8), values((4,)))
    assert (few[0].reads, few[1], many[0].reads, many[1]) == (300, False, 1700, True)
    assert tile(five, values((4, 4)), machine=OPENCL)[1]


def test_no_tiles_where_halos_are_wider():
    """Nor on a CPU, whose shared memory is a part of its caches."""
    ends = lambda xs: fw.stencil(lambda n: n[-1500] + n[1500], xs, 3001)
    assert tile(ends, values((4,)))[0] is None
    assert tile(five, values((4, 4)), machine=CPU_AVX512)[0] is None
    large = replace(CUDA, shared_bytes=8192)
    assert prod(tile(five, values((4, 4), np.float64), machine=large)[0].shape) < 2048


def test_the_plan_says_why():
    """As text that is read back, and in words of the kernels."""
    program = list(pipeline.optimise(traced("f", five, values((4, 4)))).values())[-1]
    chosen, wished = lower(program, CUDA), lower(program, CUDA, schedule=TILES)
    text = print_plans(chosen.sweeps)

    steps = ("split axis=row by=32", "split axis=last by=64", "cache at=shared")
    assert all(step in text for step in steps)
    assert parse_plans(text) == chosen.sweeps
    assert "1.09 reads for a result instead of 5.00: through the caches 38.00 cycles" in str(
        [later.why.reason for later in chosen.unit.later]
    )
    assert [note.reason for note in wished.notes][0].endswith("as the schedule says")
    through = lower(program, CUDA, schedule=CACHES).notes[0].reason
    assert through.startswith("neighbours are read through the caches: 38.00 cycles")


def test_wrong_tiles_are_refused():
    """By the rules of plans."""
    found = facts(five, values((4, 4)))
    plan = plan_of(found, CUDA, TILES)

    for (rows, columns), message in (((3, 32), "whole steps"), ((512, 64), "fit")):
        with pytest.raises(CompilerBug, match=message):
            wrong = plan.versions[0].but(Split(Axis.ROW, rows), Split(Axis.LAST, columns))
            verify_plan(replace(plan, versions=(wrong,)), found, CUDA)
    with pytest.raises(CompilerBug, match="no stencil"):
        verify_plan(plan, facts(lambda xs: xs * 2, values((4, 4))), CUDA)


# -- values ---------------------------------------------------------------------------------------


def in_both(f, xs, machine=SMALL):
    """The same bits in tiles and through the caches, in the simulator, where nobody races."""
    made = traced("f", f, xs)
    tiles, caches = (lowered(made, machine, wish) for wish in (TILES, CACHES))
    assert any(v.is_shared for plan in tiles.sweeps.values() for v in plan.versions)
    through = simulated(caches, flat(xs), threads=1, seed=0)
    for ours, theirs in zip(simulated(tiles, flat(xs), threads=3, seed=1), through, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.tobytes() == theirs.tobytes()
    agree(through, expected(made, flat(xs)))


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_the_same_in_tiles(boundary):
    """Around one corner of four tiles."""
    in_both(lambda xs: five(xs, boundary), values((17, 33)))


def test_the_same_of_tuples_and_slices():
    """Several arrays of several dtypes, and an array that is larger than the result."""
    in_both(pairs, values((9, 40), np.int16))
    in_both(sliced, values((12, 37)))


@pytest.mark.sampled
@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (2, 3)], ids=str)
def test_the_same_of_few(shape):
    """Also where rows are fewer than the neighbours, and folded several times."""
    for boundary in BOUNDARIES:
        in_both(lambda xs, b=boundary: pairs(xs, b), values(shape))


@pytest.mark.slow
@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
@pytest.mark.parametrize("rank", STENCILS)
def test_the_same_of_all_sizes(rank, boundary):
    """Around the ends of tiles."""
    sizes = {
        1: [(n,) for n in (0, 1, 2, 5, 127, 128, 129, 511, 512, 513, 1025)],
        2: [(1, 64), (3, 65), (16, 32), (15, 31), (17, 129), (64, 1), (33, 33)],
        3: [(1, 1, 1), (2, 3, 4), (3, 4, 33), (5, 9, 65), (9, 1, 40)],
    }
    for shape in sizes[rank]:
        in_both(lambda xs: STENCILS[rank](xs, boundary), values(shape))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_the_same_of_all_dtypes(dtype):
    """Tiles of each size of elements."""
    in_both(five, values((19, 35), dtype))


def test_checked_reads():
    """Indices that are looked at are read in tiles where they lie there, and reported as ever."""
    in_both(at_indices, values((9, 33)))
    xs = values((5, 33))
    made = traced("f", failing, xs)
    tiles, caches = (lowered(made, SMALL, wish) for wish in (TILES, CACHES))

    found, theirs = (run(each.unit, flat(xs), 3, 1) for each in (tiles, caches))
    assert (found.code, found.index, found.value, found.extent) == (
        theirs.code, theirs.index, theirs.value, theirs.extent
    ) == (INDEX_ERROR, 4 * 33, 5, 5)  # fmt: skip


def test_elements_are_read_once_for_each_tile():
    """Of 5 reads for a result one is left, and what lies around tiles; steps of warps that copy
    them read a few elements more."""
    xs = values((128, 128))
    made, reads = traced("f", five, xs), {}
    for wish in (TILES, CACHES):
        counting = Counting()
        run(lowered(made, CUDA, wish).unit, flat(xs), counter=counting)
        reads[wish] = counting.counts()
    tiles, caches = reads[TILES], reads[CACHES]

    assert caches.global_reads == 5 * xs.size
    assert tiles.shared_writes == 8 * 34 * 66
    assert tiles.shared_writes <= tiles.global_reads < 1.04 * tiles.shared_writes
    assert tiles.shared_reads == 5 * xs.size
    assert tiles.bank_conflicts == 0
    assert 2 * tiles.sectors < caches.sectors
    assert tiles.global_writes == xs.size


def test_sizes_choose():
    """Tiles where there are some for all multiprocessors and most of their elements are there."""
    machine = replace(SMALL, blocks_wanted=4)
    unit = lowered(traced("f", five, values((4, 4))), machine, CHOSEN).unit
    ran = {}
    for shape in ((64, 64), (2, 3), (700, 2)):
        counting = Counting()
        run(unit, flat(values(shape)), counter=counting)
        (kernel,) = counting.counts().kernels
        ran[shape] = kernel.kernel.endswith("_shared")
    assert ran == {(64, 64): True, (2, 3): False, (700, 2): False}


# -- devices --------------------------------------------------------------------------------------


def on_device(f, xs):
    """The same bits in tiles and through the caches on an OpenCL device."""
    made = traced("f", f, xs)
    tiles, caches = (on_opencl(made, wishes=wish).run(flat(xs)) for wish in (TILES, CACHES))
    for ours, theirs in zip(tiles, caches, strict=True):
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()


@pytest.mark.needs_opencl
def test_the_same_on_opencl():
    """In tiles of its size."""
    on_device(five, values((70, 130)))


@pytest.mark.slow
@pytest.mark.needs_opencl
@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
def test_the_same_on_opencl_of_all_sizes(boundary):
    """One, two and three axes, several arrays."""
    for f, shapes in (
        (line, [(0,), (1,), (1023,), (1025,), (5000,)]), (five, [(1, 1), (33, 65), (300, 200)]),
        (seven, [(2, 3, 4), (20, 30, 40)]), (pairs, [(0, 3), (50, 70)]),
    ):  # fmt: skip
        for shape in shapes:
            on_device(lambda xs, f=f: f(xs, boundary), values(shape))


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_cuda_compiles(architecture):
    """Every form, every boundary."""
    try:
        nvrtc.ptx("")
    except fw.Unsupported as missing:
        pytest.skip(str(missing))
    for f, rank in ((line, 1), (five, 2), (pairs, 2), (seven, 3)):
        for boundary in BOUNDARIES:
            made = traced("f", lambda xs, f=f, b=boundary: f(xs, b), values((4,) * rank))
            text = cuda.emit(lowered(made, CUDA, TILES).unit.complete())
            assert "__shared__" in text
            assert nvrtc.cubin(text, architecture).startswith(b"\x7fELF")
