"""What the scan of each row of a matrix gives, combined again in the same row: one pass."""

import numpy as np
import pytest

import flatweave as fw
from tests.quick import every

SHAPES = [(0, 3), (3, 0), (1, 1), (4, 2), (5, 127), (3, 129), (2, 1025), (300, 7), (2000, 1)]


def matrix(shape, seed=0):
    """Whole numbers: sums are exact in every order."""
    return np.random.default_rng(seed).integers(-9, 10, shape).astype(np.float64)


def then(f, g):
    """The function x -> g(f(x)), of a x + b as (a, b): associative, and in order."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def composed(rows):
    """All functions of each row, in order, modulo 2**64."""
    found = []
    for row in rows:
        a, b = 1, 0
        for x in row:
            a, b = a * x, b * x + x
        found.append((a % 2**64, b % 2**64))
    return np.array(found, np.uint64).reshape(-1, 2)


def check(shape):
    """Sums, extremes, starts that are not neutral, values of the row, two results."""
    x = matrix(shape)
    prefixes = x.cumsum(axis=1)
    best = prefixes.max(axis=1, initial=-5)

    @fw.jit
    def combined(rows, weights):
        def one(row, weight):
            sums = fw.cumsum(row)
            return (
                fw.sum(sums), fw.max(sums, initial=-5), fw.reduce(fw.add, 10, sums * row),
                fw.sum(sums * weight) + 1, fw.sum(sums * fw.sum(row)),
            )  # fmt: skip

        return fw.map(one, rows, weights)

    weights = matrix(shape[:1], 1)
    found = combined(x, weights)

    sums = prefixes.sum(axis=1)
    expected = (sums, best, (prefixes * x).sum(axis=1) + 10, sums * weights + 1,
                sums * x.sum(axis=1))  # fmt: skip
    for ours, right in zip(found, expected, strict=True):
        assert np.array_equal(ours, right)


@pytest.mark.parametrize("shape", SHAPES)
def test_on_every_target(target, shape):
    """Rows without elements, rows of one, rows longer than a block."""
    check(shape)


@pytest.mark.parametrize("shape", every(2, [*SHAPES, (3, 100_000)]))
def test_on_every_number_of_threads(threads, shape):
    """Rows that several blocks share."""
    check(shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_functions_of_a_scan_are_composed_in_order(threads, shape):
    """An operator that does not commute, on pairs; prefixes and what they come to, both given."""

    @fw.jit
    def program(rows):
        def one(row):
            counts = fw.scan(fw.add, 0, fw.map(lambda x: x * 0 + 1, row))
            factors = fw.map(lambda x, n: x * n // n, row, counts)
            return counts, fw.reduce(then, (1, 0), (factors, factors))

        return fw.map(one, rows)

    rows = np.random.default_rng(2).integers(1, 100, shape, dtype=np.uint64)
    counts, (a, b) = program(rows)

    assert np.array_equal(counts, np.ones(shape).cumsum(axis=1))
    expected = composed(rows.tolist())
    assert np.array_equal(np.stack([a, b], axis=1), expected)


LENGTHS = [(3, 1), (70, 63), (70, 64), (70, 65), (5, 129), (300, 128), (3, 1025), (2, 100_000)]


@pytest.mark.sampled
@pytest.mark.parametrize("shape", LENGTHS)
@pytest.mark.parametrize("exclusive", [False, True])
def test_stored_prefixes_begin_anew_in_each_row(threads, shape, exclusive):
    """In order, on pairs, from what is not neutral; blocks begin inside of rows."""

    def one(row):
        return fw.scan(then, (1, 5), (row, row + 1), exclusive=exclusive)

    rows = np.random.default_rng(4).integers(-3, 4, shape)
    found = fw.map(one, rows)

    a, b = np.ones(shape[0], np.int64), np.full(shape[0], 5)
    for k in range(shape[1]):
        before = a, b
        a, b = a * rows[:, k], b * rows[:, k] + rows[:, k] + 1
        if k in (0, 1, 62, 63, 64, 127, 128, shape[1] - 1):
            expected = before if exclusive else (a, b)
            assert np.array_equal([x[:, k] for x in map(np.asarray, found)], expected), k


def test_steps_of_a_row_ask_for_no_start_but_the_first():
    """They are ordinary scans: no flags are moved along with the values."""
    program = fw.jit(lambda m: fw.map(fw.cumsum, m), target="cpu")
    text = program.stages(matrix((5, 100))).text["kernel"]

    assert "scan_lanes" in text
    assert "starts=" not in text


def test_what_is_no_number_stays_in_its_row(target):
    """From its position on, and in no other row."""
    x = matrix((6, 40))
    x[2, 17] = np.nan

    found = fw.jit(lambda m: fw.map(lambda row: fw.sum(fw.cumsum(row)), m))(x)

    assert np.array_equal(found, x.cumsum(axis=1).sum(axis=1), equal_nan=True)
    assert np.isnan(np.asarray(found)).tolist() == [False, False, True, False, False, False]
