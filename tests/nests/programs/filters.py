"""Filters inside element functions whose kept elements are combined, written, or used in order."""

from __future__ import annotations

import flatweave as fw
from tests.nests.programs.program import (
    BYTES,
    DEEP,
    HALVES,
    LONGER,
    NUMBERS,
    PLACES,
    ROWS,
    SMALL,
    A,
    B,
    Programs,
    counts,
    pairwise,
    scattered,
)


def big(r):
    return fw.filter(lambda x: x > 2, r)


def plain(r):
    return [x for x in r if x > 2]


def last(op, r, first):
    for x in r:
        first = op(first, x)
    return first


FILTERS = nest = Programs()

nest("filtered: sums of rows", lambda a: fw.map(lambda r: fw.sum(big(r)), a),
     lambda a: [sum(plain(r)) for r in a], A)
nest("filtered: sums of rows of a Ragged", lambda r: fw.map(lambda x: fw.sum(big(x)), r),
     lambda r: [sum(plain(x)) for x in r], LONGER)
nest("filtered: sums of bytes", lambda a: fw.map(lambda r: fw.sum(big(r)), a),
     lambda a: [sum(plain(r)) for r in a], BYTES)
nest("filtered: sums of halves, from the row's first",
     lambda a: fw.map(lambda r: fw.reduce(fw.add, r[0], big(r)), a),
     lambda a: [r[0] + sum(plain(r)) for r in a], HALVES)
nest("filtered: extremes", lambda r, n: fw.map(lambda x, k: fw.max(big(x), initial=k), r, n),
     lambda r, n: pairwise(lambda x, k: max([k, *plain(x)]), r, n), LONGER, NUMBERS)
nest("filtered: an operator without a neutral element",
     lambda r: fw.map(lambda x: fw.reduce(lambda p, q: q, -1, big(x)), r),
     lambda r: [[-1, *plain(x)][-1] for x in r], LONGER)
nest("filtered: pairs that do not commute",
     lambda r: fw.map(lambda x: fw.reduce(
         lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1]), (1, 3), (big(x), big(x) + 1)), r),
     lambda r: (
         [last(lambda p, q: p * q, plain(x), 1) for x in r],
         [last(lambda p, q: p * q + q + 1, plain(x), 3) for x in r]), LONGER)
nest("filtered: an operator that divides in a branch",
     lambda r: fw.map(lambda x: fw.reduce(
         lambda p, q: fw.cond(p > 99, lambda: p, lambda: fw.maximum(p, q)), 0, big(x)), r),
     lambda r: [max([0, *plain(x)]) for x in r], LONGER)
nest("filtered: and how many", lambda r: fw.map(lambda x: (fw.sum(big(x)), big(x).shape[0]), r),
     lambda r: ([sum(plain(x)) for x in r], [len(plain(x)) for x in r]), LONGER)
nest("filtered: means of one filter", lambda a: fw.map(
         lambda r: (lambda k: fw.sum(k) // fw.maximum(k.shape[0], 1))(big(r)), a),
     lambda a: [sum(plain(r)) // max(len(plain(r)), 1) for r in a], A)
nest("filtered: squares times the row's sum",
     lambda a: fw.map(lambda r: fw.sum(big(r) * big(r) * fw.sum(r)), a),
     lambda a: [sum(x * x * sum(r) for x in plain(r)) for r in a], A)
nest("filtered: twice", lambda a: fw.map(
         lambda r: fw.sum(fw.filter(lambda x: x % 2 == 1, big(r))), a),
     lambda a: [sum(x for x in plain(r) if x % 2 == 1) for r in a], A)
nest("filtered: twice, with maps between", lambda r: fw.map(
         lambda x: fw.sum(fw.filter(lambda v: v % 3 == 1, big(x) + 5) * 2), r),
     lambda r: [sum(2 * (v + 5) for v in plain(x) if (v + 5) % 3 == 1) for x in r], LONGER)
nest("filtered: histograms", lambda a: fw.map(
         lambda r: fw.histogram(3, fw.filter(lambda x: x != 1, r)), a),
     lambda a: [counts(3, [x for x in r if x != 1]) for r in a], SMALL)
nest("filtered: writes", lambda a, p: fw.map(
         lambda r, k: fw.scatter(r, fw.filter(lambda x: x < 3, k), fw.filter(lambda x: x < 3, k)),
         a, p),
     lambda a, p: pairwise(lambda r, k: scattered(
         r, [x for x in k if x < 3], [x for x in k if x < 3]), a, p), A, PLACES)
nest("filtered: writes of pairs", lambda a, b: fw.map(
         lambda r, s: (lambda k: fw.scatter(r, k[0] % 5, k[1]))(
             fw.filter(lambda x: x[0] > x[1], (r, s))), a, b),
     lambda a, b: pairwise(lambda r, s: scattered(
         r, [x % 5 for x, y in zip(r, s, strict=True) if x > y],
         [y for x, y in zip(r, s, strict=True) if x > y]), a, b), A, B)
nest("filtered: reads that only kept elements may make", lambda a, p: fw.map(
         lambda r, k: fw.sum(fw.gather(r, fw.filter(lambda i: (i >= 0) & (i < 5), k))), a, p),
     lambda a, p: pairwise(lambda r, k: sum(r[i] for i in k if 0 <= i < 5), a, p), A, PLACES)
nest("filtered: places that are needed", lambda a: fw.map(
         lambda r: fw.argmax(fw.concat([big(r), fw.full(1, 1)])), a),
     lambda a: [max(range(len(plain(r)) + 1), key=lambda i: (plain(r) + [1])[i]) for r in a], A)
nest("filtered: combined with positions", lambda r: fw.map(
         lambda x: (lambda k: fw.sum(k * fw.iota(k.shape[0])))(big(x)), r),
     lambda r: [sum(i * v for i, v in enumerate(plain(x))) for x in r], LONGER)
nest("filtered: stored and summed", lambda r: fw.map(
         lambda x: (lambda k: (fw.sum(k), k))(big(x)), r),
     lambda r: ([sum(plain(x)) for x in r], [plain(x) for x in r]), ROWS)
nest("filtered: sums for all pairs", lambda r: fw.map(lambda x: fw.map(
         lambda v: fw.sum(fw.filter(lambda w: w < v, x)), x), r),
     lambda r: [[sum(w for w in x if w < v) for v in x] for x in r], LONGER)
nest("filtered: sums of rows of rows", lambda d: fw.map(
         lambda m: fw.map(lambda r: fw.sum(big(r)), m), d),
     lambda d: [[sum(plain(r)) for r in m] for m in d], DEEP)
nest("filtered: of sorted rows", lambda a: fw.map(lambda r: fw.sum(big(fw.sort(r))[::-1]), a),
     lambda a: [sum(plain(r)) for r in a], A)
nest("filtered: in a loop", lambda a: fw.map(lambda r: fw.while_loop(
         lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] + fw.sum(fw.filter(
             lambda x: x > s[0], r))), (0, 0))[1], a),
     lambda a: [sum(x for k in range(4) for x in r if x > k) for r in a], A)
nest("filtered: in a branch", lambda a, n: fw.map(lambda r, k: fw.cond(
         k > 1, lambda: fw.sum(big(r)), lambda: fw.sum(r)), a, n),
     lambda a, n: pairwise(lambda r, k: sum(plain(r)) if k > 1 else sum(r), a, n), A, NUMBERS)
