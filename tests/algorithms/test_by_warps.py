"""Reduce and scan by warps and their lanes: the same values, from collectives of the machine."""

import pytest

from flatweave.algorithms.by_warps import reduce_by_warps, scan_by_warps
from flatweave.algorithms.operator import addition, segmented, together
from flatweave.base.dtypes import i64
from flatweave.base.errors import Unsupported
from flatweave.kernel_ir.arrays import store, zipped
from flatweave.kernel_ir.syntax import Store
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.runtime import nvrtc
from tests.algorithms.programs import AFFINE, CASES, SIZES, Case, _keep, arguments
from tests.kernel_ir.machines import (
    CPU_SHAPES,
    CUDA_SHAPES,
    OPENCL_SHAPES,
    OnOpenCl,
    cuda_text,
    distributed,
    on_cpu,
    simulated,
)

SHAPES = [*CPU_SHAPES, *CUDA_SHAPES, *OPENCL_SHAPES]


def _reduce(shape):
    def write(b, xs, flags, ys, units):
        _keep(b, reduce_by_warps(b, AFFINE, xs, shape.warps, shape.width), ys)

    return write


def _scan(shape, exclusive):
    def write(b, xs, flags, ys, units):
        found, total = scan_by_warps(
            b, AFFINE, xs, shape.warps, shape.width, exclusive=exclusive
        )
        store(b, found, ys[:2])
        _keep(b, total, ys[2:])

    return write


def _segmented(shape):
    def write(b, xs, flags, ys, units):
        found, _ = scan_by_warps(
            b, segmented(AFFINE), zipped(flags, xs), shape.warps, shape.width
        )
        found.write(b, lambda c, i, values: _put(c, i, values[1:], ys))

    return write


def _put(b, i, values, ys):
    for value, y in zip(values, ys, strict=True):
        b.emit(Store(y, i, value))


def case(name, shape):
    """One of the programs, by the warps of a block of this shape."""
    writes = {
        "reduce": _reduce(shape),
        "scan": _scan(shape, False),
        "scan_exclusive": _scan(shape, True),
        "segmented_scan": _segmented(shape),
    }
    return Case(writes[name], CASES[name].meaning, CASES[name].outs)


NAMES = ("reduce", "scan", "scan_exclusive", "segmented_scan")


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_the_simulator(name, shape):
    """As written, and distributed."""
    made = case(name, shape)
    unit = made.unit(0)
    for n in (0, 1, 33, 300):
        made.agree(simulated(unit, arguments(n)), arguments(n))
        made.agree(simulated(distributed(unit, shape), arguments(n)), arguments(n))


@pytest.mark.parametrize("shape", CPU_SHAPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_machine_code(name, shape):
    """By LLVM."""
    made = case(name, shape)
    for n in SIZES:
        results = [(dtype, n + 1) for dtype in made.outs]
        made.agree(on_cpu(made.unit(0), shape, arguments(n), results), arguments(n))


@pytest.mark.needs_opencl
@pytest.mark.parametrize("shape", OPENCL_SHAPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_opencl(name, shape):
    """By PoCL: warps may meet, as there are as many as the machine has."""
    made = case(name, shape)
    program = OnOpenCl(made.unit(0), shape, made.outs)
    for n in SIZES:
        made.agree(program.run(arguments(n), [n + 1] * len(made.outs)), arguments(n))


def test_cuda_exchanges_in_registers():
    """Lanes meet by shuffles, warps by memory of one value each."""
    try:
        nvrtc.ptx("")
    except Unsupported as reason:
        pytest.skip(f"no NVRTC: {reason.message}")
    shape = BlockShape(8, 32)
    text = cuda_text(case("scan", shape).unit(0), shape)

    assert ".entry k_staged" in nvrtc.ptx(text)
    assert "__shfl_sync" in text
    assert "__shared__ int64_t" in text and "[8];" in text and "[256]" not in text


def test_operators_side_by_side():
    """Both at once, on the components of both."""
    assert together(addition(), AFFINE).neutral == (*addition().neutral, *AFFINE.neutral)
    assert addition(i64).neutral[0].value == 0
