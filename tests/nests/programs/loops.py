"""Loops and branches over arrays inside element functions."""

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

LOOPS = nest = Programs()


def again(n, f, state):
    """A state after `n` turns."""
    for i in range(n):
        state = f(i, state)
    return state


def until(holds, f, state):
    """A state after the iterations for which something holds."""
    while holds(state):
        state = f(state)
    return state


def merged(r):
    """Neighbours added, pair by pair, until one is left."""
    return until(lambda s: len(s) > 1, lambda s: [
        x + y for x, y in zip(s[0::2], (s[1::2] + [0])[: (len(s) + 1) // 2], strict=True)], r)


# -- loops over rows that keep their length --------------------------------------------------------

nest("loop: a row, a constant number of turns",
     lambda a: fw.map(lambda r: fw.fori_loop(0, 3, lambda i, s: s * 2 + i, r), a),
     lambda a: [again(3, lambda i, s: [2 * x + i for x in s], r) for r in a], A)
nest("loop: a row, as many turns as a number says",
     lambda a, n: fw.map(lambda r, k: fw.fori_loop(0, k, lambda i, s: s + s[i], r), a, n),
     lambda a, n: pairwise(lambda r, k: again(k, lambda i, s: [x + s[i] for x in s], r), a, n),
     A, NUMBERS)
nest("loop: rows of a Ragged",
     lambda r, n: fw.map(lambda x, k: fw.fori_loop(0, k, lambda i, s: fw.cumsum(s), x), r, n),
     lambda r, n: pairwise(lambda x, k: again(
         k, lambda i, s: [sum(s[: j + 1]) for j in range(len(s))], x), r, n), ROWS, NUMBERS)
nest("loop: bubble sort",
     lambda a: fw.map(lambda r: fw.fori_loop(0, 5, lambda i, s: fw.generate(5, lambda j: fw.where(
         j % 2 == i % 2,
         fw.where(j < 4, fw.minimum(s[j], s[fw.minimum(j + 1, 4)]), s[j]),
         fw.where(j > 0, fw.maximum(s[j], s[fw.maximum(j - 1, 0)]), s[j]))), r), a),
     lambda a: [sorted(r) for r in a], A)
nest("loop: a row and a number in one state",
     lambda a: fw.map(lambda r: fw.while_loop(
         lambda s: s[0] < 20, lambda s: (s[0] + fw.sum(s[1]), s[1] + 1), (0, r))[1], a),
     lambda a: [until(lambda s: s[0] < 20, lambda s: (s[0] + sum(s[1]), [x + 1 for x in s[1]]),
                      (0, r))[1] for r in a], A)
nest("loop: the number of turns beside the row",
     lambda a: fw.map(lambda r: fw.while_loop(
         lambda s: fw.any(s[1] < 30), lambda s: (s[0] + 1, s[1] * 2), (0, r)), a),
     lambda a: tuple(map(list, zip(*(until(
         lambda s: min(s[1]) < 30, lambda s: (s[0] + 1, [2 * x for x in s[1]]), (0, r))
         for r in a), strict=True))), A)
nest("loop: scatter in each turn",
     lambda i, n: fw.map(lambda j, k: fw.fori_loop(
         0, k, lambda t, s: fw.scatter(s, j[:2], s[1:3] + t), fw.iota(5)), i, n),
     lambda i, n: pairwise(lambda j, k: again(k, lambda t, s: [
         s[1] + t if x == j[0] else s[2] + t if x == j[1] else s[x] for x in range(5)],
         list(range(5))), i, n), ORDERS, NUMBERS)
nest("loop: rows that swap",
     lambda a, b, n: fw.map(lambda r, s, k: fw.fori_loop(
         0, k, lambda i, t: (t[1], t[0] + t[1]), (r, s))[0], a, b, n),
     lambda a, b, n: pairwise(lambda r, s, k: again(
         k, lambda i, t: (t[1], pairwise(lambda x, y: x + y, *t)), (r, s))[0], a, b, n),
     A, B, NUMBERS)
nest("loop: in a loop",
     lambda a: fw.map(lambda r: fw.fori_loop(0, 2, lambda i, s: fw.fori_loop(
         0, i + 1, lambda j, t: t + j, s), r), a), lambda a: [[x + 1 for x in r] for r in a], A)
nest("loop: matrices",
     lambda c, n: fw.map(lambda m, k: fw.fori_loop(0, k, lambda i, s: s[::-1] + i, m), c, n),
     lambda c, n: pairwise(lambda m, k: again(
         k, lambda i, s: [[x + i for x in r] for r in s[::-1]], m), c, n), CUBE, NUMBERS)
nest("loop: in maps in maps",
     lambda d: fw.map(lambda m: fw.map(lambda r: fw.sum(fw.fori_loop(
         0, r.shape[0], lambda i, s: s + r, r)), m), d),
     lambda d: [[sum(r) * (len(r) + 1) for r in m] for m in d], DEEP)
nest("loop: outside, of a map of scans",
     lambda a: fw.fori_loop(0, 2, lambda i, m: fw.map(fw.cumsum, m), a),
     lambda a: [again(2, lambda i, s: [sum(s[: j + 1]) for j in range(5)], r) for r in a], A)
nest("loop: turns told by another row",
     lambda r, q: fw.map(lambda x, y: fw.fori_loop(
         0, fw.sum(y) % 3, lambda i, s: s + y.shape[0], x), r, q),
     lambda r, q: pairwise(lambda x, y: [v + len(y) * (sum(y) % 3) for v in x], r, q),
     ROWS, LONGER)
nest("loop: a table from outside is read",
     lambda i, t: fw.map(lambda j: fw.fori_loop(0, 2, lambda k, s: t[s % 6], j), i),
     lambda i, t: [again(2, lambda k, s: [t[x % 6] for x in s], j) for j in i], ORDERS, TABLE)

# -- loops over rows that change their length ------------------------------------------------------

nest("loop: a row that doubles",
     lambda n: fw.map(lambda k: fw.fori_loop(
         0, k, lambda i, s: fw.concat([s, s + 1]), fw.full(1, k)), n),
     lambda n: [again(k, lambda i, s: s + [x + 1 for x in s], [k]) for k in n], NUMBERS)
nest("loop: a row that doubles, summed",
     lambda n: fw.map(lambda k: fw.sum(fw.fori_loop(
         0, k, lambda i, s: fw.concat([s, s + 1]), fw.full(1, k))), n),
     lambda n: [sum(again(k, lambda i, s: s + [x + 1 for x in s], [k])) for k in n], NUMBERS)
nest("loop: neighbours added until one is left",
     lambda a: fw.map(lambda r: fw.while_loop(
         lambda s: s.shape[0] > 1,
         lambda s: fw.generate((s.shape[0] + 1) // 2, lambda i: s[2 * i] + fw.cond(
             2 * i + 1 < s.shape[0], lambda: s[2 * i + 1], lambda: 0)), r)[0], a),
     lambda a: [merged(r)[0] for r in a], A)
nest("loop: until a filter leaves one",
     lambda a: fw.map(lambda r: fw.while_loop(
         lambda s: s.shape[0] > 1, lambda s: fw.filter(lambda v: v > fw.min(s), s), r), a),
     lambda a: [until(lambda s: len(s) > 1, lambda s: [v for v in s if v > min(s)], r)
                for r in a], A)
nest("loop: rows of a Ragged until they are short",
     lambda r: fw.map(lambda x: fw.while_loop(lambda s: s.shape[0] > 2, lambda s: s[1:], x), r),
     lambda r: [x[-2:] for x in r], LONGER)
nest("loop: two rows, one grows and one shrinks",
     lambda a, n: fw.map(lambda r, k: fw.fori_loop(
         0, k, lambda i, s: (fw.concat([s[0], s[1][:1]]), s[1][1:]), (fw.iota(0), r)), a, n),
     lambda a, n: (pairwise(lambda r, k: r[:k], a, n), pairwise(lambda r, k: r[k:], a, n)),
     A, NUMBERS)
nest("loop: the sieve up to a number",
     lambda n: fw.map(lambda k: fw.while_loop(
         lambda s: s[1].shape[0] > 0,
         lambda s: (s[0] + s[1][0], fw.filter(lambda v: v % s[1][0] != 0, s[1])),
         (0, fw.iota(k * 4) + 2))[0], n),
     lambda n: [sum(p for p in range(2, 4 * k + 2) if all(p % q for q in range(2, p)))
                for k in n], NUMBERS)

# -- branches --------------------------------------------------------------------------------------

nest("cond: rows", lambda a: fw.map(
         lambda r: fw.cond(fw.sum(r) > 20, lambda r: r * 2, lambda r: r - 1, r), a),
     lambda a: [[2 * x for x in r] if sum(r) > 20 else [x - 1 for x in r] for r in a], A)
nest("cond: rows of a Ragged",
     lambda r, n: fw.map(lambda x, k: fw.cond(k > 1, lambda: x + k, lambda: fw.sort(x)), r, n),
     lambda r, n: pairwise(lambda x, k: [v + k for v in x] if k > 1 else sorted(x), r, n),
     ROWS, NUMBERS)
nest("cond: rows of other lengths",
     lambda a: fw.map(lambda r: fw.cond(fw.sum(r) > 20, lambda: r[:2], lambda: r), a),
     lambda a: [r[:2] if sum(r) > 20 else r for r in a], A)
nest("cond: rows of other lengths, summed",
     lambda a: fw.map(lambda r: fw.sum(fw.cond(fw.sum(r) > 20, lambda: r[:2], lambda: r)), a),
     lambda a: [sum(r[:2] if sum(r) > 20 else r) for r in a], A)
nest("cond: what is not called has no effect",
     lambda r: fw.map(lambda x: fw.cond(x.shape[0] > 0, lambda: x[0] + fw.max(x), lambda: -1), r),
     lambda r: [x[0] + max(x) if x else -1 for x in r], ROWS)
nest("cond: a row and a number",
     lambda a, n: fw.map(lambda r, k: fw.cond(
         k == 0, lambda: (r, fw.sum(r)), lambda: (fw.cumsum(r), k)), a, n),
     lambda a, n: (pairwise(lambda r, k: [sum(r[: i + 1]) for i in range(5)] if k else r, a, n),
                   pairwise(lambda r, k: k or sum(r), a, n)), A, NUMBERS)
nest("cond: in a loop",
     lambda a, n: fw.map(lambda r, k: fw.fori_loop(0, k, lambda i, s: fw.cond(
         i % 2 == 0, lambda: s[::-1], lambda: s + 1), r), a, n),
     lambda a, n: pairwise(lambda r, k: again(
         k, lambda i, s: [x + 1 for x in s] if i % 2 else s[::-1], r), a, n), A, NUMBERS)
nest("cond: in cond",
     lambda a, n: fw.map(lambda r, k: fw.cond(k > 1, lambda: fw.cond(
         k > 2, lambda: fw.sort(r), lambda: r * k), lambda: fw.cumsum(r)), a, n),
     lambda a, n: pairwise(lambda r, k: sorted(r) if k > 2 else [x * k for x in r] if k > 1
                           else [sum(r[: i + 1]) for i in range(5)], a, n), A, NUMBERS)
nest("cond: a scan of the elements, or their sort",
     lambda a: fw.map(lambda r: fw.cond(
         r[0] < r[1], lambda r: fw.scan(fw.maximum, 0, r), fw.sort, r), a),
     lambda a: [[max(r[: i + 1]) for i in range(5)] if r[0] < r[1] else sorted(r) for r in a], A)
nest("cond: numbers alone", lambda n: fw.map(
         lambda k: fw.cond(k > 1, lambda: k * 10, lambda: -k), n),
     lambda n: [10 * k if k > 1 else -k for k in n], NUMBERS)
nest("loop: numbers alone", lambda n: fw.map(
         lambda k: fw.while_loop(lambda s: s < 20, lambda s: s * 2 + 1, k), n),
     lambda n: [until(lambda s: s < 20, lambda s: 2 * s + 1, k) for k in n], NUMBERS)
