"""concat, reverse, rotate, slices and reads at computed indices inside element functions."""

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

JOINS = nest = Programs()

nest("concat: a row twice", lambda a: fw.map(lambda r: fw.concat([r, r * 2]), a),
     lambda a: [r + [2 * x for x in r] for r in a], A)
nest("concat: rows of two arrays", lambda a, b: fw.map(lambda r, s: fw.concat([r, s, r]), a, b),
     lambda a, b: pairwise(lambda r, s: r + s + r, a, b), A, B)
nest("concat: an element before each row",
     lambda a, n: fw.map(lambda r, k: fw.concat([fw.full(1, k), r]), a, n),
     lambda a, n: pairwise(lambda r, k: [k, *r], a, n), A, NUMBERS)
nest("concat: rows of Ragged values", lambda r, q: fw.map(lambda x, y: fw.concat([x, y]), r, q),
     lambda r, q: pairwise(lambda x, y: x + y, r, q), ROWS, LONGER)
nest("concat: rows of Ragged values, summed",
     lambda r, q: fw.map(lambda x, y: fw.sum(fw.concat([x, y, x])), r, q),
     lambda r, q: pairwise(lambda x, y: sum(x + y + x), r, q), ROWS, LONGER)
nest("concat: a row and what is outside", lambda a, t: fw.map(lambda r: fw.concat([r, t]), a),
     lambda a, t: [r + t for r in a], A, TABLE)
nest("concat: sorted behind reversed",
     lambda a: fw.map(lambda r: fw.concat([fw.sort(r), r[::-1]]), a),
     lambda a: [sorted(r) + r[::-1] for r in a], A)
nest("concat: quicksort's three parts",
     lambda a: fw.map(lambda r: fw.concat([
         fw.filter(lambda x: x < r[0], r), fw.filter(lambda x: x == r[0], r),
         fw.filter(lambda x: x > r[0], r)]), a),
     lambda a: [[x for x in r if x < r[0]] + [x for x in r if x == r[0]]
                + [x for x in r if x > r[0]] for r in a], A)
nest("concat: in maps in maps",
     lambda d: fw.map(lambda m: fw.map(lambda r: fw.sum(fw.concat([r, fw.iota(3)])), m), d),
     lambda d: [[sum(r) + 3 for r in m] for m in d], DEEP)
nest("concat: whole matrices", lambda c: fw.map(lambda m: fw.concat([m, m[:1]]), c),
     lambda c: [m + m[:1] for m in c], CUBE)
nest("reverse: rows", lambda a: fw.map(fw.reverse, a), lambda a: [r[::-1] for r in a], A)
nest("reverse: rows of a Ragged", lambda r: fw.map(fw.reverse, r),
     lambda r: [x[::-1] for x in r], ROWS)
nest("reverse: rows of rows", lambda d: fw.map(lambda m: fw.map(fw.reverse, m), d),
     lambda d: [[r[::-1] for r in m] for m in d], DEEP)
nest("rotate: by a number of its row's own",
     lambda a, n: fw.map(lambda r, k: fw.rotate(r, k - 1), a, n),
     lambda a, n: pairwise(lambda r, k: r[(k - 1) % 5 :] + r[: (k - 1) % 5], a, n), A, NUMBERS)
nest("rotate: rows of a Ragged", lambda r: fw.map(lambda x: fw.rotate(x, 1), r),
     lambda r: [x[1:] + x[:1] for x in r], LONGER)
nest("slice: as many as a number says, summed",
     lambda a, n: fw.map(lambda r, k: fw.sum(r[:k]), a, n),
     lambda a, n: pairwise(lambda r, k: sum(r[:k]), a, n), A, NUMBERS)
nest("slice: as many as a number says", lambda a, n: fw.map(lambda r, k: r[:k], a, n),
     lambda a, n: pairwise(lambda r, k: r[:k], a, n), A, NUMBERS)
nest("slice: rows of a Ragged without their first", lambda r: fw.map(lambda x: x[1:], r),
     lambda r: [x[1:] for x in r], LONGER)
nest("slice: every second from a computed place", lambda a, n: fw.map(lambda r, k: r[k::2], a, n),
     lambda a, n: pairwise(lambda r, k: r[k::2], a, n), A, NUMBERS)
nest("slice: from the end", lambda a, n: fw.map(lambda r, k: r[-1 - k :], a, n),
     lambda a, n: pairwise(lambda r, k: r[-1 - k :], a, n), A, NUMBERS)
nest("slice: neighbours", lambda a: fw.map(lambda r: r[1:] - r[:-1], a),
     lambda a: [pairwise(lambda x, y: y - x, r[:-1], r[1:]) for r in a], A)
nest("slice: rows of a matrix", lambda c, n: fw.map(lambda m, k: m[:k], c, n),
     lambda c, n: pairwise(lambda m, k: m[:k], c, n), CUBE, NUMBERS)
nest("read: a row by another", lambda a, i: fw.map(lambda r, j: r[j], a, i),
     lambda a, i: pairwise(lambda r, j: [r[k] for k in j], a, i), A, ORDERS)
nest("read: a table by each row", lambda i, t: fw.map(lambda j: fw.gather(t, j), i),
     lambda i, t: [[t[k] for k in j] for j in i], ORDERS, TABLE)
nest("read: a row of a matrix by number", lambda n, a: fw.map(lambda k: a[k], n),
     lambda n, a: [a[k] for k in n], NUMBERS, A)
nest("read: a row of a Ragged by number", lambda n, r: fw.map(lambda k: fw.sum(r[k]), n),
     lambda n, r: [sum(r[k]) for k in n], NUMBERS, LONGER)
nest("read: whole rows of a Ragged by number", lambda n, r: fw.map(lambda k: r[k], n),
     lambda n, r: [r[k] for k in n], NUMBERS, LONGER)
nest("read: the last one by its own row's number",
     lambda a: fw.map(lambda r: r[r[-1] % 5], a), lambda a: [r[r[-1] % 5] for r in a], A)
nest("backpermute: a row reversed",
     lambda a: fw.map(lambda r: fw.backpermute(5, lambda i: 4 - i, r), a),
     lambda a: [r[::-1] for r in a], A)
