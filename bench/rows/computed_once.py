"""What is read twice is computed once: each program next to the same one with that value stored."""

from __future__ import annotations

from typing import Any

import numpy as np

import flatweave as fw
from bench.needs import Faster
from bench.row import Arrays, Call, Row
from bench.tools import Tools

CUT, JOINED, SORTED = "cut in two", "one scatter", "sort and rows"
K, WINDOW = 15, 10


# -- minimizers: the least hash of the k-mers in each window of a read -----------------------------


def hashes(read: Any) -> Any:
    """The hash of each k-mer of a row of bytes."""

    def of(i: Any) -> Any:
        bases = fw.generate(K, lambda k: read[i + k].astype(fw.u64) << (2 * k).astype(fw.u64))
        code = fw.sum(bases)
        code = (code ^ (code >> 33)) * 0x7F51AFD7ED558CCD
        return code ^ (code >> 29)

    return fw.generate(fw.maximum(read.shape[0] - K + 1, 0), of)


def least(row: Any) -> Any:
    """The least value of each window."""
    count = fw.maximum(row.shape[0] - WINDOW + 1, 0)
    return fw.generate(count, lambda i: fw.min(fw.generate(WINDOW, lambda k: row[i + k])))


def minimizers(reads: Any) -> Any:
    """Of each read."""
    return fw.map(lambda read: least(hashes(read)), reads)


def reads(n: int) -> Arrays:
    """Bases in reads of 100 to 300."""
    random = np.random.default_rng(51)
    lengths = random.integers(100, 301, n // 200)
    return (fw.ragged(random.integers(0, 4, int(lengths.sum()), np.uint8), lengths=lengths),)


def minimizer_peers(tools: Tools, rows: Any) -> dict[str, Call]:
    """The hashes by one program, the windows by another."""
    first, second = (fw.jit(lambda xs, f=f: fw.map(f, xs)) for f in (hashes, least))
    return {CUT: lambda: second(first(rows))}


# -- a search, and how often each result was found -------------------------------------------------


def found(edges: Any, xs: Any) -> Any:
    """The bin of each element, and how many are in each pair of bins."""
    q = fw.searchsorted(edges, xs)
    return q, fw.histogram(2 * edges.shape[0] + 1, q * 2)


def edges(n: int) -> Arrays:
    """Sorted edges, and values between them."""
    random = np.random.default_rng(52)
    return np.sort(random.random(n // 64)), random.random(n)


def found_peers(tools: Tools, bounds: Any, xs: Any) -> dict[str, Call]:
    """The search by one program, the histogram by another."""
    first = fw.jit(lambda bounds, xs: fw.searchsorted(bounds, xs))
    second = fw.jit(lambda q, bounds: fw.histogram(2 * bounds.shape[0] + 1, q * 2))

    def both() -> Any:
        q = first(bounds, xs)
        return q, second(q, bounds)

    return {CUT: both}


# -- three scatters of three row sums --------------------------------------------------------------


def pulls(x: Any, y: Any, near: Any) -> Any:
    """The pull of the named points on each point: along both axes, and in all."""

    def of(i: Any) -> Any:
        def pull(k: Any) -> Any:
            j = near[i, k]
            dx, dy = x[j] - x[i], y[j] - y[i]
            w = fw.exp(-(dx * dx + dy * dy))
            return w * dx, w * dy, w

        return fw.reduce(
            lambda p, q: tuple(a + b for a, b in zip(p, q, strict=True)), (0.0, 0.0, 0.0),
            fw.generate(near.shape[1], pull),
        )  # fmt: skip

    return fw.generate(near.shape[0], of)


def three_scatters(x: Any, y: Any, near: Any, at: Any) -> Any:
    """Each sum is added to its array."""
    zero = fw.zeros(x.shape[0], x.dtype)
    return tuple(fw.permute(fw.add, zero, at, s) for s in pulls(x, y, near))


def graph(n: int) -> Arrays:
    """Points, eight others for each, and where each adds what it finds."""
    random = np.random.default_rng(53)
    x, y = random.random((2, n))
    return x, y, random.integers(0, n, (n, 8)), random.integers(0, n // 4, n)


def scatter_peers(tools: Tools, *args: Any) -> dict[str, Call]:
    """One scatter of tuples."""

    def joined(x: Any, y: Any, near: Any, at: Any) -> Any:
        zero = fw.zeros(x.shape[0], x.dtype)
        return fw.permute(
            lambda p, q: tuple(a + b for a, b in zip(p, q, strict=True)), (zero, zero, zero), at,
            pulls(x, y, near),
        )  # fmt: skip

    one = fw.jit(joined)
    return {JOINED: lambda: one(*args)}


# -- rows summed, then divided by their norm -------------------------------------------------------


def summed(table: Any, bags: Any) -> Any:
    """The sum of the rows of a table that each bag names."""
    return fw.map(lambda bag: fw.sum(table[bag], axis=0), bags)


def divided(rows: Any) -> Any:
    """Each row over its norm."""
    return fw.map(lambda row: row / fw.sqrt(fw.sum(row**2)), rows)


def normed(table: Any, bags: Any) -> Any:
    """Both, row by row."""

    def one(bag: Any) -> Any:
        row = fw.sum(table[bag], axis=0)
        return row / fw.sqrt(fw.sum(row**2))

    return fw.map(one, bags)


def bags(n: int) -> Arrays:
    """A table of rows of 64 numbers, and bags of eight of them in the mean."""
    random = np.random.default_rng(54)
    lengths = random.integers(4, 13, n)
    named = random.integers(0, n, int(lengths.sum()))
    return random.random((n, 64), np.float32), fw.ragged(named, lengths=lengths)


def normed_peers(tools: Tools, table: Any, named: Any) -> dict[str, Call]:
    """The sums by one program, the quotients by another."""
    first, second = fw.jit(summed), fw.jit(divided)
    return {CUT: lambda: second(first(table, named))}


# -- the different values, and how often each occurs -----------------------------------------------


def counted(xs: Any) -> Any:
    """By `unique_inverse` and a histogram."""
    values, inverse = fw.unique_inverse(xs)
    return values, fw.histogram(values.shape[0], inverse)


def keys(n: int) -> Arrays:
    """Whole numbers, each some eight times."""
    return (np.random.default_rng(55).integers(0, n // 8, n, dtype=np.uint32),)


def counted_peers(tools: Tools, xs: Any) -> dict[str, Call]:
    """By a sort, the rows of equal values in it, and their lengths."""

    def runs(xs: Any) -> Any:
        n = xs.shape[0]
        ascending, order = fw.sort_by_key(xs, fw.iota(n))
        begins = fw.filter(
            lambda i: (i == 0) | (ascending[i] != ascending[fw.maximum(i - 1, 0)]), fw.iota(n)
        )
        ends = fw.concat([begins[1:], fw.full(1, n)])
        return ascending[begins], ends - begins, order

    one = fw.jit(runs)
    return {SORTED: lambda: one(xs)[:2]}


def row(name: str, title: str, size: int, program: Any, inputs: Any, fast: str, peers: Any) -> Row:
    """A pair: within 1.3 of its fast form."""
    return Row(name, title, size, size // 16, program, inputs, (Faster(1 / 1.3, fast),), peers,
               tolerance=1e-5)  # fmt: skip


ROWS = [
    row("minimizers", "least hash of the 15-mers in windows of 10, reads of 200", 1 << 20,
        minimizers, reads, CUT, minimizer_peers),
    row("found_bins", "search in 2^14 edges, and a histogram of it, 2^20", 1 << 20, found, edges,
        CUT, found_peers),
    row("three_scatters", "three scatters of three row sums, 2^18 rows", 1 << 18, three_scatters,
        graph, JOINED, scatter_peers),
    row("bags", "rows of 64 numbers summed, and divided by their norm, 2^14 bags", 1 << 14, normed,
        bags, CUT, normed_peers),
    row("unique_counts", "unique_inverse and a histogram, u32 2^20", 1 << 20, counted, keys, SORTED,
        counted_peers),
]  # fmt: skip
