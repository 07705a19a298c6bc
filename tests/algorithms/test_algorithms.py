"""Each algorithm gives what a Python loop gives: for all sizes, block shapes and machines."""

import numpy as np
import pytest

from flatweave.base.dtypes import i64
from flatweave.base.errors import Unsupported
from flatweave.runtime.devices import nvrtc
from tests.algorithms.programs import (
    CASES,
    SIZES,
    _columns,
    _prefixes,
    arguments,
    rows_of_threads,
    rows_of_warps,
    sums_of_threads,
)
from tests.kernel_ir.machines import (
    ALL_SHAPES,
    CPU_SHAPES,
    CUDA_SHAPES,
    OPENCL_SHAPES,
    OnOpenCl,
    cuda_text,
    distributed,
    on_cpu,
    simulated,
)
from tests.kernel_ir.staged import staged
from tests.quick import every

THREADS = (1, 7, 128)


@pytest.mark.parametrize("units", THREADS)
@pytest.mark.parametrize("name", CASES)
def test_the_simulator(name, units):
    """As written: no races, no barrier too few, for any number of threads."""
    case = CASES[name]
    unit = case.unit(units)
    for n in SIZES if units > 1 else SIZES[:6]:
        case.agree(simulated(unit, arguments(n)), arguments(n))


@pytest.mark.parametrize("name", CASES)
def test_lengths_that_are_known(name):
    """Where no thread has more than one element, there are no loops over shares."""
    case = CASES[name]
    for n in (1, 2, 31, 33, 64, 129):
        case.agree(simulated(case.unit(64, length=n), arguments(n)), arguments(n))


@pytest.mark.sampled
@pytest.mark.parametrize("shape", ALL_SHAPES, ids=str)
@pytest.mark.parametrize("name", every(2, CASES))
def test_block_shapes(name, shape):
    """As each machine gets it, in the simulator."""
    case = CASES[name]
    made = distributed(case.unit(shape.warps * 32), shape)
    for n in (0, 33, 300):
        case.agree(simulated(made, arguments(n), seed=n), arguments(n))


@pytest.mark.sampled
@pytest.mark.parametrize("shape", CPU_SHAPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_machine_code(name, shape):
    """By LLVM."""
    case = CASES[name]
    unit = case.unit(shape.width)
    for n in SIZES:
        results = [(dtype, n + 1) for dtype in case.outs]
        case.agree(on_cpu(unit, shape, arguments(n), results), arguments(n))


@pytest.mark.sampled
@pytest.mark.needs_opencl
@pytest.mark.parametrize("shape", OPENCL_SHAPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_opencl(name, shape):
    """By PoCL."""
    case = CASES[name]
    program = OnOpenCl(case.unit(shape.warps * 32), shape, case.outs)
    for n in SIZES:
        found = program.run(arguments(n), [n + 1] * len(case.outs))
        case.agree(found, arguments(n))


@pytest.mark.sampled
@pytest.mark.parametrize("name", CASES)
def test_cuda_compiles(name):
    """By NVRTC, where it is."""
    try:
        nvrtc.ptx("")
    except Unsupported as reason:
        pytest.skip(f"no NVRTC: {reason.message}")
    for shape in CUDA_SHAPES:
        text = cuda_text(CASES[name].unit(shape.warps * 32), shape)
        assert ".entry k_staged" in nvrtc.ptx(text)


@pytest.mark.parametrize("write", [rows_of_warps, rows_of_threads, sums_of_threads])
def test_algorithms_of_warps_and_threads(write):
    """The same text in code of a lower level: memory and barriers are that level's."""
    unit = staged(write, (i64, i64), (i64, i64))
    rng = np.random.default_rng(2)
    xs, ys = rng.integers(-2, 4, 400), rng.integers(-9, 9, 400)
    pairs = list(zip(xs.tolist(), ys.tolist(), strict=True))
    rows = [_prefixes(pairs[k : k + 40]) for k in range(0, 400, 40)]
    ends = [row[-1] for row in rows] if write is sums_of_threads else sum(rows, [])
    for made in (unit, *(distributed(unit, shape) for shape in ALL_SHAPES)):
        found = simulated(made, [400, len(ends), xs, ys])
        assert [x.tolist() for x in found] == _columns(ends)
    results = [(i64, len(ends))] * 2
    for shape in CPU_SHAPES:
        found = on_cpu(unit, shape, [400, len(ends), xs, ys], results)
        assert [x.tolist() for x in found] == _columns(ends)


@pytest.mark.needs_opencl
def test_algorithms_of_warps_on_opencl():
    """A barrier of a warp is one of the block there: warps without a row come, too."""
    rng = np.random.default_rng(2)
    xs, ys = rng.integers(-2, 4, 400), rng.integers(-9, 9, 400)
    pairs = list(zip(xs.tolist(), ys.tolist(), strict=True))
    ends = [end for k in range(0, 400, 40) for end in _prefixes(pairs[k : k + 40])]
    unit = staged(rows_of_warps, (i64, i64), (i64, i64))
    found = OnOpenCl(unit, OPENCL_SHAPES[1], (i64, i64)).run([400, 400, xs, ys], [400, 400])

    assert [x.tolist() for x in found] == _columns(ends)
