"""Kernels that differ only in where their checks stand in the program are one module."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.codegen.llvm.isa.avx512 import Avx512
from flatweave.codegen.llvm.unit import emit_kernels
from flatweave.lower.machine import CPU_AVX512
from tests.codegen.device_programs import lowered, traced

X, AT = np.arange(5.0), np.array([1, 2, 0])


def twice(x, first, second):
    """The same reads, on two lines."""
    above = fw.map(lambda k: x[k] + 1, first)
    below = fw.map(lambda k: x[k] + 1, second)
    return fw.sort(above), fw.sort(below)


def test_equal_kernels_have_one_text():
    """What reads at the one array and at the other, in each version."""
    unit = lowered(traced("twice", twice, X, AT, AT), CPU_AVX512).unit
    texts = [emit_kernels([later.made], Avx512(frozenset()))[0] for later in unit.later]
    reads = [text for text in texts if "@fw_report" in text]

    assert len(reads) >= 2
    assert len({*reads}) == len(reads) // 2


def test_an_error_names_its_own_line():
    """Both are one piece of machine code; the launch says which sites it reports."""
    program = fw.jit(twice)
    program(X, AT, AT)
    for wrong, line in (((AT + 9, AT), "above"), ((AT, AT + 9), "below")):
        with pytest.raises(fw.IndexOutOfBounds) as raised:
            program(X, *wrong)
        assert f"{line} = fw.map" in str(raised.value)
