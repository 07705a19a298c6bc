"""Scans, segmented ones among them, inside element functions."""

from __future__ import annotations

import operator
from itertools import accumulate

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
    SMALL,
    TABLE,
    A,
    B,
    Programs,
    pairwise,
)

SCANS = nest = Programs()


def upto(row, op=operator.add, *first):
    """Every prefix, from a first element if there is one."""
    return list(accumulate([*first, *row], op))[len(first) :]


def affine(x, y):
    """x * a + b after x * a' + b'."""
    return x[0] * y[0], x[1] * y[0] + y[1]


nest("scan: cumsum of rows", lambda a: fw.map(fw.cumsum, a), lambda a: [upto(r) for r in a], A)
nest("scan: cumsum of rows of a Ragged", lambda r: fw.map(fw.cumsum, r),
     lambda r: [upto(x) for x in r], ROWS)
nest("scan: cumprod of bytes", lambda a: fw.map(fw.cumprod, a),
     lambda a: [upto(r, operator.mul) for r in a], BYTES)
nest("scan: bytes that wrap", lambda a: fw.map(lambda r: fw.scan(fw.add, 9, r), a),
     lambda a: [[x % 256 for x in upto(r, operator.add, 9)] for r in a], BYTES)
nest("scan: extremes from a number of its row's own",
     lambda a, n: fw.map(lambda r, k: fw.scan(fw.maximum, k + 3, r), a, n),
     lambda a, n: pairwise(lambda r, k: upto(r, max, k + 3), a, n), A, NUMBERS)
nest("scan: from its row's sum",
     lambda a: fw.map(lambda r: fw.scan(lambda x, y: x + y, fw.sum(r), r), a),
     lambda a: [upto(r, operator.add, sum(r)) for r in a], A)
nest("scan: exclusive", lambda a: fw.map(lambda r: fw.scan(fw.add, 5, r, exclusive=True), a),
     lambda a: [[5 + sum(r[:i]) for i in range(len(r))] for r in a], A)
nest("scan: reverse", lambda a: fw.map(lambda r: fw.scan(fw.add, 5, r, reverse=True), a),
     lambda a: [[5 + sum(r[i:]) for i in range(len(r))] for r in a], A)
nest("scan: exclusive and reverse, of rows of a Ragged",
     lambda r: fw.map(lambda x: fw.scan(fw.add, 5, x, exclusive=True, reverse=True), r),
     lambda r: [[5 + sum(x[i + 1 :]) for i in range(len(x))] for x in r], LONGER)
nest("scan: pairs that do not commute",
     lambda a, b: fw.map(lambda r, s: fw.scan(
         lambda x, y: (x[0] * y[0], x[1] * y[0] + y[1]), (1, 2), (r, s)), a, b),
     lambda a, b: (pairwise(lambda r, s: [
         x for x, _ in upto(list(zip(r, s, strict=True)), affine, (1, 2))], a, b),
                   pairwise(lambda r, s: [
         y for _, y in upto(list(zip(r, s, strict=True)), affine, (1, 2))], a, b)), A, B)
nest("scan: the last element that is not zero",
     lambda i: fw.map(lambda j: fw.scan(lambda x, y: fw.where(y == 0, x, y), 9, j), i),
     lambda i: [upto(j, lambda x, y: y or x, 9) for j in i], SMALL)
nest("scan: of a scan", lambda a: fw.map(lambda r: fw.cumsum(fw.cumsum(r)), a),
     lambda a: [upto(upto(r)) for r in a], A)
nest("scan: of a map beside a number from outside",
     lambda a, t: fw.map(lambda r: fw.cumsum(r * t[0]), a),
     lambda a, t: [upto([t[0] * x for x in r]) for r in a], A, TABLE)
nest("scan: and then its greatest", lambda a: fw.map(lambda r: fw.max(fw.cumsum(r - 4)), a),
     lambda a: [max(upto([x - 4 for x in r])) for r in a], A)
nest("scan: of a row as long as a number says, summed",
     lambda n: fw.map(lambda k: fw.sum(fw.cumsum(fw.iota(k + 2))), n),
     lambda n: [sum(upto(range(k + 2))) for k in n], NUMBERS)
nest("scan: in maps in maps", lambda c: fw.map(lambda m: fw.map(fw.cumsum, m), c),
     lambda c: [[upto(r) for r in m] for m in c], CUBE)
nest("scan: of rows of rows", lambda d: fw.map(lambda m: fw.map(fw.cumsum, m), d),
     lambda d: [[upto(r) for r in m] for m in d], DEEP)
nest("scan: of sums of rows", lambda d: fw.map(lambda m: fw.cumsum(fw.map(fw.sum, m)), d),
     lambda d: [upto(map(sum, m)) for m in d], DEEP)
nest("scan: of columns", lambda c: fw.map(lambda m: fw.map(fw.cumsum, m.T), c),
     lambda c: [[upto(r) for r in zip(*m, strict=True)] for m in c], CUBE)
nest("scan: halves", lambda h: fw.map(lambda r: fw.scan(fw.minimum, 1.5, r), h),
     lambda h: [upto(r, min, 1.5) for r in h], HALVES)
nest("scan: segmented", lambda a, i: fw.map(
         lambda r, j: fw.segmented_scan(fw.add, 10, j > 1, r), a, i),
     lambda a, i: pairwise(lambda r, j: [
         10 + sum(r[max([0, *(s for s in range(k + 1) if j[s] > 1)]) : k + 1])
         for k in range(len(r))], a, i), A, SMALL)
nest("scan: segmented, of rows of a Ragged", lambda r, i: fw.map(
         lambda x, j: fw.segmented_scan(fw.maximum, 2, j > 0, x), r, i),
     lambda r, i: [[3, 2, 2], [], [5, 5], [2]], ROWS, OTHERS)
nest("scan: places in segments", lambda i: fw.map(lambda j: fw.segmented_iota(j == 1), i),
     lambda i: [[0, 0, 0, 1, 2], [0, 1, 2, 3, 4], [0, 1, 0, 0, 0], [0, 0, 1, 2, 0]], SMALL)
nest("scan: segmented sums, summed", lambda a, i: fw.map(
         lambda r, j: fw.sum(fw.segmented_reduce(fw.maximum, 4, j > 1, r)), a, i),
     lambda a, i: [9, 28, 9, 12], A, SMALL)
nest("scan: segmented sums", lambda a, i: fw.map(
         lambda r, j: fw.segmented_reduce(fw.add, 0, j > 1, r), a, i),
     lambda a, i: [[8, 6], [9, 2, 6, 5, 3], [38], [8, 12]], A, SMALL)
nest("operators: that read the least of their sorted row", lambda r: fw.map(
         lambda x: fw.scan(lambda p, q: p + q + fw.min(fw.sort(x), initial=9), 0, x), r),
     lambda r: [upto([v + min([9, *x]) for v in x]) for x in r], LONGER)
nest("operators: keys that sort their row", lambda a: fw.map(
         lambda r: fw.sort(r, key=lambda x: (fw.sort(r)[2] - x) * fw.sum(fw.sort(r)[:1])), a),
     lambda a: [sorted(r, key=lambda x: (sorted(r)[2] - x) * min(r)) for r in a], A)
nest("operators: keys that sort with their element", lambda a: fw.map(
         lambda r: fw.sort(r, key=lambda x: (fw.sum(fw.sort((r * x) % 7)[:3]), x)), a),
     lambda a: [sorted(r, key=lambda x: (sum(sorted((v * x) % 7 for v in r)[:3]), x)) for r in a],
     A)
nest("operators: keys on the host that sort", lambda t: fw.sort(
         t, key=lambda x: (fw.sort((t * x) % 7)[1], x)),
     lambda t: sorted(t, key=lambda x: (sorted((v * x) % 7 for v in t)[1], x)), TABLE)
nest("operators: on the host, that sort what is outside",
     lambda t: fw.scan(lambda p, q: p + q + fw.sort(t)[1], 0, t),
     lambda t: list(accumulate([0, *t], lambda p, q: p + q + sorted(t)[1]))[1:], TABLE)


def segment_sums(row, most):
    found: list[int] = []
    for k, x in enumerate(row):
        if k == 0 or x % 2 == 0:
            found.append(0)
        found[-1] = (found[-1] + x) % most
    return found


nest("operators: of segments, that sum their row", lambda r: fw.map(
         lambda x: fw.segmented_reduce(
             lambda p, q: (p + q) % (fw.sum(x) + 9), 0, x % 2 == 0, x), r),
     lambda r: [segment_sums(x, sum(x) + 9) for x in r], LONGER)
