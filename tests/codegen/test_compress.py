"""Compaction on every instruction set: all masks of eight lanes, every dtype, near the end of the
room and far from it."""

import re

import numpy as np
import pytest
from llvmlite import binding

from flatweave.base.config import config
from flatweave.base.dtypes import BY_NAME
from flatweave.base.errors import ArgumentError
from flatweave.codegen.llvm.isa import here
from flatweave.codegen.llvm.isa.aarch64 import Neon
from flatweave.codegen.llvm.isa.x86 import Avx2, Sse4
from flatweave.codegen.llvm.unit import emit
from flatweave.kernel_ir.units import parse_unit
from tests.codegen.llvm_programs import run_host
from tests.codegen.select_instructions import ARM, INTEL
from tests.codegen.test_instruction_sets import can_select
from tests.quick import every

MASKS = 256
LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "native")
DTYPES = ("i8", "u16", "i32", "f32", "i64", "f64", "bool")
TEXT = """
host(n: i64, room: i64, xs: global T, flags: global u8) =>
    out: global T = alloc T room 0
    count: global i64 = alloc i64 1 0
    launch keep 1 [n, room, xs, flags, out, count]
    in out, count

kernel keep(n: i64, room: i64, xs: global T, flags: global u8, out: global T, count: global i64) =>
    total: i64 = lanes W (() =>
        end: i64 = for 0 n W (i: i64, at: i64 =>
            j: i64 = lane i
            x: T = load xs j
            f: u8 = load flags j
            p: bool = ne f 0u8
            store_compact [out] at room p [x]
            c: i64 = count_lanes p
            next: i64 = add at c
            in next) [0]
        in end)
    store count 0 total
"""


def unit(name, width):
    """The kernel for a dtype and a number of lanes."""
    words = {"T": name, "W": str(width)}
    return parse_unit(re.sub(r"\b[TW]\b", lambda found: words[found[0]], TEXT))


def flags_of(width):
    """Each eight lanes of a step have each mask once, in another order; some steps have no flag."""
    rng = np.random.default_rng(width)
    groups = [rng.permutation(MASKS) for _ in range(-(-width // 8))]
    bits = [np.unpackbits(g.astype(np.uint8)[:, None], axis=1, bitorder="little") for g in groups]
    flags = np.concatenate(bits, axis=1)[:, :width]
    flags[rng.random(MASKS) < 0.25] = 0
    return flags.reshape(-1)


@pytest.mark.sampled
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", every(2, DTYPES))
def test_kept_lanes_are_side_by_side(level, name):
    """Wherever they were; nothing after the buffer is touched."""
    with config.scoped(cpu=level):
        try:
            isa = here()
        except ArgumentError as refused:
            pytest.skip(str(refused))
        dtype = BY_NAME[name]
        for width in (2, 4, 8, 16, 32, 64):
            flags = flags_of(width)
            given = np.random.default_rng(1).integers(0, 100, flags.size).astype(dtype.numpy)
            wanted = given[flags != 0]
            for room in (wanted.size, wanted.size + width):
                program = unit(name, width)
                args = [np.int64(flags.size), np.int64(room), given, flags]
                found = run_host(program.host, program.kernels, args, isa)
                assert found.status == 0
                assert found.array(2, BY_NAME["i64"], 1)[0] == wanted.size
                np.testing.assert_array_equal(found.array(0, dtype, wanted.size), wanted)


@pytest.mark.parametrize("name", ["i8", "i16", "f32", "i64"])
def test_flags_of_registers_are_cut_out_of_one_word(name):
    """LLVM took lane after lane out of masks that were cut out of a larger one."""
    text = emit(unit(name, 64), Avx2())

    assert "to <8 x i1>" in text or "to <4 x i1>" in text or "to <2 x i1>" in text
    assert not re.search(r"bitcast <[248] x i1>", text)


SELECTED = [
    (Neon(), ARM, "generic", "i8", "tbl\tv"),
    (Neon(), ARM, "generic", "i16", "tbl\tv"),
    (Neon(), ARM, "generic", "f32", "tbl\tv"),
    (Neon(), ARM, "generic", "i64", "tbl\tv"),
    (Sse4(), INTEL, "x86-64-v2", "i8", "pshufb\t"),
    (Sse4(), INTEL, "x86-64-v2", "i16", "pshufb\t"),
    (Sse4(), INTEL, "x86-64-v2", "f32", "pshufb\t"),
    (Sse4(), INTEL, "x86-64-v2", "i64", "pshufb\t"),
]


@pytest.mark.parametrize(("isa", "triple", "cpu", "name", "moves"), SELECTED)
def test_a_register_is_packed_by_one_instruction(isa, triple, cpu, name, moves):
    """Two registers' worth of lanes: at least two moves of bytes, where lanes were stored singly;
    machine code for whatever CPU, on whatever machine."""
    if not can_select(triple):
        pytest.skip(f"this LLVM has no target {triple}")
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=2)
    lanes = 2 * isa.compress_lanes(BY_NAME[name])
    module = binding.parse_assembly(emit(unit(name, lanes), isa))
    module.triple, module.data_layout = triple, str(machine.target_data)
    module.verify()

    assert machine.emit_assembly(module).count(moves) >= 2
