"""Values of which some are missing: arithmetic, logic, reductions, order, exchange."""

import itertools
import pickle

import numpy as np
import pytest

import flatweave as fw

X = fw.Nullable([3, 1, 2, 9], [True, True, True, False])
F = fw.Nullable([3.0, np.nan, 2.0, 9.0], [True, True, True, False])
NONE = fw.Nullable(np.zeros(3), np.zeros(3, bool))


def test_arithmetic_gives_a_missing_element_where_an_operand_has_one():
    """With numbers, arrays on both sides, and other Nullable values."""
    other = fw.Nullable([1, 1, 1, 1], [True, False, True, True])

    assert (X + 1).tolist() == [4, 2, 3, None]
    assert (1 - X).tolist() == [-2, 0, -1, None]
    assert (np.arange(4) * X).tolist() == [0, 1, 4, None]
    assert (fw.iota(4) + X).tolist() == [3, 2, 4, None]
    assert (X + other).tolist() == [4, None, 3, None]
    assert (X == 3).tolist() == [True, False, False, None]
    assert fw.sqrt(X.astype(fw.f64)).tolist()[1:] == [1.0, np.sqrt(2.0), None]
    assert (-X).tolist() == [-3, -1, -2, None]


def test_missing_elements_are_broadcast_as_values_are():
    """A column and a row, and a number that is missing."""
    column = fw.Nullable([[1], [2]], [[True], [False]])

    assert (column + np.arange(2)).tolist() == [[1, 2], [None, None]]
    assert (column + fw.Nullable([10, 20], [True, False])).tolist() == [[11, None], [None, None]]
    assert (fw.Nullable(1, False) + fw.iota(2)).tolist() == [None, None]


def test_logic_is_that_of_kleene():
    """All nine cases of `&` and `|`, and the negation."""
    def both(a, b, is_and):
        decided = not is_and
        if a is decided or b is decided:
            return decided
        return None if a is None or b is None else (not decided)

    pairs = list(itertools.product([True, False, None], repeat=2))
    a, b = (fw.Nullable(list(side)) for side in zip(*pairs, strict=True))

    assert (a & b).tolist() == [both(x, y, True) for x, y in pairs]
    assert (a | b).tolist() == [both(x, y, False) for x, y in pairs]
    assert (~a).tolist() == [None if x is None else not x for x, _ in pairs]
    assert (a & True).tolist() == [x for x, _ in pairs]
    assert (np.array([False] * 9) & a).tolist() == [False] * 9


def test_reductions_skip_what_is_missing():
    """The least, the greatest and the mean of none are missing; a sum of none is 0."""
    assert [fw.sum(X).tolist(), fw.min(X).tolist(), fw.max(X).tolist()] == [6, 1, 3]
    assert fw.mean(X).tolist() == 2.0
    assert int(fw.prod(X)) == 6
    assert [fw.min(NONE).tolist(), fw.max(NONE).tolist(), fw.mean(NONE).tolist()] == [None] * 3
    assert fw.sum(NONE).tolist() == 0.0
    assert fw.sum(X, skip_missing=False).tolist() is None
    assert X[:3].max(skip_missing=False).tolist() == 3
    assert np.isnan(float(fw.sum(F)))
    assert fw.sum(X).shape == ()


def test_reductions_go_along_axes_and_rows():
    """Each with its own missing elements."""
    table = fw.Nullable([[1, 2], [3, 4]], [[True, False], [False, False]])
    rows = fw.ragged(X, lengths=[2, 0, 2])

    assert fw.sum(table, axis=1).tolist() == [1, 0]
    assert fw.max(table, axis=0).tolist() == [1, None]
    assert fw.sum(rows, axis=1).tolist() == [4, 0, 2]
    assert fw.max(rows, axis=1).tolist() == [3, None, 2]
    assert fw.map(fw.mean, rows).tolist() == [2.0, None, 2.0]
    assert (rows + 1).tolist() == [[4, 2], [], [3, None]]
    assert (rows + fw.asarray([1, 2, 3])).tolist() == [[4, 2], [], [5, None]]


def test_statistics_are_those_of_the_values_that_are_there():
    """Of all and of each row; indices are those among all elements."""
    rows = fw.ragged(X, lengths=[2, 0, 2])

    assert fw.median(X).tolist() == 2.0
    assert np.isclose(float(fw.std(X)), np.std([3, 1, 2]))
    assert float(fw.var(X, correction=1)) == 1.0
    assert float(fw.quantile(X, 1.0)) == 3.0
    assert fw.median(NONE).tolist() is None
    assert fw.median(rows, axis=1).tolist() == [2.0, None, 2.0]
    assert fw.median(X, skip_missing=False).tolist() is None
    assert [fw.argmin(X).tolist(), X.argmax().tolist(), fw.argmax(NONE).tolist()] == [1, 0, None]
    assert fw.argmax(rows, axis=1).tolist() == [0, None, 0]


def test_conditions_that_are_missing_do_not_hold():
    """In where and in filter; what where chooses may be missing itself."""
    chosen = fw.where(X > 1, X, 0)

    assert chosen.tolist() == [3, 0, 2, 0]
    assert fw.where(fw.asarray([True, False, True, True]), X, -1).tolist() == [3, -1, 2, None]
    assert fw.filter(lambda e: e > 1, X).tolist() == [3, 2]
    assert [part.tolist() for part in fw.partition(lambda e: e > 1, X)] == [[3, 2], [1, None]]


def test_elements_at_a_condition_that_is_missing_are_left_out():
    """Whatever value the array holds where an element is missing."""
    x = fw.Nullable([1, 9, 3], [True, False, True])

    assert x[x > 0].tolist() == [1, 3]


def test_order_and_moves():
    """Sorts put missing elements last, stably; NaN comes before them."""
    assert fw.sort(X).tolist() == [1, 2, 3, None]
    assert fw.sort(X, descending=True).tolist() == [3, 2, 1, None]
    assert fw.argsort(F).tolist() == [2, 0, 1, 3]
    assert X[::-1].tolist() == [None, 2, 1, 3]
    assert X[3].tolist() is None
    assert fw.concat([X, fw.asarray([7])]).tolist() == [3, 1, 2, None, 7]
    assert fw.reshape(X, (2, 2)).tolist() == [[3, 1], [2, None]]


def test_missing_elements_are_found_filled_and_dropped():
    """Of arrays, and of single elements."""
    assert fw.is_none(X).tolist() == [False, False, False, True]
    assert fw.is_none(np.arange(2)).tolist() == [False, False]
    assert X.fill_none(0).tolist() == [3, 1, 2, 0]
    assert X.drop_none().tolist() == [3, 1, 2]
    assert X.singletons().tolist() == [[3], [1], [2], []]
    assert fw.map(lambda e: e.fill_none(5), X).tolist() == [3, 1, 2, 5]


def test_jitted_functions_take_and_give_them():
    """Also through loops and branches; nothing of a plain program changes."""
    @fw.jit
    def f(x):
        doubled = fw.fori_loop(0, 2, lambda i, y: y + 1, x)
        return doubled, fw.sum(x), fw.cond(fw.is_none(x)[3], lambda: x * 2, lambda: x)

    a, total, b = f(X)

    assert (a.tolist(), total.tolist(), b.tolist()) == ([5, 3, 4, None], 6, [6, 2, 4, None])


def test_gradients_skip_what_is_missing():
    """The derivative along a missing value is 0."""
    valid = np.array([True, False, True])

    def total(x):
        return fw.sum(fw.Nullable(x, valid) ** 2).fill_none(0)

    assert fw.grad(total)(np.array([1.0, 2.0, 3.0])).tolist() == [2.0, 0.0, 6.0]


def test_lists_come_in_and_go_out():
    """With None for what is missing; also pickled."""
    assert fw.Nullable([1.5, None]).tolist() == [1.5, None]
    assert fw.Nullable([None, None]).tolist() == [None, None]
    assert fw.Nullable([1, 2]).tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(X)).tolist() == X.tolist()
    assert repr(X) == "Nullable([3, 1, 2, None], dtype=int64)"


def test_arrow_columns_come_in_and_go_out():
    """Values uncopied, nulls as they were."""
    arrow = pytest.importorskip("pyarrow")
    column = arrow.array([1, None, 3])

    taken = fw.Nullable(column)

    assert taken.tolist() == [1, None, 3]
    assert np.asarray(taken.values).ctypes.data == column.buffers()[1].address
    assert arrow.array(taken * 2).to_pylist() == [2, None, 6]
    assert arrow.array(fw.Nullable([True, None])).to_pylist() == [True, None]


def test_columns_of_pandas_polars_and_awkward_come_in():
    """Each with its own way to say what is missing."""
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    awkward = pytest.importorskip("awkward")

    for column in (pandas.array([1, None, 3]), pandas.Series([1, None, 3], dtype="Int64"),
                   polars.Series([1, None, 3]), awkward.Array([1, None, 3])):  # fmt: skip
        assert fw.Nullable(column).tolist() == [1, None, 3]
    assert polars.Series(fw.Nullable([1, None, 3])).to_list() == [1, None, 3]


def test_classes_of_others_say_what_functions_do():
    """Any class can override them, as `__array_function__` does for NumPy."""
    class Answer(fw.Overriding):
        @classmethod
        def __flatweave_function__(cls, function, args, kwargs):
            return function.__name__ if function is not fw.sub else NotImplemented

    with fw.target("interp"):
        assert fw.jit(lambda: fw.asarray(len(fw.add(Answer(), 1))))() == 3
    with pytest.raises(fw.UserError):
        fw.jit(lambda: fw.sub(Answer(), 1))()
