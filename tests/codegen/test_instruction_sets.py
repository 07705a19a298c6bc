"""Every op is emitted for every instruction set: LLVM selects it, and where it runs it is right."""

import re
import subprocess
import sys

import numpy as np
import pytest
from llvmlite import binding

from flatweave.base.config import config
from flatweave.base.dtypes import i8
from flatweave.base.errors import ArgumentError
from flatweave.codegen.llvm.isa import here
from flatweave.codegen.llvm.unit import HOST_HANDLERS, KERNEL_HANDLERS
from flatweave.simulator.run import run
from flatweave.simulator.schedules import Failure
from tests.codegen.llvm_programs import run_host
from tests.codegen.op_kernels import COUNT, arguments, programs
from tests.codegen.select_instructions import SETS
from tests.quick import every
from tests.shape.tree import ROOT

LANES = 32
LEVELS = {"x86-64": "x86", "x86-64-v2": "sse4", "x86-64-v3": "avx2", "x86-64-v4": "avx512"}
PROGRAMS = programs(LANES, i8)


def can_select(triple):
    """Whether LLVM was built with this target."""
    binding.initialize_all_targets()
    try:
        return bool(binding.Target.from_triple(triple))
    except RuntimeError:
        return False


def test_every_op_has_a_program():
    """An op that is emitted and not in the list below was never selected."""
    said = set(re.findall(r"[A-Z]\w+", " ".join(PROGRAMS)))
    everywhere = {"Alloc", "Lanes", "Lane"}
    everywhere |= {"LoadWord"}  # of bytes and halves: test_words.py
    everywhere |= {"CallHost"}  # a plain call, of a Python function: frontend/test_callbacks.py

    assert {op.__name__ for op in {**KERNEL_HANDLERS, **HOST_HANDLERS}} == said | everywhere


@pytest.mark.sampled
@pytest.mark.parametrize("name", every(2, SETS))
def test_every_op_is_selected(name):
    """LLVM makes assembly for the CPU of each instruction set, whatever machine this is."""
    if not can_select(SETS[name][1]):
        pytest.skip(f"this LLVM has no target {SETS[name][1]}")
    command = [sys.executable, "-m", "tests.codegen.select_instructions", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, f"after {done.stdout.splitlines()[-1:]}: {done.stderr[-2000:]}"
    assert len(done.stdout.splitlines()) == 2 * len(PROGRAMS) + 1


@pytest.mark.sampled
@pytest.mark.parametrize("level", LEVELS)
def test_every_op_is_right(level):
    """Compiled for each level that this machine can run, against the simulator."""
    given = arguments(i8)
    kept = int((given[2][:LANES] > 4).sum())
    with config.scoped(cpu=level):
        try:
            isa = here()
        except ArgumentError as refused:
            pytest.skip(str(refused))
        assert isa.name == LEVELS[level]
        for name, unit in PROGRAMS.items():
            if name == "Apply":
                continue  # tests/codegen/test_llvm_scalar.py has it
            wanted = run(unit, given)
            found = run_host(unit.host, unit.kernels, given, isa)
            if isinstance(wanted, Failure):
                assert found.report[0] == wanted.code, name
                continue
            assert found.status == 0, name
            count = kept if "ompact" in name else COUNT
            for number, array in enumerate(wanted):
                dtype = unit.host.results[number].type.dtype
                ours = found.array(2 * number, dtype, COUNT)
                np.testing.assert_array_equal(ours[:count], array[:count], name)
