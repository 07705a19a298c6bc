"""Elementwise functions and operators on Ragged values, against NumPy on each row."""

import operator

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

ROWS = [[3.0, -1.5], [], [4.0, 1.0, -5.0], [9.0]]
MEANS = np.array([0.5, 7.0, 2.0, -3.0])


def ragged(rows, dtype=np.float64):
    """The rows as a Ragged."""
    return fw.ragged(np.concatenate(rows).astype(dtype), lengths=[len(r) for r in rows])


def same_rows(found, rows, dtype):
    """A Ragged with these rows."""
    assert isinstance(found, fw.Ragged)
    same(found.offsets, np.cumsum([0, *map(len, rows)]))
    same(found.values, np.concatenate([np.asarray(row, dtype) for row in rows]), ulps=4)


ARITHMETIC = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow,
]  # fmt: skip
COMPARISONS = [
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
]  # fmt: skip


@pytest.mark.parametrize("op", [*ARITHMETIC, *COMPARISONS], ids=lambda op: op.__name__)
def test_operators(target, op):
    """With a number on either side, with a Ragged, and with one value for each row."""
    positive = [np.abs(row) + 1 for row in ROWS]
    rows, dtype = ragged(positive), bool if op in COMPARISONS else np.float64

    same_rows(op(rows, 2), [op(row, 2) for row in positive], dtype)
    same_rows(op(2.0, rows), [op(2.0, row) for row in positive], dtype)
    same_rows(op(rows, rows), [op(row, row) for row in positive], dtype)
    pairs = list(zip(positive, np.abs(MEANS), strict=True))
    by_row = np.abs(MEANS)
    same_rows(op(rows, by_row), [op(row, mean) for row, mean in pairs], dtype)
    same_rows(op(by_row, rows), [op(mean, row) for row, mean in pairs], dtype)
    jitted = fw.jit(lambda r, m: op(r, m))
    same_rows(jitted(rows, by_row), [op(row, mean) for row, mean in pairs], dtype)
    same_rows(jitted(rows, rows), [op(row, row) for row in positive], dtype)


@pytest.mark.parametrize("op", [operator.and_, operator.or_, operator.xor, operator.lshift,
                                operator.rshift], ids=lambda op: op.__name__)  # fmt: skip
def test_operators_of_integers(target, op):
    """Bits, and weak numbers, which take the values' dtype."""
    whole = [np.abs(np.array(row)).astype(np.int16) for row in ROWS]
    same_rows(op(ragged(whole, np.int16), 3), [op(row, np.int16(3)) for row in whole], np.int16)


def test_functions(target):
    """Those of fw, methods, and NumPy's."""
    rows, plain = ragged(ROWS), [np.array(row) for row in ROWS]

    for fn, expected in (
        (operator.neg, np.negative), (operator.abs, np.abs), (fw.sin, np.sin), (np.sqrt, None),
        (fw.floor, np.floor), (fw.square, np.square), (round, np.round),
    ):  # fmt: skip
        source = rows if expected else abs(rows)
        reference = expected or (lambda row: np.sqrt(np.abs(row)))
        same_rows(fn(source), [reference(row) for row in plain], np.float64)
    same_rows(rows.astype(fw.i32), [row.astype(np.int32) for row in plain], np.int32)
    same_rows(rows.clip(-1, 3), [row.clip(-1, 3) for row in plain], np.float64)
    same_rows(fw.clip(rows, max=3), [row.clip(None, 3) for row in plain], np.float64)
    same_rows(~(rows > 0), [~(row > 0) for row in plain], bool)
    chosen = [np.where(row > 0, row, 0) for row in plain]
    same_rows(fw.where(rows > 0, rows, 0), chosen, np.float64)
    same_rows(np.float64(2) * rows, [2 * row for row in plain], np.float64)
    same_rows(fw.logical_and(rows, rows), [np.logical_and(row, row) for row in plain], bool)
    assert rows.dtype == np.float64


def test_normalised_rows(target):
    """Each row less its mean: written as it would be for a matrix."""
    f = fw.jit(lambda rows: rows - fw.sum(rows, axis=1) / fw.maximum(rows.lengths, 1))
    plain = [np.array(row) for row in ROWS]

    same_rows(f(ragged(ROWS)), [r - (r.mean() if r.size else 0) for r in plain], np.float64)


def test_values_of_higher_rank(target):
    """One scalar for each row, or one element's shape."""
    x = np.arange(10.0).reshape(5, 2)
    rows = fw.ragged(x, lengths=[2, 0, 3])

    row = np.array([0, 0, 2, 2, 2])
    same((rows + np.array([1.0, 2.0, 3.0])).values, x + np.array([1.0, 2.0, 3.0])[row][:, None])
    by_row = np.arange(6.0).reshape(3, 2)
    same((rows * by_row).values, x * by_row[row])


def test_one_value_for_each_row_with_axes_kept(target):
    """What `keepdims=True` leaves of a row stands for all of its elements, at any depth."""
    rows, plain = ragged(ROWS), [np.array(row) for row in ROWS]
    expected = [row - row.sum() for row in plain]

    same_rows(rows - fw.sum(rows, axis=1, keepdims=True), expected, np.float64)
    same_rows(fw.jit(lambda r: r - fw.sum(r, axis=1, keepdims=True))(rows), expected, np.float64)
    same_rows(rows + MEANS[:, None], [r + m for r, m in zip(plain, MEANS, strict=True)], float)
    x = np.arange(10.0).reshape(5, 2)
    matrix = fw.ragged(x, lengths=[2, 0, 3])
    by_row = np.arange(6.0).reshape(3, 1, 2)
    same((matrix * by_row).values, x * by_row[[0, 0, 2, 2, 2], 0])
    nested = fw.ragged([[[1], [2, 3]], [[4]]])
    totals = fw.sum(nested, axis=(1, 2), keepdims=True)
    assert (nested - totals).tolist() == [[[-5], [-4, -3]], [[0]]]
    for other, message in ((np.ones((4, 2)), "one value for each row of a Ragged, got 2"),
                           (np.ones((4, 1, 1)), "more axes than a Ragged has")):  # fmt: skip
        with pytest.raises(fw.ShapeError, match=message):
            rows + other
        with pytest.raises(fw.ShapeError, match=message):
            fw.jit(operator.add)(rows, other)


def test_one_value_for_all_rows(target):
    """An array with one element is repeated, in the argument and computed."""
    rows = ragged(ROWS)

    same_rows(rows + np.array([2.0]), [np.array(row) + 2 for row in ROWS], np.float64)
    f = fw.jit(lambda rows, xs: rows + fw.filter(lambda x: x > 0, xs))
    same_rows(f(rows, np.array([-1.0, 5.0])), [np.array(row) + 5 for row in ROWS], np.float64)


def test_what_does_not_fit(target):
    """Other lengths, other numbers of rows, other numbers of values for rows."""
    rows = ragged(ROWS)
    longer = ragged([ROWS[0], [1.0], ROWS[2], []])
    for other, message in (
        (longer, "those of row 1 differ by 1"),
        (ragged(ROWS[:2]), "got 4 and 2|got 6 and 2 elements in all"),
        (MEANS[:3], "one value for each row, got 3 for 4 rows"),
    ):
        with pytest.raises(fw.ShapeError, match=message):
            rows + other
        with pytest.raises(fw.ShapeError, match=message):
            fw.jit(operator.mul)(rows, other)
    pairs = fw.ragged((np.arange(3), np.arange(3)), lengths=[3])
    with pytest.raises(fw.ArgumentError, match="tuple"):
        pairs + 1
    with pytest.raises(fw.ArgumentError, match="no counterpart for a Ragged"):
        np.spacing(rows)


@pytest.mark.parametrize(
    "call", [
        lambda: fw.abs(3, ragged(ROWS)),
        lambda: fw.abs(ragged(ROWS), ragged(ROWS)),
        lambda: fw.sum(ragged(ROWS), 1, None, None, False, 0, None, 5),
        lambda: fw.argwhere(3, fw.Nullable([1, None])),
    ],
)  # fmt: skip
def test_too_many_arguments_are_refused(call):
    """No argument is dropped, and a parameter by name alone takes none by position."""
    with pytest.raises(fw.ArgumentError, match=r"does not take these arguments(?s:.*)Call it as"):
        call()


def test_a_static_argument_may_be_rows():
    """`astype` takes the dtype of a Ragged."""
    assert fw.astype(fw.ragged([[1, 2], []]), ragged(ROWS)).tolist() == [[1.0, 2.0], []]
