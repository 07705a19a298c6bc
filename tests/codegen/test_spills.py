"""Innermost loops keep their vectors in registers: what they move to the stack is counted."""

from __future__ import annotations

import numpy as np
import pytest
from llvmlite import binding

import flatweave as fw
from flatweave.array_ir.syntax import parse_program
from flatweave.codegen.llvm.isa.aarch64 import Neon
from flatweave.codegen.llvm.unit import emit
from flatweave.lower.machine import cpu
from flatweave.lower.program import lower
from flatweave.pipeline import optimise
from flatweave.runtime.processor import simplify
from tests.codegen.hot_loops import innermost_loops
from tests.codegen.levels import LEVELS, in_force
from tests.language.test_contractions import distances, product
from tests.quick import every

TRIPLE = "aarch64-unknown-linux-gnu"
F32 = np.arange(1000, dtype=np.float32)
I32 = np.arange(1000, dtype=np.int32)
FLAGS = np.arange(1000) % 7 == 0
ROWS = fw.ragged(F32, lengths=np.full(100, 10))
ZERO = np.float32(0)


def heavier(a, b):
    """The sum, and the greatest sums of a prefix, a suffix and a segment, of two parts in order."""
    (sum_a, prefix_a, suffix_a, best_a), (sum_b, prefix_b, suffix_b, best_b) = a, b
    return (
        sum_a + sum_b,
        fw.maximum(prefix_a, sum_a + prefix_b),
        fw.maximum(suffix_b, suffix_a + sum_b),
        fw.maximum(fw.maximum(best_a, best_b), suffix_a + prefix_b),
    )


def heaviest(xs):
    """The greatest sum of a segment."""
    parts = fw.map(lambda x: (x, *(fw.maximum(x, ZERO),) * 3), xs)
    return fw.reduce(heavier, (ZERO,) * 4, parts)


def softmax(rows):
    """Of each row."""

    def of_row(x):
        e = fw.exp(x - fw.max(x))
        return e / fw.sum(e)

    return fw.map(of_row, rows)


PROGRAMS = {
    "sum": (fw.sum, F32),
    "map chain": (lambda xs: fw.sqrt(xs * 2 + 1) * xs - 3, F32),
    "filter": (lambda xs: fw.filter(lambda x: x > 3, xs), I32),
    "scan": (lambda xs: fw.scan(fw.add, 0, xs), F32),
    "segmented scan": (lambda flags, xs: fw.segmented_scan(fw.add, 0, flags, xs), FLAGS, F32),
    "segmented reduce": (lambda flags, xs: fw.segmented_reduce(fw.add, 0, flags, xs), FLAGS, F32),
    "stencil": (lambda xs: fw.stencil(lambda x: (x[-1] + x[0] * 2 + x[1]) / 4, xs, (3,)), F32),
    "softmax": (softmax, ROWS),
    "histogram": (lambda xs: fw.histogram(256, xs % 256), I32),
    "heaviest segment": (heaviest, F32),
    "product": (product, F32.reshape(10, 100), F32.reshape(100, 10)),
    "distances": (distances, F32.reshape(10, 100), F32.reshape(10, 100)),
}
KNOWN = {
    # four numbers in four registers each take every register
    ("heaviest segment", "x86-64-v3"): 20,
    # the search for the rows of 32 positions holds positions and ends of 64 bits in many registers;
    # without an instruction for fma each lane is a call, around which all vectors are on the stack
    ("softmax", "x86-64-v2"): 1000,
    ("softmax", "x86-64-v3"): 180,
    ("softmax", "x86-64-v4"): 25,  # the same search, by 12 in each of two versions
    ("softmax", "neon"): 130,
    ("product", "x86-64-v2"): 24,  # the index of a lane, read from the stack for each element
    ("distances", "x86-64-v3"): 9,  # of a gather of a panel that is not whole: its mask
    ("distances", "x86-64-v2"): 5,  # the same
}
"""Moves to the stack and back in all innermost loops of a program, at most; none in others."""


def spills(assembly: str) -> list[str]:
    """What innermost loops of kernels move to the stack and back."""
    loops = [loop for loop in innermost_loops(assembly) if loop.function.startswith("k_")]
    assert loops
    return [line for loop in loops for line in loop.spills()]


@pytest.mark.sampled
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", every(2, PROGRAMS))
def test_loops_keep_their_vectors_in_registers(name, level):
    """Or the known number of moves, and no more."""
    program, *operands = PROGRAMS[name]
    with in_force(level):
        assembly = fw.jit(program).stages(*operands).text["asm"]

    found = spills(assembly)

    assert len(found) <= KNOWN.get((name, level), 0), found[:9]
    assert found or (name, level) not in KNOWN, "nothing is moved any more: take it from the list"


@pytest.mark.sampled
@pytest.mark.parametrize("name", PROGRAMS)
def test_loops_of_neon_keep_their_vectors_in_registers(name):
    """Selected for aarch64, on whatever machine this is."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    try:
        target = binding.Target.from_triple(TRIPLE)
    except RuntimeError:
        pytest.skip("this LLVM has no target aarch64")
    program, *operands = PROGRAMS[name]
    written = parse_program(fw.jit(program).stages(*operands).text["array"])
    swept = [written, *optimise(written).values()][-1]
    isa = Neon()
    text = emit(lower(swept, cpu(isa.register_bits, isa.registers)).unit, isa)

    found = spills(_assembly(target.create_target_machine(cpu="neoverse-n1", opt=2), text))

    assert len(found) <= KNOWN.get((name, "neon"), 0), found[:9]
    assert found or (name, "neon") not in KNOWN, "nothing is moved any more: take it from the list"


def _assembly(machine, text: str) -> str:
    """Simplified as kernels are, and selected."""
    module = binding.parse_assembly(text, binding.create_context())
    module.triple, module.data_layout = TRIPLE, str(machine.target_data)
    builder = binding.create_pass_builder(
        machine, binding.create_pipeline_tuning_options(speed_level=2)
    )
    passes = builder.getFunctionPassManager()
    for function in module.functions:
        if not function.is_declaration:
            simplify(passes, function, builder)
    return machine.emit_assembly(module)


def test_a_spill_is_found():
    """In the inner loop, whatever is moved around it."""
    text = """
k_1:
	vmovups	%ymm1, 32(%rsp)
.LBB0_1:
	vmovups	64(%rsp), %ymm2
.LBB0_2:
	vmovaps	%ymm3, -32(%rsp)
	je	.LBB0_4
# %bb.3:
	vmovups	(%rdi), %ymm3
.LBB0_4:
	jne	.LBB0_2
	jmp	.LBB0_1
.Lfunc_end0:
k_2:
.LBB1_1:
	str	q1, [sp, #16]
	ldp	q2, q3, [x29, #-64]
	ldr	q4, [x1, #16]
	b.ne	.LBB1_1
	ret
.Lfunc_end1:
"""
    first, second = innermost_loops(text)

    assert (first.function, first.label) == ("k_1", ".LBB0_2")
    assert [line.split()[1] for line in first.spills()] == ["%ymm3,"]
    assert [line.split()[0] for line in second.spills()] == ["str", "ldp"]
