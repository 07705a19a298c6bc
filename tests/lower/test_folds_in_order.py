"""Folds in order that choose an element and tell its position: NaN, infinities, ties, nothing."""

from itertools import product

import numpy as np
import pytest

import flatweave as fw

VALUES = np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0
ROWS = [row for length in range(1, 4) for row in product(VALUES, repeat=length)]


def each(choose):
    """A fold over one row for each element of another."""

    def within(own, other):
        return fw.map(lambda x: fw.cond(
            other.shape[0] > 0, lambda: choose(other * x), lambda: -1), own)  # fmt: skip

    return fw.jit(lambda left, right: fw.map(within, left, right))


def rows_of(lists):
    return fw.ragged([np.array(row) for row in lists])


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_extremes_are_where_numpy_has_them(name):
    """Of all rows of up to three of these values, and of empty ones."""
    rows = [*ROWS, *[()] * 7]
    left = rows_of([[1.0, 2.0, -1.0][: 1 + k % 3] for k in range(len(rows))])
    found = each(getattr(fw, name))(left, rows_of(rows))
    where = getattr(np, name)
    for row, own, places in zip(rows, left.tolist(), found.tolist(), strict=True):
        assert places == [where(np.array(row) * x) if row else -1 for x in own]


def last_of_equals(a, b):
    """The greater value; of equal ones the later."""
    is_later = (b[0] > a[0]) | ((b[0] == a[0]) & (b[1] > a[1]))
    return fw.where(is_later, b[0], a[0]), fw.where(is_later, b[1], a[1])


@pytest.mark.parametrize("length", [0, 1, 2, 7, 33, 100])
def test_an_operator_of_ones_own(length):
    """The last of equal values; what the neutral element is where there is nothing."""
    rng = np.random.default_rng(length)
    rows = [rng.integers(0, 3, k) for k in (length, 0, length + 1, 3)]
    left = fw.ragged([np.zeros(k, np.int64) for k in (3, 1, 0, 40)])

    def choose(row):
        return fw.reduce(last_of_equals, (-9, -5), (row, fw.iota(row.shape[0])))[1]

    program = fw.jit(lambda left, right: fw.map(
        lambda own, other: fw.map(lambda x: choose(other + x), own), left, right))  # fmt: skip
    wanted = [
        [len(row) - 1 - np.argmax(row[::-1]) if len(row) else -5] * k
        for row, k in zip(rows, (3, 1, 0, 40), strict=True)
    ]
    assert program(left, fw.ragged(rows)).tolist() == wanted


def test_in_the_emitted_loop_positions_are_not_compared():
    """Later elements have later positions."""
    args = rows_of([[1.0], [2.0]]), rows_of([[3.0], [4.0, 5.0]])
    text = each(fw.argmin).stages(*args).text["kernel"]
    loop = text[text.index("kernel t") :]
    assert "[inff64, 0]" in loop


CHUNKS = 0, 1, 2, 254, 255, 256, 257, 511, 600


def columns(length, dtype, kind):
    """Columns of few values, of many, or of one that the last row has."""
    rng = np.random.default_rng(length)
    made = rng.random((length, 21)) * (3 if kind == "few" else 200)
    if kind == "last":
        made[:-1], made[-1:] = 0, 1
    return made.astype(dtype)


@pytest.mark.parametrize("kind", ["few", "many", "last"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "f2", "f4", "f8", "i8", "?"])
def test_positions_in_chunks(dtype, kind):
    """Chunks of u8 have 255 elements; long columns are folded in blocks, which begin anywhere."""
    found = fw.jit(lambda m: (fw.argmin(m, axis=0), fw.argmax(m.T, axis=1)))
    for length in CHUNKS[1:]:
        m = columns(length, dtype, kind)
        least, greatest = found(m)
        np.testing.assert_array_equal(least, np.argmin(m, axis=0))
        np.testing.assert_array_equal(greatest, np.argmax(m, axis=0))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_positions_of_nan_and_of_infinities(dtype):
    """The first NaN; where all are the neutral element, the first of them."""
    m = columns(600, dtype, "many")
    m[300:, :9], m[:, 9], m[:, 10] = np.nan, -np.inf, np.inf

    for name in ("argmin", "argmax"):
        found = fw.jit(lambda m, name=name: getattr(fw, name)(m, axis=0))(m)
        np.testing.assert_array_equal(found, getattr(np, name)(m, axis=0))


@pytest.mark.parametrize("length", CHUNKS)
def test_ones_own_operator_in_chunks(length):
    """The last of equal bytes in each column, by the position itself and from an offset on."""
    m = columns(length, "u1", "few")

    def last(m, first):
        places = fw.iota(m.shape[0]) + first
        return fw.map(
            lambda k: fw.reduce(last_of_equals, (fw.u8(0), -5), (m[:, k], places))[1], fw.iota(21)
        )

    wanted = length - 1 - np.argmax(m[::-1], axis=0) if length else np.full(21, -5 - 1000)
    np.testing.assert_array_equal(fw.jit(last)(m, 1000) - 1000, wanted)


def test_chunks_have_positions_as_wide_as_values():
    """So that no mask of bytes becomes one of 64 bits; 64-bit values have one chunk."""
    program = fw.jit(lambda m: fw.argmax(m, axis=0), target="cpu")
    narrow = program.stages(columns(9, "u1", "few")).text["kernel"]
    wide = program.stages(columns(9, "f8", "few")).text["kernel"]

    assert "255 (q_" in narrow
    assert "(q_" not in wide
