"""Forms without storage: folds, maps and elementwise rows."""

from __future__ import annotations

import math

import flatweave as fw
from tests.nests.programs.program import (
    BYTES,
    CUBE,
    DEEP,
    HALVES,
    LONGER,
    NUMBERS,
    OTHERS,
    ROWS,
    TABLE,
    A,
    B,
    Programs,
    pairwise,
)

FOLDS = nest = Programs()

nest("fold: sums of rows", lambda a: fw.map(fw.sum, a), lambda a: [sum(r) for r in a], A)
nest("fold: sums of bytes", lambda a: fw.map(fw.sum, a), lambda a: [sum(r) for r in a], BYTES)
nest("fold: sums of rows of a Ragged", lambda r: fw.map(fw.sum, r),
     lambda r: [sum(x) for x in r], ROWS)
nest("fold: extremes with a first one", lambda r, n: fw.map(
         lambda x, k: fw.max(x, initial=k), r, n),
     lambda r, n: pairwise(lambda x, k: max([k, *x]), r, n), LONGER, NUMBERS)
nest("fold: an operator that does not commute", lambda a: fw.map(lambda r: fw.reduce(
         lambda x, y: fw.where(y % 2 == 0, y, x), -1, r), a),
     lambda a: [[-1, *(x for x in r if x % 2 == 0)][-1] for r in a], A)
nest("fold: from its row's first element", lambda a: fw.map(
         lambda r: fw.reduce(fw.add, r[0], r), a), lambda a: [r[0] + sum(r) for r in a], A)
nest("fold: pairs", lambda a, b: fw.map(lambda r, s: fw.reduce(
         lambda x, y: (x[0] + y[0], fw.minimum(x[1], y[1])), (1, 99), (r, s)), a, b),
     lambda a, b: ([1 + sum(r) for r in a], [min(99, *s) for s in b]), A, B)
nest("fold: dot products", lambda a, b: fw.map(lambda r, s: fw.sum(r * s), a, b),
     lambda a, b: pairwise(lambda r, s: sum(pairwise(lambda x, y: x * y, r, s)), a, b), A, B)
nest("fold: a matrix times a vector", lambda a, t: fw.map(lambda r: fw.sum(r * t[:5]), a),
     lambda a, t: [sum(x * y for x, y in zip(r, t, strict=False)) for r in a], A, TABLE)
nest("fold: matrix products", lambda a, b: fw.map(
         lambda r: fw.map(lambda s: fw.sum(r * s), b), a),
     lambda a, b: [[sum(pairwise(lambda x, y: x * y, r, s)) for s in b] for r in a], A, B)
nest("fold: of folds", lambda c: fw.map(
         lambda m: fw.reduce(fw.maximum, 0, fw.map(fw.sum, m)), c),
     lambda c: [max(0, *map(sum, m)) for m in c], CUBE)
nest("fold: of all pairs", lambda r: fw.map(lambda x: fw.sum(fw.map(
         lambda u: fw.sum(fw.map(lambda v: fw.where(u < v, 1, 0), x)), x)), r),
     lambda r: [sum(u < v for u in x for v in x) for x in r], LONGER)
nest("fold: softmax of rows without exp", lambda h: fw.map(
         lambda r: (r - fw.max(r)) / 2 + fw.sum(r), h),
     lambda h: [[(x - max(r)) / 2 + sum(r) for x in r] for r in h], HALVES)
nest("fold: rows beside a Ragged's", lambda r, q, n: fw.map(
         lambda x, y, k: fw.sum(x * y) + k, r, q, n),
     lambda r, q, n: pairwise(lambda x, y, k: sum(pairwise(
         lambda u, v: u * v, x, y)) + k, r, q, n), ROWS, OTHERS, NUMBERS)
nest("fold: elementwise rows of a Ragged", lambda r: fw.map(lambda x: x * 2 - fw.sum(x), r),
     lambda r: [[2 * v - sum(x) for v in x] for x in r], ROWS)
nest("fold: a map of rows", lambda a: fw.map(lambda r: fw.map(lambda x: x * x + r[0], r), a),
     lambda a: [[x * x + r[0] for x in r] for r in a], A)
nest("fold: any and all", lambda a: fw.map(lambda r: (fw.any(r > 8), fw.all(r > 1)), a),
     lambda a: ([max(r) > 8 for r in a], [min(r) > 1 for r in a]), A)
nest("fold: argmax and argmin", lambda a: fw.map(lambda r: (fw.argmax(r), fw.argmin(r)), a),
     lambda a: ([r.index(max(r)) for r in a], [r.index(min(r)) for r in a]), A)
nest("fold: sums of an iota", lambda n: fw.map(lambda k: fw.sum(fw.iota(k)), n),
     lambda n: [sum(range(k)) for k in n], NUMBERS)
nest("fold: products that wrap", lambda a: fw.map(
         lambda r: fw.reduce(lambda x, y: x * y, 1, r), a),
     lambda a: [math.prod(r) % 256 for r in a], BYTES)
nest("fold: four levels", lambda d, t: fw.map(lambda m: fw.sum(fw.map(lambda r: fw.sum(fw.map(
         lambda x: fw.sum(fw.map(lambda y: fw.minimum(x, y), t)), r)), m)), d),
     lambda d, t: [sum(min(x, y) for r in m for x in r for y in t) for m in d], DEEP, TABLE)
nest("fold: where over rows", lambda a, b: fw.map(lambda r, s: fw.where(r > s, r, -s), a, b),
     lambda a, b: pairwise(lambda r, s: pairwise(lambda x, y: x if x > y else -y, r, s), a, b),
     A, B)
nest("fold: columns", lambda a: fw.map(lambda c: fw.sum(c), a.T),
     lambda a: [sum(c) for c in zip(*a, strict=True)], A)
