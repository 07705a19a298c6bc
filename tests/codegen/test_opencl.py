"""OpenCL C on whatever OpenCL device there is (PoCL in CI), against the interpreter."""

from functools import partial

import numpy as np
import pytest

import flatweave as fw
from flatweave.array_ir.syntax import Fault
from flatweave.base.dtypes import DTYPES
from flatweave.base.errors import CompilerBug
from flatweave.codegen import opencl
from flatweave.lower.machine import OPENCL
from tests.codegen import scalar_programs
from tests.codegen.device_programs import (
    PROGRAMS,
    SIZES,
    agree,
    arguments,
    expected,
    flat,
    on_opencl,
    outcome,
    program,
    small_blocks,
    traced,
)
from tests.kernel_ir.units import one_kernel
from tests.laws.programs import random_args, random_program
from tests.quick import every

pytestmark = pytest.mark.needs_opencl

# The same kernels in other shapes: waiting for earlier blocks, and a block of one warp.
SHAPES = {
    "two_pass": small_blocks(OPENCL),
    "single_pass": small_blocks(OPENCL, forward_progress=True),
    "one_warp": small_blocks(OPENCL, warps=1, forward_progress=True),
}
IN_ORDER = ("reduce_runs", "scan_order", "scan_of_scan", "filter_of_scan", "permute_of_scan")
OPTIMISED = ("map", "reduce", "scan_order", "filter", "permute")


@pytest.mark.sampled
@pytest.mark.parametrize("name", every(2, PROGRAMS))
def test_it_agrees_with_the_interpreter(name):
    """Sizes around warps and blocks, with many blocks from a thousand elements on."""
    made = program(name)
    runnable = on_opencl(made, SHAPES["two_pass"])
    for n in SIZES:
        args = flat(*arguments(n))
        agree(runnable.run(args), expected(made, args))


@pytest.mark.sampled
@pytest.mark.parametrize("shape", ["single_pass", "one_warp"])
@pytest.mark.parametrize("name", every(2, IN_ORDER))
def test_it_agrees_in_other_shapes(name, shape):
    """Blocks that claim their numbers and wait for each other; blocks without warps to meet."""
    made = program(name)
    runnable = on_opencl(made, SHAPES[shape])
    for n in SIZES[1:]:
        args = flat(*arguments(n))
        agree(runnable.run(args), expected(made, args))


@pytest.mark.sampled
@pytest.mark.parametrize("name", OPTIMISED)
def test_it_agrees_when_optimised(name):
    """The numbers and compiler options that users get."""
    made = program(name)
    args = flat(*arguments(2**17 + 1))

    agree(on_opencl(made, OPENCL, optimised=True).run(args), expected(made, args))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype(dtype):
    """Element by element, combined in order, compacted and combined in place."""

    def every(x, j):
        merged = fw.permute(fw.maximum, fw.full(7, dtype(0)), j, x)
        added = fw.permute(fw.add, fw.full(7, dtype(0)), j, x)
        scanned = fw.scan(fw.add, dtype(0), x)
        kept = fw.filter(lambda v: v != dtype(1), x)
        return scanned, fw.reduce(fw.maximum, dtype(0), x), kept, merged, added

    rng = np.random.default_rng(0)
    x = rng.integers(0, 2 if dtype.kind == "b" else 5, 300).astype(dtype.numpy)
    args = flat(x, rng.integers(-1, 8, 300))
    made = traced("every", every, x, args[3])

    agree(on_opencl(made, SHAPES["two_pass"]).run(args), expected(made, args))


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_scalar_function(dtype):
    """Exact rows give the interpreter's bits, elementary functions agree to a few ulp."""
    made, args = scalar_programs.program_of(dtype), scalar_programs.operands(dtype)

    found = on_opencl(made).run(args)

    assert not scalar_programs.differences(dtype, found, expected(made, args))


@pytest.mark.parametrize("seed", every(2, range(8)))
def test_random_programs(seed):
    """Whatever sweeps and control come together: the values are the interpreter's."""
    made, dtypes = random_program(seed, 4 + seed % 7)
    runnable = on_opencl(made, SHAPES["single_pass" if seed % 2 else "two_pass"])
    for n in (0, 1, 33, 1025):
        args = random_args(seed, n, dtypes)
        agree(runnable.run(args), expected(made, args))


def test_the_smallest_bad_index_is_reported():
    """Many threads find a bad index; the report is the interpreter's, and the next call works."""
    made = traced("read", lambda xs, j: fw.gather(xs, j), np.zeros(1), np.zeros(1, np.int64))
    runnable = on_opencl(made, SHAPES["two_pass"])
    good = np.arange(5000) % 100
    bad = good.copy()
    bad[[4900, 700, 701, 3000]] = [100, -101, 2000, 5000]
    for j in (bad, good):
        args = flat(np.arange(100.0), j)
        found = outcome(runnable.run, args)
        wanted = outcome(partial(expected, made), args)
        if isinstance(wanted, list):
            agree(found, wanted)
        else:
            assert found == wanted


def test_a_fault_names_its_place():
    """A device's report becomes the fault that the interpreter raises, with the user's line."""
    made = traced("read", lambda xs, j: fw.gather(xs, j), np.zeros(1), np.zeros(1, np.int64))
    args = flat(np.arange(3.0), np.array([0, 3]))
    faults = []
    for run in (on_opencl(made).run, lambda args: expected(made, args)):
        with pytest.raises(Fault) as caught:
            run(args)
        faults.append(caught.value)

    assert str(faults[0].where) == str(faults[1].where)
    assert str(faults[0]) == str(faults[1])


def test_warps_sort_rows_by_different_code():
    """Some warps have longer rows than others, or none: all of them come to the same barriers."""

    def sorted_rows(x, ends):
        return fw.map(fw.sort, fw.ragged(x, offsets=ends)).values

    runnable = on_opencl(traced("rows", sorted_rows, np.arange(3), np.array([0, 1, 3])))
    for count in (257, 300, 401):
        ends = np.concatenate([[0], np.cumsum([9 * (k % 2 == 0) for k in range(count)])])
        x = np.random.default_rng(count).permutation(ends[-1])
        rows = np.split(x, ends[1:-1])

        np.testing.assert_array_equal(
            runnable.run(flat(x, ends))[-1], np.concatenate([np.sort(row) for row in rows])
        )


def test_a_kernel_that_some_warps_miss_is_refused():
    """Rather than that its values are wrong."""
    body = """
        w: i64 = warp_index
        p: bool = lt w 2
        lanes 32 (() =>
            if p (() =>
                c: i64 = count_lanes p) (() => ()))
    """
    with pytest.raises(CompilerBug, match="not all warps of a block come to count_lanes"):
        opencl.emit(one_kernel(body, warps=4))


def test_negative_extents_are_refused():
    """An allocation below zero is the user's fault, not the device's."""
    with pytest.raises(fw.NegativeExtentError):
        fw.jit(lambda n: fw.iota(n), target="opencl")(-1)


@pytest.mark.parametrize(("name", "op"), [("atomic", "fw_atomic_add_i32("), ("cas", "found")])
def test_updates_are_forced_by_name(name, op):
    """The same sums by an instruction and by swaps."""
    idx, vals = np.random.default_rng(2).integers(-1, 12, (2, 3000)).astype(np.int32)
    expected = np.zeros(11, np.int32)
    inside = (idx >= 0) & (idx < 11)
    np.add.at(expected, idx[inside], vals[inside])
    f = fw.jit(lambda i, v: fw.permute(fw.add, fw.full(11, fw.i32(0)), i, v), target="opencl")

    with fw.schedule(permute=name):
        np.testing.assert_array_equal(np.asarray(f(idx, vals)), expected)
        text = f.stages(idx, vals).text["opencl"]
    assert op in text[text.index("__kernel") :]


def test_divisions_of_a_cpu_are_refused():
    """With what there is instead."""
    f = fw.jit(lambda i: fw.histogram(3, i), target="opencl")
    with fw.schedule(permute="owner"), pytest.raises(fw.ArgumentError, match="no such division"):
        f(np.zeros(3, np.int64))


def test_a_user_calls_it():
    """`target="opencl"` is enough, also for loops of arrays and in-place updates."""

    def smooth(xs):
        return fw.fori_loop(0, 4, lambda k, s: fw.scatter(s + 1.0, fw.iota(2), s[1:3]), xs)

    x = np.arange(70.0)
    on_device = fw.jit(smooth, target="opencl")

    np.testing.assert_array_equal(on_device(x), fw.jit(smooth, target="interp")(x))
    np.testing.assert_array_equal(x, np.arange(70.0))
    assert "__kernel" in on_device.stages(x).text["opencl"]


def test_two_dimensions_and_inner_loops():
    """Rows and columns, transposed reads, and folds that each lane runs alone."""
    x = np.random.default_rng(1).random((37, 53))

    def f(m):
        return fw.sum(m, axis=0), fw.transpose(m) * 2.0, fw.cumsum(m, axis=1)

    for found, wanted in zip(
        fw.jit(f, target="opencl")(x), fw.jit(f, target="interp")(x), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


