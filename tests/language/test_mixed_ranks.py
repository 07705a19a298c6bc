"""Elements of which some parts are numbers and others rows, against loops."""

import itertools

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import agree
from tests.language.test_segments import some_flags
from tests.quick import every

SIZES = [0, 1, 300]


def counted(n, width=3):
    """Numbers, and as many rows of integers."""
    rng = np.random.default_rng(n)
    return rng.integers(-9, 9, n), rng.integers(-9, 9, (n, width))


def both(a, b):
    """Numbers added, and of rows the greatest: each part needs its own alone."""
    return a[0] + b[0], fw.maximum(a[1], b[1])


def composed(a, b):
    """x -> a x + r with rows r: neither commutative, nor are its parts independent."""
    return a[0] * b[0] % 97, (a[1] * b[0] + b[1]) % 97


def running(op, first, elements):
    """`itertools.accumulate` without its first value, as a list."""
    return list(itertools.accumulate(elements, op, initial=first))[1:]


def columns_of(found, numbers, rows):
    """A list of pairs as two arrays like those given."""
    return (
        np.array([n for n, _ in found], numbers.dtype),
        np.array([r for _, r in found], rows.dtype).reshape(len(found), rows.shape[1]),
    )


@pytest.mark.parametrize("n", every(2, SIZES))
def test_counts_and_sums(target, n):
    """The sums of numbers and of rows at once, as k-means has them."""
    numbers, rows = counted(n)

    agree(
        lambda x, r: fw.reduce(lambda a, b: (a[0] + b[0], a[1] + b[1]), (0, 0), (x, r)),
        (numbers.sum(), rows.sum(axis=0)), numbers, rows,
    )  # fmt: skip
    agree(
        lambda x, r: fw.scan(both, (5, -10), (x, r)),
        (5 + np.cumsum(numbers), np.maximum.accumulate(rows)), numbers, rows,
    )  # fmt: skip


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("reverse", [False, True])
def test_parts_that_need_one_another(target, n, reverse):
    """An affine map of rows, from the left and from the right, with and without the last."""
    numbers, rows = counted(n)
    first = (1, np.array([4, 5, 6]))

    def op(a, b):
        return composed(b, a) if reverse else composed(a, b)

    elements = list(zip(numbers, rows, strict=True))[:: -1 if reverse else 1]
    found = running(op, first, elements)[:: -1 if reverse else 1]
    agree(
        lambda x, r: fw.scan(composed, (1, np.array([4, 5, 6])), (x, r), reverse=reverse),
        columns_of(found, numbers, rows), numbers, rows,
    )  # fmt: skip


def test_softmax_as_it_comes(target):
    """The greatest score, the sum of its exponentials, and the weighted rows, in one reduction."""
    rng = np.random.default_rng(3)
    scores, rows = rng.standard_normal(1025) * 9, rng.standard_normal((1025, 4))

    def op(a, b):
        most = fw.maximum(a[0], b[0])
        p, q = fw.exp(a[0] - most), fw.exp(b[0] - most)
        return most, a[1] * p + b[1] * q, a[2] * p + b[2] * q

    @fw.jit
    def attend(scores, rows):
        start = (-1e300, 0.0, np.zeros(4))
        _, total, weighted = fw.reduce(op, start, (scores, fw.full(scores.shape[0], 1.0), rows))
        return weighted / total

    weights = np.exp(scores - scores.max())
    np.testing.assert_allclose(attend(scores, rows), weights @ rows / weights.sum(), rtol=1e-10)


def segments(flags):
    """The first and last index of each segment, with it."""
    starts = [i for i in range(len(flags)) if i == 0 or flags[i]]
    return list(zip(starts, [*starts[1:], len(flags)], strict=True)) if starts else []


@pytest.mark.parametrize("n", SIZES)
def test_segments_of_pairs(target, n):
    """Each segment starts from the neutral element, which is a pair of a number and a row."""
    flags, (numbers, rows) = some_flags(n), counted(n)
    found, last = [], []
    for begin, end in segments(flags):
        elements = zip(numbers[begin:end], rows[begin:end], strict=True)
        found += running(composed, (2, np.array([1, 2, 3])), elements)
        last.append(found[-1])

    def scanned(f, x, r):
        return fw.segmented_scan(composed, (2, np.array([1, 2, 3])), f, (x, r))

    def reduced(f, x, r):
        return fw.segmented_reduce(composed, (2, np.array([1, 2, 3])), f, (x, r))

    agree(scanned, columns_of(found, numbers, rows), flags, numbers, rows)
    agree(reduced, columns_of(last, numbers, rows), flags, numbers, rows)


@pytest.mark.parametrize("n", [0, 1, 60])
def test_segments_of_matrices(target, n):
    """Products of 2 x 2 matrices: an operator that needs its rows whole."""
    flags = some_flags(n)
    matrices = np.random.default_rng(n).integers(-2, 3, (n, 2, 2))
    expected = np.zeros_like(matrices)
    for begin, end in segments(flags):
        for k in range(begin, end):
            before = expected[k - 1] if k > begin else np.eye(2, dtype=int)
            expected[k] = before @ matrices[k]

    agree(lambda f, m: fw.segmented_scan(fw.dot, np.eye(2, dtype=int), f, m), expected,
          flags, matrices)  # fmt: skip


def test_writes_of_pairs(target):
    """Numbers and rows go to the same indices; indices outside are dropped."""
    numbers, rows = counted(200)
    ids = np.random.default_rng(0).integers(-1, 5, 200)
    totals, sums = np.zeros(4, int), np.full((4, 3), 7)
    last, lasts = np.zeros(4, int), np.zeros((4, 3), int)
    for i, x, r in zip(ids, numbers, rows, strict=True):
        if 0 <= i < 4:
            totals[i] += x
            sums[i] = np.maximum(sums[i], r)
            last[i], lasts[i] = x, r

    def dest():
        return fw.full(4, 0), fw.full((4, 3), 7)

    agree(lambda i, x, r: fw.permute(both, dest(), i, (x, r)), (totals, sums), ids, numbers, rows)
    agree(lambda i, x, r: fw.reduce_by_index(dest(), both, (0, -10**6), i, (x, r)),
          (totals, sums), ids, numbers, rows)  # fmt: skip
    agree(lambda i, x, r: fw.scatter((fw.full(4, 0), fw.full((4, 3), 0)), i, (x, r)),
          (last, lasts), ids, numbers, rows)  # fmt: skip


def test_histogram_of_rows(target):
    """Bins of rows, from a number or from a row."""
    _, rows = counted(200)
    ids = np.random.default_rng(1).integers(0, 5, 200)
    sums = np.array([rows[ids == k].sum(axis=0) for k in range(5)])
    most = np.array([np.maximum(rows[ids == k].max(axis=0), [0, 5, 9]) for k in range(5)])

    agree(lambda i, r: fw.histogram(5, i, r), sums, ids, rows)
    agree(lambda i, r: fw.histogram(5, i, r, fw.maximum, np.array([0, 5, 9])), most, ids, rows)


def test_parts_that_cannot_be_written_apart():
    """Numbers that need a row of other rank are refused, with a way round."""
    numbers, rows = counted(9)

    with pytest.raises(fw.ShapeError, match=r"combines parts that need one another.*\n.*\n.*\n"):
        fw.permute(composed, (fw.full(4, 1), fw.full((4, 3), 0)), numbers % 4, (numbers, rows))
