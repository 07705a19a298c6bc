"""Results whose rows have other lengths, rows of such rows; and rows as elements."""

from __future__ import annotations

import flatweave as fw
from tests.nests.programs.program import (
    CUBE,
    DEEP,
    LONGER,
    NUMBERS,
    ORDERS,
    ROWS,
    TABLE,
    A,
    B,
    Programs,
    pairwise,
)

LENGTHS = nest = Programs()


def primes(n):
    return [p for p in range(2, n) if all(p % q for q in range(2, p))]


nest("ragged: iota of each", lambda n: fw.map(lambda k: fw.iota(k), n),
     lambda n: [list(range(k)) for k in n], NUMBERS)
nest("ragged: as many of each", lambda n: fw.map(lambda k: fw.full(k, k * 1.5), n),
     lambda n: [[1.5 * k] * k for k in n], NUMBERS)
nest("ragged: generated", lambda n: fw.map(lambda k: fw.generate(k, lambda i: i * k + 1), n),
     lambda n: [[i * k + 1 for i in range(k)] for k in n], NUMBERS)
nest("ragged: from a generate", lambda n: fw.generate(5, lambda i: fw.iota(i) + n[0]),
     lambda n: [[j + n[0] for j in range(i)] for i in range(5)], NUMBERS)
nest("ragged: rows and their sums", lambda n: fw.map(
         lambda k: (fw.iota(k), fw.sum(fw.iota(k))), n),
     lambda n: ([list(range(k)) for k in n], [sum(range(k)) for k in n]), NUMBERS)
nest("ragged: a table cut at each place", lambda n, t: fw.map(lambda k: t[k : k + 2], n),
     lambda n, t: [t[k : k + 2] for k in n], NUMBERS, TABLE)
nest("ragged: places of what a condition holds for",
     lambda a: fw.map(lambda r: fw.filter(lambda i: r[i] > 4, fw.iota(5)), a),
     lambda a: [[i for i in range(5) if r[i] > 4] for r in a], A)
nest("ragged: mapped over at once",
     lambda n: fw.map(fw.sum, fw.map(lambda k: fw.iota(k) * 2, n)),
     lambda n: [sum(range(k)) * 2 for k in n], NUMBERS)
nest("ragged: the primes below each", lambda n: fw.map(lambda k: fw.filter(
         lambda p: fw.all(fw.map(lambda q: p % (q + 2) != 0, fw.iota(p - 2))),
         fw.iota(k * 4) + 2), n),
     lambda n: [primes(4 * k + 2) for k in n], NUMBERS)
nest("ragged: the differences of rows that are long enough",
     lambda r: fw.map(lambda x: x[1:] - x[:-1], r),
     lambda r: [pairwise(lambda u, v: v - u, x[:-1], x[1:]) for x in r], LONGER)
nest("ragged: rows of rows", lambda n: fw.map(
         lambda k: fw.map(lambda i: fw.iota(i), fw.iota(k)), n),
     lambda n: [[list(range(i)) for i in range(k)] for k in n], NUMBERS)
nest("ragged: matrices of a size of their own", lambda n: fw.map(
         lambda k: fw.map(lambda i: fw.iota(3) + i, fw.iota(k)), n),
     lambda n: [[[j + i for j in range(3)] for i in range(k)] for k in n], NUMBERS)
nest("ragged: the sums of rows of rows", lambda d: fw.map(lambda m: fw.map(fw.sum, m), d),
     lambda d: [[sum(r) for r in m] for m in d], DEEP)
nest("ragged: each row of rows joined with its length",
     lambda d: fw.map(lambda m: fw.map(lambda r: fw.concat([r, fw.full(1, r.shape[0])]), m), d),
     lambda d: [[[*r, len(r)] for r in m] for m in d], DEEP)
nest("ragged: the longest row of rows", lambda d: fw.map(
         lambda m: fw.max(fw.map(lambda r: r.shape[0], m), initial=0), d),
     lambda d: [max([0, *map(len, m)]) for m in d], DEEP)
nest("ragged: rows of rows, filtered by rows",
     lambda d: fw.map(lambda m: fw.filter(lambda r: fw.sum(r) > 3, m), d),
     lambda d: [[r for r in m if sum(r) > 3] for m in d], DEEP)
nest("ragged: three levels", lambda c: fw.map(
         lambda m: fw.map(lambda r: fw.map(lambda x: fw.iota(x % 3), r), m), c),
     lambda c: [[[list(range(x % 3)) for x in r] for r in m] for m in c], CUBE)
nest("ragged: all pairs of a row", lambda r: fw.map(
         lambda x: fw.map(lambda u: fw.map(lambda v: u * v, x), x), r),
     lambda r: [[[u * v for v in x] for u in x] for x in r], ROWS)
nest("ragged: a Ragged from outside for each", lambda n, r: fw.map(
         lambda k: fw.map(lambda x: fw.sum(x) + k, r), n),
     lambda n, r: [[sum(x) + k for x in r] for k in n], NUMBERS, ROWS)
nest("ragged: its lengths inside", lambda d: fw.map(lambda m: fw.sum(m.lengths), d),
     lambda d: [sum(map(len, m)) for m in d], DEEP)

# -- rows as elements ------------------------------------------------------------------------------

nest("rows: permutations composed", lambda i: fw.reduce(lambda p, q: p[q], fw.iota(5), i),
     lambda i: [i[0][i[1][i[2][i[3][k]]]] for k in range(5)], ORDERS)
nest("rows: permutations composed, every prefix",
     lambda i: fw.scan(lambda p, q: p[q], fw.iota(5), i),
     lambda i: [i[0], [i[0][k] for k in i[1]], [i[0][i[1][k]] for k in i[2]],
                [i[0][i[1][i[2][k]]] for k in i[3]]], ORDERS)
nest("rows: the last one whose sum is even",
     lambda a: fw.reduce(lambda x, y: fw.where(fw.sum(y) % 2 == 0, y, x), fw.full(5, 0), a),
     lambda a: [[0] * 5, *(r for r in a if sum(r) % 2 == 0)][-1], A)
nest("rows: chosen by cond",
     lambda a: fw.reduce(lambda x, y: fw.cond(y[0] > x[0], lambda: y, lambda: x), fw.full(5, 4), a),
     lambda a: max([[4] * 5, *a], key=lambda r: r[0]), A)
nest("rows: two by two matrices multiplied", lambda c: fw.reduce(
         lambda x, y: fw.generate(4, lambda k: x[k // 2 * 2] * y[k % 2]
                                  + x[k // 2 * 2 + 1] * y[2 + k % 2]),
         fw.where(fw.iota(4) % 3 == 0, 1, 0), fw.map(lambda m: m.reshape(-1)[:4], c)),
     lambda c: product([[m[0][0], m[0][1], m[1][0], m[1][1]] for m in c]), CUBE)
nest("rows: a neutral element that is a row",
     lambda c, b: fw.map(lambda m, r: fw.reduce(fw.add, r[:2], m), c, b),
     lambda c, b: pairwise(lambda m, r: [r[k] + sum(x[k] for x in m) for k in (0, 1)], c, b),
     CUBE, B)
nest("rows: scanned from a row of their own",
     lambda c, b: fw.map(lambda m, r: fw.scan(fw.maximum, r[:2], m), c, b),
     lambda c, b: pairwise(lambda m, r: [
         [max([r[k], *(x[k] for x in m[: i + 1])]) for k in (0, 1)] for i in range(3)], c, b),
     CUBE, B)
nest("rows: inside a map, not element by element",
     lambda c: fw.map(lambda m: fw.reduce(
         lambda x, y: fw.where(fw.sum(y) > 9, y, x), m[0], m), c),
     lambda c: [[m[0], *(r for r in m if sum(r) > 9)][-1] for m in c], CUBE)


def product(matrices):
    """The product of matrices, two by two, row by row."""
    x = [1, 0, 0, 1]
    for y in matrices:
        x = [x[k // 2 * 2] * y[k % 2] + x[k // 2 * 2 + 1] * y[2 + k % 2] for k in range(4)]
    return x
nest("ragged: rows of the same row, in a function that cuts how many",
     lambda r: fw.map(lambda x: fw.generate(2, lambda i: fw.filter(
         lambda y: i > 0, fw.map(lambda _: x, x))), r),
     lambda r: [[[x for _ in x if i > 0] for i in range(2)] for x in r], ROWS)
nest("ragged: four deep, each row of rows for all of its elements",
     lambda d: fw.map(lambda m: fw.map(lambda x: fw.map(lambda y: x + y, x), m), d),
     lambda d: [[[[v + y for v in x] for y in x] for x in m] for m in d], DEEP)
