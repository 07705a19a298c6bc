"""What users of NumPy, pandas and Dask do every day, and the same in plain NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np

import flatweave as fw

Make = Callable[[Any, int], tuple[Any, ...]]
DAILY: dict[str, tuple[Any, Any, Make]] = {}
"""For each name the program, its reference, and arguments from a generator and a length."""


def daily(make: Make, reference: Any) -> Any:
    """Name a program of this list."""

    def declare(f: Any) -> Any:
        DAILY[f.__name__] = f, reference, make
        return f

    return declare


def first_of_each(xs):
    """Whether an element differs from the one before it."""
    before = lambda i: xs[fw.maximum(i - 1, 0)]
    return fw.map(lambda i: (i == 0) | (xs[i] != before(i)), fw.iota(xs.shape[0]))


def _joined(lk, lv, rk, rv):
    have = dict(zip(rk.tolist(), rv.tolist(), strict=True))
    kept = np.array([k in have for k in lk.tolist()], bool)
    return lk[kept], lv[kept], np.array([have[k] for k in lk[kept].tolist()])


@daily(
    lambda r, n: (r.integers(0, 30, n), r.random(n), r.permutation(30)[:20], r.random(20)), _joined
)
def join(lk, lv, rk, rv):
    """Rows of two tables whose keys are equal; the right ones differ."""
    rk, rv = fw.sort_by_key(rk, rv)
    at = fw.minimum(fw.searchsorted(rk, lk), rk.shape[0] - 1)
    found = rk[at] == lk
    return lk[found], lv[found], rv[at[found]]


def _smoothed(xs):
    found, y = [], 0.0
    for x in xs:
        y = 0.7 * y + 0.3 * x
        found.append(y)
    return np.array(found)


@daily(lambda r, n: (r.random(n),), _smoothed)
def smoothed(xs):
    """A recurrence, as a scan of the functions that its steps are."""
    steps = fw.map(lambda x: (0.7, 0.3 * x), xs)
    return fw.scan(lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (1.0, 0.0), steps)[1]


def _filled(xs):
    last, found = np.nan, []
    for x in xs:
        last = last if np.isnan(x) else x
        found.append(last)
    return np.array(found, float)


@daily(lambda r, n: (np.where(r.random(n) < 0.4, np.nan, r.random(n)),), _filled)
def filled_forward(xs):
    """The last value that is one."""
    return fw.scan(lambda a, b: fw.where(fw.isnan(b), a, b), np.nan, xs)


def _resampled(t, v):
    found = np.unique(t // 10)
    return found, np.array([v[t // 10 == k].sum() for k in found])


@daily(lambda r, n: (np.sort(r.integers(0, 100, n)), r.random(n)), _resampled)
def resampled(t, v):
    """Sums of spans of time, of those in which there is something."""
    span = t // 10
    begins = first_of_each(span)
    return span[begins], fw.segmented_reduce(fw.add, 0.0, begins, v)


def _last_quotes(t, at, price):
    place = np.searchsorted(at, t, "right") - 1
    return np.where(place >= 0, price[place], np.nan)


@daily(
    lambda r, n: (np.sort(r.random(n)), np.sort(r.random(17)), r.random(17)), _last_quotes
)
def last_quotes(t, at, price):
    """A join with the last row at or before each time."""
    place = fw.searchsorted(at, t, side="right") - 1
    return fw.where(place >= 0, price[fw.maximum(place, 0)], np.nan)


def _equalised(image):
    sums = np.bincount(image.ravel(), minlength=256).cumsum()
    return sums[image] * 255 // max(sums[-1], 1)


@daily(lambda r, n: (r.integers(0, 256, (n, 6)),), _equalised)
def equalised(image):
    """An image whose histogram is even."""
    sums = fw.cumsum(fw.histogram(256, fw.reshape(image, (-1,))))
    return sums[image] * 255 // fw.maximum(sums[255], 1)


@daily(lambda r, n: (r.integers(0, 9, (n, 5)),), lambda m: m.cumsum(0).cumsum(1))
def integral_image(m):
    """Sums of all corners."""
    return fw.cumsum(fw.cumsum(m, axis=0), axis=1)


def _components(u, v):
    label = np.arange(50)
    while True:
        new, least = label.copy(), np.minimum(label[u], label[v])
        np.minimum.at(new, u, least)
        np.minimum.at(new, v, least)
        if (new == label).all():
            return label
        label = new


@daily(lambda r, n: (r.integers(0, 50, n), r.integers(0, 50, n)), _components)
def components(u, v):
    """The least node that can be reached, along edges in chunks."""

    def turn(s):
        least = fw.minimum(s[0][u], s[0][v])
        new = fw.permute(fw.minimum, s[0], fw.concat([u, v]), fw.concat([least, least]))
        return new, fw.any(new != s[0])

    return fw.while_loop(lambda s: s[1], turn, (fw.iota(50), True))[0]


def _sparse_rows(u, v):
    order = np.lexsort((v, u))
    return np.append(0, np.bincount(u, minlength=20).cumsum()), v[order]


@daily(lambda r, n: (r.integers(0, 20, n), r.integers(0, 20, n)), _sparse_rows)
def sparse_rows(u, v):
    """A list of edges as rows of neighbours."""
    u, v = fw.sort_by_key((u, v), (u, v))[1]
    return fw.concat([fw.full(1, 0), fw.cumsum(fw.histogram(20, u))]), v


def _principal(m):
    x, v = m - m.mean(0), np.ones(4)
    for _ in range(6):
        w = x.T @ (x @ v)
        v = w / np.sqrt((w * w).sum())
    return v


@daily(lambda r, n: (r.random((n + 2, 4)),), _principal)
def principal(m):
    """The direction in which rows differ most, by a power iteration."""
    x = m - fw.mean(m, axis=0)

    def turn(i, v):
        w = x.T @ (x @ v)
        return w / fw.sqrt(fw.sum(w * w))

    return fw.fori_loop(0, 6, turn, fw.full(4, 1.0))


def _numbers(text):
    return np.array([int(x) for x in bytes(text).split(b",") if x], np.int64)


@daily(lambda r, n: (r.choice(np.frombuffer(b"123,0", np.uint8), n),), _numbers)
def numbers(text):
    """Text with commas between numbers."""
    inside, n = text != 44, text.shape[0]
    digit = fw.where(inside, text.astype(fw.i64) - 48, 0)
    steps = fw.map(lambda g, x: (fw.where(g, 10, 0), x), inside, digit)
    value = fw.scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1, 0), steps)[1]
    last = fw.map(lambda i: (i == n - 1) | ~inside[fw.minimum(i + 1, n - 1)], fw.iota(n))
    return value[last & inside]


def _rolling(xs):
    return np.array([np.median(xs[i : i + 5]) for i in range(len(xs) - 4)])


@daily(lambda r, n: (r.random(n + 4),), _rolling)
def rolling_median(xs):
    """Of five neighbours the middle one."""
    five = lambda i: fw.map(lambda k: xs[i + k], fw.iota(5))
    return fw.map(lambda i: fw.sort(five(i))[2], fw.iota(xs.shape[0] - 4))


@daily(
    lambda r, n: (r.integers(0, 20, n),),
    lambda xs: xs[np.sort(np.unique(xs, return_index=True)[1])],
)
def first_seen(xs):
    """Each value once, in the order in which they come."""
    order = fw.argsort(xs)
    return xs[fw.sort(order[first_of_each(xs[order])])]


def _runs(xs):
    begin = np.flatnonzero(np.append(True, xs[1:] != xs[:-1]))
    return xs[begin], np.diff(np.append(begin, len(xs)))


@daily(lambda r, n: (r.integers(0, 2, n + 1),), _runs)
def runs(xs):
    """Values, and how often each of them comes again."""
    begins = first_of_each(xs)
    places = fw.iota(xs.shape[0])[begins]
    return xs[begins], fw.concat([places[1:], fw.full(1, xs.shape[0])]) - places


def _medians(k, x):
    rows = [np.sort(x[k == j]) for j in range(5)]
    return np.array([row[len(row) // 2] if len(row) else -1.0 for row in rows])


@daily(lambda r, n: (r.integers(0, 5, n), r.random(n)), _medians)
def medians_of_groups(k, x):
    """Rows of a group-by, sorted."""
    k, x = fw.sort_by_key(k, x)
    rows = fw.ragged(x, lengths=fw.histogram(5, k))
    middle = lambda r: fw.cond(r.shape[0] > 0, lambda: fw.sort(r)[r.shape[0] // 2], lambda: -1.0)
    return fw.map(middle, rows)


def _sums_so_far(k, x):
    sums, found = {}, []
    for key, value in zip(k.tolist(), x.tolist(), strict=True):
        sums[key] = sums.get(key, 0) + value
        found.append(sums[key])
    return np.array(found, np.int64)


@daily(lambda r, n: (r.integers(0, 5, n), r.integers(0, 9, n)), _sums_so_far)
def sums_so_far(k, x):
    """Of each group, in the order in which rows come."""
    order = fw.argsort(k)
    sums = fw.segmented_scan(fw.add, 0, first_of_each(k[order]), x[order])
    return fw.scatter(fw.full(k.shape[0], 0), order, sums)


def _matrix(r, n):
    ends = np.append(0, r.integers(0, 4, n).cumsum())
    return ends, r.integers(0, 9, ends[-1]), r.random(ends[-1]), r.random(9)


def _product(ends, column, value, x):
    parts = zip(ends, ends[1:], strict=False)
    return np.array([(value[a:b] * x[column[a:b]]).sum() for a, b in parts])


@daily(_matrix, _product)
def sparse_product(ends, column, value, x):
    """A matrix of few elements, times a vector."""
    columns, values = fw.ragged(column, offsets=ends), fw.ragged(value, offsets=ends)
    row = lambda c, v: fw.sum(fw.map(lambda j, a: a * x[j], c, v))
    return fw.map(row, columns, values)
