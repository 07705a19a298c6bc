"""fw.ragged of values that define their rows: lists, records, arrays, matrices."""

import copy
from collections import OrderedDict
from typing import NamedTuple

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same


class Hit(NamedTuple):
    energy: object
    cell: object


def made(rows, dtype=None):
    """The Ragged of rows, which is the same in a trace."""
    found = fw.ragged(rows, dtype=dtype)
    jitted = fw.jit(lambda k: fw.ragged(rows, dtype=dtype))(0)
    assert jitted.tolist() == found.tolist()
    assert jitted.dtype == found.dtype
    return found


@pytest.mark.parametrize("rows", [
    [[(1, 2.5)], [], [(2, 3.5), (4, 5.5)]],
    [[Hit(2.5, 1)], [], [Hit(3.5, 2)]],
    [[{"x": 1, "y": True}], []],
    [[[(1, 2)], []], [], [[(3, 4), (5, 6)]]],
    [[((1, 2.0), 3)], [((4, 5.0), 6)]],
])  # fmt: skip
def test_elements_that_are_records(target, rows):
    """As lists of tuples, NamedTuples and dicts, which `tolist` gives back."""
    found = made(rows)

    assert found.tolist() == rows
    assert type(flat_element(found.tolist())) is type(flat_element(rows))


def flat_element(rows):
    """The first element of all."""
    first = next(row for row in rows if row)[0]
    return flat_element([first]) if isinstance(first, list) else first


def test_columns_of_records():
    """One array for each field, with NumPy's dtype of its numbers."""
    rows = fw.ragged([[Hit(2.5, 1)], [Hit(3, 2)]])

    same(rows.values.energy, np.array([2.5, 3.0]))
    same(rows.values.cell, np.array([1, 2]))
    assert fw.ragged([[OrderedDict(a=1)]]).tolist() == [[OrderedDict(a=1)]]


def test_rows_of_other_kinds(target):
    """Tuples, ranges, bytes, arrays of any library, object arrays, and Ragged values."""
    assert made([(1, 2), (), (3,)]).tolist() == [[1, 2], [], [3]]
    assert made([range(3), []]).tolist() == [[0, 1, 2], []]
    assert made([b"ab", b"", b"c"]).tolist() == [[97, 98], [], [99]]
    assert made([memoryview(b"ab"), np.arange(2), [7]]).tolist() == [[97, 98], [0, 1], [7]]
    column = np.empty(2, object)
    column[:] = [np.arange(2), [5]]
    assert made(column).tolist() == [[0, 1], [5]]
    assert made([column, [[1]]]).tolist() == [[[0, 1], [5]], [[1]]]
    rows = fw.ragged([[1], []])
    assert made([rows, [], [[2, 3]], np.ones((1, 2), int)]).tolist() == [
        [[1], []], [], [[2, 3]], [[1, 1]],
    ]  # fmt: skip
    assert made([fw.ragged([[(1, 2)]]), [[(3, 4)]]]).tolist() == [[[(1, 2)]], [[(3, 4)]]]
    assert made(rows).tolist() == [[1], []]
    assert fw.Ragged([[1], [2, 3]]).tolist() == [[1], [2, 3]]


def test_ragged_values_that_are_traced(target):
    """Rows of rows of arguments, and numbers that are arguments in lists."""
    a, b = fw.ragged([[1], []]), fw.ragged([[2, 3]])

    assert fw.jit(lambda a, b: fw.ragged([a, b]))(a, b).tolist() == [[[1], []], [[2, 3]]]
    assert fw.jit(lambda x, y: fw.ragged([[x, y], [], [5]]))(1, 2).tolist() == [[1, 2], [], [5]]
    assert fw.jit(lambda x: fw.ragged([[x]], dtype=fw.f32))(1).dtype == np.float32


@pytest.mark.parametrize("shape", [(2, 3), (0, 3), (3, 0), (2, 3, 2)])
def test_rows_of_a_matrix(target, shape):
    """Each is a row, whatever the rank of its elements; on the host nothing is copied."""
    x = np.arange(np.prod(shape)).reshape(shape)

    for rows in (made(x), fw.jit(fw.ragged)(x)):
        assert rows.tolist() == x.tolist()
        assert rows.values.ndim == x.ndim - 1
    if x.size:
        assert np.shares_memory(np.asarray(fw.ragged(x).values), x)


def test_dtypes():
    """One for all values, or one for each field; of no values, too."""
    assert made([[1, 2], [3]], fw.f32).values.dtype == np.float32
    assert made([], fw.i32).dtype == np.int32
    assert made([[], []], fw.u64).dtype == np.uint64
    assert made([[[1]], []], np.int8).dtype == np.int8
    assert made([np.arange(2), [1]], fw.f32).dtype == np.float32
    assert fw.ragged([1, 2, 3], lengths=[1, 2], dtype=fw.f32).dtype == np.float32
    narrow = fw.jit(lambda x: fw.ragged(x, lengths=[1, 2], dtype=fw.f32))
    assert narrow(np.arange(3)).dtype == np.float32
    assert made([[(1, 2)]], (fw.i8, fw.f64)).dtype == (np.int8, np.float64)
    assert made([[(1, 2)]], fw.f32).dtype == (np.float32, np.float32)
    assert made([[]], (fw.i8, fw.f64)).dtype == (np.int8, np.float64)
    assert made([[2**63]]).dtype == np.uint64
    rows = fw.ragged([[1.5]])
    assert fw.ragged(rows, dtype=np.float64).values is rows.values
    with pytest.raises(OverflowError):
        fw.ragged([[300]], dtype=fw.u8)
    with pytest.raises(fw.ArgumentError, match="does not fit"):
        fw.ragged([[1]], dtype=(fw.i8, fw.i8))


def test_what_rows_cannot_be():
    """Each names the row or the element that is wrong."""
    for rows, message in (
        ([[1, 2], [3, None]], "element 1 of row 1 of ragged is None"),
        ([[], [], [5, "a"]], "element 1 of row 2 of ragged is text"),
        ([[1], None], "row 1 of ragged is None"),
        ([[1], float("nan")], "row 1 of ragged is nan"),
        ([[1], 5], "row 1 of ragged is an int"),
        (["ab"], "row 0 of ragged is a str"),
        ([{"x": 1}], "row 0 of ragged is a dict"),
        ([[(1, 2), (3,)]], "different structures"),
        ([[(1, 2), 3]], "different structures"),
        ([[(1, None)]], "None, where an array or a number is needed"),
        ([[1, [2]]], "rows of numbers and rows of rows"),
        ([[object()]], "an object, which is not"),
        ((row for row in [[1]]), "generator"),
        ({1, 2}, "no order"),
    ):
        with pytest.raises(fw.ArgumentError, match=message):
            fw.ragged(rows)
    with pytest.raises(fw.Unsupported, match="lists and numbers"):
        fw.ragged([[{"x": 1, "tags": [1, 2]}]])
    with pytest.raises(OverflowError):
        fw.ragged([[2**70]])
    with pytest.raises(fw.ArgumentError, match="needs one of offsets"):
        fw.ragged([1, 2, 3])


def test_as_python_sees_it():
    """Copies are the same rows, `in` looks at elements, and there is no truth and no shape."""
    rows, nested = fw.ragged([[1, 2], [], [3]]), fw.ragged([[[1], [2, 3]], []])

    assert copy.copy(rows) is not rows is not copy.deepcopy(rows)
    assert copy.copy(rows).tolist() == copy.deepcopy(rows).tolist() == [[1, 2], [], [3]]
    assert 3 in rows
    assert 3 in nested
    assert 4 not in rows
    assert (rows.ndim, nested.ndim, rows.size, nested.size) == (2, 3, 3, 3)
    assert not hasattr(rows, "shape")
    assert fw.jit(lambda r: copy.deepcopy(r) + r.ndim)(rows).tolist() == [[3, 4], [], [5]]
    with pytest.raises(fw.ArgumentError, match="any or all"):
        bool(rows == rows)
    with pytest.raises(fw.NotTraceableError):
        fw.jit(lambda r: 1 if r else 2)(rows)
    with pytest.raises(fw.ArgumentError, match=r"rows\.lengths"):
        rows.shape


def test_parts_are_numpy_arrays_without_a_copy():
    """`np.asarray` of values and offsets is the same memory each time; lengths need no compiler."""
    x = np.arange(3.0)
    rows = fw.ragged(x, lengths=[2, 0, 1])

    for part in (rows.values, rows.offsets):
        assert np.shares_memory(np.asarray(part), np.asarray(part))
        assert np.asarray(part) is part.to_numpy()
    assert np.shares_memory(np.asarray(rows.values), x)
    same(rows.lengths, np.array([2, 0, 1]))
    same(rows.flags, np.array([True, False, True]))
    same(fw.ragged(x, lengths=[0, 3, 0]).flags, np.array([True, False, False]))
    same(fw.ragged([], lengths=[0]).flags, np.zeros(0, bool))
