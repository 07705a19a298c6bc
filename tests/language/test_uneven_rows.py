"""Work on rows of any length, one far longer than the others: what `flatten` divides evenly."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.conftest import THREADS
from tests.language.agreement import same
from tests.language.test_ragged import made, same_rows

LENGTHS = {
    "no rows": [],
    "empty rows only": [0, 0, 0],
    "one row": [1],
    "around a step": [127, 0, 128, 129],
    "around a block": [1023, 0, 0, 1025, 1],
    "one long row": [0, 2, 0, 40_000, 3, 0, 1],
    "many short rows": [1, 0, 2, 3] * 500,
}
SCANNED = [[], [0], [1], [0, 0, 0], [2, 0, 3], [0, 127, 0, 0, 128, 1, 0, 129], [1, 0, 2] * 40]
UNEVEN = pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)


def composed(f, g):
    """The composition of affine maps: associative, not commutative."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def composition(row):
    """All maps x -> 3 x + v of a row, in order."""
    slope, shift = np.int64(1), np.int64(0)
    with np.errstate(over="ignore"):
        for v in row:
            slope, shift = slope * 3, shift * 3 + v
    return slope, shift


def compositions(row):
    """The second component of the composition of every prefix of (v, v + 1)."""
    found, slope, shift = [], 1, 0
    for v in row:
        slope, shift = slope * v, shift * v + v + 1
        found.append(shift)
    return np.array(found, np.int64)


@UNEVEN
def test_reductions_of_rows(target, lengths):
    """Any operator, in order; several of one row together; elements are tuples."""
    ragged, rows = made(lengths)
    f = fw.jit(lambda r: fw.map(lambda row: (
        fw.sum(row), fw.reduce(fw.maximum, -99, row),
        fw.reduce(composed, (1, 0), (fw.full(row.shape[0], 3), row)),
    ), r))  # fmt: skip

    slopes, shifts = zip(*[composition(row) for row in rows], strict=True) if rows else ((), ())
    same(f(ragged), (
        np.array([row.sum() for row in rows], np.int64),
        np.array([row.max(initial=-99) for row in rows], np.int64),
        (np.array(slopes, np.int64), np.array(shifts, np.int64)),
    ))  # fmt: skip


def test_the_number_of_a_row_is_its_initial_element(target):
    """Rows as long as their number; each reduction begins with that number."""
    values = np.array([5, -3, 8, 2, -7, 1, 0])

    f = fw.jit(lambda xs, n: fw.generate(n, lambda i: fw.min(xs[:i], initial=i)))

    for n in (0, 1, 7):
        same(f(values, n), np.array([min([i, *values[:i]]) for i in range(n)], np.int64))


@UNEVEN
def test_a_reduction_that_needs_another(target, lengths):
    """Sums, then what lies above the mean, then how far: each reads the results before it."""
    ragged, rows = made(lengths)

    def spread(row):
        mean = fw.sum(row) // fw.maximum(row.shape[0], 1)
        above = fw.sum(fw.where(row > mean, 1, 0))
        return mean, fw.sum(row * above)

    means = [row.sum() // max(len(row), 1) for row in rows]
    sums = [(row * (row > mean).sum()).sum() for row, mean in zip(rows, means, strict=True)]
    found = fw.jit(lambda r: fw.map(spread, r))(ragged)
    same(found, (np.array(means, np.int64), np.array(sums, np.int64)))


@UNEVEN
def test_sizes_that_are_computed(target, lengths):
    """Each source expands to the number that its size gives; some of them fetch it elsewhere."""
    sizes, at = np.array(lengths, np.int32), np.arange(len(lengths))[::-1].copy()
    f = fw.jit(lambda sizes, at: fw.expand_reduce(
        lambda s: sizes[s[1]], lambda s, i: (s[0], i * s[1]),
        lambda a, b: (a[0] + b[0], a[1] ^ b[1]), (0, 0), (sizes, at),
    ))  # fmt: skip

    counts = sizes[at].astype(np.int64)
    sums = sizes * counts.astype(np.int32)
    signs = [np.bitwise_xor.reduce(np.arange(n) * s) for n, s in zip(counts, at, strict=True)]
    same(f(sizes, at), (sums.astype(np.int32), np.array(signs, np.int64)))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("exclusive", [False, True])
def test_scans_of_rows(target, exclusive, reverse):
    """Either way, exclusive or not, between other work on the row."""

    def scanned(row):
        return fw.scan(fw.add, 0, row * 2, exclusive=exclusive, reverse=reverse) + 1

    f = fw.jit(lambda r: fw.map(scanned, r))
    step = -1 if reverse else 1
    for lengths in SCANNED:
        ragged, rows = made(lengths)
        along = [2 * row[::step] for row in rows]
        sums = [(np.cumsum(row) - exclusive * row)[::step] for row in along]
        same_rows(f(ragged), [row + 1 for row in sums])


def test_scans_beside_reductions_and_of_pairs(target):
    """A scan may need a sum, a sum a scan, and a scan another one."""
    ragged, rows = made([2, 0, 300, 1])

    def mixed(row):
        running = fw.cumsum(row - fw.sum(row))
        return running, fw.sum(running), fw.cumsum(fw.cumsum(row))

    centred = [np.cumsum(row - row.sum()) for row in rows]
    first, sums, second = fw.jit(lambda r: fw.map(mixed, r))(ragged)
    same_rows(first, centred)
    same(sums, np.array([row.sum() for row in centred], np.int64))
    same_rows(second, [np.cumsum(np.cumsum(row)) for row in rows])

    pairs = fw.jit(lambda r: fw.map(lambda row: fw.scan(composed, (1, 0), (row, row + 1)), r))
    _, shifts = pairs(made([3, 0, 1])[0])
    same_rows(shifts, [compositions(row) for row in made([3, 0, 1])[1]])


def test_what_is_done_with_the_results(target):
    """Filtered, scanned, scattered, reduced, either way: the rest of the body reads them."""
    ragged, rows = made([2, 0, 900, 1, 5])
    sums = np.array([row.sum() for row in rows], np.int64)

    def after(r):
        found = fw.map(lambda row: fw.sum(row), r)
        place = fw.map(lambda row: row.shape[0] % 5, r)
        return (
            fw.filter(lambda s: s % 2 == 0, found), fw.scan(fw.add, 0, found, reverse=True),
            fw.permute(fw.add, fw.full(5, 1), place, found), fw.sum(found),
        )  # fmt: skip

    spots = np.ones(5, np.int64)
    np.add.at(spots, np.array([len(row) % 5 for row in rows]), sums)
    same(fw.jit(after)(ragged),
         (sums[sums % 2 == 0], np.cumsum(sums[::-1])[::-1], spots, sums.sum()))  # fmt: skip


def test_in_a_loop(target):
    """The passes go round with the loop."""
    ragged, rows = made([2, 0, 700, 1])

    f = fw.jit(lambda r, s: fw.fori_loop(
        0, 3, lambda k, s: s + fw.map(lambda row, v: fw.sum(row * v), r, s), s
    ))  # fmt: skip

    start = np.array([1, 2, 3, 4])
    same(f(ragged, start), start * (1 + np.array([row.sum() for row in rows])) ** 3)


def test_threads_do_not_matter(threads):
    """Sums of floats over a row that many blocks share have the same bits for any number."""
    lengths = [3, 0, 300_000, 17, 70_000]
    ragged = fw.ragged(np.random.default_rng(1).random(sum(lengths)), lengths=lengths)
    f = fw.jit(lambda r: fw.map(lambda row: fw.sum(row), r), target="cpu")

    found = np.asarray(f(ragged))
    with config.scoped(threads=THREADS[0]):
        np.testing.assert_array_equal(found, np.asarray(f(ragged)))
    np.testing.assert_allclose(found, [np.asarray(row).sum() for row in ragged], rtol=1e-12)


def test_sizes_that_cannot_be_counted():
    """More elements than an i64 has numbers: found before anything is computed."""
    f = fw.jit(
        lambda xs: fw.expand_reduce(lambda n: n, lambda n, i: i, fw.add, 0, xs), target="cpu"
    )
    with pytest.raises(fw.ExtentOverflowError, match="add up to more .* at element 1"):
        f(np.array([2**62, 2**62, 1]))


@pytest.mark.parametrize("count", [257, 300, 1000])
def test_sorts_where_every_other_row_is_empty(target, count):
    """Few rows for each thread of a device, long ones next to short ones."""
    ragged, rows = made([(9, 0, 3, 0)[k % 4] for k in range(count)])
    f = fw.jit(lambda r: fw.map(lambda row: (fw.sort(row), fw.argsort(row)), r))
    values, places = f(ragged)

    same_rows(values, [np.sort(row) for row in rows])
    same_rows(places, [np.argsort(row, kind="stable") for row in rows])
