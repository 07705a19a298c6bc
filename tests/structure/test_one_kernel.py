"""Programs that become one pass over the data, and store nothing but their results."""

import pytest

import flatweave as fw
from tests.structure.counted import (
    F32,
    GRID,
    INDICES,
    ROWS,
    SPARSE,
    Structure,
    any_of_scan,
    chain,
    chain_of_scan,
    five_points,
    four,
    longest,
    structure,
)

# name: the program, its arguments, how many arrays it gives
FUSED = {
    "sum(map)": (lambda x: fw.sum(fw.map(lambda v: v * v, x)), (F32,), 0),
    "reduce(map)": (lambda x: fw.reduce(fw.add, 0, x * x), (F32,), 0),
    "sum(x * y)": (lambda x, y: fw.sum(x * y), (F32, F32), 0),
    "dot": (fw.dot, (F32, F32), 0),
    "argmax": (fw.argmax, (F32,), 0),
    "argmax(map)": (lambda x: fw.argmax(x * x), (F32,), 0),
    "sum(iota)": (lambda: fw.sum(fw.iota(1000) * 2), (), 0),
    "three reductions over one input": (
        lambda x: (fw.sum(x), fw.sum(x * x), fw.reduce(fw.maximum, 0, x)), (F32,), 0,
    ),
    "all, any and sum": (lambda x: (fw.all(x > 0), fw.any(x > 3), fw.sum(x)), (F32,), 0),
    "maximum segment sum": (
        lambda x: fw.reduce(longest, (0, 0, 0, 0), fw.map(four, x))[0], (F32,), 0,
    ),
    "twenty elementwise operations": (chain, (F32,), 1),
    "elementwise on rank 2": (lambda x: (x + 1) * 2 - x, (GRID,), 1),
    "neighbours of a map": (lambda x: (lambda y: y[1:] - y[:-1])(x * x), (F32,), 1),
    "rotate, then add": (lambda x: fw.rotate(x, 3) + x, (F32,), 1),
    "filter(p, map)": (lambda x: fw.filter(lambda v: v > 3, x * x), (F32,), 1),
    "filter of pairs": (lambda x, y: fw.filter(lambda p: p[0] > p[1], (x, y)), (F32, F32), 2),
    "partition": (lambda x: fw.partition(lambda v: v > 3, x), (F32,), 2),
    "partition(map)": (lambda x: fw.partition(lambda v: v > 3, x * x), (F32,), 2),
    "scan": (lambda x: fw.scan(fw.add, 0, x), (F32,), 1),
    "scan(map), then map": (lambda x: fw.scan(fw.add, 0, x * x) + 1, (F32,), 1),
    "reverse scan(map), then map": (
        lambda x: fw.scan(fw.add, 0, x * x, reverse=True) + 1, (F32,), 1,
    ),
    "segmented scan": (lambda x: fw.segmented_scan(fw.add, 0, x > 3, x * x) + 1, (F32,), 1),
    "scan of rows": (lambda g: fw.cumsum(g * g, axis=1) + 1, (GRID,), 1),
    "segmented iota": (lambda x: fw.segmented_iota(x > 3) * 2, (F32,), 1),
    "scan of scan": (lambda x: fw.scan(fw.add, 0, fw.scan(fw.add, 0, x)), (F32,), 1),
    "filter of scan": (
        lambda x: fw.filter(lambda v: v > 3, fw.scan(fw.add, 0, x)), (F32,), 1,
    ),
    "reduce of scan": (lambda x: fw.reduce(fw.maximum, 0, fw.scan(fw.add, 0, x)), (F32,), 0),
    "scan and sum": (lambda x: (fw.scan(fw.add, 0, x), fw.sum(x)), (F32,), 1),
    "filter of positions": (
        lambda x: fw.filter(lambda i: x[i] > 3, fw.iota(x.shape[0])), (F32,), 1,
    ),
    "thirty operations on a scan": (chain_of_scan, (F32,), 1),
    "thirty comparisons of a scan": (any_of_scan, (F32,), 0),
    "scatter(map)": (lambda d, i, x: fw.scatter(d, i, x * x), (F32, INDICES, F32), 1),
    "permute(map)": (
        lambda d, i, x: fw.permute(fw.add, d, i // 2, x * x), (F32, INDICES, F32), 1,
    ),
    "reduce_by_index(map)": (
        lambda d, i, x: fw.reduce_by_index(d, fw.add, 0, i // 2, x * x), (F32, INDICES, F32), 1,
    ),
    "5-point stencil": (lambda g: fw.stencil(five_points, g, (3, 3), "clamp"), (GRID,), 1),
    "5-point stencil that wraps": (
        lambda g: fw.stencil(five_points, g, (3, 3), "wrap"), (GRID,), 1,
    ),
    "gather, then map": (lambda x, i: fw.gather(x, i) * 2, (F32, INDICES), 1),
    "sums of rows": (lambda g: fw.sum(g, axis=1), (GRID,), 1),
    "products of all short rows": (
        lambda p: fw.map(lambda r: fw.map(lambda c: fw.sum(fw.generate(
            7, lambda k: r[k] * c[k])), p), p), (GRID,), 1,
    ),
    "sums of maps of rows": (
        lambda g: fw.map(lambda row: fw.sum(fw.map(lambda v: v * v, row)), g), (GRID,), 1,
    ),
    "sums of maps of ragged rows": (
        lambda r: fw.map(lambda row: fw.sum(fw.map(lambda v: v * v, row)), r), (ROWS,), 1,
    ),
    "a loop in the element function": (
        lambda x: fw.map(lambda v: fw.fori_loop(0, 10, lambda k, s: s * v, v), x), (F32,), 1,
    ),
    "sums of the rows of a Ragged": (lambda r: fw.map(lambda row: fw.sum(row), r), (ROWS,), 1),
    "two reductions of each row": (
        lambda r: fw.map(lambda row: (fw.sum(row * row), fw.reduce(fw.maximum, 0, row)), r),
        (ROWS,), 2,
    ),
    "rows made of rows, and their sums": (
        lambda r: fw.map(lambda row: (row * 2, fw.sum(row)), r), (ROWS,), 2,
    ),
    "sparse matrix times vector": (
        lambda a, x: fw.map(lambda row: fw.sum(row[0] * x[row[1]]), a), (SPARSE, F32), 1,
    ),
    "rows times a number for each": (
        lambda r, x: fw.map(lambda row, v: fw.sum(row * v), r, x), (ROWS, F32[:3]), 1,
    ),
    "running sums of rows, then map": (
        lambda r: fw.map(lambda row: fw.cumsum(row) * 2, r), (ROWS,), 1,
    ),
    "sums of running sums of rows": (
        lambda r: fw.map(lambda row: fw.sum(fw.cumsum(row)), r), (ROWS,), 1,
    ),
    "sums of running sums of the rows of a matrix": (
        lambda g: fw.map(lambda row: fw.sum(fw.cumsum(row)), g), (GRID,), 1,
    ),
    "running sums of the rows of a matrix, and their sums": (
        lambda g: fw.map(lambda row: (fw.cumsum(row), fw.sum(fw.cumsum(row))), g), (GRID,), 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUSED)
def test_one_kernel_and_no_intermediate(name):
    """What is fused is never stored."""
    f, args, results = FUSED[name]

    assert structure(f, *args) == Structure(1, results, 0)


def test_reductions_that_refuse_an_empty_array_share_one_pass():
    """The check that `max` and `min` make of the extent does not separate them."""
    found = structure(lambda x: (fw.sum(x), fw.max(x), fw.min(x)), F32)

    assert found == Structure(1, 0, 0)


def test_a_histogram_is_cleared_bins_and_one_pass_over_the_data():
    """The bins are written twice and the indices read once; no array of ones is stored."""
    assert structure(lambda i: fw.histogram(8, i % 8), INDICES) == Structure(2, 1, 0)
    assert structure(
        lambda i, x: fw.histogram(8, i, x * x, op=fw.maximum, identity=0), INDICES, F32
    ) == Structure(2, 1, 0)
