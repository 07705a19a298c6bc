"""The CPU that code is compiled for: this one, or a named one whose code this machine can run."""

import platform

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.errors import ArgumentError
from flatweave.codegen.llvm import isa
from flatweave.runtime.processor import processor
from flatweave.targets import TARGETS

on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the names are x86-64's")


@pytest.fixture
def half():
    """A function compiled by none of the other tests."""
    return fw.jit(lambda xs: fw.sum(xs * 0.5))


@on_x86
@pytest.mark.parametrize(("level", "name"), [("x86-64-v2", "sse4"), ("x86-64-v3", "avx2")])
def test_a_level_has_the_instructions_of_its_definition(level, name):
    """Levels of the psABI: v2 has SSE4.2, v3 AVX2."""
    if name == "avx2" and "avx2" not in processor().features:
        pytest.skip("this machine is of a lower level")
    with config.scoped(cpu=level):
        found = isa.here()

    assert found.name == name


@on_x86
@pytest.mark.parametrize(("level", "size"), [("x86-64-v2", 16), ("x86-64-v3", 32)])
def test_steps_fit_the_registers_of_the_level(level, size):
    """The machine that programs are lowered for is that of the instruction set in force."""
    if level == "x86-64-v3" and "avx2" not in processor().features:
        pytest.skip("this machine is of a lower level")
    with config.scoped(cpu=level):
        machine = TARGETS["cpu"].machine

    assert machine.vector_bytes == size
    assert TARGETS["cpu"].machine.vector_bytes == isa.here().register_bits // 8


@on_x86
def test_each_level_gets_code_of_its_own(half):
    """A program compiled for one CPU is compiled anew for another, and stages name it."""
    xs = np.arange(1000.0)
    native = half.stages(xs)
    with config.scoped(cpu="x86-64-v2"):
        oldest = half.stages(xs)
        total = float(half(xs))

    assert native.cpu == processor().name
    assert oldest.cpu == "x86-64-v2" and "for x86-64-v2" in str(oldest)
    assert "ymm" not in oldest.text["asm"] and total == float(half(xs)) == 0.5 * 999 * 500


def test_an_unknown_name_is_refused(half):
    """LLVM would end the process; the message names the variable and what it takes."""
    with config.scoped(cpu="no-such-cpu"), pytest.raises(ArgumentError) as caught:
        half(np.arange(3.0))

    assert "LLVM knows no CPU named 'no-such-cpu'" in str(caught.value)
    assert "FLATWEAVE_CPU is native, x86-64-v2" in str(caught.value)


def test_a_cpu_with_more_than_this_one_has_is_refused(monkeypatch):
    """Its code would stop with an illegal instruction."""
    monkeypatch.setattr("subprocess.run", Answer)
    with config.scoped(cpu="made-up"), pytest.raises(ArgumentError, match="it lacks teleport"):
        processor()


class Answer:
    """What the probe says of a CPU that nobody has."""

    returncode = 0
    stdout, stderr = "teleport\n", ""

    def __init__(self, *args, **kwargs):
        pass


class Doubt(Answer):
    """What it says where LLVM warns and goes on."""

    stdout, stderr = "", "'made-up' is not a recognized processor for this target\n"


def test_a_cpu_that_llvm_ignores_is_refused(monkeypatch):
    """On aarch64 LLVM does not end the process: code would be made for no CPU in particular."""
    monkeypatch.setattr("subprocess.run", Doubt)
    with config.scoped(cpu="unheard-of"), pytest.raises(ArgumentError, match="LLVM knows no CPU"):
        processor()
