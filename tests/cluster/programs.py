"""Programs whose values on chunks are those on one machine, and how they are run both ways."""

from typing import Any

import numpy as np

import flatweave as fw
from flatweave.cluster.divide import divide
from flatweave.cluster.drive import results_of
from flatweave.frontend.values.chunked import Chunked
from flatweave.terms.syntax import ArrayType

_rng = np.random.default_rng(15)
XS = _rng.integers(-5, 9, 53).astype(float)
KEYS = _rng.integers(0, 6, 53)
ROWS = _rng.integers(0, 5, (53, 4)).astype(float)


def nearest(xs, centres):
    """The number of the centre that is nearest to each point."""
    return fw.map(lambda x: fw.argmin(fw.map(lambda c: abs(x - c), centres)), xs)


def k_means(xs):
    """Four iterations from three centres."""

    def turn(i, centres):
        near = nearest(xs, centres)
        sums = fw.permute(fw.add, fw.zeros(3), near, xs)
        return sums / fw.maximum(fw.histogram(3, near), 1)

    return fw.fori_loop(0, 4, turn, np.array([-4.0, 0.0, 5.0]))


def groups(keys, xs):
    """The sum for each key that there is."""
    keys, xs = fw.sort_by_key(keys, xs)
    begins = fw.concat([fw.full(1, True), keys[1:] != keys[:-1]])
    return keys[begins], fw.segmented_reduce(fw.add, 0.0, begins, xs)

RAGGED = fw.ragged(XS, lengths=np.append(KEYS[:17] % 5, 53 - (KEYS[:17] % 5).sum()))
NESTED = fw.ragged(RAGGED, lengths=[3, 0, 7, 1, 0, 0, 7])
INDICES = np.array([3, 0, 17, 3, 9])


def searched(table, queries):
    """The index of each query in a table, by bisection."""
    middle = lambda s: (s[0] + s[1]) // 2
    half = lambda s, x: fw.cond(
        table[middle(s)] < x, lambda: (middle(s) + 1, s[1]), lambda: (s[0], middle(s))
    )
    begin = (0, table.shape[0])
    return fw.map(
        lambda q: fw.while_loop(lambda s: s[0] < s[1], lambda s: half(s, q), begin)[0], queries
    )


def matrices(ks):
    """A matrix for each key, of which neighbours do not commute."""
    return fw.map(lambda k: fw.stack([fw.stack([k % 3, 1]), fw.stack([1, 0])]) % 5, ks)


def times(a, b):
    """A product that stays small."""
    return (a @ b) % 7


def remainders(a, b):
    """The function of a, then that of b, each a factor and a number that is added; modulo 7."""
    return a[0] * b[0] % 7, (a[1] * b[0] + b[1]) % 7


def affine(a, b):
    """The function of a, then that of b, each a factor and a row that is added."""
    return a[0] * b[0], a[1] * b[0] + b[1]


def around(xs):
    """The sum of neighbours on a ring, written with remainders and with negative indices."""
    n = xs.shape[0]
    near = lambda i: fw.sum(fw.map(lambda j: xs[(i + j) % n], fw.iota(4)))
    return fw.map(lambda i: near(i) + xs[i - 2] * xs[i], fw.iota(n))


def joined(keys, xs, others):
    """Every pair of rows of two tables with equal keys, with the index of the second row."""
    others, places = fw.sort_by_key(others, fw.iota(others.shape[0]))
    begins = fw.searchsorted(others, keys)
    counts = fw.searchsorted(others, keys, side="right") - begins
    return fw.expand(
        lambda row: row[1], lambda row, k: (row[2], places[row[0] + k]), (begins, counts, xs)
    )


def rows_of_groups(keys, xs):
    """What belongs to each key that there is."""
    keys, xs = fw.sort_by_key(keys, xs)
    begins = fw.concat([fw.full(1, True), keys[1:] != keys[:-1]])
    rows = fw.ragged(xs, flags=begins)
    return keys[begins], rows, fw.map(lambda row: row - fw.mean(row), rows)


PROGRAMS: dict[str, tuple[Any, ...]] = {
    "sum of squares": (lambda xs: fw.sum(xs * xs), XS),
    "normalised": (lambda xs: xs / fw.sum(xs), XS),
    "softmax": (lambda xs: fw.exp(xs - fw.max(xs)) / fw.sum(fw.exp(xs - fw.max(xs))), XS),
    "running maximum": (lambda xs: fw.scan(fw.maximum, 0.0, xs), XS),
    "suffixes": (lambda xs: fw.scan(fw.add, 2.0, xs, reverse=True), XS),
    "sums before": (lambda xs: fw.scan(fw.add, 0.0, xs, exclusive=True), XS),
    "two scans": (lambda xs: (fw.cumsum(xs), fw.scan(fw.minimum, 9.0, xs, reverse=True)), XS),
    "scan of a scan": (lambda xs: fw.cumsum(fw.cumsum(xs) * 2), XS),
    "not commutative": (
        lambda k: fw.scan(lambda a, b: (a[0] * b[0] % 7, (b[0] * a[1] + b[1]) % 7), (1, 0), (k, k)),
        KEYS + 1,
    ),
    "no neutral element": (lambda xs: fw.reduce(lambda a, b: fw.where(b > 6, a, b), 3.0, xs), XS),
    "pairs": (
        lambda x: fw.reduce(lambda a, b: (a[0] + b[0], fw.maximum(a[1], b[1])), (0, -9), (x, x)),
        XS,
    ),
    "kept": (lambda xs: xs[xs > 3], XS),
    "sum of kept": (lambda xs: fw.sum(xs[xs > 3] * 2) / fw.mean(xs), XS),
    "nothing kept": (lambda xs: fw.sum(xs[xs > 99]) + fw.max(xs), XS),
    "histogram": (lambda ks: fw.histogram(6, ks), KEYS),
    "permute": (lambda ks, xs: fw.permute(fw.add, fw.full(6, 1.0), ks, xs), KEYS, XS),
    "least ones": (
        lambda ks, xs: (
            fw.permute(fw.minimum, fw.full(9, 99.0), ks, xs + 20),
            fw.permute(fw.maximum, fw.full(9, -99.0), ks, xs - 20),
        ), KEYS, XS,
    ),
    "permute, the last stays": (
        lambda ks, xs: fw.permute(lambda a, b: b, fw.full(9, 1.0), ks, xs, check=False), KEYS, XS,
    ),
    "scatter": (lambda ks, xs: fw.scatter(fw.zeros(9), ks, xs), KEYS, XS),
    "differences": (lambda xs: xs[1:] - xs[:-1], XS),
    "three neighbours": (lambda xs: xs[2:] + xs[1:-1] * xs[:-2], XS),
    "backwards": (lambda xs: fw.cumsum(xs)[::-1], XS),
    "rotated": (lambda xs: (fw.rotate(xs, 5) - xs, fw.cumsum(fw.rotate(xs, -1))), XS),
    "stored": (lambda xs: (lambda y: y[1:] - y[:-1])(fw.store(xs * 2)), XS),
    "rotated by an argument": (lambda xs, k: fw.rotate(xs, k) - xs, XS, 26),
    "on a ring": (around, XS),
    "periodic": (
        lambda m: fw.fori_loop(0, 2, lambda _, m: fw.stencil(
            lambda s: s[-2, 0] - s[1, 1] + s[0, -1], m, (5, 3), "wrap"
        ), m), ROWS,
    ),
    "joined, many to many": (joined, KEYS, XS, KEYS[::2] + 1),
    "every second": (lambda xs: fw.sum(xs[3:17:2]), XS),
    "twice": (lambda xs: fw.concat([xs, xs]) * fw.iota(2 * xs.shape[0]), XS),
    "argmax": (lambda xs: (fw.argmax(xs), fw.argmin(xs)), XS),
    "standard deviation": (lambda xs: (fw.std(xs), fw.var(xs)), XS),
    "ends": (lambda xs: fw.cumsum(xs)[-1] + xs[0], XS),
    "gathered": (lambda xs, ks: xs[ks], XS, KEYS),
    "computed places": (
        lambda xs, ks: fw.map(lambda k: xs[k * 3] * k + xs[52 - k * k] + xs[-k], ks), XS, KEYS,
    ),
    "places of places": (lambda xs, ks: xs[ks[ks]] + ks[ks[ks] * 2] * ks, XS, KEYS),
    "several arrays": (lambda xs, ks: fw.map(lambda k: xs[k * 7] / (ks[k * 7] + 1), ks), XS, KEYS),
    "gathered rows": (lambda m, ks: m[ks * 5], ROWS, KEYS),
    "sums of gathered rows": (
        lambda m, ks: fw.map(lambda k: fw.sum(m[k * 5]) + m[k, 1] * m[k * 2, k % 4], ks),
        ROWS, KEYS,
    ),
    "computed, then gathered": (lambda xs, ks: fw.cumsum(fw.sort(xs)[ks * 9]) * xs, XS, KEYS),
    "gathered in a loop": (
        lambda xs, ks: fw.fori_loop(0, 3, lambda i, s: s[(ks * 8 + i) % 53] + xs, xs), XS, KEYS,
    ),
    "gathered beside shifts": (lambda xs, ks: xs[ks[1:]] - xs[1:] + xs[:-1], XS, KEYS),
    "gathered if": (
        lambda xs, ks: fw.map(lambda k: fw.cond(k > 2, lambda: xs[k * 9], lambda: 0.0), ks),
        XS, KEYS,
    ),
    "searched by hand": (lambda xs, ks: searched(fw.sort(xs), ks), XS, KEYS),
    "followed": (
        lambda ks: fw.map(lambda k: fw.while_loop(
            lambda s: (s[1] < 9) & (ks[s[0]] != 0),
            lambda s: (ks[s[0]] + 7 * s[1], s[1] + 1), (k, 0),
        ), ks), KEYS,
    ),
    "as many turns as it says": (
        lambda ks, xs: fw.map(lambda i: xs[i] + fw.fori_loop(
            0, ks[i], lambda j, s: s + xs[ks[i] * 7 + j] * (xs[fw.minimum(j, i)] + i), 0.0
        ), fw.iota(53)), KEYS, XS,
    ),
    "a few turns": (
        lambda ks, xs: fw.map(
            lambda k, x: x * fw.fori_loop(1, 4, lambda j, s: ks[s * 8] + j, k) + k, ks, xs
        ), KEYS, XS,
    ),
    "loops in loops": (
        lambda ks: fw.map(lambda k: fw.while_loop(
            lambda s: s[1] < 2,
            lambda s: (fw.fori_loop(0, s[0] % 3, lambda j, t: ks[t * 8] + j, s[0]), s[1] + 1),
            (k, 0),
        )[0], ks), KEYS,
    ),
    "loops in branches": (
        lambda ks: fw.map(lambda k: fw.cond(
            k % 2 == 0,
            lambda: fw.while_loop(lambda j: j > 2, lambda j: ks[j * 9] - 1, ks[k + 1]) + k,
            lambda: fw.cond(
                k == 3, lambda: fw.fori_loop(0, ks[k], lambda j, s: s + ks[k * 7 + j], 0),
                lambda: -k,
            ),
        ), ks), KEYS,
    ),
    "rolling medians": (
        lambda xs: fw.map(
            lambda i: fw.sort(fw.map(lambda k: xs[i + k], fw.iota(3)))[1], fw.iota(xs.shape[0] - 2)
        ), XS,
    ),
    "read in branches": (
        lambda xs, ks: fw.map(lambda k: fw.cond(
            k > 2, lambda: xs[k * 9] + fw.cond(xs[k] > 0, lambda: xs[ks[k * 2] * 3], lambda: 0.5),
            lambda: xs[k] - 1,
        ), ks), XS, KEYS,
    ),
    "searched": (lambda xs, ks: fw.searchsorted(fw.sort(xs), ks), XS, KEYS),
    "rows": (lambda m: fw.map(lambda row: row / (1 + fw.sum(row)), m), ROWS),
    "matrix and vector": (lambda m: m @ fw.iota(4), ROWS),
    "scan of rows": (
        lambda m: fw.scan(fw.maximum, fw.ones(4), m, exclusive=True, reverse=True), ROWS,
    ),
    "scan of matrices": (lambda k: fw.scan(times, np.eye(2, dtype=int), matrices(k)), KEYS),
    "product of matrices": (lambda k: fw.reduce(times, np.eye(2, dtype=int), matrices(k)), KEYS),
    "scans down columns": (
        lambda m: (fw.cumsum(m, axis=0), fw.scan(fw.maximum, 2.0, m, reverse=True)), ROWS,
    ),
    "scans along rows": (lambda m: (fw.cumsum(m, axis=1), fw.cumsum(m.T, axis=1).T), ROWS),
    "folds of columns": (
        lambda m: (fw.sum(m, axis=0), fw.argmax(m, axis=0), fw.min(m * m, axis=0)), ROWS,
    ),
    "contractions": (lambda m, xs: (m.T @ m, xs @ m), ROWS, XS),
    "folds in a map": (
        lambda ks, m: fw.map(lambda j: fw.sum(fw.where(ks == j, m[:, 1], 0.0)), fw.iota(6)),
        KEYS, ROWS,
    ),
    "distances of rows to each": (
        lambda m, c: fw.map(
            lambda k: fw.sum(fw.map(lambda p: fw.sum(abs(p - c[k])), m)) + fw.sum(c[k]), fw.iota(4)
        ), ROWS, ROWS[:9],
    ),
    "all of a matrix": (lambda m: (fw.sum(m), fw.max(m)), ROWS),
    "whole beside": (lambda xs: xs + fw.iota(xs.shape[0]), XS),
    "conditions": (lambda xs: (fw.any(xs > 8), fw.all(xs > -9), fw.count_nonzero(xs)), XS),
    "an argument": (lambda xs: (xs, 3), XS),
    "sorted": (lambda xs: fw.sort(xs), XS),
    "order": (lambda xs: fw.argsort(xs), XS),
    "sorted by key": (lambda ks, xs: fw.sort_by_key(ks, xs), KEYS, XS),
    "sorted pairs": (lambda ks, xs: fw.sort((ks, xs)), KEYS, XS),
    "order of pairs": (lambda ks, xs: fw.argsort((ks % 3, xs, -ks), descending=True), KEYS, XS),
    "by two keys": (lambda ks, xs: fw.sort_by_key((ks // 2, xs), (xs, ks)), KEYS, XS),
    "by a key": (lambda ks, xs: fw.sort((ks, xs), key=lambda t: (t[1] > 0, -t[0])), KEYS, XS),
    "by a key from outside": (
        lambda ks, xs: (fw.argsort(xs, key=lambda x: x % ks[2]), fw.sort(ks, key=lambda k: xs[k])),
        KEYS, XS,
    ),
    "sorted beside a whole array": (
        lambda ks: fw.sort_by_key(ks, fw.iota(53) * fw.zeros(53, fw.i64)), KEYS,
    ),
    "median": (lambda xs: fw.sort(xs)[xs.shape[0] // 2], XS),
    "while": (lambda xs: fw.while_loop(lambda s: fw.sum(s) < 9999, lambda s: s * 2 + 1, xs), XS),
    "for": (lambda xs: fw.fori_loop(0, 5, lambda i, s: s + i * xs, xs), XS),
    "for, a number": (lambda xs: fw.fori_loop(0, 3, lambda i, s: s + fw.sum(xs) * i, 0.0), XS),
    "for, whole at first": (lambda xs: fw.fori_loop(0, 3, lambda i, s: s + xs, fw.zeros(53)), XS),
    "branch": (lambda xs: fw.cond(fw.sum(xs) > 0, lambda: xs * 2, lambda: xs - 1), XS),
    "k means": (k_means, XS),
    "reshaped": (lambda xs: fw.reshape(xs[:52], (13, 4)), XS),
    "flat": (lambda m: fw.sum(fw.reshape(m, (-1,)) * fw.iota(212)), ROWS),
    "shorter rows": (lambda m: fw.map(lambda r: fw.sum(r), fw.reshape(m, (-1, 2))), ROWS),
    "scatter into chunks": (lambda xs, ks: fw.scatter(xs, ks * 9 - 1, xs * 100), XS, KEYS),
    "permute into chunks": (lambda xs, ks: fw.permute(fw.add, xs * 1.0, ks * 11 - 2, xs), XS, KEYS),
    "the last one into chunks": (
        lambda xs, ks: fw.permute(lambda a, b: b, xs, ks, -xs, check=False), XS, KEYS),
    "an operator that reads": (
        lambda ks, xs: (
            fw.permute(lambda a, b: (a + b + 2 * ks[3]) % xs[9], xs, ks * 11 - 2, xs % 7),
            fw.permute(lambda a, b: (a + b + 2 * ks[3]) % xs[9], fw.zeros(6), ks, xs % 7),
        ),
        KEYS, XS,
    ),
    "a neutral element from outside": (
        lambda xs, ks, k: fw.reduce_by_index(xs, fw.add, k * 2 - 2, ks * 9, xs), XS, KEYS, 1.0,
    ),
    "segments": (lambda ks, xs: fw.segmented_scan(fw.add, 0.0, ks == 0, xs), KEYS, XS),
    "sums of segments": (lambda ks, xs: fw.segmented_reduce(fw.add, 1.0, ks == 0, xs), KEYS, XS),
    "segments of rows": (
        lambda ks, m: (
            fw.segmented_scan(lambda a, b: a + b, fw.zeros(4), ks == 0, m),
            fw.segmented_reduce(lambda a, b: a + b, fw.zeros(4), ks == 0, m),
        ),
        KEYS, ROWS,
    ),
    "segments down columns": (
        lambda ks, m: (
            fw.segmented_scan(fw.add, 1.0, ks == 0, m),
            fw.segmented_reduce(remainders, (1, 0), ks == 0, (m.astype(int) % 7, m.astype(int))),
            fw.segmented_scan(fw.maximum, 0.0, ks == 0, fw.reshape(m, (53, 2, 2))),
        ),
        KEYS, ROWS,
    ),
    "segments along rows": (
        lambda ks, m: (
            fw.segmented_scan(fw.add, 1.0, ks[:4] == 2, m.T).T,
            fw.segmented_reduce(remainders, (1, 0), ks[:4] == 2, (m.T % 7, m.T)),
        ),
        KEYS, ROWS,
    ),
    "segments of matrices": (
        lambda ks: fw.segmented_reduce(times, np.eye(2, dtype=int), ks == 0, matrices(ks)), KEYS,
    ),
    "numbers and rows": (
        lambda ks, m: (
            fw.scan(affine, (1, fw.zeros(4)), (ks % 2, m), reverse=True),
            fw.reduce(affine, (1, fw.zeros(4)), (ks % 2, m)),
        ),
        KEYS, ROWS,
    ),
    "groups": (groups, KEYS, XS),
    "sums of rows": (lambda r: (fw.sum(r, axis=1), r.lengths, fw.sum(r.values)), RAGGED),
    "rows alike": (lambda r: fw.map(lambda row: fw.cumsum(row) - fw.sum(row), r) * 2, RAGGED),
    "rows in rows": (
        lambda r: fw.map(lambda row: fw.map(lambda x: fw.sum(x * row), row), r), RAGGED,
    ),
    "shorter rows of each": (
        lambda r: fw.map(lambda row: (row[row > 2], row[1:] - row[:-1], fw.sum(row)), r[5:]),
        RAGGED,
    ),
    "rows that were made": (
        lambda ks: fw.sum(fw.map(lambda k: fw.cumsum(fw.iota(k) * 3 % 5), ks), axis=1), KEYS,
    ),
    "rows kept": (lambda r: (r[r.lengths > 2], fw.filter(lambda x: fw.sum(x) > 3, r)), RAGGED),
    "rows gathered": (lambda r, i: (r[i], r[3], fw.reverse(r)), RAGGED, INDICES),
    "neighbouring rows": (
        lambda r: fw.map(lambda i: fw.sum(r[i]) - fw.sum(r[i + 1]), fw.iota(17)),
        RAGGED,
    ),
    "rows joined": (lambda r: fw.sum(fw.concat([r, r * 2]), axis=1), RAGGED),
    "rows and one of each": (lambda r, i: (r + i, r.flags), RAGGED, np.arange(18)),
    "sums of places": (lambda r: fw.sum(r, axis=0), RAGGED),
    "groups as rows": (rows_of_groups, KEYS, XS),
    "rows of rows": (
        lambda r: (fw.map(lambda row: fw.map(lambda x: fw.sum(x), row), r), r * 2), NESTED,
    ),
    "sums of rows of rows": (
        lambda r: fw.map(lambda row: fw.sum(fw.map(lambda x: x[x > 0] * 2, row), axis=1), r),
        NESTED,
    ),
    "expand": (lambda ks: fw.expand(lambda k: k, lambda k, i: k * 10 + i, ks), KEYS),
    "sum of expand": (lambda ks: fw.sum(fw.expand(lambda k: k, lambda k, i: k * 10 + i, ks)), KEYS),
}


QUICK = (
    "by two keys",
    "normalised", "suffixes", "scan of a scan", "not commutative", "sum of kept", "scatter",
    "three neighbours", "twice", "gathered", "rows", "sorted by key", "k means", "branch", "expand",
    "flat", "permute into chunks", "groups", "scan of matrices", "folds of columns",
    "rows kept", "rows of rows",
)  # fmt: skip
"""Those that have one of each kind of exchange."""


def both(name: str, place: Any, rows: int) -> tuple[list[Any], list[Any]]:
    """The results of a program in chunks of `rows` rows, and on one machine."""
    f, *args = PROGRAMS[name]
    compiled, flat = fw.jit(f).taken(*args)
    program = compiled.traced.program
    split = [k for k, p in enumerate(program.fn.params) if isinstance(p.type, ArrayType)]
    given = [Chunked.cut(arg, rows) if k in split else arg for k, arg in enumerate(flat)]
    found = results_of(divide(program, split), place, given)
    return [np.asarray(each) for each in found], compiled.executable.run(flat)


def agree(name: str, place: Any, rows: int) -> None:
    """Bit for bit, except for rounded functions: these agree to a few ulp."""
    found, wanted = both(name, place, rows)
    assert len(found) == len(wanted)
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.dtype == np.asarray(theirs).dtype
        if name in ROUNDS:
            np.testing.assert_allclose(mine, theirs, rtol=1e-14)
        else:
            np.testing.assert_array_equal(mine, theirs)


ROUNDS = {"groups as rows", "k means", "normalised", "softmax", "sum of kept", "standard deviation"}
