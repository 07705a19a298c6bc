"""scan_lanes with starts, ballot and in_set: one kernel on every machine, against a Python loop."""

import numpy as np
import pytest

from flatweave.base.dtypes import bool_, i64, u64
from flatweave.base.errors import CompilerBug
from flatweave.base.plan import Param, Plan, Result
from flatweave.codegen import cuda, opencl
from flatweave.codegen.c.program import program_of
from flatweave.kernel_ir.units import parse_unit, print_unit
from flatweave.runtime.devices.opencl import device
from flatweave.simulator.run import run
from tests.codegen.llvm_programs import run_host
from tests.kernel_ir.units import unit

LANES = 32
SHARES = [0.0, 0.03, 0.2, 0.7, 1.0]

AFFINE = """
    host(n: i64, xs: global i64, ys: global i64) =>
        a: global i64 = alloc i64 n 0
        b: global i64 = alloc i64 n 0
        blocks: i64 = floordiv n 32
        sets: global u64 = alloc u64 blocks 0
        early: global bool = alloc bool n 0
        launch scan blocks [xs, ys, a, b, sets, early]
        in a, b, sets, early

    kernel scan(xs: global i64, ys: global i64, a: global i64, b: global i64, sets: global u64,
        early: global bool) =>
        k: i64 = block_index
        lo: i64 = mul k 32
        lanes 32 (() =>
            i: i64 = lane lo
            x: i64 = load xs i
            y: i64 = load ys i
            rest: i64 = mod y 10
            start: bool = lt y 0
            p: i64, q: i64 = scan_lanes (f: i64, c: i64, g: i64, d: i64 =>
                m: i64 = mul f g
                s: i64 = mul c g
                t: i64 = add s d
                in m, t) [1, 0] [x, rest] starts=[start]
            store a i p
            store b i q
            found: u64 = ballot start
            store sets k found
            below: u64 = sub found 1u64
            mine: bool = in_set below
            store early i mine)
"""


def inputs(share, seed):
    """Factors, and summands that are negative where a segment starts."""
    random = np.random.default_rng(seed)
    xs, ys = random.integers(-2, 3, 8 * LANES), random.integers(0, 100, 8 * LANES)
    return xs, np.where(random.random(len(ys)) < share, ys - 200, ys)


def expected(xs, ys):
    """x -> b + a x composed from each start, or each first lane, on; and the starts as bits."""
    pairs, sets = [], [0] * (len(xs) // LANES)
    for i, (x, y) in enumerate(zip(xs.tolist(), ys.tolist(), strict=True)):
        fresh = i % LANES == 0 or y < 0
        a, b = (1, 0) if fresh else pairs[-1]
        pairs.append((a * x, b * x + y % 10))
        sets[i // LANES] |= (y < 0) << i % LANES
    return pairs, sets


def agree(found, xs, ys):
    """Two arrays of i64, the sets, and the lanes in each set less one."""
    pairs, sets = expected(xs, ys)
    np.testing.assert_array_equal(np.stack(found[:2], 1), pairs)
    assert found[2].tolist() == sets
    early = [bool((word - 1) >> lane & 1) for word in sets for lane in range(LANES)]
    assert found[3].tolist() == early


@pytest.mark.parametrize("share", SHARES)
def test_the_simulator(share):
    """Lanes of several blocks, from no starts to nothing but starts."""
    made = unit(AFFINE)
    for seed in range(3):
        xs, ys = inputs(share, seed)
        agree(run(made, [len(xs), xs, ys], threads=2, seed=seed), xs, ys)


@pytest.mark.parametrize("share", SHARES)
def test_machine_code(share):
    """The unit as LLVM."""
    made = unit(AFFINE)
    xs, ys = inputs(share, 7)
    out = run_host(made.host, made.kernels, [len(xs), xs, ys])
    dtypes = ((i64, len(xs)), (i64, len(xs)), (u64, len(xs) // LANES), (bool_, len(xs)))

    agree([out.array(2 * k, *dtype) for k, dtype in enumerate(dtypes)], xs, ys)


@pytest.mark.needs_opencl
@pytest.mark.parametrize("share", SHARES)
def test_opencl(share):
    """The unit as OpenCL C."""
    made = unit(AFFINE)
    xs, ys = inputs(share, 7)
    results = [Result(i64, (len(xs),))] * 2 + [
        Result(u64, (len(xs) // LANES,)), Result(bool_, (len(xs),))
    ]
    plan = Plan((Param(i64, False), *[Param(i64, True)] * 2), tuple(results), ())
    program = program_of(made, plan, device(), opencl.emit)

    agree([np.asarray(x) for x in program.run([len(xs), xs, ys])], xs, ys)


def test_cuda_text():
    """By ballot and clz, neighbours by shuffles."""
    text = cuda.emit(unit(AFFINE))
    text = text[text.index("extern") :]

    assert text.count("__ballot_sync") == 2
    assert "31 - __clz(((fw_t" in text
    assert "if (fw_lane - fw_d >= fw_first" in text


def test_the_text_reads_back():
    """A field that is empty by default is named where it is not."""
    made = unit(AFFINE)
    text = print_unit(made)

    assert "[x, rest] starts=[start]" in text
    assert print_unit(parse_unit(text), canonical=True) == print_unit(made, canonical=True)


@pytest.mark.parametrize(
    ("starts", "message"),
    [("[x]", "the flag of segments"), ("[start, start]", "2 flags say where segments start")],
)
def test_what_starts_must_be(starts, message):
    """One bool, or nothing."""
    with pytest.raises(CompilerBug, match=message):
        unit(AFFINE.replace("starts=[start]", f"starts={starts}"))


def test_a_ballot_needs_all_lanes():
    """Under a condition that differs from lane to lane it is refused, like any collective."""
    text = AFFINE.replace("ballot start", "if start (() => ballot start) (() => 0u64)")

    with pytest.raises(CompilerBug, match="ballot stands where not all lanes run"):
        unit(text)
