"""Segments within a step: scanned in runs, the lane before, the last lane, a few lanes stored."""

from __future__ import annotations

import numpy as np
import pytest
from llvmlite import binding

from flatweave.base.dtypes import DTYPES, DType, bool_, i64
from flatweave.codegen.llvm import isa
from flatweave.codegen.llvm.isa.avx512 import Avx512
from flatweave.codegen.llvm.isa.x86 import Avx2
from flatweave.codegen.llvm.unit import emit
from flatweave.kernel_ir.syntax import StoreCompact
from flatweave.kernel_ir.units import parse_unit
from flatweave.kernel_ir.warp_ops import Ballot, CountLanes, LastLane, ScanLanes, ShiftLanes
from flatweave.runtime.processor import processor
from flatweave.terms.build import FALSE, TRUE, index
from flatweave.terms.syntax import constant
from tests.codegen.llvm_programs import run_kernel
from tests.codegen.test_llvm_collectives import SETS as SHARED_SETS
from tests.quick import every

WIDTHS = [1, 8, 16, 32, 64]
WITHOUT_AVX512 = isa.of(frozenset(f for f in processor().features if "avx512" not in f))
SETS = {**SHARED_SETS, "no avx512": WITHOUT_AVX512}
STEPS = 12


def chosen(a, b, c, d):
    """The first that is not 0, and the last that is above 2: not commutative."""
    return a if a != 0 else c, d if d > 2 else b


def before(starts, pairs):
    """For each start what was chosen from the one before it, within the step; and at the end."""
    closed, total = [], None
    for start, pair in zip(starts, pairs, strict=True):
        if start:
            closed.append(total or (0, 0))
        total = pair if start or total is None else chosen(*total, *pair)
    return closed, total


def inputs(dtype: DType, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """More and more starts; numbers of two dtypes, half of them without effect."""
    random = np.random.default_rng(n)
    starts = random.random(n) < np.linspace(0, 1, n)
    xs = random.integers(1, 100, n) * random.integers(0, 2, n)
    return starts, xs.astype(dtype.numpy), random.integers(1, 5, n)


@pytest.mark.sampled
@pytest.mark.parametrize("chosen", SETS, ids=str)
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d is not bool_], ids=str)
@pytest.mark.parametrize("width", every(2, WIDTHS))
def test_what_starts_close_is_stored_side_by_side(
    width: int, dtype: DType, chosen: str
) -> None:
    """Step after step; nothing is written from the limit on."""
    n = width * STEPS
    starts, xs, ys = inputs(dtype, n)
    room, total = n + 70, int(starts.sum())
    firsts, seconds = np.full(room, 9, dtype.numpy), np.full(room, -9, np.int64)
    lasts = np.zeros((STEPS, 2), np.int64)

    def body(w, n, limit, starts, xs, ys, firsts, seconds, lasts):
        def turn(w, i, place):
            def region(w):
                j = w.lane(i)
                start, x, y = w.load(starts, j), w.load(xs, j), w.load(ys, j)
                neutral = constant(0, dtype), index(0)

                def choose(w, a, b, c, d):
                    first = w.apply("select", w.apply("ne", a, neutral[0]), a, c)
                    return first, w.apply("select", w.apply("gt", d, index(2)), d, b)

                fn = w.fn([dtype, i64] * 2, choose)
                scanned = w.do(ScanLanes(fn, neutral, (x, y), (start,)))
                moved = w.do(ShiftLanes(neutral, scanned))
                w.do(StoreCompact((firsts, seconds), place, limit, start, moved))
                step = w.apply("floordiv", i, index(width))
                for k, last in enumerate(w.do(LastLane(scanned))):
                    at = w.add(w.mul(step, index(2)), index(k))
                    w.store(lasts, at, w.cast(last, i64))
                return w.add(place, w.do(CountLanes(start)))

            return w.lanes(width, region)

        w.loop(index(0), n, index(width), [index(0)], turn)

    run_kernel(body, n, total, starts, xs, ys, firsts, seconds, lasts.reshape(-1),
               isa=SETS[chosen])  # fmt: skip
    closed = []
    for step in range(STEPS):
        part = slice(step * width, (step + 1) * width)
        pairs = list(zip(xs[part].tolist(), ys[part].tolist(), strict=True))
        found, last = before(starts[part], pairs)
        closed += found
        assert lasts[step].tolist() == [int(last[0]), int(last[1])]
    assert firsts[:total].tolist() == [pair[0] for pair in closed]
    assert seconds[:total].tolist() == [pair[1] for pair in closed]
    assert (firsts[total:] == 9).all() and (seconds[total:] == -9).all()


@pytest.mark.parametrize(("chosen", "lanes"), [(Avx2(), 8), (Avx512(), 16)], ids=["avx2", "avx512"])
def test_several_registers_are_scanned_in_runs(chosen: isa.InstructionSet, lanes: int) -> None:
    """2 R + log L - 2 additions of a register, where doubling distances takes R log (R L)."""
    width = 4 * lanes
    unit = parse_unit(f"""
        host(flags: global bool, xs: global f32) =>
            out: global f32 = alloc f32 {width} 0
            launch sums 1 [flags, xs, out]
            in out

        kernel sums(flags: global bool, xs: global f32, out: global f32) =>
            lanes {width} (() =>
                i: i64 = lane 0
                flag: bool = load flags i
                x: f32 = load xs i
                sums: f32 = scan_lanes (add f32) [0.0f32] [x] starts=[flag]
                store out i sums)
    """)

    additions = emit(unit, chosen).count(f"fadd <{lanes} x float>")

    assert additions == 2 * 4 + lanes.bit_length() - 1 - 2


@pytest.mark.parametrize("chosen", SETS, ids=str)
@pytest.mark.parametrize("width", [8, 32, 64])
def test_one_lane_equals_a_number(width: int, chosen: str) -> None:
    """A linear value compared with a uniform one, on either side, below, within and above."""
    low, high = -70, width + 70
    same, other = np.zeros((2, high - low, width), bool)

    def body(w, same, other):
        def turn(w, x):
            def region(w):
                i = w.lane(index(3))
                at = w.add(w.mul(w.sub(x, index(low)), index(width)), w.lane(index(0)))
                w.store(same, at, w.apply("eq", i, x))
                w.store(other, at, w.apply("ne", x, i))

            w.lanes(width, region)

        w.loop(index(low), index(high), index(1), [], turn)

    run_kernel(body, same.reshape(-1), other.reshape(-1), isa=SETS[chosen])
    expected = np.arange(low, high)[:, None] == np.arange(3, 3 + width)
    np.testing.assert_array_equal(same, expected)
    np.testing.assert_array_equal(other, ~expected)


@pytest.mark.parametrize("chosen", SETS, ids=str)
@pytest.mark.parametrize("width", [16, 32, 64])
@pytest.mark.parametrize("fn", ["and", "or", "xor"])
def test_one_lane_combined_with_flags(fn: str, width: int, chosen: str) -> None:
    """Counted, as a word, and chosen by: flags together with whether the lane is one, or is not."""
    steps = 5
    flags = np.random.default_rng(1).random(steps * width) < 0.4
    found = np.zeros(steps * width, bool)
    counts, words = np.zeros(steps, np.int64), np.zeros(steps, np.uint64)

    def body(w, flags, found, counts, words):
        def turn(w, step):
            def region(w):
                at = w.lane(w.mul(step, index(width)))
                combined = w.apply(fn, w.load(flags, at), w.apply("ne", at, index(width + 5)))
                both = w.apply(fn, w.apply("eq", at, index(2 * width)), combined)
                w.store(found, at, w.apply("select", both, TRUE, FALSE))
                w.store(counts, step, w.emit(CountLanes(both))[0])
                w.store(words, step, w.emit(Ballot(both))[0])

            w.lanes(width, region)

        w.loop(index(0), index(steps), index(1), [], turn)

    run_kernel(body, flags, found, counts, words, isa=SETS[chosen])
    do = getattr(np, f"bitwise_{fn}")
    at = np.arange(steps * width)
    expected = do(at == 2 * width, do(flags, at != width + 5)).reshape(steps, width)
    np.testing.assert_array_equal(found.reshape(steps, width), expected)
    np.testing.assert_array_equal(counts, expected.sum(axis=1))
    bits = [sum(1 << k for k in np.flatnonzero(row).tolist()) for row in expected]
    assert words.tolist() == bits


def test_flags_that_are_counted_stay_in_words() -> None:
    """LLVM puts no mask together for the first element: masks are compared, then they are words."""
    unit = parse_unit("""
        host(flags: global bool, out: global i64) =>
            launch count 1 [flags, out]
            in out

        kernel count(flags: global bool, out: global i64) =>
            n: i64 = lanes 64 (() =>
                s: i64 = for 0 6400 64 (base: i64, s: i64 =>
                    i: i64 = lane base
                    flag: bool = load flags i
                    inner: bool = ne i 0
                    both: bool = and flag inner
                    n: i64 = count_lanes both
                    t: i64 = add s n
                    in t) [0]
                in s)
            store out 0 n
    """)
    binding.initialize_native_target()
    machine = binding.Target.from_default_triple().create_target_machine(opt=2)
    module = binding.parse_assembly(emit(unit, Avx512()))
    options = binding.create_pipeline_tuning_options(speed_level=2)
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)

    masks = [line.split(" = ")[1].split()[0] for line in str(module).splitlines()
             if "<64 x i1>" in line]  # fmt: skip

    assert masks == ["bitcast"]
