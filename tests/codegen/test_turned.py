"""Sweeps that read across their lanes, on machines of threads: tiles in shared memory."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.codegen import cuda
from flatweave.lower.machine import CUDA, OPENCL
from flatweave.lower.schedule.tiling import stride_of
from tests.codegen.device_programs import agree, expected, flat, lowered, simulated, traced
from tests.ptx.driver import cuda_by_ptx

F32, F64, U8, U16, C128 = np.float32, np.float64, np.uint8, np.uint16, np.complex128


def draw(shape, dtype=F32):
    """Small integers."""
    return np.random.default_rng(len(shape)).integers(0, 100, shape).astype(dtype)


PROGRAMS = {
    "f32": (lambda x: x.T, (33, 40), F32),
    "whole": (lambda x: x.T, (64, 32), F32),
    "f64": (lambda x: x.T * 2 + 1, (35, 70), F64),
    "bytes": (lambda x: x.T, (70, 131), U8),
    "halves": (lambda x: x.T, (65, 66), U16),
    "pairs": (lambda x: fw.conj(x).T, (33, 34), C128),
    "stacks": (lambda x: fw.permute_dims(x, (0, 2, 1)), (3, 33, 34), F32),
    "first and last": (lambda x: fw.permute_dims(x, (2, 1, 0)), (33, 3, 34), F32),
    "rotated": (lambda x: fw.permute_dims(x, (2, 0, 1)), (5, 33, 34), F32),
    "reversed": (lambda x: x.T[::-1, ::-1], (33, 40), F32),
    "shifted": (lambda x: x[1:, 2:].T, (40, 41), F32),
    "with its rows": (lambda x: x + x.T, (45, 45), F32),
    "in two": (lambda x: (x.T - x[0], x.T > 5), (45, 45), F32),
    "gathered": (lambda x: x.T[:, fw.iota(x.shape[0])[::-1]], (33, 40), F32),
}


def on_machine(name, machine):
    """A program, the same for a machine, and arguments."""
    fn, shape, dtype = PROGRAMS[name]
    xs = draw(shape, dtype)
    made = traced(name.replace(" ", "_"), fn, xs)
    pairs = xs.view(F64).reshape(*shape, 2) if dtype is C128 else xs
    return made, lowered(made, machine), flat(pairs)


def versions(for_machine):
    """The kernels in tiles."""
    return [kernel.name for kernel in for_machine.unit.complete().kernels
            if kernel.name.endswith("_turned")]  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_races(name):
    """Threads of a block in any order, and rests of tiles on both sides."""
    made, for_machine, args = on_machine(name, CUDA)
    assert versions(for_machine)
    agree(simulated(for_machine, args, threads=2, seed=1), expected(made, args))


def test_small_sides_have_no_tiles():
    """Where a side has fewer elements than a warp, lanes read by themselves."""
    made, for_machine, _ = on_machine("f32", CUDA)
    for shape in ((31, 40), (40, 31), (0, 40)):
        args = flat(draw(shape))
        agree(simulated(for_machine, args, threads=2, seed=1), expected(made, args))


def test_what_has_no_tiles():
    """Reads along memory, of one row or column for all, folds; and OpenCL, maybe on a CPU."""
    for fn in (
        lambda x: x + 1, lambda x: x + x[:, :1] + x[0], lambda x: fw.sum(x.T, axis=0),
    ):  # fmt: skip
        assert not versions(lowered(traced("plain", fn, draw((2, 2))), CUDA))
    assert not versions(on_machine("f32", OPENCL)[1])


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_columns_of_a_tile_meet_no_bank_twice(size):
    """A warp's elements of one column: each word is in another bank, but for halves of a word, and
    wide elements go in several parts."""
    side = max(32, 128 // size)
    lanes = 32 * 4 // max(size, 4)
    words = np.arange(lanes) * stride_of(side, size) * size // 4
    assert len(set(words % 32)) == lanes


def test_the_text_of_a_tile(compiler):
    """Elements of one tile in shared memory, two barriers, and registers for eight blocks."""
    _, for_machine, _ = on_machine("f32", CUDA)
    text = cuda.emit(for_machine.unit)
    (name,) = versions(for_machine)
    kernel = text[text.index(f"k_{name}(") :]
    assert kernel.count("__shared__") == 1 and kernel.count("__syncthreads()") == 2
    assert compiler.resources(text)[f"k_{name}"].registers <= 32


@pytest.mark.parametrize("name", ["f32", "pairs", "with its rows"])
def test_as_ptx(compiler, name):
    """What NVRTC writes, warps and blocks in adversarial orders."""
    fn, shape, dtype = PROGRAMS[name]
    xs = draw(shape, dtype)
    with cuda_by_ptx("mixed") as gpu:
        found = np.asarray(fw.jit(fn, target="cuda")(xs))
    with fw.target("interp"):
        assert np.array_equal(found, np.asarray(fn(fw.asarray(xs))))
    assert [kernel.endswith("_turned") for kernel, *_ in gpu.launches] == [True]
