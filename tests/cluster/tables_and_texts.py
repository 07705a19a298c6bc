"""Analyses of tables and texts, and the same in plain NumPy."""

import base64
import itertools

import numpy as np

import flatweave as fw
from tests.cluster.everyday import daily

LETTERS = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8
)


# -- tables ---------------------------------------------------------------------------------------


def _sessions(user, time):
    order = np.lexsort((time, user))
    u, t = user[order], time[order]
    new = np.ones(len(u), bool)
    new[1:] = (u[1:] != u[:-1]) | (t[1:] - t[:-1] > 9)
    begins = np.flatnonzero(new)
    ends = np.append(begins[1:], len(u))[: len(begins)]
    return u[new], t[ends - 1] - t[new], ends - begins


@daily(lambda r, n: (r.integers(0, 5, n), r.integers(0, 200, n)), _sessions)
def sessions(user, time):
    """Visits of each user, which end where nothing comes for a while: how long, how many clicks."""
    u, t = fw.sort_by_key((user, time), (user, time))[1]
    before = lambda xs, i: xs[fw.maximum(i - 1, 0)]
    new = fw.map(
        lambda i: (i == 0) | (u[i] != before(u, i)) | (t[i] - before(t, i) > 9),
        fw.iota(u.shape[0]),
    )
    rows = fw.ragged(t, flags=new)
    spans = fw.map(lambda row: fw.max(row) - fw.min(row), rows)
    return u[new], spans, rows.lengths


def _nearest_rows(t, key, at, own, price):
    found = np.full(len(t), np.nan)
    for i in range(len(t)):
        known = np.flatnonzero((own == key[i]) & (at <= t[i]))
        if len(known):
            found[i] = price[known[np.argmax(at[known])]]
    return found


@daily(
    lambda r, n: (
        r.permutation(5 * n)[:n] / 2.0, r.integers(0, 3, n), np.sort(r.permutation(90)[:20]) + 0.25,
        r.integers(0, 3, 20), r.random(20),
    ),
    _nearest_rows,
)  # fmt: skip
def asof_by_key(t, key, at, own, price):
    """The last quote of the same key at or before each time."""
    own, at, price = fw.sort_by_key((own, at), (own, at, price))[1]
    moment = lambda k, time: k.astype(fw.f64) * 1e6 + time
    place = fw.searchsorted(moment(own, at), moment(key, t), side="right")
    k = fw.maximum(place - 1, 0)
    return fw.where((place > 0) & (own[k] == key), price[k], np.nan)


def _percentiles(k, x):
    return np.array([np.percentile(x[k == j], 90) if (k == j).any() else -1.0 for j in range(6)])


@daily(lambda r, n: (r.integers(0, 6, n), r.random(n)), _percentiles)
def percentiles(k, x):
    """Of each group what nine tenths are below, between two neighbours."""
    k, x = fw.sort_by_key((k, x), (k, x))[1]
    counts = fw.histogram(6, k)
    begins = fw.cumsum(counts) - counts

    def of_group(begin, count):
        place = fw.maximum(count - 1, 0).astype(fw.f64) * 0.9
        low = fw.floor(place).astype(fw.i64)
        high = fw.minimum(low + 1, count - 1)
        between = lambda: x[begin + low] + (x[begin + high] - x[begin + low]) * (place - low)
        return fw.cond(count > 0, between, lambda: -1.0)

    return fw.map(of_group, begins, counts)


def _pivot(a, b, x):
    table = np.zeros((4, 3))
    np.add.at(table, (a, b), x)
    return table, table / np.maximum(table.sum(1), 1e-9)[:, None]


@daily(lambda r, n: (r.integers(0, 4, n), r.integers(0, 3, n), r.random(n)), _pivot)
def pivot(a, b, x):
    """A table of sums by two keys, and each row's parts of its sum."""
    table = fw.reshape(fw.permute(fw.add, fw.zeros(12), a * 3 + b, x), (4, 3))
    return table, table / fw.maximum(fw.sum(table, axis=1), 1e-9)[:, None]


@daily(
    lambda r, n: (r.random(n), r.random(n)),
    lambda x, y: np.histogram2d(x, y, bins=[4, 5], range=[[0, 1], [0, 1]])[0],
)
def histogram_2d(x, y):
    """The number of points in each field of a board."""
    place = fw.minimum((x * 4).astype(fw.i64), 3) * 5 + fw.minimum((y * 5).astype(fw.i64), 4)
    return fw.reshape(fw.histogram(20, place), (4, 5)).astype(fw.f64)


@daily(lambda r, n: (r.integers(0, 7, n),), lambda k: (k[:, None] == np.arange(7)).astype(np.int64))
def one_hot(k):
    """A one in the column of each key."""
    return fw.map(lambda key: (fw.iota(7) == key).astype(fw.i64), k)


def _baskets(r, n):
    ends = np.append(0, r.integers(0, 4, n).cumsum())
    rows = [r.permutation(6)[: b - a] for a, b in itertools.pairwise(ends)]
    return ends, np.concatenate([*rows, np.zeros(0, int)]).astype(np.int64)


def _pairs(ends, item):
    found = np.zeros((6, 6), np.int64)
    for a, b in itertools.pairwise(ends):
        for i, j in itertools.product(item[a:b], item[a:b]):
            found[i, j] += i < j
    return found


@daily(_baskets, _pairs)
def pairs_of_baskets(ends, item):
    """How often two things are bought together."""
    rows = fw.ragged(item, offsets=ends)
    size = lambda row: row.shape[0] * row.shape[0]
    pair = lambda row, k: (row[k // row.shape[0]], row[k % row.shape[0]])
    a, b = fw.map(lambda row: fw.map(lambda k: pair(row, k), fw.iota(size(row))), rows)
    a, b = a.values, b.values
    one = (a < b).astype(fw.i64)
    return fw.reshape(fw.permute(fw.add, fw.zeros(36, fw.i64), a * 6 + b, one), (6, 6))


# -- texts ----------------------------------------------------------------------------------------


def _packed(bits):
    return np.packbits(bits), bits


@daily(lambda r, n: (r.integers(0, 2, n).astype(bool),), _packed)
def packed_bits(bits):
    """Eight of them in a byte, the first one highest; and back."""
    n = bits.shape[0]
    bit = lambda i: fw.where(i < n, bits[fw.minimum(i, n - 1)], False).astype(fw.u8)
    moved = lambda b, k: bit(8 * b + k) << (7 - k).astype(fw.u8)
    byte = lambda b: fw.reduce(fw.bitwise_or, 0, fw.map(lambda k: moved(b, k), fw.iota(8)))
    packed = fw.map(byte, fw.iota((n + 7) // 8))
    back = fw.map(lambda i: ((packed[i // 8] >> (7 - i % 8).astype(fw.u8)) & 1) == 1, fw.iota(n))
    return packed, back


@daily(
    lambda r, n: (r.integers(0, 256, 3 * n).astype(np.uint8), LETTERS),
    lambda text, _: np.frombuffer(base64.b64encode(bytes(text)), np.uint8),
)
def base_64(text, letters):
    """Three bytes as four letters."""

    def letter(i):
        group, k = i // 4 * 3, i % 4
        first, second, third = (text[group + j].astype(fw.u32) for j in range(3))
        word = (first << 16) | (second << 8) | third
        return letters[((word >> ((3 - k) * 6).astype(fw.u32)) & 63).astype(fw.i64)]

    return fw.map(letter, fw.iota(text.shape[0] // 3 * 4))


def _words(text):
    words = bytes(text).split(b" ")
    return np.array([len(w) for w in words]), np.array([sum(w) for w in words])


@daily(lambda r, n: (r.choice(np.frombuffer(b"abc ", np.uint8), n),), _words)
def split_text(text):
    """Words between spaces, as rows: how long each is, and the sum of its letters."""
    spaces = fw.iota(text.shape[0])[text == 32]
    ends = fw.concat([spaces, fw.full(1, text.shape[0])])
    begins = fw.concat([fw.full(1, 0), spaces + 1])
    letters = fw.ragged(text[text != 32].astype(fw.i64), lengths=ends - begins)
    return letters.lengths, fw.map(lambda w: fw.sum(w), letters)


def _distance(a, b):
    row = np.arange(len(b) + 1)
    for i, x in enumerate(a):
        new = [i + 1]
        for j, y in enumerate(b):
            new.append(min(new[-1] + 1, row[j + 1] + 1, row[j] + (x != y)))
        row = np.array(new)
    return row[-1]


@daily(
    lambda r, n: (r.integers(0, 3, (n, 5)), r.integers(0, 3, (n, 6))),
    lambda a, b: np.array([_distance(x, y) for x, y in zip(a, b, strict=True)], np.int64),
)
def edit_distances(a, b):
    """Of pairs of words, row by row of the table; along a row by a scan of minima."""

    def distance(x, y):
        def turn(i, row):
            above = lambda j: fw.minimum(row[j + 1] + 1, row[j] + (x[i] != y[j]).astype(fw.i64))
            first = fw.concat([fw.full(1, i + 1), fw.map(above, fw.iota(6))])
            least = fw.scan(fw.minimum, 1000, first - fw.iota(7))
            return least + fw.iota(7)

        return fw.fori_loop(0, 5, turn, fw.iota(7))[6]

    return fw.map(distance, a, b)


def _weights(doc, word):
    counts = np.zeros((5, 8))
    np.add.at(counts, (doc, word), 1)
    rare = np.log((1 + 5) / (1 + (counts > 0).sum(0)))
    return counts / np.maximum(counts.sum(1), 1)[:, None] * rare


@daily(lambda r, n: (r.integers(0, 5, n), r.integers(0, 8, n)), _weights)
def tf_idf(doc, word):
    """How much a word says of a text."""
    counts = fw.reshape(fw.histogram(40, doc * 8 + word), (5, 8)).astype(fw.f64)
    rare = fw.log(6.0 / (1.0 + fw.sum((counts > 0).astype(fw.f64), axis=0)))
    return counts / fw.maximum(fw.sum(counts, axis=1), 1.0)[:, None] * rare


def _decoded(value, count):
    return np.repeat(value, count)


@daily(lambda r, n: (r.random(n), r.integers(0, 5, n)), _decoded)
def run_lengths_decoded(value, count):
    """Every value as often as is said."""
    return fw.repeat(value, count)
