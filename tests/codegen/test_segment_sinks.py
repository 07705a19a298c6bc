"""Sinks that combine segments, on every machine, against a loop over the segments.

Blocks are of a few steps, so that small inputs have many of them and segments are cut anywhere.
"""

from functools import cache, reduce

import numpy as np
import pytest

import flatweave.ops  # noqa: F401  the operations that texts name
from flatweave import targets
from flatweave.array_ir import interp
from flatweave.array_ir.syntax import TRACED, form_of_text, parse_program
from flatweave.base.config import config
from flatweave.base.errors import CompilerBug
from flatweave.base.recording import PhaseTimer
from flatweave.base.records import replace
from flatweave.codegen import cuda, opencl
from flatweave.kernel_ir.units import verify
from flatweave.lower.machine import CPU_AVX512, CUDA, OPENCL
from flatweave.lower.program import lower
from flatweave.passes.sweep import sweep
from tests.codegen.device_programs import agree, quick_device, simulated, small_blocks
from tests.quick import every

AFFINE = """(f: i64, c: i64, g: i64, d: i64 =>
                m: i64 = mul f g
                s: i64 = mul c g
                t: i64 = add s d
                in m, t) [1, 0]"""
PROGRAMS = {
    "segments": f"""
    segments(n: i64, starts: bool[n], xs: i64[n], ys: i64[n]) =>
        m: i64, a: i64[m], b: i64[m] = reduce_segments {AFFINE} starts [xs, ys]
        in m, a, b""",
    "siblings": """
    siblings(n: i64, starts: bool[n], xs: i64[n], ys: i64[n]) =>
        k: i64, a: i64[k], m: i64, b: i64[m], total: i64, c: i64[n] = sweep [n] (i: i64 =>
            s: bool = index starts [i]
            x: i64 = index xs [i]
            y: i64 = index ys [i]
            p: i64 = prefix (maximum i64) [-100] [x]
            odd: bool = eq p y
            in odd, y, s, p, y, p) [compact 1, combine_segments (add i64) [0],
                                    combine (add i64) [0], store]
        in k, a, m, b, total, c""",
    "rows": f"""
    rows(n: i64, starts: bool[n], xs: i64[n], ys: i64[n], row: i64[n], rows: i64) =>
        a: i64[rows], b: i64[rows], total: i64 = sweep [n] (i: i64 =>
            s: bool = index starts [i]
            r: i64 = index row [i]
            x: i64 = index xs [i]
            y: i64 = index ys [i]
            in r, s, x, y, x) [combine_rows {AFFINE} rows, combine (add i64) [0]]
        in a, b, total""",
    "located": f"""
    located(n: i64, starts: bool[n], xs: i64[n], ys: i64[n], rows: i64, ends: i64[rows]) =>
        a: i64[rows], b: i64[rows], total: i64 = sweep [n] (p: i64 =>
            r: i64, at: i64 = locate ends 0 p
            s: bool = eq at p
            x: i64 = index xs [p]
            y: i64 = index ys [p]
            in r, s, x, y, x) [combine_rows {AFFINE} rows, combine (add i64) [0]]
        in a, b, total""",
    "located elements": f"""
    located(n: i64, starts: bool[n], xs: i64[n], ys: i64[n], rows: i64, ends: i64[rows]) =>
        a: i64[rows], b: i64[rows], c: i64[rows], k: i64, t: i64[k] = sweep [n] (p: i64 =>
            r: i64, at: i64 = locate ends 0 p
            s: bool = eq p at
            x: i64 = index xs [p]
            y: i64 = index ys [p]
            e: i64 = index ends [r]
            d: i64 = sub e at
            in r, s, x, y, r, s, d, s, r) [combine_rows {AFFINE} rows,
                                           combine_rows (maximum i64) [-1] rows, compact 1]
        in a, b, c, t""",
}
CPU = replace(small_blocks(CPU_AVX512), block_work=1)
DEVICE = small_blocks(OPENCL)
SIZES = [0, 1, 2, 31, 63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 5000]


@cache
def program(name):
    return parse_program(PROGRAMS[name])


def lowered(made, machine):
    """A program for a machine; sweeps stay as they are."""
    swept = sweep(made) if form_of_text(made) is TRACED else made
    for_machine = lower(swept, machine)
    verify(for_machine.unit)
    return for_machine


def native(made):
    """A program as machine code for blocks of a few steps."""
    for_machine, target = lowered(made, CPU), targets.TARGETS["cpu"]
    return target.load({}, for_machine.plan, for_machine.unit, PhaseTimer(made.name))


@cache
def on_cpu(name):
    return native(program(name))


@cache
def on_device(name):
    made = lowered(program(name), DEVICE)
    return targets.on_device(quick_device, opencl.emit, made.plan, made.unit)


def composed(parts):
    """The composition of affine maps, one part after the other."""
    pairs = [reduce(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), part, (1, 0)) for part in parts]
    return list(np.array(pairs, np.int64).reshape(-1, 2).T)


def cut(columns, cuts):
    """The tuples between neighbouring cuts."""
    pairs = list(zip(*(x.tolist() for x in columns), strict=True))
    return [pairs[a:b] for a, b in zip(cuts[:-1], cuts[1:], strict=True)]


def values(n):
    """Factors that are -1, 0 or 1, and summands."""
    random = np.random.default_rng(n)
    return random.integers(-1, 2, n), random.integers(-9, 9, n)


def segments(starts, n):
    """Arguments of `segments`, and what it gives."""
    xs, ys = values(n)
    cuts = [0, *(i for i in np.flatnonzero(starts) if i), n] if n else [0]
    expected = composed(cut((xs, ys), cuts))
    return [n, starts, xs, ys], [np.int64(len(cuts) - 1), *expected]


def rows(sizes):
    """Arguments of `rows` for the number of elements of each row, and what it gives."""
    n = int(sum(sizes))
    xs, ys = values(n)
    row = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.diff(row, prepend=-1) > 0
    cuts = [0, *np.cumsum(sizes)]
    return [n, starts, xs, ys, row, len(sizes)], [*composed(cut((xs, ys), cuts)), xs.sum()]


def located(sizes):
    """Arguments of `located` for the number of elements of each row, and what it gives."""
    args, expected = rows(sizes)
    return [*args[:4], len(sizes), np.cumsum(sizes).astype(np.int64)], expected


def by_elements(sizes):
    """As `located`; and the size of each row or -1, and the rows that have elements."""
    args, (a, b, _) = located(sizes)
    sizes = np.asarray(sizes)
    return args, [a, b, np.where(sizes > 0, sizes, -1), np.flatnonzero(sizes)]


OF_ROWS = {"rows": rows, "located": located, "located elements": by_elements}


def some_flags(n, share):
    return np.random.default_rng(n).random(n) < share


SHAPES = {
    "mean ten": lambda n: np.random.default_rng(n).integers(0, 20, max(1, n // 10)),
    "mostly empty": lambda n: np.random.default_rng(n).integers(0, 20, n) // 18,
    "one": lambda n: np.array([n]),
    "one between empty ones": lambda n: np.array([0, 0, n, 0, 0, 0]),
    "giant among small": lambda n: np.array([*[1] * 40, n, *[2, 0, 1] * 30]),
    "of a step": lambda n: np.full(n // 64, 64),
    "singles": lambda n: np.ones(n, np.int64),
    "all empty": lambda n: np.zeros(n, np.int64),
    "far apart": lambda n: np.array([*[0] * n, 3, *[0] * n, 1]),
}


@pytest.mark.sampled
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", [0.0, 0.001, 0.03, 0.3, 1.0])
def test_segments_in_machine_code(n, share):
    """The same for every number of threads; elements that are pairs, combined in order."""
    args, expected = segments(some_flags(n, share), n)
    agree(interp.run(program("segments"), args), expected)
    for threads in (1, 2, 3, 7):
        with config.scoped(threads=threads):
            agree(on_cpu("segments").run(args), expected)


@pytest.mark.parametrize("step", [64, 128])
@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_segments_that_begin_at_the_ends_of_blocks(step, shift):
    """Each block, or each but a few, begins with a start, ends before one, or has none."""
    n = 2000
    for left_out in (0, 3):
        starts = np.zeros(n, bool)
        starts[step + shift :: step] = True
        starts[: left_out * step] = False
        args, expected = segments(starts, n)
        agree(on_cpu("segments").run(args), expected)


@pytest.mark.sampled
@pytest.mark.parametrize("name", OF_ROWS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000, 5000])
def test_rows_in_machine_code(name, shape, n):
    """Rows without elements anywhere; dense and sparse ones; one that all blocks share."""
    args, expected = OF_ROWS[name](SHAPES[shape](n))
    agree(interp.run(program(name), args), expected)
    for threads in (1, 2, 3, 7):
        with config.scoped(threads=threads):
            agree(on_cpu(name).run(args), expected)


def test_rows_longer_than_what_is_marked_at_a_time():
    """Blocks of the usual size take several chunks; rows begin and end at their bounds."""
    made = lowered(program("located"), CPU_AVX512)
    target = targets.TARGETS["cpu"]
    run = target.load({}, made.plan, made.unit, PhaseTimer("located")).run
    chunk = CPU_AVX512.staged
    for sizes in ([chunk] * 5, [chunk - 1, 1, 0, 3 * chunk, 1, chunk], [1, *[chunk] * 4, 7]):
        args, expected = located(sizes)
        agree(run(args), expected)


@pytest.mark.parametrize("n", [0, 1, 129, 5000])
def test_they_stand_beside_other_sinks(n):
    """Behind a scan, with kept elements, a sum and a store in the same sweep."""
    args, _ = segments(some_flags(n, 0.1), n)
    agree(on_cpu("siblings").run(args), interp.run(program("siblings"), args))


@pytest.mark.sampled
@pytest.mark.parametrize(
    "machine", every(2, [CPU, DEVICE, small_blocks(CUDA)]), ids=lambda m: m.name
)
@pytest.mark.parametrize("name", ["segments", "siblings"])
def test_segments_in_the_simulator(machine, name):
    """Nothing is read before it is written, nothing is written twice, whoever comes first."""
    made = lowered(program(name), machine)
    for n in (0, 1, 33, 1100):
        for share in (0.0, 0.1, 1.0):
            args, _ = segments(some_flags(n, share), n)
            agree(simulated(made, args, 3, n), interp.run(program(name), args))


@pytest.mark.sampled
@pytest.mark.parametrize("name", every(2, OF_ROWS))
@pytest.mark.parametrize("machine", [CPU, DEVICE, small_blocks(CUDA)], ids=lambda m: m.name)
@pytest.mark.parametrize("shape", every(3, SHAPES))
def test_rows_in_the_simulator(machine, shape, name):
    """Every row is written by one warp, empty or not."""
    made = lowered(program(name), machine)
    for n in (0, 1, 70, 300):
        args, expected = OF_ROWS[name](SHAPES[shape](n))
        agree(simulated(made, args, 3, n), expected)


@pytest.mark.parametrize("warps", [1, 4])
def test_lanes_store_behind_a_barrier_over_what_others_have_filled(warps):
    """Of their warp, which is alone in its block or not; in OpenCL it fences global memory."""
    made = {
        machine.name: lowered(program("rows"), replace(machine, warps=warps))
        for machine in (CUDA, OPENCL)
    }

    assert "__syncwarp();" in cuda.emit(made["cuda"].unit)
    assert "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE" in opencl.emit(made["opencl"].unit)


@pytest.mark.sampled
@pytest.mark.needs_opencl
@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_segments_on_opencl(share):
    """Several warps in a block, each with a separate share."""
    for name in ("segments", "siblings"):
        for n in SIZES:
            args, _ = segments(some_flags(n, share), n)
            agree(on_device(name).run(args), interp.run(program(name), args))


@pytest.mark.sampled
@pytest.mark.needs_opencl
@pytest.mark.parametrize("shape", SHAPES)
def test_rows_on_opencl(shape):
    """Rows without elements, dense ones and one that all warps share."""
    for name, arguments in OF_ROWS.items():
        for n in (0, 1, 65, 5000):
            args, expected = arguments(SHAPES[shape](n))
            agree(on_device(name).run(args), expected)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_sums_of_floats_are_the_same_for_every_number_of_threads(threads):
    """Bit by bit: the order of additions follows from sizes alone."""
    text = """
    sums(n: i64, starts: bool[n], xs: f32[n]) =>
        m: i64, ys: f32[m] = reduce_segments (add f32) [0.0f32] starts [xs]
        in ys"""
    run = native(parse_program(text)).run
    n = 100_000
    xs = np.random.default_rng(0).random(n).astype(np.float32)
    args = [n, some_flags(n, 0.01), xs]
    with config.scoped(threads=1):
        (expected,) = run(args)
    with config.scoped(threads=threads):
        for _ in range(3):
            np.testing.assert_array_equal(run(args)[0], expected)


def test_rows_do_not_come_from_a_scan():
    """The row of the element before a share must be known without one."""
    made = parse_program("""
    rows(n: i64, starts: bool[n], rows: i64) =>
        a: i64[rows] = sweep [n] (i: i64 =>
            s: bool = index starts [i]
            one: i64 = cast i64 s
            r: i64 = prefix (add i64) [0] [one]
            in r, s, i) [combine_rows (add i64) [0] rows]
        in a""")
    with pytest.raises(CompilerBug, match="depends on a prefix"):
        lowered(made, CPU)
