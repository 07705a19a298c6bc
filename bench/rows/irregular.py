"""Programs of other fields on rows of different lengths: genomics, text, finance, sparse algebra.

Numba runs the same loops, parallel over rows, lines or reads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.rows.computed_once import WINDOW, K, minimizers, reads
from bench.tools import Tools

NEEDS = (Faster(0.7, "numba"),)
SPACE, ZERO = 32, 48

# -- minimizers: the least hash of the k-mers in each window of a read ----------------------------


def minimizer_peers(tools: Tools, rows: Any) -> dict[str, Call]:
    """Numba, a read after the other: its hashes, then the least of each window."""
    if not tools.numba:
        return {}
    numba, bases, offsets = tools.numba, np.asarray(rows.values), np.asarray(rows.offsets)
    lengths = np.maximum(np.diff(offsets) - K - WINDOW + 2, 0)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    out, hashes = np.zeros(ends[-1], np.uint64), np.zeros(len(bases), np.uint64)

    @numba.njit(parallel=True)
    def least(bases, offsets, hashes, ends, out):
        for r in numba.prange(len(offsets) - 1):
            start = offsets[r]
            count = max(offsets[r + 1] - start - K + 1, 0)
            for i in range(count):
                code = np.uint64(0)
                for k in range(K):
                    code += np.uint64(bases[start + i + k]) << np.uint64(2 * k)
                code = (code ^ (code >> np.uint64(33))) * np.uint64(0x7F51AFD7ED558CCD)
                hashes[start + i] = code ^ (code >> np.uint64(29))
            for i in range(ends[r + 1] - ends[r]):
                found = hashes[start + i]
                for k in range(1, WINDOW):
                    found = min(found, hashes[start + i + k])
                out[ends[r] + i] = found
        return out

    return {"numba": lambda: fw.ragged(least(bases, offsets, hashes, ends, out), offsets=ends)}


# -- how often each canonical 11-mer occurs -------------------------------------------------------

MER = 11


def canonical(read: Any) -> Any:
    """The lesser code of each 11-mer and of its reverse complement."""

    def of(i: Any) -> Any:
        there = fw.sum(fw.generate(MER, lambda k: read[i + k].astype(fw.i32) << (2 * k)))
        back = fw.sum(fw.generate(MER, lambda k: (3 - read[i + k].astype(fw.i32)) << 2 * (10 - k)))
        return fw.minimum(there, back)

    return fw.generate(fw.maximum(read.shape[0] - MER + 1, 0), of)


def counted_mers(rows: Any) -> Any:
    """How often each occurs in all reads."""
    return fw.histogram(4**MER, fw.map(canonical, rows).values)


def mer_peers(tools: Tools, rows: Any) -> dict[str, Call]:
    """Numba, each thread's reads counted in its own array."""
    if not tools.numba:
        return {}
    numba, bases, offsets = tools.numba, np.asarray(rows.values), np.asarray(rows.offsets)
    parts = numba.get_num_threads()

    @numba.njit(parallel=True)
    def count(bases, offsets):
        counts = np.zeros((parts, 4**MER), np.int64)
        reads = len(offsets) - 1
        for part in numba.prange(parts):
            for r in range(reads * part // parts, reads * (part + 1) // parts):
                for i in range(offsets[r], offsets[r + 1] - MER + 1):
                    there = back = np.int32(0)
                    for k in range(MER):
                        base = np.int32(bases[i + k])
                        there += base << np.int32(2 * k)
                        back += (np.int32(3) - base) << np.int32(2 * (MER - 1 - k))
                    counts[part, min(there, back)] += 1
        return counts.sum(axis=0)

    return {"numba": lambda: count(bases, offsets)}


# -- tf-idf: counts of terms, weighted by how rare a term is, rows of length 1 --------------------

TERMS = 50_000


def weighted(terms: Any, counts: Any) -> Any:
    """The weights of the terms of each document."""
    found = fw.histogram(TERMS, terms.values)
    rare = fw.log((1.0 + terms.lengths.shape[0]) / (1.0 + found)) + 1.0

    def of(own: Any, often: Any) -> Any:
        weights = often * rare[own]
        return weights / fw.sqrt(fw.sum(weights * weights))

    return fw.map(of, terms, counts)


def documents(n: int) -> Arrays:
    """Documents of 20 to 180 terms, rare and frequent ones."""
    rng = np.random.default_rng(61)
    lengths = rng.integers(20, 181, max(n // 100, 1))
    size = int(lengths.sum())
    terms = np.minimum(rng.zipf(1.2, size), TERMS) - 1
    counts = rng.integers(1, 6, size).astype(np.float64)
    return fw.ragged(terms, lengths=lengths), fw.ragged(counts, lengths=lengths)


def document_peers(tools: Tools, terms: Any, counts: Any) -> dict[str, Call]:
    """Numba: a histogram in parts, then a document after the other."""
    if not tools.numba:
        return {}
    numba, out = tools.numba, np.zeros(len(counts.values))
    arrays = [np.asarray(part) for part in (terms.values, counts.values, terms.offsets)]
    parts = numba.get_num_threads()

    @numba.njit(parallel=True)
    def weigh(terms, counts, offsets, out):
        found, size, rows = np.zeros((parts, TERMS), np.int64), len(terms), len(offsets) - 1
        for part in numba.prange(parts):
            for k in range(size * part // parts, size * (part + 1) // parts):
                found[part, terms[k]] += 1
        rare = np.log((1.0 + rows) / (1.0 + found.sum(axis=0))) + 1.0
        for r in numba.prange(rows):
            total = 0.0
            for k in range(offsets[r], offsets[r + 1]):
                out[k] = counts[k] * rare[terms[k]]
                total += out[k] * out[k]
            for k in range(offsets[r], offsets[r + 1]):
                out[k] /= np.sqrt(total)
        return out

    return {"numba": lambda: fw.ragged(weigh(*arrays, out), offsets=arrays[2])}


# -- order books: the best bid after each order ---------------------------------------------------

LEVELS = 32


def best_bids(levels: Any, amounts: Any) -> Any:
    """Of each share the sum of the best bids after its orders, and what is left in its book."""

    def of(own: Any, many: Any) -> Any:
        def order(k: Any, state: Any) -> Any:
            book, total = state
            book = book.at[own[k]].add(many[k])
            best = fw.max(fw.where(book > 0, fw.iota(LEVELS), -1))
            return book, total + best

        book, total = fw.fori_loop(0, own.shape[0], order, (fw.zeros(LEVELS, fw.i64), 0))
        return total, fw.sum(book)

    return fw.map(of, levels, amounts)


def orders(n: int) -> Arrays:
    """Shares with 50 to 350 orders each: of a price level, what is bid more or taken back."""
    rng = np.random.default_rng(62)
    lengths = rng.integers(50, 351, max(n // 200, 1))
    size = int(lengths.sum())
    levels, amounts = rng.integers(0, LEVELS, size), rng.integers(-50, 51, size)
    return fw.ragged(levels, lengths=lengths), fw.ragged(amounts, lengths=lengths)


def order_peers(tools: Tools, levels: Any, amounts: Any) -> dict[str, Call]:
    """Numba, a share after the other."""
    if not tools.numba:
        return {}
    numba = tools.numba
    arrays = [np.asarray(part) for part in (levels.values, amounts.values, levels.offsets)]
    totals, left = np.zeros((2, len(arrays[2]) - 1), np.int64)

    @numba.njit(parallel=True)
    def run(levels, amounts, offsets, totals, left):
        for r in numba.prange(len(totals)):
            book, total = np.zeros(LEVELS, np.int64), 0
            for k in range(offsets[r], offsets[r + 1]):
                book[levels[k]] += amounts[k]
                best = -1
                for level in range(LEVELS):
                    if book[level] > 0:
                        best = level
                total += best
            totals[r], left[r] = total, book.sum()
        return totals, left

    return {"numba": lambda: run(*arrays, totals, left)}


# -- log lines: the number in the third field -----------------------------------------------------


def third_fields(lines: Any) -> Any:
    """The number between the second space of each line and the third one."""

    def of(line: Any) -> Any:
        spaces = fw.flatnonzero(line == SPACE)
        first, length = spaces[1] + 1, spaces[2] - spaces[1] - 1

        def digit(k: Any) -> Any:
            return 10, line[first + k].astype(fw.i64) - ZERO

        def join(a: Any, b: Any) -> Any:
            return a[0] * b[0], a[1] * b[0] + b[1]

        return fw.reduce(join, (1, 0), fw.generate(length, digit))[1]

    return fw.map(of, lines)


def log(n: int) -> Arrays:
    """Lines of six fields, of which the third one has 1 to 6 digits."""
    rng = np.random.default_rng(63)
    rows = []
    for number in rng.integers(0, 10 ** rng.integers(1, 7, 1000)):
        words = [bytes(rng.integers(97, 123, rng.integers(5, 20), np.uint8)) for _ in range(5)]
        rows.append(b" ".join([*words[:2], str(number).encode(), *words[2:]]))
    rows = [rows[k] for k in rng.integers(0, len(rows), max(n // 64, 1))]
    values = np.frombuffer(b"".join(rows), np.uint8)
    return (fw.ragged(values, lengths=[len(row) for row in rows]),)


def log_peers(tools: Tools, lines: Any) -> dict[str, Call]:
    """Numba, a line after the other, each up to its third space."""
    if not tools.numba:
        return {}
    numba, text, offsets = tools.numba, np.asarray(lines.values), np.asarray(lines.offsets)
    out = np.zeros(len(offsets) - 1, np.int64)

    @numba.njit(parallel=True)
    def parse(text, offsets, out):
        for r in numba.prange(len(out)):
            spaces, number, k = 0, 0, offsets[r]
            while k < offsets[r + 1] and spaces < 3:
                if text[k] == SPACE:
                    spaces += 1
                elif spaces == 2:
                    number = number * 10 + (text[k] - ZERO)
                k += 1
            out[r] = number
        return out

    return {"numba": lambda: parse(text, offsets, out)}


# -- a sparse triangular system, solved level by level --------------------------------------------


def solved(columns: Any, values: Any, diagonal: Any, order: Any, starts: Any, b: Any) -> Any:
    """The solution; the rows `order[starts[k]:starts[k + 1]]` need those before them alone."""

    def level(k: Any, x: Any) -> Any:
        rows = order[starts[k] : starts[k + 1]]

        def of(r: Any) -> Any:
            own = columns[r]
            return (b[r] - fw.sum(values[r] * x[own])) / diagonal[r]

        return x.at[rows].set(fw.map(of, rows))

    return fw.fori_loop(0, starts.shape[0] - 1, level, fw.zeros_like(b))


def triangle(n: int) -> Arrays:
    """Rows that need eight others, all in earlier levels, of which there are 100."""
    rng = np.random.default_rng(64)
    depth = min(100, max(n // 8, 1))
    level = np.sort(rng.integers(0, depth, n))
    level[0] = 0
    starts = np.searchsorted(level, np.arange(depth + 1))
    lengths = np.where(starts[level] > 0, rng.integers(4, 13, n), 0)
    columns = (rng.random(int(lengths.sum())) * np.repeat(starts[level], lengths)).astype(np.int64)
    values = rng.random(len(columns)) / 16
    return (
        fw.ragged(columns, lengths=lengths), fw.ragged(values, lengths=lengths),
        1 + rng.random(n), np.arange(n), starts, rng.random(n),
    )  # fmt: skip


def triangle_peers(tools: Tools, *args: Any) -> dict[str, Call]:
    """Numba, parallel over the rows of each level."""
    if not tools.numba:
        return {}
    numba, (columns, values, *rest) = tools.numba, args
    arrays = [np.asarray(part) for part in (columns.values, values.values, columns.offsets)]
    x = np.zeros(len(args[-1]))

    @numba.njit(parallel=True)
    def solve(columns, values, offsets, diagonal, order, starts, b, x):
        for level in range(len(starts) - 1):
            for k in numba.prange(starts[level], starts[level + 1]):
                r = order[k]
                total = b[r]
                for j in range(offsets[r], offsets[r + 1]):
                    total -= values[j] * x[columns[j]]
                x[r] = total / diagonal[r]
        return x

    return {"numba": lambda: solve(*arrays, *rest, x)}


# -- exponential averages of each share's prices --------------------------------------------------

KEPT = 0.9


def averages(prices: Any) -> Any:
    """After each price the average so far, older ones weighing less."""

    def of(own: Any) -> Any:
        steps = (fw.full(own.shape[0], KEPT), own * (1 - KEPT))
        fn = lambda p, q: (p[0] * q[0], p[1] * q[0] + q[1])  # noqa: E731
        return fw.scan(fn, (1.0, 0.0), steps)[1]

    return fw.map(of, prices)


def prices(n: int) -> Arrays:
    """Shares with 1 to 2,000 prices."""
    rng = np.random.default_rng(65)
    lengths = rng.integers(1, 2001, max(n // 1000, 1))
    return (fw.ragged(rng.random(int(lengths.sum())), lengths=lengths),)


def price_peers(tools: Tools, prices: Any) -> dict[str, Call]:
    """Numba, a share after the other."""
    if not tools.numba:
        return {}
    numba, values, offsets = tools.numba, np.asarray(prices.values), np.asarray(prices.offsets)
    out = np.zeros(len(values))

    @numba.njit(parallel=True)
    def average(values, offsets, out):
        for r in numba.prange(len(offsets) - 1):
            state = 0.0
            for k in range(offsets[r], offsets[r + 1]):
                state = state * KEPT + values[k] * (1 - KEPT)
                out[k] = state
        return out

    return {"numba": lambda: fw.ragged(average(values, offsets, out), offsets=offsets)}


def row(name: str, title: str, size: int, program: Any, inputs: Any, peers: Any) -> Row:
    """A program next to Numba's loops."""
    return Row(name, title, size, 1 << 14, program, inputs, NEEDS, peers, tolerance=1e-9)


ROWS = [
    row("read_minimizers", "least hash of the 15-mers in windows of 10, 2^22 bases", 1 << 22,
        minimizers, reads, minimizer_peers),
    row("canonical_mers", "canonical 11-mers counted, 2^22 bases", 1 << 22, counted_mers, reads,
        mer_peers),
    row("tf_idf", "tf-idf of 10^5 documents of 100 terms", 10_000_000, weighted, documents,
        document_peers),
    row("order_books", "best bids in 32 levels, 2 10^6 orders of 10^4 shares", 2_000_000, best_bids,
        orders, order_peers),
    row("log_lines", "the number in the third field of each line, 2^24 bytes", 1 << 24,
        third_fields, log, log_peers),
    row("triangular", "sparse triangular system of 100 levels, 10^6 rows", 1_000_000, solved,
        triangle, triangle_peers),
    row("averages", "exponential averages by share, 10^7 prices", 10_000_000, averages, prices,
        price_peers),
]  # fmt: skip
