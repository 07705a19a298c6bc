"""CUDA C without a GPU: NVRTC compiles every text for sm_90, the simulator runs the kernels."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.dtypes import DTYPES
from flatweave.base.errors import CompilerBug
from flatweave.base.records import replace
from flatweave.codegen import cuda
from flatweave.kernel_ir.syntax import Sync, Unit
from flatweave.lower.machine import CUDA
from flatweave.simulator import run as simulator
from flatweave.terms.syntax import Lambda
from tests.codegen import scalar_programs
from tests.codegen.device_golden import FOLDER, NAMES, texts
from tests.codegen.device_programs import (
    PROGRAMS,
    agree,
    arguments,
    expected,
    flat,
    lowered,
    program,
    simulated,
    small_blocks,
)
from tests.quick import every

IN_SIMULATOR = [name for name in PROGRAMS if name not in ("loops", "row_sums", "sort_by_key")]


@pytest.mark.sampled
@pytest.mark.parametrize("name", every(2, PROGRAMS))
def test_every_text_compiles(compiler, name):
    """No header, no driver, no device is needed."""
    ptx = compiler.ptx(cuda.emit(lowered(program(name), CUDA).unit))

    assert ".target sm_90" in ptx
    assert ".entry k_" in ptx


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_text_becomes_machine_code(compiler, name, architecture):
    """Of two generations of devices."""
    text = cuda.emit(lowered(program(name), CUDA).unit)

    assert compiler.cubin(text, architecture).startswith(b"\x7fELF")


@pytest.mark.sampled
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_scalar_function_compiles(compiler, dtype):
    """The scalar table spells all its rows for CUDA, too."""
    assert compiler.cubin(cuda.emit(lowered(scalar_programs.program_of(dtype), CUDA).unit))


def test_who_waits_sleeps(compiler):
    """A block that looks back leaves its multiprocessor to others meanwhile."""
    text = cuda.emit(lowered(program("scan"), CUDA).unit)

    assert "__nanosleep" in text
    assert "nanosleep" in compiler.ptx(text)


def test_what_the_compiler_refuses_is_our_fault(compiler):
    """The message holds the compiler's own words."""
    with pytest.raises(CompilerBug, match="undefined"):
        compiler.ptx("int f() { return undefined_name; }")


@pytest.mark.sampled
@pytest.mark.parametrize("warps", every(2, [1, 2, 8]))
@pytest.mark.parametrize("name", every(2, IN_SIMULATOR))
def test_the_kernels_run_without_races(name, warps):
    """Blocks and warps alternate at random, and shared values are always published first."""
    made = program(name)
    unit = lowered(made, small_blocks(CUDA, warps=warps))
    for n in (0, 1, 33, 600):
        args = flat(*arguments(n))
        agree(simulated(unit, args, threads=3, seed=n), expected(made, args))


def test_a_missing_barrier_would_be_found():
    """The simulator that passes these kernels does not pass them without their barriers."""
    for_machine = lowered(program("reduce_order"), small_blocks(CUDA))
    kernels = tuple(
        replace(kernel, body=without_barriers(kernel.body))
        for kernel in for_machine.unit.complete().kernels
    )
    broken = Unit(for_machine.unit.host, kernels)

    with pytest.raises(CompilerBug):
        simulator.run(broken, flat(*arguments(600)), 2, 1)


def without_barriers(body: Lambda) -> Lambda:
    """A body whose warps do not wait for each other."""
    kept = tuple(let for let in body.lets if not isinstance(let.op, Sync))
    return replace(body, lets=kept)


def test_stages_show_the_text_without_a_device(compiler):
    """For its own target, and for any other when somebody asks."""
    f = fw.jit(lambda xs: fw.sum(xs * xs), target="cuda")
    on_cpu = fw.jit(lambda xs: fw.sum(xs * xs))

    assert "__shfl_sync" in f.stages(np.arange(9.0)).text["cuda"]
    text = on_cpu.stages(np.arange(9.0)).text
    assert "__shfl_sync" in text["cuda"]
    assert "__kernel" in text["opencl"]
    assert ".target sm_90" in text["ptx"]
    with pytest.raises(KeyError):
        text["fortran"]


@pytest.mark.parametrize("name", NAMES)
def test_the_texts_are_as_kept(name):
    """A change of generated code is seen: `python -m tests.codegen.device_golden` accepts it."""
    for file, text in texts(name).items():
        assert text == (FOLDER / file).read_text(encoding="utf-8"), file
