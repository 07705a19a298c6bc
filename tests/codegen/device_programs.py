"""Programs for machines of threads, and the ways to run them: interpreter, simulator, PoCL."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

import flatweave as fw
from flatweave import pipeline
from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Fault, Program, fault_of
from flatweave.base.dtypes import as_dtype
from flatweave.base.records import replace
from flatweave.base.schedule import Schedule
from flatweave.codegen import opencl
from flatweave.frontend.trace.trace import Leaf, trace
from flatweave.kernel_ir.units import verify
from flatweave.lower.machine import OPENCL, Machine
from flatweave.lower.program import Lowered, lower
from flatweave.on_machines import OnDevice
from flatweave.runtime.devices.device import Device
from flatweave.runtime.devices.opencl import device as best_device
from flatweave.runtime.devices.opencl import opened
from flatweave.simulator import run as simulator
from flatweave.simulator.schedules import Failure
from flatweave.targets import on_device

SIZES = (0, 1, 31, 32, 33, 127, 128, 129, 1023, 1025, 2**17 + 1)
AS_THEY_COME = Schedule(deterministic=False)
"""Elements with equal indices are combined by atomics, swaps and locks, not sorted first."""
DTYPES = ("bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64")


def small_blocks(machine: Machine, **changes: Any) -> Machine:
    """The machine with blocks of a few steps, so that small inputs have many."""
    return replace(machine, block_work=64, block_bytes=8192, **{"most_each": 1, **changes})


def affine(a: Any, b: Any) -> Any:
    """Composition of x -> m x + c: associative, and the order matters."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def greater(a: Any, b: Any) -> Any:
    """The maximum, spelled so that no function of the scalar table is recognised."""
    return fw.where(a > b, a, b)


def nearer(a: Any, b: Any) -> Any:
    """The element with the smaller depth, whole; of equal depths the one with less after it."""
    first = (a[0] < b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
    return tuple(fw.where(first, x, y) for x, y in zip(a, b, strict=True))


def longest(a: Any, b: Any) -> Any:
    """Runs of positive numbers: whole length, at the start, at the end, longest; no order lost."""
    n1, s1, e1, m1 = a
    n2, s2, e2, m2 = b
    start = fw.where(s1 == n1, n1 + s2, s1)
    end = fw.where(e2 == n2, n2 + e1, e2)
    return n1 + n2, start, end, fw.maximum(fw.maximum(m1, m2), e1 + s2)


def collatz(x: Any) -> Any:
    """Turns until 1, by a loop whose length differs from lane to lane."""

    def turn(state: Any) -> Any:
        y, k = state
        return fw.cond(y % 2 == 0, lambda y: y // 2, lambda y: 3 * y + 1, y), k + 1

    return fw.while_loop(lambda s: s[0] > 1, turn, (fw.abs(x), 0))[1]


def counted(x: Any) -> Any:
    """A loop with a known number of iterations in every lane."""
    return fw.fori_loop(0, 5, lambda i, s: s * 3 + x + fw.astype(i, fw.i32), x)


def ones(x: Any) -> Any:
    """1 for each positive number, 0 for the others."""
    return fw.map(lambda v: fw.astype(v > 0, fw.i32), x)


PROGRAMS: dict[str, Callable[..., Any]] = {
    "map": lambda x, f: fw.map(lambda a, b: (a * 2 + 1, fw.sqrt(b) > 0.5), x, f),
    "loops": lambda x, f: fw.map(lambda a: (collatz(a), counted(a)), x),
    "zip_with_generate": lambda x, f: fw.generate(x.shape, lambda i: i * 3) + x,
    "reduce": lambda x, f: (fw.sum(x), fw.reduce(fw.maximum, 0.0, f), fw.sum(x * x)),
    "reduce_order": lambda x, f: fw.reduce(affine, (1.0, 0.0), (0.5 + f / 2, f)),
    "reduce_runs": lambda x, f: fw.reduce(longest, (0,) * 4, (ones(x * x + 1),) + (ones(x),) * 3),
    "scan": lambda x, f: fw.scan(fw.add, 0, fw.map(lambda v: v * 2, x)),
    "scan_order": lambda x, f: fw.scan(affine, (1.0, 0.0), (0.5 + f / 2, f)),
    "scan_exclusive": lambda x, f: fw.scan(fw.maximum, -100, x, exclusive=True),
    "scan_reverse": lambda x, f: fw.scan(fw.add, 0, x, reverse=True, exclusive=True),
    "initial": lambda x, f: (
        fw.reduce(fw.add, 10, x), fw.reduce(greater, 0.7, f), fw.scan(greater, 0.7, f),
        fw.scan(fw.add, 10, x, exclusive=True), fw.segmented_scan(greater, 5, x > 40, x),
    ),
    "scan_of_scan": lambda x, f: fw.scan(fw.maximum, -1000, fw.scan(fw.add, 0, x)) + x,
    "scan_segments": lambda x, f: fw.segmented_scan(affine, (1.0, 0.0), x > 40, (0.5 + f / 2, f)),
    "scan_rows": lambda x, f: fw.cumsum(fw.reshape(fw.concat([x, x, x]), (3, x.shape[0])), axis=1),
    "filter": lambda x, f: fw.filter(lambda v: v > 0, x),
    "filter_of_scan": lambda x, f: fw.filter(lambda v: v % 3 == 0, fw.scan(fw.add, 0, x)),
    "partition": lambda x, f: fw.partition(lambda v: v > 0, x),
    "siblings": lambda x, f: (fw.sum(x), fw.scan(fw.add, 0, x), fw.filter(lambda v: v > 9, x)),
    "gather": lambda x, f: fw.gather(fw.iota(64), fw.abs(x)),
    "permute": lambda x, f: fw.permute(fw.add, fw.full(40, fw.i32(0)), x, x * 2),
    "permute_pair": lambda x, f: fw.permute(
        lambda a, b: (fw.maximum(a[0], b[0]), a[1] + b[1]),
        (fw.full(40, fw.f64(0)), fw.full(40, fw.i64(0))), x, (f, fw.iota(x.shape[0])),
    ),
    "permute_any": lambda x, f: (
        fw.permute(greater, fw.full(40, 0.5), x, f),
        fw.permute(fw.mul, fw.full(40, fw.u8(1)), x, fw.astype(x, fw.u8)),
        fw.permute(greater, fw.full(40, fw.i16(0)), x, fw.astype(x, fw.i16)),
    ),
    "permute_whole": lambda x, f: fw.permute(
        nearer, (fw.full(40, fw.f32(1)), fw.full(40, fw.u32(0))), x,
        (fw.astype(f, fw.f32), fw.astype(x, fw.u32)),
    ),
    "permute_wide": lambda x, f: fw.permute(
        nearer, (fw.full(40, 0.5), fw.full(40, fw.i8(0)), fw.full(40, True)), x,
        (f, fw.astype(x, fw.i8), x > 3),
    ),
    "permute_of_scan": lambda x, f: fw.permute(
        fw.minimum, fw.full(9, fw.i32(0)), x, fw.scan(fw.add, 0, x)
    ),
    "scatter": lambda x, f: fw.scatter(fw.iota(40), x, fw.iota(x.shape[0])),
    "histogram": lambda x, f: fw.histogram(16, x),
    "row_sums": lambda x, f: fw.sum(fw.reshape(fw.concat([x, x, x]), (3, x.shape[0])), axis=1),
    "concat": lambda x, f: fw.concat([x, x * 2]),
    "sort": lambda x, f: (fw.sort(x % 8), fw.argsort(fw.astype(f * 9, fw.u8), descending=True)),
    "sort_by_key": lambda x, f: fw.sort_by_key((x * 5000, f), x),
}  # fmt: skip


def arguments(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The two arrays that every program takes."""
    rng = np.random.default_rng(n)
    return rng.integers(-50, 50, n).astype(np.int32), rng.random(n)


def traced(name: str, fn: Callable[..., Any], *arrays: np.ndarray) -> Program:
    """The program of a function of arrays."""
    leaves = [Leaf(as_dtype(x.dtype), f"x{i}", "test", (2,) * x.ndim) for i, x in enumerate(arrays)]
    return trace(name, lambda values: fn(*values), leaves).program


@cache
def program(name: str) -> Program:
    """One of the programs above."""
    return traced(name, PROGRAMS[name], *arguments(2))


def lowered(made: Program, machine: Machine, wishes: Schedule = AS_THEY_COME) -> Lowered:
    """A program for a machine."""
    for_machine = lower(list(pipeline.optimise(made).values())[-1], machine, schedule=wishes)
    verify(for_machine.unit)
    return for_machine


def flat(*arrays: np.ndarray) -> list[Any]:
    """Arguments as programs take them: each array after its extents."""
    return [value for array in arrays for value in (*array.shape, array)]


@cache
def quick_device() -> Device:
    """The device, without its compiler's optimiser, which would take most of a test's time."""
    device = opened(options=["-cl-opt-disable"])
    device.waits_for_faults = True
    return device


def on_opencl(
    made: Program, machine: Machine = OPENCL, optimised: bool = False,
    wishes: Schedule = AS_THEY_COME,
) -> OnDevice:  # fmt: skip
    """A program ready to run on PoCL, or whatever OpenCL device there is."""
    for_machine = lowered(made, machine, wishes)
    find = best_device if optimised else quick_device
    return on_device(find, opencl.emit, for_machine.plan, for_machine.unit)


def simulated(for_machine: Lowered, args: list[Any], threads: int, seed: int) -> list[Any]:
    """The results in the simulator, which also looks for races; extents are left out.

    An empty array has memory for one element, as in every runtime: where a check fails, the lane
    that failed reads element 0.
    """
    args = [np.zeros(1, x.dtype) if np.ndim(x) and not np.size(x) else x for x in args]
    values = simulator.run(for_machine.unit, args, threads, seed)
    if isinstance(values, Failure):
        raise fault_of(values, for_machine.plan)
    found, rest = [], iter(values)
    for result in for_machine.plan.results:
        value = next(rest)
        if result.extents is not None:
            shape = tuple(next(rest) if e is None else e for e in result.extents)
            value = value[: int(np.prod(shape))].reshape(shape)
        found.append(value)
    return found


def expected(made: Program, args: list[Any]) -> list[Any]:
    """What the interpreter says."""
    return interp.run(made, args)


def outcome(run: Callable[[list[Any]], Any], args: list[Any]) -> Any:
    """The results, or the fault as a tuple that compares."""
    try:
        return run(args)
    except Fault as fault:
        return fault.code, tuple(fault.values)


def agree(found: list[Any], wanted: list[Any]) -> None:
    """The same dtypes, shapes and values; floats but for the order of additions."""
    for ours, reference in zip(found, wanted, strict=True):
        a, b = np.asarray(ours), np.asarray(reference)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        if a.dtype.kind == "f":
            tight = 1e-4 if a.dtype.itemsize == 4 else 1e-10
            np.testing.assert_allclose(a, b, rtol=tight, atol=tight)
        else:
            np.testing.assert_array_equal(a, b)
