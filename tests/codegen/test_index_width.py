"""Indices of kernels take 32 bits on devices, for launches whose extents allow it."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.codegen import cuda as text
from flatweave.codegen.c.index_ranges import Ranges
from flatweave.codegen.c.index_width import narrowed
from flatweave.lower.machine import CUDA
from flatweave.runtime.devices import cuda, launches
from flatweave.targets import on_device
from tests.codegen.device_programs import (
    PROGRAMS,
    agree,
    arguments,
    expected,
    flat,
    lowered,
    program,
    small_blocks,
    traced,
)
from tests.ptx.driver import cuda_by_ptx
from tests.quick import every

WIDE = launches.IN_64_BITS


class Memory:
    """Memory of so many bytes, as a launch sees it."""

    def __init__(self, size):
        self.size = size


def kernels_of(f, *arrays):
    """The kernels of a function for CUDA."""
    return lowered(traced("f", f, *arrays), CUDA).unit.complete().kernels


def fits(kernel, grid, extents, size):
    """Whether a launch of a kernel fits, with these integers in order and memory of `size`."""
    numbers = iter(extents)
    args = [next(numbers) if str(p.type) == "i64" else Memory(size) for p in kernel.params]
    return narrowed(kernel).fits.holds(grid, args)


def test_an_array_beyond_2_to_the_31_takes_64_bits():
    """By its elements, or by its bytes alone where no index is compared with its extent."""
    (kernel, *_) = kernels_of(lambda x: fw.sum(x), np.zeros(2, np.int32))
    block = 1 << 14

    assert fits(kernel, 1 << 14, (1 << 28, block), 1 << 30)
    assert fits(kernel, 3, (40000, block), 1 << 33)
    assert not fits(kernel, 1 << 17, (1 << 31, block), 1 << 33)
    assert not fits(kernel, 3, (40000, block), (1 << 33) + 4)
    assert not fits(kernel, 3, (-1, block), 1 << 20)


def test_two_extents_are_multiplied():
    """Neither of them is large, but the number of elements is."""
    f = fw.stencil
    xs = np.zeros((2, 2), np.float32)
    (kernel, *_) = kernels_of(lambda x: f(lambda n: n[-1, 0] + n[0, 1], x, (3, 3)), xs)
    rows, columns = 1 << 13, 1 << 13

    assert fits(kernel, 1 << 12, (rows * columns, 1 << 14, rows, columns), 1 << 28)
    assert not fits(kernel, 1 << 17, (1 << 32, 1 << 15, 1 << 16, 1 << 16), 1 << 34)


def test_values_keep_their_64_bits():
    """Only indices are narrow; stored values are computed in their own dtype."""
    f = lambda x: fw.generate(x.shape, lambda i: i * i) + x
    emitted = text.emit(lowered(traced("f", f, np.zeros(2, np.int64)), CUDA).unit)

    assert "(int64_t)((uint64_t)(int64_t)" in emitted
    assert "for (int32_t" in emitted
    assert "for (int64_t" not in emitted


@pytest.mark.parametrize("name", every(4, PROGRAMS))
def test_loops_over_elements_count_in_32_bits(name):
    """No kernel of a flat program has a wide counter of elements, and a wide text has no other."""
    unit = lowered(program(name), CUDA).unit

    assert "for (int32_t" in text.emit(unit) or "for (int64_t" not in text.emit(unit)
    assert "for (int32_t" not in text.emit(unit, True)
    for kernel in unit.complete().kernels:
        assert all(var in Ranges(kernel).of for var in narrowed(kernel).bounded)


@pytest.mark.sampled
@pytest.mark.parametrize("name", every(4, PROGRAMS))
def test_wide_kernels_run_where_extents_are_too_great(compiler, monkeypatch, name):
    """The limit is lowered, so that 600 elements are beyond it and 33 are not."""
    made = program(name)
    for_machine = lowered(made, small_blocks(CUDA, warps=2))
    with cuda_by_ptx("forwards"):
        ready = on_device(cuda.device, text.emit, for_machine.plan, for_machine.unit)
        ready.run(flat(*arguments(33)))
        narrow = ready.made
        monkeypatch.setattr(launches, "LIMIT", 40)
        args = flat(*arguments(600))
        agree([np.asarray(value) for value in ready.run(args)], expected(made, args))

        assert not any(kernel.endswith(WIDE) for kernel in narrow)
        assert any(kernel.endswith(WIDE) for kernel in ready.made)


def test_wide_kernels_are_kept_for_later_processes(compiler, monkeypatch):
    """They are compiled alone, under a name of their own."""
    f = fw.jit(lambda xs: fw.cumsum(xs * 2), target="cuda")
    with cuda_by_ptx("forwards"):
        assert np.asarray(f(np.arange(5))).tolist() == [0, 2, 6, 12, 20]
        monkeypatch.setattr(launches, "LIMIT", 3)
        assert np.asarray(f(np.arange(6))).tolist() == [0, 2, 6, 12, 20, 30]
