"""Threads of CUDA keep a scan's elements in registers: right ones, and no more than there are."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.records import replace
from flatweave.codegen import cuda
from flatweave.kernel_ir.memory_ops import ThreadMemory
from flatweave.kernel_ir.syntax import Load
from flatweave.lower.machine import CUDA
from flatweave.terms.traverse import walk_lets
from tests.codegen.device_programs import (
    affine,
    agree,
    expected,
    flat,
    lowered,
    simulated,
    small_blocks,
    traced,
)
from tests.quick import every

ZERO = np.int32(0)
TWO = ZERO, ZERO


def added(x):
    return fw.scan(fw.add, ZERO, x)


def both(p, q):
    return p[0] + q[0], p[1] + q[1]


def four(a):
    """A scan fused with a map of four outputs."""
    before, behind = a - 1, a + 1
    return a * 2, before, behind, *fw.scan(both, TWO, (before, behind))


def summed(a):
    """What is scanned is reduced, too."""
    running = fw.scan(fw.add, 0, a)
    return running, fw.sum(running * a), fw.reduce(fw.maximum, -99, a)


I8, I32, I64, F64 = (np.arange(1, 10, dtype=dtype) for dtype in ("i1", "i4", "i8", "f8"))
PROGRAMS = {
    "i8": (lambda x: fw.scan(fw.add, np.int8(0), x), I8),
    "i32": (lambda x: fw.scan(fw.add, np.int32(0), x), I32),
    "i64": (lambda x: fw.cumsum(x), I32),
    "f64": (lambda x: fw.scan(fw.add, 0.0, x), F64),
    "i64 and f64": (
        lambda x, f: fw.scan(lambda p, q: (p[0] + q[0], p[1] * q[1]), (0, 1.0), (x, f)), I64, F64,
    ),
    "affine": (lambda f: fw.scan(affine, (1.0, 0.0), (0.5 + f / 2, f)), F64),
    "four outputs": (four, I32),
    "exclusive": (lambda x: fw.scan(fw.add, np.int32(3), x, exclusive=True), I32),
    "reverse": (lambda x: fw.scan(fw.add, np.int32(3), x, reverse=True), I32),
    "reduced": (summed, I64),
    "segmented": (lambda x: fw.segmented_scan(fw.add, np.int32(0), x % 9 == 4, x), I32),
    "segmented affine": (
        lambda x, f: fw.segmented_scan(affine, (1.0, 0.0), x % 7 == 0, (0.5 + f / 2, f)), I64, F64,
    ),
    "three rows, exclusive": (
        lambda x: fw.map(
            lambda row: fw.scan(fw.add, np.int32(1), row, exclusive=True),
            fw.reshape(fw.concat([x, x * 2, x + 5]), (3, x.shape[0])),
        ), I32,
    ),
    "scan of scan": (
        lambda x: fw.scan(fw.maximum, -1000, fw.scan(fw.add, 0, x - 5) * 3 + x) + x, I64,
    ),
    "segmented and not": (
        lambda x: (
            fw.segmented_scan(fw.maximum, -1, x > 4, x), fw.scan(fw.add, np.int32(0), x),
        ), I32,
    ),
}  # fmt: skip
WIDEST = ("segmented", "sm_80")
LEVELS = {
    "three levels": (
        lambda x: fw.scan(
            fw.add, ZERO, fw.segmented_scan(fw.maximum, ZERO, x > 5, added(x) - x) * added(x * 2)
        ), I32,
    ),
}
ALL = PROGRAMS | LEVELS
ROOM = replace(CUDA, thread_registers=255)
"""Registers for 16 elements of all of these; fewer are not worth keeping."""
SPILLED = {("i64", "sm_90"): 24, ("segmented and not", "sm_80"): 8}
"""Bytes of a thread that are moved to memory, since indices have 32 bits; of all others none."""


def unit_of(name, machine=CUDA, n=None):
    """A program for threads, and its arguments of a number of elements."""
    f, *xs = ALL[name]
    args = [np.resize(x, (n, *x.shape[1:])) if n is not None else x for x in xs]
    return lowered(traced("f", f, *args), machine), flat(*args)


@pytest.mark.parametrize(
    ("name", "architecture"),
    [WIDEST, *(pytest.param(name, architecture, marks=pytest.mark.slow) for name in PROGRAMS
               for architecture in ("sm_80", "sm_90")
               if (name, architecture) != WIDEST)],
)  # fmt: skip
def test_no_more_registers_than_the_model_says(compiler, name, architecture):
    """So many warps run as it counts on, and nothing is moved to memory and back but what is known
    to be."""
    text = cuda.emit(unit_of(name)[0].unit)
    found = compiler.resources(text, architecture)

    assert found
    for kernel, taken in found.items():
        assert taken.registers <= CUDA.thread_registers, kernel
        assert taken.spilled <= SPILLED.get((name, architecture), 0), kernel


@pytest.mark.sampled
@pytest.mark.parametrize("name", every(2, ALL))
def test_values_of_any_number_of_elements(name):
    """One element for a lane and several, blocks that are not full, and none at all."""
    for each, n in ((1, 130), (3, 0), (3, 1), (3, 191), (3, 192), (3, 700)):
        machine = small_blocks(ROOM, warps=2, most_each=each)
        unit, args = unit_of(name, machine, n)
        found = simulated(unit, args, threads=3, seed=n)
        agree(found, expected(traced("f", ALL[name][0], *ALL[name][1:]), args))


def test_memory_is_read_once():
    """What the sinks want of an element is kept with its scan."""
    for name, kept in (("i32", 1), ("four outputs", 3), ("segmented", 1), ("scan of scan", 3)):
        lets = [let for kernel in unit_of(name, ROOM)[0].unit.complete().kernels
                for let in walk_lets(kernel.body)]  # fmt: skip
        loads = [let for let in lets if isinstance(let.op, Load)
                 and let.op.buffer.type.space == "global"]  # fmt: skip
        assert len(loads) == 1
        assert sum(isinstance(let.op, ThreadMemory) for let in lets) == kept
