"""Analyses of graphs, pictures and samples, and the same in plain NumPy."""

import itertools

import numpy as np

import flatweave as fw
from tests.cluster.everyday import daily

# -- graphs ---------------------------------------------------------------------------------------


def _ranks(u, v):
    out, rank = np.bincount(u, minlength=30), np.full(30, 1 / 30)
    for _ in range(5):
        sent = np.bincount(v, rank[u] / out[u], minlength=30)
        rank = 0.15 / 30 + 0.85 * (sent + rank[out == 0].sum() / 30)
    return rank


@daily(lambda r, n: (r.integers(0, 30, n), r.integers(0, 30, n)), _ranks)
def page_rank(u, v):
    """From a list of edges."""
    out = fw.histogram(30, u)

    def turn(_, rank):
        sent = fw.permute(fw.add, fw.zeros(30), v, rank[u] / out[u])
        lost = fw.sum(fw.where(out == 0, rank, 0.0))
        return 0.15 / 30 + 0.85 * (sent + lost / 30)

    return fw.fori_loop(0, 5, turn, fw.full(30, 1 / 30))


def _triangles(u, v):
    m = np.zeros((12, 12), np.int64)
    m[u, v] = 1
    return np.trace(m @ m @ m)


@daily(lambda r, n: (r.integers(0, 12, n), r.integers(0, 12, n)), _triangles)
def closed_walks(u, v):
    """Of three steps, by a matrix of neighbours."""
    m = fw.reshape(fw.scatter(fw.zeros(144, fw.i64), u * 12 + v, fw.full(u.shape[0], 1)), (12, 12))
    return fw.sum((m @ m) * m.T)


def _roots(parent):
    while (parent[parent] != parent).any():
        parent = parent[parent]
    return parent


@daily(lambda r, n: (np.array([r.integers(0, i + 1) for i in range(n)], int),), _roots)
def roots(parent):
    """Of a forest, by jumps over grandparents."""
    turn = lambda s: (s[0][s[0]], fw.any(s[0][s[0]] != s[0]))
    return fw.while_loop(lambda s: s[1], turn, (parent, True))[0]


# -- pictures and points ---------------------------------------------------------------------------


@daily(
    lambda r, n: (r.random((4 * n, 8)),),
    lambda m: m.reshape(len(m) // 4, 4, 2, 4).max(axis=(1, 3)),
)
def tiles(m):
    """The greatest of every tile of a picture."""
    return fw.max(fw.reshape(m, (m.shape[0] // 4, 4, 2, 4)), axis=(1, 3))


def _neighbours(x, q):
    near = ((q[:, None] - x) ** 2).sum(2)
    order = np.argsort(near, axis=1, kind="stable")[:, :3]
    return order, np.take_along_axis(near, order, 1)


@daily(lambda r, n: (r.random((n + 3, 2)), r.random((4, 2))), _neighbours)
def nearest_three(x, q):
    """Of every query, by comparing it with all."""

    def of_query(place):
        away = fw.map(lambda p: fw.sum((p - place) ** 2), x)
        order = fw.argsort(away)[:3]
        return order, away[order]

    return fw.map(of_query, q)


def _areas(ends, x, y):
    found = []
    for a, b in itertools.pairwise(ends):
        found.append((x[a:b] * np.roll(y[a:b], -1) - np.roll(x[a:b], -1) * y[a:b]).sum() / 2)
    return np.array(found)


def _polygons(r, n):
    ends = np.append(0, r.integers(0, 6, n).cumsum())
    return ends, r.random(ends[-1]), r.random(ends[-1])


@daily(_polygons, _areas)
def areas(ends, x, y):
    """Of polygons of any number of corners."""
    xs, ys = fw.ragged(x, offsets=ends), fw.ragged(y, offsets=ends)

    def area(x, y):
        n = x.shape[0]
        corner = lambda i: x[i] * y[(i + 1) % n] - x[(i + 1) % n] * y[i]
        return fw.sum(fw.map(corner, fw.iota(n))) / 2

    return fw.map(area, xs, ys)


@daily(
    lambda r, n: (np.sort(r.random(12)), r.random(12), r.random(n)),
    lambda at, y, x: np.interp(x, at, y),
)
def interpolated(at, y, x):
    """A line between the two points next to each one."""
    k = fw.clip(fw.searchsorted(at, x, side="right"), 1, 11)
    part = fw.clip((x - at[k - 1]) / (at[k] - at[k - 1]), 0.0, 1.0)
    return y[k - 1] + (y[k] - y[k - 1]) * part


# -- samples --------------------------------------------------------------------------------------


def _hashed(x):
    h = (x.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    return x[np.argsort(h, kind="stable")[:5]]


@daily(lambda r, n: (r.integers(0, 10**6, n + 5),), _hashed)
def sampled(x):
    """Those with the least hashes, whichever chunks they are in."""
    h = (x.astype(fw.u64) * fw.u64(0x9E3779B97F4A7C15)) >> fw.u64(40)
    return fw.sort_by_key(h, x)[1][:5]


def _mixture(x):
    mean, spread, part = np.array([0.2, 0.8]), np.array([0.1, 0.2]), np.array([0.5, 0.5])
    for _ in range(3):
        p = part * np.exp(-((x[:, None] - mean) ** 2) / (2 * spread)) / np.sqrt(spread)
        p /= p.sum(1, keepdims=True)
        n = p.sum(0)
        mean = (p * x[:, None]).sum(0) / n
        spread = (p * (x[:, None] - mean) ** 2).sum(0) / n + 1e-3
        part = n / len(x)
    return mean, spread, part


@daily(lambda r, n: (r.random(n + 2),), _mixture)
def mixture(x):
    """Two normal distributions, by three iterations of expectation and maximization."""

    def turn(_, state):
        mean, spread, part = state
        p = part * fw.exp(-((x[:, None] - mean) ** 2) / (2 * spread)) / fw.sqrt(spread)
        p = p / fw.sum(p, axis=1)[:, None]
        n = fw.sum(p, axis=0)
        mean = fw.sum(p * x[:, None], axis=0) / n
        spread = fw.sum(p * (x[:, None] - mean) ** 2, axis=0) / n + 1e-3
        return mean, spread, n / x.shape[0]

    start = fw.asarray([0.2, 0.8]), fw.asarray([0.1, 0.2]), fw.asarray([0.5, 0.5])
    return fw.fori_loop(0, 3, turn, start)


@daily(
    lambda r, n: (r.random(5 * n + 5),),
    lambda x: np.median(np.median(x.reshape(-1, 5), axis=1)),
)
def median_of_medians(x):
    """Of rows of five."""
    five = fw.map(lambda row: fw.sort(row)[2], fw.reshape(x, (x.shape[0] // 5, 5)))
    n = five.shape[0]
    ordered = fw.sort(five)
    return (ordered[(n - 1) // 2] + ordered[n // 2]) / 2


def _bootstrap(x, at):
    return x[at].mean(1)


@daily(lambda r, n: (r.random(n + 1), r.integers(0, n + 1, (6, 9))), _bootstrap)
def bootstrap(x, at):
    """Means of samples that are drawn with replacement."""
    return fw.map(lambda row: fw.mean(fw.map(lambda k: x[k], row)), at)


@daily(
    lambda r, n: (r.random((n + 1, 3)), r.random((n + 1,))),
    lambda m, y: np.linalg.solve(m.T @ m + np.eye(3), m.T @ y),
)
def ridge(m, y):
    """A linear regression, by the equations of its sums."""
    return fw.linalg.solve(m.T @ m + fw.eye(3), m.T @ y)
