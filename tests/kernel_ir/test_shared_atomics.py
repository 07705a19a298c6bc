"""Atomic updates of a block's memory: threads count into a few shared bins."""

import numpy as np
import pytest

from flatweave.base.dtypes import f32, i16, i32, i64, u8
from flatweave.kernel_ir.units import parse_unit
from flatweave.kernel_passes.distribute import BlockShape
from tests.kernel_ir.machines import (
    CPU_SHAPES,
    OPENCL_SHAPES,
    OnOpenCl,
    cuda_text,
    on_cpu,
    simulated,
)

PLACES = 4
OWN = "o: T = atomic add s k x"
BY_SWAP = """atomic_update (a: T, b: T =>
            c: T = add a b
            in c) s k [x]"""


def unit(dtype, update):
    """Element i of 100 is added to bin i mod 4."""
    text = f"""
    host(xs: global T) =>
        out: global T = alloc T {PLACES} 0
        launch count 1 [xs, out]
        in out

    kernel count(xs: global T, out: global T) =>
        s: shared T = shared T {PLACES}
        for_all thread {PLACES} (i: i64 =>
            zero: T = cast T 0
            store s i zero)
        sync
        for_all thread 100 (i: i64 =>
            k: i64 = and i {PLACES - 1}
            x: T = load xs i
            {update})
        sync
        for_all thread {PLACES} (i: i64 =>
            x: T = load s i
            store out i x)
    """
    return parse_unit(text.replace("T", str(dtype)))


def elements(dtype):
    """Small whole numbers, so that sums of floats do not depend on their order, nor wrap."""
    return np.random.default_rng(3).integers(0, 11, 100).astype(dtype.numpy)


def agree(found, xs):
    assert found.tolist() == xs.reshape(-1, PLACES).sum(0).tolist()


CASES = [
    (u8, OWN), (i16, OWN), (i16, BY_SWAP), (i32, OWN), (i64, OWN), (f32, OWN), (i64, BY_SWAP),
    (f32, BY_SWAP),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "update"), CASES)
def test_the_simulator_and_machine_code(dtype, update):
    """As written, and for registers of several widths."""
    xs, made = elements(dtype), unit(dtype, update)
    agree(simulated(made, [xs])[0], xs)
    for shape in CPU_SHAPES:
        agree(on_cpu(made, shape, [xs], [(dtype, PLACES)])[0], xs)


@pytest.mark.needs_opencl
@pytest.mark.parametrize(("dtype", "update"), CASES)
def test_opencl(dtype, update):
    """Pointers to local memory have a distinct type, and so do the functions."""
    xs, made = elements(dtype), unit(dtype, update)
    for shape in OPENCL_SHAPES:
        agree(OnOpenCl(made, shape, [dtype]).run([xs], [PLACES])[0], xs)


def test_cuda_has_one_kind_of_pointer():
    """So the functions are those for global memory."""
    text = cuda_text(unit(i64, OWN), BlockShape(4, 32))

    assert "fw_atomic_add_i64(" in text
    assert "_shared(" not in text
