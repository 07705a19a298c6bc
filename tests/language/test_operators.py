"""Operators must be associative: those seen not to be are refused, others tried on all elements
where that is asked for. What the first call tries is in tests/operator_checks."""

import operator
from functools import reduce

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config

XS = np.arange(1, 6)
HALVES = np.array([0.1, 0.7, 1e8, -1e8, 0.3, np.inf, np.nan, -0.0, 2.5])
FLAGS = XS == 3


@pytest.fixture
def tried():
    """With the switch that tries operators on the data."""
    with config.scoped(target="interp", debug=True):
        yield


def joined(a, b):
    """Two runs of equal values, side by side: (first, last, how often the value changes)."""
    return a[0], b[1], a[2] + b[2] + (a[1] != b[0]).astype(fw.i64)


@pytest.mark.parametrize("op", [operator.sub, operator.floordiv, operator.mod, operator.lshift,
                                operator.rshift, operator.pow, lambda a, b: b - a])  # fmt: skip
def test_what_is_seen_not_to_be_associative_is_refused(op):
    """Before anything is compiled, in everything that takes an operator."""
    for call in (
        lambda xs: fw.reduce(op, 0, xs),
        lambda xs: fw.scan(op, 0, xs),
        lambda xs: fw.segmented_scan(op, 0, FLAGS, xs),
        lambda xs: fw.segmented_reduce(op, 0, FLAGS, xs),
        lambda xs: fw.permute(op, xs, xs, xs),
        lambda xs: fw.reduce_by_index(xs, op, 0, xs, xs),
        lambda xs: fw.histogram(3, xs, xs, op, 0),
        lambda xs: fw.expand_reduce(lambda x: x, lambda x, i: i, op, 0, xs),
        lambda xs: fw.reduce(op, 0, fw.reshape(fw.concat([xs, xs]), (5, 2))),
    ):
        with pytest.raises(fw.OperatorError, match="not associative"):
            fw.jit(call)(XS)


@pytest.mark.parametrize("op", [
    lambda a, b: a + b - 1, lambda a, b: a * b + a + b, lambda a, b: fw.where(b > a, b, a),
    lambda a, b: a, lambda a, b: a ^ b, lambda a, b: (a + b) % 7,
])  # fmt: skip
def test_what_may_be_associative_is_not(tried, op):
    """Differences and remainders are allowed inside an operator."""
    xs = XS % 5

    assert fw.reduce(op, 0, xs) == reduce(
        lambda a, b: int(op(np.int64(a), np.int64(b))), xs.tolist(), 0
    )


def test_tuples_are_tried(tried):
    """An operator on three parts, all of them right, and one of them wrong."""
    ones = fw.map(lambda x: (x // 2, x // 2, 0), XS)

    assert tuple(int(x) for x in fw.reduce(joined, (0, 0, 0), ones)) == (0, 2, 2)
    with pytest.raises(fw.OperatorError, match=r"x = \(0, 0, 0\), y = \(1, 1, 0\)"):
        fw.reduce(lambda a, b: (a[0], b[1], a[2] + a[1] * b[2] + b[1]), (0, 0, 0), ones)


def test_floats_agree_up_to_rounding(tried):
    """Cancellation is rounding too; infinities, NaN and what meets them are left out."""
    for dtype in (np.float32, np.float64):
        fw.reduce(lambda a, b: a + b + 0.0, 0.0, HALVES.astype(dtype))
        fw.scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (1.0, 0.0),
                (HALVES.astype(dtype), HALVES.astype(dtype)))  # fmt: skip
        with pytest.raises(fw.OperatorError, match="x = 1.0, y = 2.0 and z = 4.0"):
            fw.reduce(lambda a, b: a + b + 1e-3 * a * a * b, 0.0, np.array([1, 2, 4], dtype))


def test_operators_inside_element_functions_are_tried(tried):
    """The fold of a row, and one in a loop."""
    rows = np.arange(12).reshape(2, 6)
    for f in (
        lambda row: fw.reduce(lambda a, b: a + 2 * b, 0, row),
        lambda row: fw.fori_loop(
            0, 2, lambda i, s: s + fw.reduce(lambda a, b: a + 2 * b, 0, row), row[0]
        ),
    ):
        with pytest.raises(fw.OperatorError, match="x = 0, y = 1 and z = 2"):
            fw.map(f, rows)


def test_what_is_written_is_what_is_tried(tried):
    """0 is neutral to the maximum of natural numbers; what is dropped does not count."""
    at, values = np.array([0, 5, 1]), np.array([3, -4, 2])

    assert fw.histogram(2, at, values, fw.maximum, 0).tolist() == [3, 2]
    with pytest.raises(fw.OperatorError, match="0 is not neutral .* x = -4"):
        fw.histogram(6, at, values, fw.maximum, 0)
    with pytest.raises(fw.OperatorError, match="0 is not neutral .* x = -1"):
        fw.reduce_by_index(np.array([0, -1]), fw.maximum, 0, at, values)


def test_all_elements_are_tried_where_that_is_asked_for(target):
    """In every call, also of a program that was compiled before; not where `check` is False."""
    total = fw.jit(lambda xs, check=True: fw.reduce(
        lambda a, b: fw.minimum(a + b, 100), 0, xs, check=check), static_argnames=["check"]
    )  # fmt: skip
    late = np.concatenate([np.full(50, 40), [-90]])

    assert total(XS) == 15
    total(late)
    with config.scoped(debug=True):
        with pytest.raises(fw.OperatorError, match="not associative"):
            total(late)
        total(late, check=False)


def test_what_is_not_tried_is_tried_nowhere():
    """`check=False` on a call and `checks=False` of a program hold in debug mode, for chunks, for
    what the compiler makes of an operator, and for neutral elements, too."""
    def op(a, b):
        return a - 2 * b

    xs = np.arange(1, 10)
    chunks = fw.Chunked.cut(xs, 5)
    calls = (
        lambda v: fw.reduce(op, 0, v, check=False), lambda v: fw.scan(op, 0, v, check=False),
        lambda v: fw.permute(op, np.arange(3), v % 3, v, check=False),
        lambda v: fw.histogram(3, v % 3, v, fw.add, 10, check=False),
    )  # fmt: skip
    with config.scoped(target="interp", debug=True):
        for call in calls:
            for given in (xs, chunks):
                fw.jit(call)(given)
        for given in (xs, chunks):
            fw.jit(lambda v: fw.scan(op, 0, v), checks=False)(given)
            with pytest.raises(fw.OperatorError):
                fw.jit(lambda v: fw.scan(op, 0, v))(given)


def test_what_is_dropped_is_reported(capsys):
    """How many elements, and the first of them; of the rows of a map together."""
    with config.scoped(target="interp", debug=True):
        fw.scatter(np.zeros(3), [0, 3, -1, 2], np.ones(4))
        fw.histogram(3, [1, 7])
        fw.permute(fw.add, np.zeros((2, 2)), ([0, 5], [1, 1]), np.ones(2))
        rows = np.array([[0, 1], [2, 3], [4, 0]])
        fw.jit(lambda m: fw.map(lambda r: fw.histogram(3, r), m))(rows)
        fw.reduce_by_index(np.zeros(3), fw.add, 0.0, [0, 1], np.ones(2))
    fw.scatter(np.zeros(3), [9], np.ones(1))

    found = [line.partition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert found == [
        "2 of 4 elements dropped, the index is outside; the first is element 1, with index 3",
        "1 of 2 elements dropped, the index is outside; the first is element 1, with index 7",
        "1 of 2 elements dropped, the index is outside; the first is element 1, with index -1"
        " or another one",
        "2 of 6 elements dropped, the index is outside; the first is element 1, with index 3",
    ]
