"""Programs for CUDA, run as the PTX that NVRTC writes, in adversarial orders of blocks."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.codegen import cuda as text
from flatweave.lower.machine import CUDA
from flatweave.runtime.devices import cuda
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
)
from tests.ptx.driver import cuda_by_ptx
from tests.ptx.grid import ORDERS, missing
from tests.ptx.parse import parse
from tests.quick import every


@pytest.fixture(params=ORDERS)
def gpu(request, compiler):
    """A device that runs PTX."""
    with cuda_by_ptx(request.param) as driver:
        yield driver


@pytest.mark.sampled
@pytest.mark.parametrize("warps", every(2, [2, 4]))
@pytest.mark.parametrize("name", every(2, PROGRAMS))
def test_values_are_those_of_the_interpreter(gpu, name, warps):
    """Of many small blocks, with rests and without."""
    made = program(name)
    for_machine = lowered(made, small_blocks(CUDA, warps=warps))
    ready = on_device(cuda.device, text.emit, for_machine.plan, for_machine.unit)
    for n in (0, 1, 33, 600):
        args = flat(*arguments(n))
        agree([np.asarray(value) for value in ready.run(args)], expected(made, args))
    assert gpu.launches


@pytest.mark.sampled
@pytest.mark.parametrize("name", every(4, PROGRAMS))
def test_every_instruction_is_known(compiler, name):
    """What NVRTC wrote and the interpreter has not is listed here."""
    module = parse(compiler.ptx(text.emit(lowered(program(name), CUDA).unit)))
    assert missing(module) == set()


@pytest.mark.parametrize("gpu", ["mixed"], indirect=True)
def test_a_user_sees_a_gpu(gpu):
    """A call, another one, an error with its line, and memory that is given back."""
    f = fw.jit(lambda xs, at: (fw.cumsum(xs), xs[at]), target="cuda")
    for n in (7, 5000):
        sums, picked = f(np.arange(n), np.arange(3))
        assert np.array_equal(np.asarray(sums), np.cumsum(np.arange(n)))
        assert np.array_equal(np.asarray(picked), [0, 1, 2])
    with pytest.raises(fw.IndexOutOfBounds, match="9"):
        np.asarray(f(np.arange(7), np.array([9]))[1])


@pytest.mark.parametrize("gpu", ["backwards"], indirect=True)
def test_rows_of_uneven_lengths(gpu):
    """Nests are flattened, and a loop runs until every row is done."""
    rows = fw.ragged([[3, 1, 2], [], [9] * 40, [5]])
    f = fw.jit(lambda rows: fw.map(lambda row: (fw.sum(row), fw.sort(row)), rows), target="cuda")
    sums, inside = f(rows)
    assert np.asarray(sums).tolist() == [6, 0, 360, 5]
    assert inside.tolist() == [[1, 2, 3], [], [9] * 40, [5]]


@pytest.mark.parametrize("gpu", ["forwards"], indirect=True)
def test_tables_of_elementary_functions(gpu):
    """Sines of large numbers read tables that the module holds."""
    xs = np.array([0.5, 3e4, 1e9, 1e22, -1e300])
    found = fw.jit(lambda xs: fw.sin(xs), target="cuda")(xs)
    np.testing.assert_allclose(np.asarray(found), np.sin(xs), rtol=1e-12)
