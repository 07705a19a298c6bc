"""Scans with starts: against a loop, against the operator on pairs, on every machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
import pytest

import flatweave as fw
from flatweave import pipeline
from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Program
from flatweave.base.config import config
from flatweave.base.dtypes import bool_, i64
from flatweave.lower.machine import CPU_AVX512, CUDA, OPENCL
from flatweave.lower.program import lower
from flatweave.lower.schedule.tiling import choose_blocks
from flatweave.ops import Compact, Index, Prefix, Scan, Store, Sweep
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.syntax import ArrayType, Atom, Lambda, constant
from tests.array_ir.programs import affine_operator
from tests.codegen.device_programs import lowered, on_opencl, simulated, small_blocks

SIZES = (0, 1, 2, 63, 64, 65, 127, 128, 129, 1023, 1025)
LARGE = 100_003
WAYS = [(False, False), (True, False), (False, True), (True, True)]
ids = ["inclusive", "exclusive", "reverse", "exclusive reverse"]


@cache
def scan_program(exclusive: bool, reverse: bool) -> Program:
    """Composition of affine maps, not commutative, over pairs of i64, anew at flags."""
    b = Builder()
    n = b.param("n", i64)
    flags = b.param("flags", ArrayType(bool_, (n,)))
    xs, ys = (b.param(name, ArrayType(i64, (n,))) for name in ("xs", "ys"))
    scan = Scan(affine_operator(i64), (index(1), index(0)), (xs, ys), exclusive, reverse, (flags,))
    return Program("segments", b.close([n, flags, xs, ys], b.emit(scan)))


def pair_operator() -> Lambda:
    """(f, a) (g, b) = (f or g, if g then b else a op b), written out."""

    def body(b: Builder, f: Atom, a1: Atom, b1: Atom, g: Atom, a2: Atom, b2: Atom) -> list[Atom]:
        both = b.inline(affine_operator(i64), (a1, b1, a2, b2))
        alone = zip((a2, b2), both, strict=True)
        return [b.apply("or", f, g), *(b.apply("select", g, x, y) for x, y in alone)]

    return Builder().function([bool_, i64, i64] * 2, body)


def scan_of_pairs(flags: np.ndarray, *columns: np.ndarray) -> list[np.ndarray]:
    """The inclusive scan by the operator on pairs, in the interpreter."""
    b = Builder()
    n = b.param("n", i64)
    params = [b.param("xs", ArrayType(dtype, (n,))) for dtype in (bool_, i64, i64)]
    neutral = (constant(False, bool_), index(1), index(0))
    found = b.emit(Scan(pair_operator(), neutral, tuple(params)))
    return interp.run(Program("pairs", b.close([n, *params], found[1:])),
                      [len(flags), flags, *columns])  # fmt: skip


def loop(
    flags: np.ndarray, xs: np.ndarray, ys: np.ndarray, exclusive: bool, reverse: bool
) -> list[np.ndarray]:
    """The same by a loop in running order."""
    found = np.zeros((2, len(xs)), np.int64)
    total = 1, 0
    with np.errstate(all="ignore"):
        for i in range(len(xs))[:: -1 if reverse else 1]:
            own, before = (xs[i], ys[i]), (1, 0) if flags[i] else total
            left, right = (own, before) if reverse else (before, own)
            total = left[0] * right[0], left[1] * right[0] + right[1]
            found[:, i] = before if exclusive else total
    return list(found)


def patterns(n: int, block: int) -> Iterator[np.ndarray]:
    """Flags nowhere, everywhere, at either end, around the boundaries of blocks, at random."""
    i, random = np.arange(n), np.random.default_rng(n)
    yield i < 0
    yield i >= 0
    yield i == 0
    yield i == n - 1
    yield i % block == 0
    yield i % block == block - 1
    yield i % block == 1
    for mean in (2, 10, 100, 5000):
        yield random.random(n) < 1 / mean
    yield (random.random(n) < 0.3) & ((i < n // 5) | (i > n - 3))  # one giant segment


def columns(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Factors around one and small summands."""
    random = np.random.default_rng(n + 1)
    return random.integers(-1, 2, n), random.integers(-9, 9, n)


def block_of(program: Program) -> int:
    """The least block that the CPU's lowering divides a program's sweep into."""
    swept = list(pipeline.optimise(program).values())[-1]
    sweep = next(let.op for let in swept.fn.lets if isinstance(let.op, Sweep))
    return choose_blocks(CPU_AVX512, sweep, in_order=True)[1].least


@pytest.mark.parametrize(("exclusive", "reverse"), WAYS, ids=ids)
def test_the_interpreter_and_machine_code_are_the_loop(exclusive: bool, reverse: bool) -> None:
    """Around powers of two, whatever the flags."""
    program = scan_program(exclusive, reverse)
    compiled = pipeline.build(program, "cpu")
    for n in SIZES:
        for flags in patterns(n, 64):
            args = [n, flags, *columns(n)]
            want = loop(*args[1:], exclusive, reverse)
            np.testing.assert_array_equal(interp.run(program, args), want)
            np.testing.assert_array_equal(compiled.run(args), want)


@pytest.mark.parametrize(("exclusive", "reverse"), WAYS, ids=ids)
def test_many_blocks_and_threads(exclusive: bool, reverse: bool) -> None:
    """Segments begin and end anywhere in blocks; threads do not show."""
    program = scan_program(exclusive, reverse)
    compiled = pipeline.build(program, "cpu")
    block = block_of(program)
    assert 4 * block < LARGE
    for k, flags in enumerate(patterns(LARGE, block)):
        args = [LARGE, flags, *columns(LARGE)]
        want = interp.run(program, args)
        with config.scoped(threads=(1, 2, 3, 7)[k % 4]):
            np.testing.assert_array_equal(compiled.run(args), want)


def test_it_is_the_scan_of_pairs() -> None:
    """The law that makes it associative (Blelloch)."""
    for flags in patterns(1025, 64):
        xs, ys = columns(1025)
        found = interp.run(scan_program(False, False), [1025, flags, xs, ys])
        np.testing.assert_array_equal(found, scan_of_pairs(flags, xs, ys))


@pytest.mark.sampled
@pytest.mark.parametrize(("exclusive", "reverse"), WAYS, ids=ids)
@pytest.mark.parametrize("machine", ["one pass", "two passes"])
def test_several_warps_in_the_simulator(machine: str, exclusive: bool, reverse: bool) -> None:
    """Blocks of several warps, chained or with prefixes known beforehand."""
    program = scan_program(exclusive, reverse)
    made = lowered(program, small_blocks(CUDA if machine == "one pass" else OPENCL, warps=3))
    for n in (0, 1, 33, 700):
        for flags in list(patterns(n, 96))[:: 1 if n < 700 else 3]:
            args = [n, flags, *columns(n)]
            found = simulated(made, args, threads=2, seed=n)
            np.testing.assert_array_equal(found, loop(*args[1:], exclusive, reverse))


@pytest.mark.needs_opencl
@pytest.mark.parametrize("one_pass", [False, True])
def test_opencl(one_pass: bool) -> None:
    """Where a block may wait for an earlier one, and where not."""
    program = scan_program(True, False)
    runnable = on_opencl(program, small_blocks(OPENCL, forward_progress=one_pass))
    for n in (1, 129, 5000):
        for flags in patterns(n, 128):
            args = [n, flags, *columns(n)]
            np.testing.assert_array_equal(runnable.run(args), loop(*args[1:], True, False))


# -- more than one scan in a sweep -----------------------------------------------------------------


def together(write: Callable[..., list[Atom]], *sinks: object) -> Program:
    """A sweep over two arrays of flags and one of numbers, its body written by `write`."""
    b = Builder()
    n = b.param("n", i64)
    dtypes = (bool_, bool_, i64)
    arrays = [b.param("xs", ArrayType(dtype, (n,))) for dtype in dtypes]
    inside = b.inner()
    i = inside.param("i", i64)
    read = [inside.emit(Index(x, (i,), False))[0] for x in arrays]
    body = inside.close([i], write(inside, *read))
    made = b.emit(Sweep((n,), body, sinks))  # type: ignore[arg-type]
    return Program("together", b.close([n, *arrays], made))


def prefix(b: Builder, fn: str, x: Atom, *starts: Atom, exclusive: bool = False) -> Atom:
    """A prefix of i64 by a scalar function."""
    zero = index(-(2**63) if fn == "maximum" else 0)
    return b.emit(Prefix(lambda_of(fn, i64), (zero,), (x,), exclusive, starts))[0]


def side_by_side(b: Builder, f: Atom, g: Atom, x: Atom) -> list[Atom]:
    """Scans with the same flags, with others, with none or a known one; and elements kept."""
    never = constant(False, bool_)
    return [
        prefix(b, "add", x, f), prefix(b, "maximum", x, f, exclusive=True), prefix(b, "xor", x, g),
        prefix(b, "add", x), prefix(b, "xor", x, never), g, x, prefix(b, "add", x, g),
    ]  # fmt: skip


def one_behind_the_other(b: Builder, f: Atom, g: Atom, x: Atom) -> list[Atom]:
    """A scan of a scan, and one whose flags a scan gives."""
    first = prefix(b, "add", x, f)
    even = b.apply("eq", b.apply("and", first, index(7)), index(0))
    return [prefix(b, "add", first, g), prefix(b, "maximum", x, even), first]


@pytest.mark.parametrize("write", [side_by_side, one_behind_the_other])
def test_several_in_one_sweep(write: Callable[..., list[Atom]]) -> None:
    """Each finds its own last start; those after a scan take the general way."""
    stores = [Store()] * 5
    sinks = [*stores, Compact(1), Store()] if write is side_by_side else stores[2:]
    program = together(write, *sinks)
    compiled = pipeline.build(program, "cpu", passes=())
    on_device = lower(program, small_blocks(CUDA, warps=2))
    for n in (0, 1, 65, 129, LARGE):
        random = np.random.default_rng(n)
        for mean in (3, 4000):
            args = [n, *(random.random(n) < 1 / mean for _ in range(2)), random.integers(0, 50, n)]
            want = interp.run(program, args)
            runs = [compiled.run(args)]
            if n < 200:
                runs.append(simulated(on_device, args, threads=2, seed=1))
            for found in runs:
                for ours, theirs in zip(found, want, strict=True):
                    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("reverse", [False, True])
def test_rows_of_a_ragged(reverse: bool, threads: int) -> None:
    """Flags that say where rows begin: empty rows, short ones, and some longer than a block."""
    random = np.random.default_rng(0)
    lengths = np.concatenate([random.integers(0, 9, 3000), [0, 40_000, 0, 1, 70_000], [3, 0, 0]])
    rows = fw.ragged(random.integers(-9, 9, lengths.sum()), lengths=lengths)

    def scanned(row: fw.Array) -> fw.Array:
        return fw.scan(fw.add, 0, row, exclusive=True, reverse=reverse)

    found = np.asarray(fw.jit(lambda rows: fw.map(scanned, rows), target="cpu")(rows).values)
    turn = slice(None, None, -1 if reverse else 1)
    parts = np.split(rows.values.to_numpy(), np.cumsum(lengths)[:-1])
    expected = np.concatenate([(np.cumsum(part[turn]) - part[turn])[turn] for part in parts])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(1, 70_000), (70_000, 1), (300, 333), (17, 30, 129), (0, 5)])
def test_rows_of_a_matrix(target: str, shape: tuple[int, ...]) -> None:
    """A scan along the last axis: rows of any length, lying across blocks."""
    x = np.random.default_rng(0).integers(-9, 9, shape)
    np.testing.assert_array_equal(fw.cumsum(x, axis=-1), np.cumsum(x, axis=-1))
