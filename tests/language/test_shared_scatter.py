"""Scattering by copies in shared memory: in order, by any operator, the same bits in each run."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.base.schedule import CHOSEN, Schedule
from flatweave.codegen import cuda
from flatweave.kernel_ir.units import verify
from flatweave.lower.machine import CUDA
from flatweave.lower.program import lower
from flatweave.lower.scatter import shared_copies
from flatweave.runtime.devices import cuda_libraries
from tests.codegen.device_programs import (
    agree,
    expected,
    flat,
    on_opencl,
    simulated,
    small_blocks,
    traced,
)
from tests.language.agreement import same
from tests.language.test_sorted_scatter import agrees, compose, data, first, programs

SHARED = Schedule(permute="shared")
PLACES = 70


def places_of(kind, n):
    """Where n elements go: few meet, all meet, most do, long runs do, and some go nowhere."""
    random = np.random.default_rng(n)
    return {
        "even": random.integers(-3, PLACES + 3, n),
        "one": np.full(n, 17),
        "Zipf": random.zipf(1.3, n) % PLACES,
        "sorted": np.sort(random.integers(0, PLACES, n)),
        "nowhere": np.full(n, PLACES),
    }[kind]


def pairs(idx, vals):
    """Of two components, in order; without a neutral element."""
    return fw.permute(compose, (fw.full(9, 1), fw.full(9, 5)), idx % 9, (vals % 3 - 1, vals),
                      check=False)


def sums(idx, vals):
    """Sums of floats and, of two more components, in order."""
    return fw.histogram(PLACES, idx, vals * 0.1, fw.add, 0.0), *pairs(idx, vals)


def every(idx, vals):
    """What came first is left, too."""
    start = fw.where(fw.iota(PLACES) % 2 == 0, -5, 7)
    return *sums(idx, vals), fw.permute(first, start, idx, vals, check=False)


def lowered(f, machine, wishes=SHARED):
    """The program of a function of indices and values, for a machine."""
    made = traced("f", f, np.zeros(2, np.int64), np.zeros(2, np.int64))
    unit = lower(list(pipeline.optimise(made).values())[-1], machine, schedule=wishes)
    verify(unit.unit)
    return made, unit


@pytest.fixture
def small(monkeypatch):
    """So few elements for a block that there are many, combined in several groups."""
    monkeypatch.setattr(shared_copies, "TOGETHER", 3)


def test_nobody_races(small):
    """In the simulator, with two warps, and memory for copies that several lanes share; the bits
    do not depend on which warp comes first."""
    shape = small_blocks(CUDA, warps=2, shared_bytes=10_096)
    made, unit = lowered(sums, shape)
    for kind, n in [("even", 0), ("one", 1), ("Zipf", 200)]:
        args = flat(places_of(kind, n), np.random.default_rng(n).integers(0, 50, n))
        found = [simulated(unit, args, threads=3, seed=seed) for seed in (n, n + 1)]
        agree(found[0], expected(made, args))
        for ours, again in zip(*found, strict=True):
            assert np.asarray(ours).tobytes() == np.asarray(again).tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["even", "one", "Zipf", "sorted", "nowhere"])
@pytest.mark.parametrize("warps", [1, 3, 8])
def test_nobody_races_whatever_meets(small, kind, warps):
    """All skews, sizes around those of steps and blocks."""
    made, unit = lowered(every, small_blocks(CUDA, warps=warps))
    for n in (0, 1, 127, 128, 129, 1023, 1025):
        args = flat(places_of(kind, n), np.random.default_rng(n).integers(0, 50, n))
        agree(simulated(unit, args, threads=3, seed=n), expected(made, args))


@pytest.mark.slow
@pytest.mark.needs_opencl
def test_whatever_is_scattered(small):
    """On a device: scans are left to others, what does not fit is sorted."""
    f, wanted = fw.jit(programs, target="opencl"), fw.jit(programs, target="interp")
    wish, refused = fw.schedule(permute="shared"), pytest.raises(fw.ArgumentError, match="scanned")
    with wish, refused:
        f(*data(10))
    agrees(f, wanted, [0, 1, 127, 128, 129, 1023, 1025, 30_000])


@pytest.mark.needs_opencl
@pytest.mark.parametrize("kind", ["Zipf", pytest.param("one", marks=pytest.mark.slow)])
def test_the_same_bits_in_each_run(kind):
    """Twenty of them on a device."""
    random = np.random.default_rng(4)
    args = flat(places_of(kind, 60_000), random.integers(0, 50, 60_000))
    made = traced("f", every, *args[1::2])
    run = on_opencl(made, wishes=CHOSEN).run
    runs = [[np.asarray(x) for x in run(args)] for _ in range(20)]

    assert len({tuple(x.tobytes() for x in found) for found in runs}) == 1
    agree(runs[0], expected(made, args))


def launched(f, *args):
    """The names of the kernels that a call launches."""
    return [name for name, _, _ in fw.jit(f, target="cuda").stages(*args).launched]


def test_few_places_have_copies_many_are_sorted():
    """Where their number is known, nothing else is compiled; elsewhere the host finds it."""
    idx, vals = np.zeros(9, np.int64), np.ones(9)

    def into(count):
        return launched(lambda idx, vals: fw.histogram(count, idx, vals, fw.add, 0.0), idx, vals)

    assert any("_shared" in name for name in into(500))
    assert not any("sorted" in name for name in into(500))
    assert not any("_shared" in name for name in into(50_000))
    assert any("sorted" in name for name in into(50_000))
    some = launched(lambda dest, idx, vals: fw.permute(fw.add, dest, idx, vals), vals, idx, vals)
    assert any("_shared" in name for name in some)
    assert any("sorted" in name for name in some)


def test_what_has_no_room_is_sorted(small):
    """Copies are requested, and there are more destinations than memory for a warp."""
    def wide(idx, vals):
        return fw.permute(fw.add, fw.full(idx.shape[0] * 3, 0.5), idx, vals * 0.5)

    made, unit = lowered(wide, small_blocks(CUDA, warps=2, shared_bytes=8192))
    for n in (20, 200):
        args = flat(places_of("even", n), np.arange(n))
        agree(simulated(unit, args, threads=2, seed=n), expected(made, args))


@pytest.mark.parametrize(
    "architecture", ["sm_90", pytest.param("sm_80", marks=pytest.mark.slow)]
)
def test_its_text_becomes_machine_code(architecture):
    """CUDA's compiler takes the kernels, memory and all."""
    try:
        cuda_libraries.ptx("")
    except fw.Unsupported as reason:
        pytest.skip(f"no NVRTC: {reason.message}")
    _, unit = lowered(every, CUDA)

    assert cuda_libraries.cubin(cuda.emit(unit.unit), architecture).startswith(b"\x7fELF")


def exact(idx, vals):
    """Counts, of two components, too; sums, extremes and bits, alone and together."""
    both = fw.full(PLACES, 3), fw.full(PLACES, fw.u32(7))
    values = vals, fw.astype(idx * vals, fw.u32)
    return (
        fw.histogram(PLACES, idx, 2),
        *fw.permute(lambda a, b: (a[0] + b[0], a[1] ^ b[1]), both, idx, values),
        fw.permute(fw.minimum, fw.full(9, fw.i32(4)), idx % 9, fw.astype(vals, fw.i32)),
    )


@pytest.mark.parametrize("bytes_", [4608, 16_384])
def test_atomic_updates_of_copies(small, bytes_):
    """In several parts, each of which looks at all elements, and in one; nobody races."""
    shape = small_blocks(CUDA, warps=2, shared_bytes=bytes_)
    made, unit = lowered(exact, shape, Schedule(permute="shared-atomic"))
    for kind, n in [("even", 0), ("one", 1), ("Zipf", 200)]:
        args = flat(places_of(kind, n), np.random.default_rng(n).integers(0, 50, n))
        agree(simulated(unit, args, threads=3, seed=n), expected(made, args))


@pytest.mark.needs_opencl
def test_atomic_updates_on_a_device():
    """It is chosen if destinations are few; for all skews."""
    f, wanted = fw.jit(exact, target="opencl"), fw.jit(exact, target="interp")
    for kind in ("even", "one", "Zipf", "sorted", "nowhere"):
        args = places_of(kind, 20_000), np.arange(20_000) % 90
        for ours, reference in zip(f(*args), wanted(*args), strict=True):
            same(ours, reference)


def test_atomics_go_to_shared_memory_where_places_are_few():
    """And known to be; else to where the destination is."""
    idx, dest = np.zeros(9, np.int64), np.zeros(4, np.int32)

    def shared(f, *args):
        return any("_shared" in name for name in launched(f, *args))

    def into(places, dtype):
        return lambda idx: fw.permute(fw.add, fw.full(places, dtype(0)), idx, fw.astype(idx, dtype))

    assert shared(lambda idx: fw.histogram(11_000, idx), idx)
    assert not shared(lambda idx: fw.histogram(11_500, idx), idx)
    assert shared(into(5600, fw.i64), idx)
    assert not shared(into(5700, fw.i64), idx)
    assert not shared(into(60, fw.u8), idx)
    assert not shared(lambda dest, idx: fw.permute(fw.add, dest, idx, fw.i32(1)), dest, idx)
    with fw.schedule(permute="shared-atomic"), pytest.raises(fw.ArgumentError, match="not known"):
        shared(lambda dest, idx: fw.permute(fw.add, dest, idx, fw.i32(1)), dest, idx)
