"""Reduce and scan by warps and their lanes: the same values, from collectives of the machine."""

import pytest

from flatweave.algorithms.block_scans import Warps, reduce_by_warps, scan_by_warps
from flatweave.algorithms.operator import addition, segmented, together
from flatweave.base.dtypes import i64
from flatweave.kernel_ir.hierarchy import Pull
from flatweave.kernel_ir.syntax import Store
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.terms.build import index
from tests.algorithms.programs import (
    AFFINE,
    MEANINGS,
    SIZES,
    Case,
    _keep,
    affine,
    arguments,
    zipped,
)
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


def _warps(shape):
    return Warps(shape.warps, shape.width, masked=shape.simt)


def _reduce(shape):
    def write(b, xs, flags, ys, units):
        found = reduce_by_warps(b, AFFINE, xs, _warps(shape))
        _keep(b, found, ys)

    return write


def _scan(shape, exclusive, before=None):
    def write(b, xs, flags, ys, units):
        total = scan_by_warps(
            b, AFFINE, xs, _warps(shape), lambda c, i, values: _put(c, i, values, ys[:2]),
            before and tuple(map(index, before)), exclusive=exclusive,
        )  # fmt: skip
        _keep(b, total.at(b, index(0)), ys[2:])

    return write


def _sum(shape):
    def write(b, xs, flags, ys, units):
        """Of the first components, by an operator that commutes."""
        firsts = Pull(xs.extent, lambda c, i: xs.at(c, i)[:1])
        _keep(b, reduce_by_warps(b, addition(), firsts, _warps(shape), in_any_order=True), ys)

    return write


def _summed(pairs, flags):
    return [[sum(x for x, _ in pairs)]]


def _segmented(shape):
    def write(b, xs, flags, ys, units):
        scan_by_warps(
            b, segmented(AFFINE), zipped(flags, xs), _warps(shape),
            lambda c, i, values: _put(c, i, values[1:], ys),
        )  # fmt: skip

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
    if name == "sum":
        return Case(_sum(shape), _summed, (i64,))
    if name == "scan_from":
        write = _scan(shape, exclusive=True, before=FIRST)
        return Case(write, _from_first, (i64,) * 4)
    meaning, results = MEANINGS[name]
    return Case(writes[name], meaning, (i64,) * results)


def _from_first(pairs, flags):
    """The exclusive prefixes of what stands first and all elements, and all of it."""
    found = [FIRST]
    for pair in pairs:
        found.append(affine(found[-1], pair))
    columns = [[prefix[k] for prefix in found] for k in range(2)]
    return [*(column[:-1] for column in columns), *(column[-1:] for column in columns)]


FIRST = (3, -7)
NAMES = ("sum", "reduce", "scan", "scan_exclusive", "scan_from", "segmented_scan")


@pytest.mark.sampled
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_the_simulator(name, shape):
    """As written, and distributed."""
    made = case(name, shape)
    unit = made.unit(0)
    for n in (0, 1, 33, 300):
        made.agree(simulated(unit, arguments(n)), arguments(n))
        made.agree(simulated(distributed(unit, shape), arguments(n)), arguments(n))


@pytest.mark.sampled
@pytest.mark.parametrize("shape", CPU_SHAPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_machine_code(name, shape):
    """By LLVM."""
    made = case(name, shape)
    for n in SIZES:
        results = [(dtype, n + 1) for dtype in made.outs]
        made.agree(on_cpu(made.unit(0), shape, arguments(n), results), arguments(n))


@pytest.mark.sampled
@pytest.mark.needs_opencl
@pytest.mark.parametrize("shape", OPENCL_SHAPES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_opencl(name, shape):
    """By PoCL: warps may meet, since the machine has enough of them."""
    made = case(name, shape)
    program = OnOpenCl(made.unit(0), shape, made.outs)
    for n in SIZES:
        made.agree(program.run(arguments(n), [n + 1] * len(made.outs)), arguments(n))


def test_cuda_exchanges_in_registers(compiler):
    """Lanes meet by shuffles, warps by memory of one value each."""
    shape = BlockShape(8, 32)
    text = cuda_text(case("scan", shape).unit(0), shape)

    assert ".entry k_staged" in compiler.ptx(text)
    assert "__shfl_sync" in text
    assert "__shared__ int64_t" in text and "[8];" in text and "[256]" not in text


def test_operators_side_by_side():
    """Both at once, on the components of both."""
    assert together(addition(), AFFINE).neutral == (*addition().neutral, *AFFINE.neutral)
    assert addition(i64).neutral[0].value == 0
