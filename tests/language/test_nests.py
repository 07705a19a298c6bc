"""Folds inside folds inside folds, on rows even and uneven, against plain Python loops."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import agree, values

LENGTHS = (0, 1, 2, 16, 17, 33)


def rows_of(kind, dtype=np.int64):
    """The same rows twice: as Flatweave takes them, and as a list."""
    if kind == "matrix":
        matrix = values(dtype, 5 * 19).reshape(5, 19) % 7
        return matrix, list(matrix)
    flat = values(dtype, sum(LENGTHS)) % 7
    return fw.ragged(flat, lengths=list(LENGTHS)), np.split(flat, np.cumsum(LENGTHS)[:-1])


def plain(row):
    """The elements of a row as Python's numbers."""
    return [x.item() for x in row]


kinds = pytest.mark.parametrize("kind", ["matrix", "ragged"])


@kinds
def test_the_innermost_fold_reads_the_middle_element(target, kind):
    """Sums, extremes and questions about pairs."""
    rows, each = rows_of(kind)

    def pairs(row):
        total = fw.sum(fw.map(lambda x: fw.sum(fw.map(lambda y: x * y - y, row)), row))
        worst = fw.map(lambda x: fw.reduce(fw.minimum, 99, fw.map(lambda y: x ^ y, row)), row)
        alone = fw.map(lambda x: fw.all(fw.map(lambda y: x != y + 1, row)), row)
        return total, fw.reduce(fw.maximum, -1, worst), fw.any(alone)

    wanted = [
        (
            sum(x * y - y for x in row for y in row),
            max([-1, *(min([99, *(x ^ y for y in row)]) for x in row)]),
            any(all(x != y + 1 for y in row) for x in row),
        )
        for row in map(plain, each)
    ]
    agree(lambda rows: fw.map(pairs, rows), tuple(map(np.array, zip(*wanted, strict=True))), rows)


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float32, np.float64])
def test_of_every_kind_of_element(target, dtype):
    """A sum of products over pairs."""
    matrix = (values(np.int64, 4 * 5).reshape(4, 5) % 3).astype(dtype)

    def pairs(row):
        of_pair = lambda x: fw.sum(fw.map(lambda y: fw.astype(x * y, fw.i64), row))
        return fw.sum(fw.map(of_pair, row))

    wide = matrix.astype(np.int64)
    agree(lambda m: fw.map(pairs, m), np.einsum("ri,rj->r", wide, wide), matrix)


def test_four_levels(target):
    """Each reads the elements of all levels around it."""
    matrix = values(np.int64, 3 * 4).reshape(3, 4) % 5

    def triples(row):
        def of_one(x):
            def of_two(y):
                return fw.sum(fw.map(lambda z: fw.maximum(x * y, z), row))

            return fw.reduce(fw.maximum, 0, fw.map(of_two, row))

        return fw.sum(fw.map(of_one, row))

    wanted = [
        sum(max(sum(max(x * y, z) for z in row) for y in row) for x in row)
        for row in matrix.tolist()
    ]
    agree(lambda m: fw.map(triples, m), np.array(wanted), matrix)


@kinds
def test_inner_folds_of_different_lengths(target, kind):
    """The middle element gives the number of iterations, different in each lane, and the reads."""
    rows, each = rows_of(kind)
    table = np.arange(10, 30)

    def walk(table, row):
        def reach(x):
            return fw.sum(fw.map(lambda k: table[x + k] * (k + 1), fw.iota(x)))

        return fw.sum(fw.map(reach, row))

    wanted = [
        sum(int(table[x + k]) * (k + 1) for x in row for k in range(x)) for row in map(plain, each)
    ]
    agree(
        lambda rows, table: fw.map(lambda row: walk(table, row), rows), np.array(wanted),
        rows, table,
    )  # fmt: skip


@kinds
def test_in_branches_and_loops(target, kind):
    """Only some lanes fold, and some more often than others."""
    rows, each = rows_of(kind)

    def count(row):
        def less(x):
            return fw.sum(fw.map(lambda y: fw.where(y < x, 1, 0), row))

        def often(x):
            return fw.fori_loop(0, x % 3, lambda k, s: s + less(x + k), 0)

        return fw.sum(fw.map(lambda x: fw.cond(x % 2 == 0, lambda: less(x), lambda: often(x)), row))

    def less(row, x):
        return sum(y < x for y in row)

    wanted = [
        sum(
            less(row, x) if x % 2 == 0 else sum(less(row, x + k) for k in range(x % 3))
            for x in row
        )
        for row in map(plain, each)
    ]
    agree(lambda rows: fw.map(count, rows), np.array(wanted), rows)


@kinds
def test_operators_that_keep_the_order(target, kind):
    """Affine maps composed at both levels, from a start that differs from lane to lane."""
    rows, each = rows_of(kind)

    def after(f, g):
        return f[0] * g[0] % 101, (f[1] * g[0] + g[1]) % 101

    def composed(row):
        def one(x):
            return fw.reduce(after, (1, 0), fw.map(lambda y: (y + 2, x - y), row))

        return fw.reduce(after, (1, 0), fw.map(one, row))

    def fold(pairs):
        found = (1, 0)
        for pair in pairs:
            found = after(found, pair)
        return found

    wanted = [
        fold([fold([(y + 2, x - y) for y in row]) for x in row]) for row in map(plain, each)
    ]
    agree(
        lambda rows: fw.map(composed, rows), tuple(map(np.array, zip(*wanted, strict=True))), rows
    )
    largest = [sum(max([x, *row]) for x in row) for row in map(plain, each)]
    agree(
        lambda rows: fw.map(
            lambda row: fw.sum(fw.map(lambda x: fw.reduce(fw.maximum, x, row), row)), rows
        ),
        np.array(largest), rows,
    )  # fmt: skip


def lesser(a, b):
    """The lesser of two numbers, found by sorting them."""
    return fw.sort(fw.concat([fw.full(1, a), fw.full(1, b)]))[0]


def test_operators_that_sort_for_every_pair(target):
    """Pairs are combined in rounds, each of which sorts them all."""
    lengths = [2, 0, 1, 17]
    values = np.random.default_rng(0).integers(0, 90, sum(lengths))
    rows = fw.ragged(values, lengths=lengths)
    parts = np.split(values, np.cumsum(lengths)[:-1])

    least = fw.jit(lambda rows: fw.map(lambda row: fw.reduce(lesser, 50, row), rows))(rows)

    assert least.tolist() == [min(50, *part, 99) for part in parts]
    if target == "interp":  # a scan takes its rounds in the same way
        suffixes = fw.scan(lesser, 50, values, exclusive=True, reverse=True)
        behind = [50, *values[:0:-1]]
        assert suffixes.tolist() == np.minimum.accumulate(behind)[::-1].tolist()


def test_an_operator_reads_what_is_sorted_beforehand():
    """What is the same for all pairs is sorted once; segments need such an operator."""
    rows = fw.ragged([[3, 1], [], [4, 1, 5]])

    found = fw.jit(lambda rows: fw.map(lambda row: fw.reduce(
        lambda a, b: a + b + fw.max(fw.sort(row), initial=0), 0, row), rows))(rows)  # fmt: skip
    assert found.tolist() == [10, 0, 25]
    flags, values = np.array([True, False]), np.array([1, 2])
    assert fw.segmented_reduce(lesser, 0, flags, values).tolist() == [0]  # of two: in registers
    with pytest.raises(fw.Unsupported, match="reduce_segments with an operator that needs memory"):
        fw.segmented_reduce(
            lambda a, b: fw.min(fw.sort(fw.iota(a + b)), initial=0), 0, flags, values, check=False
        )
