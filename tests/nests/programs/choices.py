"""filter, partition, sorts and expansions inside element functions."""

from __future__ import annotations

import flatweave as fw
from tests.nests.programs.program import (
    BYTES,
    CUBE,
    DEEP,
    LONGER,
    NUMBERS,
    OTHERS,
    ROWS,
    SMALL,
    TABLE,
    A,
    B,
    Programs,
    order_of,
    pairwise,
)

CHOICES = nest = Programs()

nest("filter: and then a sum",
     lambda a: fw.map(lambda r: fw.sum(fw.filter(lambda x: x > 3, r)), a),
     lambda a: [sum(x for x in r if x > 3) for r in a], A)
nest("filter: how many are left",
     lambda a, n: fw.map(lambda r, k: fw.filter(lambda x: x > k, r).shape[0], a, n),
     lambda a, n: pairwise(lambda r, k: sum(x > k for x in r), a, n), A, NUMBERS)
nest("filter: rows", lambda a: fw.map(lambda r: fw.filter(lambda x: x > 3, r), a),
     lambda a: [[x for x in r if x > 3] for r in a], A)
nest("filter: rows of a Ragged", lambda r: fw.map(lambda x: fw.filter(lambda v: v > 1, x), r),
     lambda r: [[v for v in x if v > 1] for x in r], LONGER)
nest("filter: of a filter",
     lambda a: fw.map(lambda r: fw.max(fw.filter(
         lambda x: x % 2 == 0, fw.filter(lambda x: x > 2, r)), initial=-1), a),
     lambda a: [max([-1, *(x for x in r if x > 2 and x % 2 == 0)]) for r in a], A)
nest("filter: above its row's mean",
     lambda a: fw.map(lambda r: fw.filter(lambda x: x * r.shape[0] > fw.sum(r), r), a),
     lambda a: [[x for x in r if 5 * x > sum(r)] for r in a], A)
nest("filter: pairs", lambda a, b: fw.map(lambda r, s: fw.sum(fw.filter(
         lambda p: p[0] > p[1], (r, s))[1]), a, b),
     lambda a, b: pairwise(lambda r, s: sum(
         y for x, y in zip(r, s, strict=True) if x > y), a, b), A, B)
nest("filter: rows by what is in them",
     lambda a: fw.filter(lambda r: fw.sum(fw.filter(lambda x: x > 4, r)) > 8, a),
     lambda a: [r for r in a if sum(x for x in r if x > 4) > 8], A)
nest("filter: rows of a Ragged by what is in them",
     lambda r: fw.filter(lambda x: fw.sum(x) > 5, r),
     lambda r: [x for x in r if sum(x) > 5], LONGER)
nest("filter: and a histogram",
     lambda i: fw.map(lambda j: fw.histogram(3, fw.filter(lambda x: x > 0, j)), i),
     lambda i: [[0, j.count(1), j.count(2)] for j in i], SMALL)
nest("filter: in maps in maps",
     lambda d: fw.map(lambda m: fw.map(lambda r: fw.filter(lambda x: x > 1, r).shape[0], m), d),
     lambda d: [[sum(x > 1 for x in r) for r in m] for m in d], DEEP)
nest("filter: rows of rows",
     lambda d: fw.map(lambda m: fw.map(lambda r: fw.filter(lambda x: x > 1, r), m), d),
     lambda d: [[[x for x in r if x > 1] for r in m] for m in d], DEEP)
nest("partition: those that hold not",
     lambda a: fw.map(lambda r: fw.sum(fw.partition(lambda x: x > 3, r)[1]), a),
     lambda a: [sum(x for x in r if x <= 3) for r in a], A)
nest("partition: both parts in a row",
     lambda a: fw.map(lambda r: fw.concat(list(fw.partition(lambda x: x > 3, r))), a),
     lambda a: [[x for x in r if x > 3] + [x for x in r if x <= 3] for r in a], A)
nest("partition: both parts", lambda a: fw.map(lambda r: fw.partition(lambda x: x > 3, r), a),
     lambda a: ([[x for x in r if x > 3] for r in a], [[x for x in r if x <= 3] for r in a]), A)

# -- sorts -----------------------------------------------------------------------------------------

nest("sort: rows", lambda a: fw.map(fw.sort, a), lambda a: [sorted(r) for r in a], A)
nest("sort: descending", lambda a: fw.map(lambda r: fw.sort(r, descending=True), a),
     lambda a: [sorted(r, reverse=True) for r in a], A)
nest("sort: rows of a Ragged", lambda r: fw.map(fw.sort, r),
     lambda r: [sorted(x) for x in r], LONGER)
nest("sort: by a key", lambda a: fw.map(lambda r: fw.sort(r, key=lambda x: x % 3), a),
     lambda a: [sorted(r, key=lambda x: x % 3) for r in a], A)
nest("sort: by a key of its row's own",
     lambda a, n: fw.map(lambda r, k: fw.sort(r, key=lambda x: fw.abs(x - k)), a, n),
     lambda a, n: pairwise(lambda r, k: sorted(r, key=lambda x: abs(x - k)), a, n), A, NUMBERS)
nest("sort: by two keys, descending",
     lambda a: fw.map(lambda r: fw.sort(r, key=lambda x: (x % 2, -x), descending=True), a),
     lambda a: [sorted(r, key=lambda x: (x % 2, -x), reverse=True) for r in a], A)
nest("sort: bytes", lambda a: fw.map(fw.sort, a), lambda a: [sorted(r) for r in a], BYTES)
nest("sort: pairs", lambda i, a: fw.map(lambda j, r: fw.sort((j, r))[1], i, a),
     lambda i, a: pairwise(lambda j, r: [y for _, y in sorted(zip(j, r, strict=True))], i, a),
     SMALL, A)
nest("sort: in maps in maps", lambda c: fw.map(lambda m: fw.map(fw.sort, m), c),
     lambda c: [[sorted(r) for r in m] for m in c], CUBE)
nest("sort: rows of rows", lambda d: fw.map(lambda m: fw.map(fw.sort, m), d),
     lambda d: [[sorted(r) for r in m] for m in d], DEEP)
nest("sort: and the median", lambda a: fw.map(lambda r: fw.sort(r)[2], a),
     lambda a: [sorted(r)[2] for r in a], A)
nest("argsort: rows", lambda a: fw.map(fw.argsort, a), lambda a: [order_of(r) for r in a], A)
nest("argsort: rows of a Ragged", lambda r: fw.map(fw.argsort, r),
     lambda r: [order_of(x) for x in r], LONGER)
nest("argsort: twice, for ranks", lambda a: fw.map(lambda r: fw.argsort(fw.argsort(r)), a),
     lambda a: [order_of(order_of(r)) for r in a], A)
nest("sort_by_key: values of rows", lambda i, a: fw.map(
         lambda j, r: fw.sort_by_key(j, r)[1], i, a),
     lambda i, a: pairwise(lambda j, r: [r[k] for k in order_of(j)], i, a), SMALL, A)
nest("sort_by_key: rows of a Ragged", lambda i, r: fw.map(
         lambda j, x: fw.sort_by_key(j, x)[1], i, r),
     lambda i, r: pairwise(lambda j, x: [x[k] for k in order_of(j)], i, r), OTHERS, ROWS)

# -- expansions ------------------------------------------------------------------------------------

nest("expand: and then a sum", lambda n: fw.map(lambda k: fw.sum(fw.expand(
         lambda i: i, lambda i, j: i * j, fw.iota(k + 2))), n),
     lambda n: [sum(i * j for i in range(k + 2) for j in range(i)) for k in n], NUMBERS)
nest("expand: rows", lambda i: fw.map(lambda j: fw.expand(
         lambda x: x, lambda x, k: x * 10 + k, j), i),
     lambda i: [[10 * x + k for x in j for k in range(x)] for j in i], SMALL)
nest("expand: rows of a Ragged", lambda r: fw.map(lambda x: fw.expand(
         lambda v: v % 3, lambda v, k: v - k, x), r),
     lambda r: [[v - k for v in x for k in range(v % 3)] for x in r], LONGER)
nest("expand: a table read where elements say", lambda i, t: fw.map(lambda j: fw.sum(fw.expand(
         lambda x: x + 1, lambda x, k: t[x + k], j)), i),
     lambda i, t: [sum(t[x + k] for x in j for k in range(x + 1)) for j in i], SMALL, TABLE)
nest("expand_reduce: rows", lambda i: fw.map(lambda j: fw.expand_reduce(
         lambda x: x, lambda x, k: x + k, fw.add, 100, j), i),
     lambda i: [[100 + sum(x + k for k in range(x)) for x in j] for j in i], SMALL)
nest("replicated_iota: summed", lambda i: fw.map(lambda j: fw.sum(fw.replicated_iota(j)), i),
     lambda i: [sum(k * x for k, x in enumerate(j)) for j in i], SMALL)
nest("replicated_iota: rows", lambda i: fw.map(fw.replicated_iota, i),
     lambda i: [[k for k, x in enumerate(j) for _ in range(x)] for j in i], SMALL)
nest("branch: a length that no row of a branch has, the same for all",
     lambda n, t: fw.map(lambda k: fw.cond(
         t[1] >= 0, lambda: fw.full(t[1], k), lambda: fw.iota(k)), n),
     lambda n, t: [[k] * t[1] if t[1] >= 0 else list(range(k)) for k in n], NUMBERS, TABLE)
