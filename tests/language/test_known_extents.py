"""Extents that are known to be equal stay so: rows of one length are a matrix, not a Ragged."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

M = (np.arange(35) * 37 % 50).reshape(5, 7)


def checked(f, expected, *args):
    """A function whose rows stay rows of one length, on rows with and without elements."""
    found = fw.map(f, *args)
    assert isinstance(found, fw.Array)
    rows = [expected(*row) for row in zip(*args, strict=True)]
    same(found, np.array(rows).reshape(np.asarray(found).shape).astype(np.asarray(found).dtype))


@pytest.mark.parametrize("matrix", [M, M[:, :0]])
@pytest.mark.parametrize("k", [0, 3, 100, -3, -100])
def test_both_parts_of_a_cut_are_the_whole(target, matrix, k):
    """Wherever the cut is, in either order."""
    checked(
        lambda row: fw.concat([row[k:], row[:k]]),
        lambda row: np.concatenate([row[k:], row[:k]]), matrix,
    )  # fmt: skip
    checked(lambda row: fw.concat([row[:k], row[k:] * 2]),
            lambda row: np.concatenate([row[:k], row[k:] * 2]), matrix)  # fmt: skip


def test_cuts_that_rows_choose(target):
    """Before, inside and after the row."""
    cuts = np.array([0, 3, 9, -2, -9])
    checked(lambda row, k: fw.concat([row[k:], row[:k]]),
            lambda row, k: np.concatenate([row[k:], row[:k]]), M, cuts)  # fmt: skip


@pytest.mark.parametrize("matrix", [M, M[:, :1], M[:, :0]])
def test_both_sides_of_a_partition_are_the_whole(target, matrix):
    """All, none and some are kept; also in a loop's state, and as tuples."""
    def by_bits(row):
        def by_bit(j, row):
            return fw.concat(fw.partition(lambda x: (x >> j) & 1 == 0, row))

        return fw.fori_loop(0, 6, by_bit, row)

    checked(by_bits, np.sort, matrix)
    checked(lambda row: fw.concat(fw.partition(lambda x: x >= 0, row)), lambda row: row, matrix)
    checked(lambda row: fw.concat(fw.partition(lambda x: x < 0, row)), lambda row: row, matrix)


def test_a_partition_of_a_part(target):
    """Three parts of which two are one part of the first cut."""
    def three_ways(row):
        low, rest = fw.partition(lambda x: x < 15, row)
        high, middle = fw.partition(lambda x: x >= 35, rest)
        return fw.concat([low, middle, high])

    def expected(row):
        parts = row[row < 15], row[(row >= 15) & (row < 35)], row[row >= 35]
        return np.concatenate(parts)

    checked(three_ways, expected, M)


def test_parts_of_different_cuts_are_added_up(target):
    """The first three and those after the second; the same part twice."""
    found = fw.map(lambda row: fw.concat([row[:3], row[2:]]), M)
    same(found, np.concatenate([M[:, :3], M[:, 2:]], axis=1))
    found = fw.map(lambda row: fw.concat([row[:3], row[:3]]), M)
    same(found, np.concatenate([M[:, :3], M[:, :3]], axis=1))


def test_branches_whose_extents_a_check_has_found_equal(target):
    """Mean positions, or where they were: a difference of both was taken before."""
    points, centres = np.arange(30.0).reshape(10, 3), np.arange(12.0).reshape(4, 3) - 1

    @fw.jit
    def all_moved(points, centres):
        def moved(k):
            far = fw.map(lambda p: fw.sum(p - centres[k]), points)
            return fw.cond(fw.sum(far) > 0, lambda: fw.mean(points, axis=0), lambda: centres[k])

        return fw.map(moved, fw.iota(4))

    found = all_moved(points, centres)
    expected = [points.mean(0) if (points - c).sum() > 0 else c for c in centres]
    assert isinstance(found, fw.Array)
    same(found, np.array(expected))


def test_a_check_of_one_branch_is_not_known_behind_it(target):
    """What only one of them compares may differ when the other is taken."""
    a, b = np.arange(3), np.arange(5)

    def chosen(p, a, b):
        return fw.cond(p, lambda: a + b, lambda: b)

    f = fw.jit(chosen)
    same(f(False, a, b), b)
    same(f(True, b, b), b + b)
    with pytest.raises(fw.ShapeError):
        f(True, a, b)


def test_branches_of_different_extents(target):
    """Nothing is taken for equal that is not."""
    f = fw.jit(lambda rows, a, b: fw.map(lambda x: fw.cond(x > 1, lambda: a * x, lambda: b), rows))

    assert f(np.arange(3), np.arange(2), np.arange(4)).tolist() == [
        [0, 1, 2, 3], [0, 1, 2, 3], [0, 2],
    ]  # fmt: skip


def test_ragged_rows_keep_their_lengths(target):
    """The offsets are those of the argument."""
    rows = fw.ragged([[3, 1, 2], [], [5], [4, 4, 1, 0]])
    found = fw.map(lambda row: fw.concat(fw.partition(lambda x: x > 2, row)), rows)
    turned = fw.map(lambda row: fw.concat([row[1:], row[:1]]), rows)

    assert found.tolist() == [[3, 1, 2], [], [5], [4, 4, 1, 0]]
    assert turned.tolist() == [[1, 2, 3], [], [5], [4, 1, 0, 4]]
