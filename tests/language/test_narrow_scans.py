"""Scans of rows of a few elements: each number of columns has a separate kernel."""

import itertools

import numpy as np

import flatweave as fw

COLUMNS = [0, 1, 2, 3, 4, 5]
LENGTHS = [0, 1, 127, 129, 1025, 40_000]


def prefixes(op, start, rows):
    """Every prefix, one row after the other."""
    found, total = [], np.broadcast_to(start, rows.shape[1:])
    for row in rows:
        total = op(total, row)
        found.append(total)
    return np.array(found).reshape(rows.shape)


def test_prefixes_from_a_row_in_both_directions(target, threads):
    """Of whole numbers, so that every grouping is exact; exclusive ones, too."""

    def both(x, e):
        x = x * 2 + 1
        forward = fw.scan(lambda a, b: a + b, e, x)
        return forward, fw.scan(lambda a, b: a + b, e, x, reverse=True, exclusive=True)

    f = fw.jit(both)
    lengths = LENGTHS[: 3 if target == "interp" else None]
    for columns, length in itertools.product(COLUMNS, lengths):
        rng = np.random.default_rng(columns)
        start = rng.integers(-9, 9, columns).astype(np.float64)
        xs = rng.integers(-9, 9, (length, columns)).astype(np.float64)
        given = xs * 2 + 1
        forward, backward = f(xs, start)
        behind = np.cumsum(given[::-1], 0)[::-1] - given + start
        np.testing.assert_array_equal(forward, np.cumsum(given, 0) + start)
        np.testing.assert_array_equal(backward, behind)


def test_operators_that_do_not_commute(target, threads):
    """The last element that is not negative; and affine maps, whose rows are two arrays."""
    last = fw.jit(lambda x: fw.scan(lambda a, b: fw.where(b < 0, a, b), -7, x))
    maps = fw.jit(lambda x, y: fw.scan(
        lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]), (1, 0), (x, y)))  # fmt: skip
    for columns in COLUMNS:
        rng = np.random.default_rng(columns)
        xs = rng.integers(-9, 5, (1025 if target == "cpu" else 40, columns))
        ys = rng.integers(-1, 2, xs.shape)

        found = last(xs)
        np.testing.assert_array_equal(
            found, prefixes(lambda a, b: np.where(b < 0, a, b), -7, xs)
        )
        slopes, shifts = maps(ys, xs)
        np.testing.assert_array_equal(slopes, np.cumprod(ys, 0))
        total = np.zeros(columns, np.int64)
        for slope, shift, sums in zip(ys, xs, np.asarray(shifts), strict=True):
            total = total * slope + shift
            np.testing.assert_array_equal(sums, total)


def test_nan_and_signed_zeros():
    """As in one column."""
    scans = [(fw.jit(lambda x, fn=fn: fw.scan(fn, -0.0, x)), numpy)
             for fn, numpy in ((fw.add, np.add), (fw.maximum, np.maximum))]  # fmt: skip
    for columns in (1, 2, 3, 4):
        xs = np.full((300, columns), -0.0)
        xs[200, 0] = np.nan
        xs[100:, -1] = 0.0

        for scan, numpy in scans:
            np.testing.assert_array_equal(scan(xs), numpy.accumulate(xs, 0))
        np.testing.assert_array_equal(
            np.signbit(fw.cumsum(xs, 0)), np.signbit(np.cumsum(xs, 0))
        )


def test_what_follows_is_fused_into_the_branch_of_many_columns():
    """No pass follows the branches."""
    f = fw.jit(lambda x: fw.cumsum(x * 2, axis=0) + 1)
    for columns in (1, 2, 3, 4, 5):
        xs = np.arange(600.0).reshape(-1, columns)
        np.testing.assert_array_equal(f(xs), np.cumsum(xs * 2, 0) + 1)

    outside = [line for line in f.stages(xs).text["fused"].splitlines() if line[4:5] != " "]
    assert not any("sweep" in line for line in outside)
