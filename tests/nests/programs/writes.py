"""scatter, permute, reduce_by_index and histogram inside element functions."""

from __future__ import annotations

import operator

import numpy as np

import flatweave as fw
from tests.nests.programs.program import (
    BYTES,
    CUBE,
    DEEP,
    LONGER,
    NUMBERS,
    ORDERS,
    OTHERS,
    PLACES,
    ROWS,
    SMALL,
    TABLE,
    A,
    B,
    Programs,
    combined,
    counts,
    order_of,
    pairwise,
    scattered,
)

WRITES = nest = Programs()

# -- scatter ---------------------------------------------------------------------------------------

nest("scatter: a row into itself",
     lambda a, i: fw.map(lambda r, j: fw.scatter(r, j, r * 2), a, i),
     lambda a, i: pairwise(lambda r, j: scattered(r, j, [2 * x for x in r]), a, i), A, ORDERS)
nest("scatter: places outside drop their elements",
     lambda a, i: fw.map(lambda r, j: fw.scatter(r, j, r + 100), a, i),
     lambda a, i: pairwise(lambda r, j: scattered(r, j, [x + 100 for x in r]), a, i), A, PLACES)
nest("scatter: one value for all places",
     lambda i: fw.map(lambda j: fw.scatter(fw.full(5, 0), j, 7), i),
     lambda i: [scattered([0] * 5, j, [7] * 5) for j in i], SMALL)
nest("scatter: one value of its row's own",
     lambda i, n: fw.map(lambda j, k: fw.scatter(fw.full(5, k), j, k * 10), i, n),
     lambda i, n: pairwise(lambda j, k: scattered([k] * 5, j, [10 * k] * 5), i, n),
     SMALL, NUMBERS)
nest("scatter: the inverse of each permutation",
     lambda i: fw.map(lambda j: fw.scatter(fw.iota(5), j, fw.iota(5)), i),
     lambda i: [order_of(j) for j in i], ORDERS)
nest("scatter: rows of a Ragged by their order",
     lambda r: fw.map(lambda x: fw.scatter(x, fw.argsort(x), x), r),
     lambda r: [scattered(x, order_of(x), x) for x in r], ROWS)
nest("scatter: rows of a Ragged into rows of one length",
     lambda r: fw.map(lambda x: fw.scatter(fw.full(6, -1), fw.argsort(x) * 2, x), r),
     lambda r: [scattered([-1] * 6, [2 * i for i in order_of(x)], x) for x in r], LONGER)
nest("scatter: into a vector from outside",
     lambda i, t: fw.map(lambda j: fw.scatter(t, j, j + 50), i),
     lambda i, t: [scattered(t, j, [x + 50 for x in j]) for j in i], PLACES, TABLE)
nest("scatter: and then a sum",
     lambda a, i: fw.map(lambda r, j: fw.sum(fw.scatter(fw.full(3, 1), j, r)), a, i),
     lambda a, i: pairwise(lambda r, j: sum(scattered([1] * 3, j, r)), a, i), A, ORDERS)
nest("scatter: pairs",
     lambda a, b, i: fw.map(lambda r, s, j: fw.scatter((r, s), j, (s, r))[1], a, b, i),
     lambda a, b, i: pairwise(lambda r, s, j: scattered(s, j, r), a, b, i), A, B, ORDERS)
nest("scatter: both parts of pairs",
     lambda a, b, i: fw.map(lambda r, s, j: fw.scatter((r, s), j, (s, r)), a, b, i),
     lambda a, b, i: (pairwise(scattered, a, i, b), pairwise(scattered, b, i, a)), A, B, ORDERS)
nest("scatter: as long as a number says, summed",
     lambda n: fw.map(lambda k: fw.sum(fw.scatter(fw.full(k, 5), fw.iota(2), fw.iota(2))), n),
     lambda n: [sum(scattered([5] * k, [0, 1], [0, 1])) for k in n], NUMBERS)
nest("scatter: as long as a number says",
     lambda n: fw.map(lambda k: fw.scatter(fw.full(k, 5), fw.iota(2), fw.iota(2)), n),
     lambda n: [scattered([5] * k, [0, 1], [0, 1]) for k in n], NUMBERS)
nest("scatter: in maps in maps",
     lambda c: fw.map(lambda m: fw.map(lambda r: fw.scatter(fw.full(4, 0), r % 4, 1), m), c),
     lambda c: [[scattered([0] * 4, [x % 4 for x in r], [1, 1]) for r in m] for m in c], CUBE)
nest("scatter: rows of rows",
     lambda d: fw.map(
         lambda m: fw.map(lambda r: fw.sum(fw.scatter(fw.full(10, 0), r, r)), m), d),
     lambda d: [[sum(set(r)) for r in m] for m in d], DEEP)
nest("scatter: whole rows into a matrix",
     lambda c, n: fw.map(lambda m, k: fw.scatter(m, fw.iota(2) + k, m[:2] * 10), c, n),
     lambda c, n: pairwise(lambda m, k: scattered(
         m, [k, k + 1], [[10 * x for x in r] for r in m[:2]]), c, n), CUBE, NUMBERS)
nest("scatter: only where a condition holds",
     lambda a, i: fw.map(
         lambda r, j: fw.cond(r[0] > 4, lambda: fw.scatter(r, j, r), lambda: r), a, i),
     lambda a, i: pairwise(lambda r, j: scattered(r, j, r) if r[0] > 4 else r, a, i), A, ORDERS)
nest("scatter: in a loop",
     lambda i, n: fw.map(lambda j, k: fw.fori_loop(
         0, k, lambda t, s: fw.scatter(s, j, s), fw.iota(5)), i, n),
     lambda i, n: pairwise(lambda j, k: [
         s := list(range(5)), [s := scattered(s, j, s) for _ in range(k)], s][2], i, n),
     ORDERS, NUMBERS)
nest("scatter: what a filter leaves",
     lambda a: fw.map(lambda r: fw.scatter(fw.full(10, 0), fw.filter(lambda x: x > 3, r), 1), a),
     lambda a: [[int(k > 3 and k in r) for k in range(10)] for r in a], A)

# -- permute and reduce_by_index -------------------------------------------------------------------

nest("permute: sums",
     lambda a, i: fw.map(lambda r, j: fw.permute(fw.add, fw.full(3, 0), j, r), a, i),
     lambda a, i: pairwise(lambda r, j: combined(operator.add, [0] * 3, j, r), a, i), A, SMALL)
nest("permute: extremes with defaults of their own",
     lambda a, i: fw.map(lambda r, j: fw.permute(fw.maximum, r[:3], j, r), a, i),
     lambda a, i: pairwise(lambda r, j: combined(max, r[:3], j, r), a, i), A, SMALL)
nest("permute: products that wrap",
     lambda a, i: fw.map(lambda r, j: fw.permute(lambda x, y: x * y, r, j, r), a, i),
     lambda a, i: pairwise(
         lambda r, j: combined(lambda x, y: x * y % 256, r, j, r), a, i), BYTES, SMALL)
nest("permute: pairs",
     lambda a, b, i: fw.map(lambda r, s, j: fw.permute(
         lambda x, y: (x[0] + y[0], fw.minimum(x[1], y[1])), (r, s), j, (s, r)), a, b, i),
     lambda a, b, i: (pairwise(lambda r, s, j: combined(operator.add, r, j, s), a, b, i),
                      pairwise(lambda r, s, j: combined(min, s, j, r), a, b, i)), A, B, SMALL)
nest("permute: rows of a Ragged",
     lambda r, i: fw.map(lambda x, j: fw.permute(fw.add, x, j, x), r, i),
     lambda r, i: pairwise(lambda x, j: combined(operator.add, x, j, x), r, i), ROWS, OTHERS)
nest("permute: into a table from outside",
     lambda r, i, t: fw.map(lambda x, j: fw.permute(fw.maximum, t, j, x * 9), r, i),
     lambda r, i, t: pairwise(lambda x, j: combined(max, t, j, [9 * v for v in x]), r, i),
     ROWS, OTHERS, TABLE)
nest("reduce_by_index: sums into zeros",
     lambda a, i: fw.map(
         lambda r, j: fw.reduce_by_index(fw.full(4, 0), fw.add, 0, j, r), a, i),
     lambda a, i: pairwise(lambda r, j: combined(operator.add, [0] * 4, j, r), a, i), A, SMALL)
nest("reduce_by_index: into its own row",
     lambda a, i: fw.map(lambda r, j: fw.reduce_by_index(r, fw.maximum, -99, j, r[::-1]), a, i),
     lambda a, i: pairwise(lambda r, j: combined(max, r, j, r[::-1]), a, i), A, SMALL)
nest("reduce_by_index: rows of a Ragged",
     lambda r, i: fw.map(lambda x, j: fw.reduce_by_index(x, fw.add, 0, j, x), r, i),
     lambda r, i: pairwise(lambda x, j: combined(operator.add, x, j, x), r, i), ROWS, OTHERS)
nest("histogram: of each row",
     lambda i: fw.map(lambda j: fw.histogram(4, j), i),
     lambda i: [counts(4, j) for j in i], SMALL)
nest("histogram: of rows of a Ragged",
     lambda r: fw.map(lambda x: fw.histogram(6, x), r), lambda r: [counts(6, x) for x in r], LONGER)
nest("histogram: as many bins as a number says",
     lambda i, n: fw.map(lambda j, k: fw.histogram(k, j), i, n),
     lambda i, n: pairwise(lambda j, k: counts(k, j), i, n), SMALL, NUMBERS)
nest("histogram: of weights",
     lambda a, i: fw.map(lambda r, j: fw.histogram(3, j, r), a, i),
     lambda a, i: pairwise(lambda r, j: combined(operator.add, [0] * 3, j, r), a, i), A, SMALL)
nest("histogram: the most frequent element",
     lambda i: fw.map(lambda j: fw.argmax(fw.histogram(4, j)), i),
     lambda i: [max(range(4), key=lambda k: (j.count(k), -k)) for j in i], SMALL)
nest("histogram: of a histogram",
     lambda i: fw.map(lambda j: fw.histogram(6, fw.histogram(4, j)), i),
     lambda i: [counts(6, counts(4, j)) for j in i], SMALL)
nest("histogram: of rows in rows",
     lambda d: fw.map(lambda m: fw.map(lambda r: fw.max(fw.histogram(10, r)), m), d),
     lambda d: [[max(counts(10, r)) for r in m] for m in d], DEEP)
nest("histogram: a counting sort",
     lambda i: fw.map(lambda j: fw.replicated_iota(fw.histogram(3, j)), i),
     lambda i: [sorted(j) for j in i], SMALL)
nest("histogram: of 32-bit places",
     lambda i: fw.map(lambda j: fw.histogram(3, j), i), lambda i: [counts(3, j) for j in i],
     SMALL.astype(np.int32))
nest("permute: the greatest or the least, as the row's first element says",
     lambda a, i: fw.map(lambda r, k: fw.permute(
         lambda x, y: fw.where(r[0] > 4, fw.maximum(x, y), fw.minimum(x, y)), r, k, r), a, i),
     lambda a, i: pairwise(
         lambda r, k: combined(max if r[0] > 4 else min, r, k, r), a, i), A, SMALL)
nest("permute: by an operator that looks up its elements in the row",
     lambda a, i: fw.map(lambda r, k: fw.permute(
         lambda x, y: fw.where(10 * r[x % 5] + x >= 10 * r[y % 5] + y, x, y), r, k, r + 1),
         a, i),
     lambda a, i: pairwise(lambda r, k: combined(
         lambda x, y: max(x, y, key=lambda v: 10 * r[v % 5] + v), r, k, [x + 1 for x in r]), a, i),
     A, SMALL)


def modular(row):
    return combined(lambda v, w: (v + w) % (sum(row) + 1), row, [v % 3 for v in row], row)


nest("permute: rows of a Ragged, by an operator with the row's sum",
     lambda r: fw.map(lambda x: fw.reduce_by_index(
         x, lambda v, w: (v + w) % (fw.sum(x) + 1), 0, x % 3, x), r),
     lambda r: [modular(x) for x in r], LONGER)
