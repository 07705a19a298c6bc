"""segmented_scan, segmented_reduce, segmented_iota against loops over the segments."""

from functools import reduce as fold

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import DTYPES, SIZES, agree, same, values


def affine(f, g):
    """The composition of two affine maps: associative, not commutative."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def segments(flags, *arrays):
    """Each segment's part of every array."""
    starts = [i for i in range(len(flags)) if i == 0 or flags[i]]
    ends = [*starts[1:], len(flags)] if starts else []
    return [[x[a:b] for x in arrays] for a, b in zip(starts, ends, strict=True)]


def some_flags(n, share=0.2, seed=0):
    """Random flags."""
    return np.random.default_rng(seed).random(n) < share


def joined(parts, like):
    """Arrays concatenated, in the dtype of another."""
    return np.concatenate([like[:0], *parts]).astype(like.dtype)


def test_examples_of_the_paper(target):
    """Elsman and others 2019, sections 2.1 and 2.3."""
    flags = np.array([False, False, False, True, False, False])

    agree(fw.segmented_iota, np.array([0, 1, 2, 0, 1, 2]), flags)
    agree(lambda f: fw.segmented_scan(fw.add, 0, f, fw.full(6, 1)),
          np.array([1, 2, 3, 1, 2, 3]), flags)  # fmt: skip


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_segmented_scan(target, n, share):
    """Every segment is scanned separately, whether its first element is flagged or not."""
    flags, x = some_flags(n, share), values(np.int64, n)
    expected = joined([np.cumsum(part) for (part,) in segments(flags, x)], x)

    agree(lambda f, x: fw.segmented_scan(fw.add, 0, f, x), expected, flags, x)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_segmented_reduce(target, n, share):
    """One result for each start."""
    flags, x = some_flags(n, share), values(np.int64, n)
    expected = np.array([part.sum() for (part,) in segments(flags, x)], np.int64)

    agree(lambda f, x: fw.segmented_reduce(fw.add, 0, f, x), expected, flags, x)


@pytest.mark.parametrize("n", SIZES)
def test_segmented_iota(target, n):
    """The index in the segment."""
    flags = some_flags(n)
    expected = joined([np.arange(len(part)) for (part,) in segments(flags, flags)], np.arange(1))

    agree(fw.segmented_iota, expected, flags)


@pytest.mark.parametrize("n", [0, 1, 7, 64, 1000])
def test_tuples_and_operators_that_do_not_commute(target, n):
    """Elements are tuples, combined in order."""
    flags = some_flags(n, 0.1)
    a, b = values(np.int64, n), values(np.int64, n, seed=1)
    unit = (np.int64(1), np.int64(0))
    scanned, reduced = [], []
    with np.errstate(all="ignore"):
        for left, right in segments(flags, a, b):
            pairs = list(zip(left, right, strict=True))
            scanned += [fold(affine, pairs[: k + 1], unit) for k in range(len(pairs))]
            reduced.append(fold(affine, pairs, unit))

    def columns(found):
        return tuple(np.array([pair[k] for pair in found], np.int64) for k in (0, 1))

    agree(lambda f, a, b: fw.segmented_scan(affine, (1, 0), f, (a, b)),
          columns(scanned), flags, a, b)  # fmt: skip
    agree(lambda f, a, b: fw.segmented_reduce(affine, (1, 0), f, (a, b)),
          columns(reduced), flags, a, b)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_are_kept(target, dtype):
    """Small integers wrap, as those of `reduce` do."""
    flags, x = some_flags(100, 0.1), values(dtype, 100)
    expected = np.array([part.max() for (part,) in segments(flags, x)], dtype)

    least = False if x.dtype.kind == "b" else 0 if x.dtype.kind == "u" else -128
    agree(lambda f, x: fw.segmented_reduce(fw.maximum, least, f, x), expected, flags, x)


def test_rows_are_elements(target):
    """The rows of a matrix are combined element by element."""
    flags = np.array([True, False, False, True, False])
    m = np.arange(10).reshape(5, 2)
    expected = np.concatenate([m[:3].cumsum(axis=0), m[3:].cumsum(axis=0)])

    agree(lambda f, m: fw.segmented_scan(fw.add, 0, f, m), expected, flags, m)
    agree(lambda f, m: fw.segmented_reduce(fw.add, 0, f, m), expected[[2, 4]], flags, m)
    agree(lambda f, m: fw.segmented_reduce(fw.add, 0, f, m), m[:0], flags[:0], m[:0])


def test_a_segmented_reduction_is_the_reductions_of_rows(target):
    """The same as map over a Ragged of the same flags."""
    flags, x = some_flags(200, 0.1), values(np.int64, 200)
    rows = fw.ragged(x, flags=flags)

    same(fw.segmented_reduce(fw.add, 0, flags, x), fw.map(lambda r: fw.reduce(fw.add, 0, r), rows))
    same(fw.segmented_reduce(fw.add, 0, rows.flags, rows.values),
         fw.segmented_reduce(fw.add, 0, flags, x))  # fmt: skip


def test_one_giant_segment_and_many_small_ones(target, threads):
    """However they are cut across threads."""
    n = 20_000
    flags = some_flags(n, 0.5)
    flags[100:19_000] = False
    x = values(np.int64, n)
    expected = np.array([part.sum() for (part,) in segments(flags, x)], np.int64)

    same(fw.segmented_reduce(fw.add, 0, flags, x), expected)
