"""Sorts of a known number of scalars in element functions: nothing is stored, and all is stable."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.terms.operators import exchanges
from tests.language.agreement import same
from tests.language.test_sorting import same_bits, sorted_values

RNG = np.random.default_rng(31)
ROWS = 40


@pytest.mark.parametrize("count", range(1, 17))
def test_a_network_sorts_all_zeros_and_ones(count):
    """So it sorts everything (Knuth's 0-1 principle)."""
    columns = np.array([[(bits >> k) & 1 for k in range(count)] for bits in range(1 << count)]).T
    for low, high in exchanges(count):
        columns[low], columns[high] = (
            np.minimum(columns[low], columns[high]), np.maximum(columns[low], columns[high])
        )  # fmt: skip
    assert (np.diff(columns, axis=0) >= 0).all()


def several(m, n, f):
    """A function of each row's first n elements, one by one."""
    return fw.map(lambda row: f([row[k] for k in range(n)]), m)


def rows_of(dtype, n):
    """Rows with ties; of floats with NaN, infinities and zeros of both signs."""
    m = RNG.integers(-3, 4, (ROWS, n)) if np.dtype(dtype).kind in "if" else (
        RNG.integers(0, 5, (ROWS, n)))  # fmt: skip
    m = m.astype(dtype)
    if np.dtype(dtype).kind == "f":
        m[m == 1] = -0.0
        m[m == 2] = np.nan
        m[m == 3] = np.inf
    return m


def in_order(row, descending=False):
    """Where the elements of a row are in stable order, NaN last."""
    worth = [(np.isnan(x) if x.dtype.kind == "f" else False, -float(x) if descending else float(x))
             for x in row]  # fmt: skip
    return sorted(range(len(row)), key=lambda k: worth[k])


CASES = [
    (np.float32, (1, 2, 7, 16, 17, 25)), (np.int16, (7, 25)), (np.float64, (18,)), (np.bool_, (3,)),
    (np.uint8, (33,)), (np.int64, (9,)),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "n"), [(dtype, n) for dtype, sizes in CASES for n in sizes])
def test_values_and_places(target, dtype, n):
    """The elements at some positions, to the last bit, and where they came from."""
    m = rows_of(dtype, n)
    places = (0, n // 2, n - 1)

    def of(values):
        up, down = fw.sort(values), fw.argsort(values, descending=True)
        return [up[k] for k in places], [down[k] for k in places]

    values, origins = fw.jit(lambda m: several(m, n, of))(m)
    up = np.array([sorted_values(row) for row in m])
    down = np.array([in_order(row, descending=True) for row in m])
    for k, place in enumerate(places):
        same_bits(values[k], up[:, place])
        np.testing.assert_array_equal(origins[k], down[:, place])


@pytest.mark.parametrize("n", [33, 64, 65])
def test_many_floats(target, n):
    """Up to 64 in registers, more in memory, to the last bit as everywhere."""
    m = rows_of(np.float32, n)
    found = fw.jit(lambda m: several(m, n, lambda values: fw.sort(values)[n // 2]))(m)
    same_bits(found, np.array([sorted_values(row)[n // 2] for row in m]))


def test_what_reads_them(target):
    """At computed positions, added up, in part, reversed, by a loop; and the extremes of a list."""
    m = rows_of(np.int32, 6)
    ordered = np.sort(m, axis=1)

    def of(values):
        up = fw.sort(values)
        turned = fw.fori_loop(0, 6, lambda i, s: s * 7 + up[i], fw.asarray(np.int32(0)))
        return (up[values[0] % 6], fw.sum(up[:3]), fw.sum(up[::-1] * fw.iota(6)), turned,
                fw.argmax(values), fw.argmin(values), fw.max(values), fw.sum(values))  # fmt: skip

    rest = m[:, 0] % 6
    turned = np.zeros(len(m), np.int32)
    for column in ordered.T:
        turned = turned * 7 + column
    wanted = (
        ordered[np.arange(len(m)), rest], ordered[:, :3].sum(1, dtype=np.int64),
        (ordered[:, ::-1] * np.arange(6)).sum(1), turned, m.argmax(1), m.argmin(1), m.max(1),
        m.sum(1, dtype=np.int64),
    )  # fmt: skip
    same(fw.jit(lambda m: several(m, 6, of))(m), wanted)


def test_with_keys_and_values(target):
    """By a key, by two, and values along with keys."""
    m = rows_of(np.int32, 10)

    def of(values):
        by_rest = fw.sort(values, key=lambda x: x % 3)
        by_two = fw.sort(values, key=lambda x: (x % 2, -x))
        keys, moved = fw.sort_by_key(values, fw.asarray([3 * k for k in range(10)]))
        return by_rest[4], by_two[5], keys[2], moved[2]

    wanted = []
    for row in m.tolist():
        third = sorted(range(10), key=lambda k: row[k])[2]
        by_two = sorted(row, key=lambda x: (x % 2, -x))
        wanted.append((sorted(row, key=lambda x: x % 3)[4], by_two[5], row[third], 3 * third))
    results = fw.jit(lambda m: several(m, 10, of))(m)
    for found, want in zip(results, np.array(wanted).T, strict=True):
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_medians_of_a_picture(target, dtype):
    """A median filter, as NumPy's of each window; NaN where one is in it."""
    m = RNG.integers(0, 9, (7, 8)).astype(dtype)
    if dtype is np.float32:
        m[3, 4] = np.nan
    around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    middle = lambda n: fw.median([n[at] for at in around])
    found = fw.jit(lambda m: fw.stencil(middle, m, (3, 3)))(m)
    padded = np.pad(m, 1, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3))
    np.testing.assert_array_equal(found, np.median(windows.reshape(7, 8, 9), axis=2))


def test_what_goes_on_in_memory(target):
    """Sorted rows that are results, scalars that each element of a row needs, and long rows."""
    m = rows_of(np.int32, 5)
    ordered = np.sort(m, axis=1)

    def program(m):
        whole = fw.map(lambda row: fw.sort([row[k] for k in range(5)])[:3], m)
        less = fw.map(lambda row: row - fw.sort([row[k] for k in range(5)])[2], m)
        scanned = fw.map(lambda row: fw.sum(fw.cumsum(fw.sort([row[k] for k in range(5)]))), m)
        long = fw.map(lambda row: fw.sort(fw.concat([row] * 13 + [row[:1]]))[3], m)
        return whole, less, scanned, long

    most = np.sort(np.concatenate([m] * 13 + [m[:, :1]], axis=1), axis=1)
    same(fw.jit(program)(m), (
        ordered[:, :3], m - ordered[:, 2:3], np.cumsum(ordered, axis=1).sum(1), most[:, 3]
    ))  # fmt: skip


def test_nothing_is_stored():
    """One pass, and no array but the result."""
    m = RNG.random((9, 10))
    around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]

    def picture(choose):
        return lambda m: fw.stencil(lambda n: choose([n[at] for at in around]), m, (3, 3))

    of_five = lambda v: fw.sum(fw.sort(v)[2:7])
    for choose in (fw.median, fw.argmax, of_five, lambda v: fw.sort(v)[4]):
        stages = fw.jit(picture(choose), target="cpu").stages(m)
        assert stages.kernels == 1
        assert [array.is_result for array in stages.manifest] == [True]
