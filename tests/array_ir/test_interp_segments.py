"""The meaning of segmented reductions: one result for each segment, at its index."""

from functools import reduce as fold

import numpy as np
import pytest

from flatweave.base.dtypes import i64
from flatweave.base.errors import CompilerBug
from flatweave.ops import CombineRows, CombineSegments, Index, ReduceSegments, Sweep
from flatweave.terms.build import index
from tests.array_ir.programs import affine_operator, evaluate, numbers, one_op

SIZES = [0, 1, 2, 3, 7, 8, 33]
UNIT = (index(1), index(0))
AFFINE = affine_operator(i64)


def composed(pairs):
    """The composition of affine maps, first to last."""
    return fold(lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), pairs, (1, 0))


def parts(starts, *arrays):
    """The tuples of each segment."""
    cuts = [i for i in range(len(starts)) if i == 0 or starts[i]]
    pairs = list(zip(*arrays, strict=True))
    ends = [*cuts, len(pairs)][1:]
    return [pairs[a:b] for a, b in zip(cuts, ends, strict=True)]


def columns(pairs):
    return np.array(pairs, np.int64).reshape(-1, 2).T


def sweep_over(sink, *arrays):
    """A sweep that hands the elements of all arrays to a sink."""

    def write(b, *xs):
        inside = b.inner()
        i = inside.var("i", i64)
        taken = [inside.emit(Index(x, (i,), checked=False))[0] for x in xs]
        return b.emit(Sweep((xs[0].type.shape[0],), inside.close([i], taken), (sink,)))

    return evaluate(write, *arrays)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_segments_are_combined_in_order(n, share):
    """As an operation and as a sink; the first element starts a segment, flagged or not."""
    starts = np.random.default_rng(n).random(n) < share
    a, b = numbers(n), numbers(n)[::-1].copy()
    expected = columns([composed(part) for part in parts(starts, a, b)])

    made = one_op(lambda s, x, y: ReduceSegments(AFFINE, UNIT, s, (x, y)), starts, a, b)
    swept = sweep_over(CombineSegments(AFFINE, UNIT), starts, a, b)
    for count, *found in (made, swept):
        assert count == expected.shape[1]
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("sizes", [[], [0], [0, 0, 3, 0, 1, 2, 0], [4], [1, 1, 0], [0, 5]])
def test_rows_without_elements_are_neutral(sizes):
    """Empty rows first, last, between and everywhere."""
    row = np.repeat(np.arange(len(sizes)), sizes)
    start = np.diff(row, prepend=-1) > 0
    a, b = numbers(len(row)), numbers(len(row))[::-1].copy()
    pairs = list(zip(a, b, strict=True))
    expected = columns([composed([pairs[k] for k in np.flatnonzero(row == r)])
                        for r in range(len(sizes))])  # fmt: skip

    sink = CombineRows(AFFINE, UNIT, index(len(sizes)))
    np.testing.assert_array_equal(sweep_over(sink, row, start, a, b), expected)


@pytest.mark.parametrize(
    ("row", "start"),
    [
        ([0, 1, 0], [True, True, False]),
        ([0, 0, 1], [True, False, False]),
        ([0, 0, 1], [True, True, True]),
        ([0, 0, 0], [False, False, False]),
        ([0, 1, 2], [True, True, True]),
    ],
)
def test_rows_that_are_not_in_order_are_refused(row, start):
    """Rows go up, starts stand where they do, and the last row is there."""
    sink = CombineRows(AFFINE, UNIT, index(2))
    with pytest.raises(CompilerBug, match="combine_rows of 2 rows"):
        sweep_over(sink, np.array(row), np.array(start), numbers(3), numbers(3))
