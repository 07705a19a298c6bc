"""Programs that go through every rule, with arguments away from ties and predicates."""

from __future__ import annotations

import numpy as np

import flatweave as fw

X = np.array([1.2, 2.1, 3.3, -1.5, 0.7])
Y = np.array([0.3, -0.2, 1.4, 2.2, -0.8])
M = np.random.default_rng(1).normal(size=(3, 4))
N = np.random.default_rng(2).normal(size=(4, 2))
STACK = np.random.default_rng(0).normal(size=(4, 2, 2))
ROWS = fw.ragged([[1.0, 2.0], [], [3.0, 4.5, -1.0]])
AT = np.array([2, 0, 2, 4, 1])
STARTS = np.array([True, False, True, False, False])
LONG = np.random.default_rng(3).uniform(0.9, 1.1, 257)


def affine(f, g):
    """Linear functions, composed in order."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def product(p, q):
    """Matrices of 2 by 2 numbers: an operator that does not commute."""
    return (
        p[0] * q[0] + p[1] * q[2], p[0] * q[1] + p[1] * q[3],
        p[2] * q[0] + p[3] * q[2], p[2] * q[1] + p[3] * q[3],
    )  # fmt: skip


def mul(a, b):
    """A product, as an operator that only its text says to be one."""
    return a * b


ELEMENTWISE = {
    "mul": (lambda x, y: x * y, X, Y),
    "where": (lambda x: fw.where(x > 0, fw.log(fw.abs(x)), x * x), X),
    "a transpose": (lambda m: m.T * 2, M),
    "slices": (lambda x: x[1:4] * x[:3], X),
    "reversed": (lambda x: x[::-1] * x, X),
    "a gather": (lambda x: x[AT] * x, X),
    "single elements": (lambda x: x[0] * x[2], X),
    "a stencil": (lambda x: fw.stencil(lambda w: w[-1] * w[0] + w[1], x, 3), X),
    "numbers": (lambda a, x: fw.sum(a * x), 2.0, X),
    "a map of arrays from around it": (
        lambda x, y: fw.map(lambda a: fw.sum(fw.map(lambda b: fw.sin(a * b), y)), x), X, Y,
    ),
    "a matrix and a vector": (lambda m, x: m @ x, M, Y[:4]),
    "matrices": (lambda m, n: m @ n, M, N),
    "a dict": (lambda d: {"s": d["a"] * d["b"], "k": d["k"]}, {"a": X, "b": Y, "k": 3}),
}  # fmt: skip
MOVES = {
    "sort": (lambda x: fw.sort(x) * Y, X),
    "sort by key": (lambda x: fw.sort_by_key(Y, x), X),
    "argsort": (lambda x: x[fw.argsort(x)], X),
    "filter": (lambda x: fw.filter(lambda a: a > 0, x) * 2, X),
    "concat": (lambda x, y: fw.concat([x, y, x]) * 1.5, X, Y),
    "reshape": (lambda m: fw.reshape(m, (4, 3)) * 2, M),
    "stack": (lambda x, y: fw.stack([x, y], axis=1) * 2, X, Y),
    "scatter to equal indices": (lambda x, y: fw.scatter(x, AT, y * y), X, Y),
    "at set": (lambda x: x.at[1].set(x[0] * 3), X),
    "at add": (lambda x: x.at[AT].add(x), X),
    "expand": (
        lambda x: fw.expand(lambda a: fw.astype(fw.abs(a), fw.i64), lambda a, i: a * x[i], x), X,
    ),
}  # fmt: skip
FOLDS = {
    "sum": (lambda m: fw.sum(m * m), M),
    "sum down": (lambda m: fw.sum(m * m, axis=0), M),
    "sum along": (lambda m: fw.sum(m * m, axis=1), M),
    "standard deviation": (lambda m: fw.std(m, axis=0), M),
    "sum of none": (fw.sum, X[:0]),
    "product": (fw.prod, X),
    "product of none": (fw.prod, X[:0]),
    "product of one": (fw.prod, X[:1]),
    "product with a zero": (fw.prod, np.array([1.0, 0.0, 2.0])),
    "product with two zeros": (fw.prod, np.array([1.0, 0.0, 2.0, 0.0])),
    "product of many": (fw.prod, LONG),
    "extremes": (lambda x: fw.max(x) * fw.min(x), X),
    "argmax": (lambda x: x[fw.argmax(x)] * x, X),
    "initial": (lambda c, x: fw.reduce(mul, c, x), 2.5, X),
    "initial of none": (lambda c, x: fw.reduce(mul, c, x), 2.5, X[:0]),
    "linear functions": (lambda x, y: fw.reduce(affine, (1.0, 0.0), (x, y)), X, Y),
    "rows": (lambda m: fw.reduce(mul, fw.ones(4), m), M),
    "matrices": (lambda s: fw.reduce(lambda a, b: a @ b, fw.eye(2), s), STACK),
    "an operator that reads more": (
        lambda w, x: fw.reduce(lambda a, b: a * b * w, 1.0, x, check=False), 1.3, X,
    ),
}  # fmt: skip
SCANS = {
    "cumsum": (lambda x: fw.cumsum(x * x), X),
    "cumprod": (fw.cumprod, X),
    "cumprod with zeros": (fw.cumprod, np.array([1.0, 0.0, 2.0, 0.0, 3.0])),
    "maxima": (lambda x: fw.scan(fw.maximum, -np.inf, x), X),
    "exclusive": (lambda c, x: fw.scan(mul, c, x, exclusive=True), 2.5, X),
    "from the end": (lambda c, x: fw.scan(mul, c, x, reverse=True), 2.5, X),
    "from the end, exclusive": (
        lambda c, x: fw.scan(mul, c, x, reverse=True, exclusive=True), 2.5, X,
    ),
    "linear functions": (lambda x, y: fw.scan(affine, (1.0, 0.0), (x, y)), X, Y),
    "linear functions from the end": (
        lambda x, y: fw.scan(affine, (1.0, 0.0), (x, y), reverse=True), X, Y,
    ),
    "matrices": (
        lambda a, b: fw.scan(product, (1.0, 0.0, 0.0, 1.0), (a, b, b * 2, a - b)), X, Y,
    ),
    "many": (lambda x: fw.scan(mul, 1.0, x), LONG),
    "an operator that reads more": (
        lambda w, x: fw.scan(lambda a, b: a * b * w, 1.0, x, check=False), 1.3, X,
    ),
    "matrices as rows": (lambda s: fw.scan(lambda a, b: a @ b, fw.eye(2), s), STACK),
    "matrices as rows from the end, exclusive": (
        lambda s: fw.scan(lambda a, b: a @ b, fw.eye(2), s, exclusive=True, reverse=True), STACK,
    ),
    "segments": (lambda x: fw.segmented_scan(mul, 1.0, STARTS, x), X),
    "sums of segments": (lambda x: fw.segmented_reduce(fw.add, 0.0, STARTS, x * x), X),
    "products of segments": (lambda c, x: fw.segmented_reduce(mul, c, STARTS, x), 1.5, X),
    "sums by index": (lambda x: fw.reduce_by_index(fw.zeros(4), fw.add, 0.0, AT, x * x), X),
    "products by index": (lambda y, x: fw.reduce_by_index(y, mul, 1.0, AT, x), Y, X),
    "maxima by index": (lambda y, x: fw.reduce_by_index(y, fw.maximum, -np.inf, AT, x), Y, X),
}  # fmt: skip
NESTS = {
    "sums of rows": (lambda r: fw.sum(r * r, axis=1), ROWS),
    "rows of rows as an argument": (
        lambda r: fw.map(lambda rows: fw.map(lambda row: fw.sum(row * row), rows), r),
        fw.Ragged(ROWS, [0, 2, 2, 3]),
    ),
    "softmax": (lambda r: fw.map(lambda row: fw.exp(row) / fw.sum(fw.exp(row)), r), ROWS),
    "rows and an array from around": (
        lambda r, x: fw.map(lambda row: fw.sum(row * x[:1]) * x[2], r), ROWS, X,
    ),
    "rows that gather": (
        lambda r, x: fw.map(
            lambda row: fw.sum(row * fw.gather(x, fw.astype(row * 0.5 + 0.3, fw.i64))), r
        ), ROWS, X,
    ),
    "rows of a matrix": (lambda m, x: fw.map(lambda row: fw.sum(row * row) * x[0], m), M, X),
    "products of rows": (lambda m: fw.map(fw.prod, m), M),
    "scans of rows": (lambda m: fw.map(lambda row: fw.cumsum(row * row), m), M),
    "rows with numbers from around them": (
        lambda r, x: fw.map(lambda row: fw.map(lambda a: x, row), r), ROWS, X,
    ),
    "a row of computed length in one branch": (
        lambda x: fw.map(lambda a: fw.sum(fw.cond(
            a > 0, lambda: fw.full(fw.astype(a, fw.i64), a), lambda: x * a)), x), X,
    ),
    "sorted rows": (lambda m: fw.map(fw.sort, m), M),
    "rows of computed lengths": (lambda x: fw.map(lambda k: x[:k] * 2, AT), X),
    "sums of such rows": (lambda x: fw.map(lambda a, k: fw.sum(fw.iota(k) * a), x, AT), X),
    "gradients of rows": (
        lambda r: fw.map(fw.grad(lambda row: fw.sum(row * row * row)), r), ROWS,
    ),
}  # fmt: skip
CONTROL = {
    "cond": (lambda x: fw.cond(x[0] > 0, lambda: x[1:] * 2, lambda: x * x), X),
    "cond of elements": (
        lambda x: fw.map(lambda a: fw.cond(a > 0, lambda: a * x[1], lambda: fw.sin(a)), x), X,
    ),
    "cond that sums": (
        lambda x: fw.map(
            lambda a: fw.cond(a > 0, lambda: fw.sum(x[:2]) * a, lambda: fw.sin(a)), x
        ), X,
    ),
    "fori_loop": (lambda x: fw.fori_loop(0, 4, lambda i, s: s * x + x[i], x), X),
    "no iteration": (lambda x: fw.fori_loop(0, 0, lambda i, s: s * x + x[i], x), X),
    "fori_loop of elements": (
        lambda x: fw.map(lambda a: fw.fori_loop(1, 4, lambda i, s: s * a + x[i], a), x), X,
    ),
    "loops in loops": (
        lambda x: fw.fori_loop(
            0, 3, lambda i, s: fw.fori_loop(0, 2, lambda j, t: t * x[i] + x[j], s), 1.0
        ), X,
    ),
    "while_loop": (
        lambda x: fw.while_loop(
            lambda s: s[0] < 100, lambda s: (s[0] * s[1], s[1] + 0.5), (x[0], x[1])
        ), X,
    ),
    "arrays that grow": (
        lambda x: fw.while_loop(
            lambda s: s[0].shape[0] < 19,
            lambda s: (fw.concat([s[0], s[0] * s[1]]), s[1] * fw.sum(s[0])), (x, 0.3),
        ), X,
    ),
    "arrays that shrink": (
        lambda x: fw.fori_loop(0, 3, lambda i, s: s[1:] * s[:-1] + x[i], x), X,
    ),
    "matrices that change shape": (
        lambda m: fw.fori_loop(0, 2, lambda i, s: s[:-1].T * 1.5 + s[0, 0], m), M,
    ),
    "loops of elements of many iterations": (
        lambda x, n: fw.map(lambda a, m: fw.while_loop(
            lambda s: s[1] < m,
            lambda s: (s[0] + 0.1 * fw.sin(s[0] * a) * s[2], s[1] + 1, 0.9 * s[2] + a), (a, 0, 0.3),
        )[0], x, n), X, np.array([0, 1, 8, 13, 29]),
    ),
    "arrays of elements that shrink": (
        lambda r: fw.map(lambda row: fw.while_loop(
            lambda s: s.shape[0] > 1, lambda s: s[1:] * s[:-1] + s[0], row
        ), r), ROWS,
    ),
    "filters in a loop of elements": (
        lambda r, x: fw.map(lambda row: fw.fori_loop(
            0, 3, lambda i, s: fw.filter(lambda a: a > -0.5, s * x[i] - 0.7), row
        ), r), ROWS, X,
    ),
    "loops of elements that read some of an array": (
        lambda r, x: fw.map(lambda row: fw.fori_loop(
            0, 3, lambda i, s: s * fw.sum(fw.filter(lambda a: a > s, x)), fw.sum(row) + 0.1
        ), r), ROWS, X,
    ),
    "loops of elements that read all of an array": (
        lambda n, x: fw.map(lambda a: fw.fori_loop(
            0, n, lambda i, s: fw.min(x, initial=a + 0.3), a), x), 2, X,
    ),
    "loops that gather rows": (
        lambda m: fw.fori_loop(0, 3, lambda i, s: s + fw.sin(s)[np.array([0, 0, 1])], m), M,
    ),
    "loops that roll a matrix": (
        lambda m: fw.fori_loop(0, 3, lambda i, s: s + fw.sin(fw.roll(s, 1, axis=0)), m), M,
    ),
    "filters in a loop": (
        lambda x: fw.fori_loop(0, 3, lambda i, s: fw.filter(lambda a: a > -1, s * 1.1 - 0.5), x),
        X,
    ),
    "loops that shrink in a loop": (
        lambda x: fw.fori_loop(0, 2, lambda i, s: fw.while_loop(
            lambda t: t.shape[0] > 2, lambda t: t[1:] * 1.1, s
        ) * 2, x), X,
    ),
    "while_loop of elements": (
        lambda x: fw.map(
            lambda a: fw.while_loop(
                lambda s: s[1] < 4, lambda s: (s[0] * a + fw.sin(s[0]), s[1] + 1), (a, 0)
            )[0], x,
        ), X,
    ),
}  # fmt: skip
LIBRARY = {
    "median": (fw.median, X),
    "einsum": (lambda m: fw.einsum("ij,kj->ik", m, m), M),
    "roll and pad": (lambda x: fw.pad(fw.roll(x, 2) * x, 2), X),
    "interp": (lambda x: fw.interp(x, np.array([-2.0, 0, 2, 4]), np.array([1.0, 3, 2, 5])), X),
    "take_along_axis": (lambda m: fw.take_along_axis(m, fw.argsort(m, axis=1), axis=1), M),
    "convolve": (lambda x: fw.convolve(x, np.array([1.0, 2.0, 3.0])), X),
    "nanmean": (lambda x: fw.nanmean(fw.where(x > 0, x, np.nan)), X),
    "random": (lambda x: x * fw.random.normal(fw.random.key(0), 5), X),
    "partition": (lambda x: fw.partition(lambda a: a > 0, x), X),
    "expand_reduce": (
        lambda x: fw.expand_reduce(lambda a: 3, lambda a, i: a * x[i], fw.add, 0.0, x), X,
    ),
    "at multiply": (lambda x: x.at[[0, 1, 1]].multiply(x[:3]), X),
    "sorted rows of a Ragged": (lambda r: fw.sort(r, axis=1), ROWS),
    "extremes of rows": (lambda r: fw.max(r, axis=1, initial=-10.0), ROWS),
    "products of rows of a Ragged": (lambda r: fw.prod(r, axis=1), ROWS),
    "rows of rows": (
        lambda r: fw.map(lambda row: fw.map(lambda a: fw.prod(row * a), row), r), ROWS,
    ),
    "filtered rows": (
        lambda r: fw.map(lambda row: fw.filter(lambda a: a > 1.5, row) * 2, r), ROWS,
    ),
    "loops in rows": (
        lambda m, x: fw.map(
            lambda row: fw.fori_loop(0, 3, lambda i, s: s + fw.sum(row * x[:4]) * x[i], 1.0), m
        ), M, X,
    ),
}  # fmt: skip
PROGRAMS = {
    f"{family}: {name}": program
    for family, programs in (
        ("elementwise", ELEMENTWISE), ("moves", MOVES), ("folds", FOLDS), ("scans", SCANS),
        ("nests", NESTS), ("control", CONTROL), ("library", LIBRARY),
    )
    for name, program in programs.items()
}  # fmt: skip
