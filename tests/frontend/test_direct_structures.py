"""Calls with structures that machine code makes: what it reads in them, what it leaves alone."""

import gc
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import UserError
from flatweave.frontend.call.direct import in_python
from flatweave.frontend.call.operation import OPERATIONS
from flatweave.runtime import calls
from tests.frontend.direct_calls import warm

XS = np.arange(6.0)


class Pair(NamedTuple):
    first: Any
    second: Any


class Other(NamedTuple):
    first: Any
    second: Any


@fw.jit
def total(tree, scale):
    """The sum of all leaves but None, the second half of the pairs twice."""
    (a, b), c = tree
    return scale * (fw.sum(a) + 2 * b) + fw.sum(c)


SAME = {
    "tuples": lambda x: ((x, 2.0), x),
    "lists": lambda x: [[x, 2.0], x],
    "named": lambda x: Pair(Pair(x, 2.0), x),
    "mixed": lambda x: [(x, 2.0), fw.asarray(x)],
}


@pytest.mark.parametrize("kind", SAME)
def test_structures_are_read_by_machine_code(kind):
    """Of other sizes and with other numbers."""
    made = SAME[kind]
    direct = warm(total, made(XS), 3)
    for size in (6, 4, 0):
        x = XS[:size].copy()
        expected = 3 * (x.sum() + 4) + x.sum()
        assert float(direct(made(x), 3)) == expected


def test_other_structures_are_left_to_python():
    """Of other classes, longer, shorter, with other leaves, and unlike things."""
    f = fw.jit(lambda tree: fw.sum(tree[0]) + fw.sum(tree[1]))
    direct = warm(f, Pair(XS, XS))
    for other in (Other(XS, XS), (XS, XS), [XS, XS], Pair(XS, 2.0), Pair(XS.astype("f4"), XS), XS,
                  2.0, None, "text", Pair((XS,), XS), {"a": XS}):  # fmt: skip
        assert direct(other) is NotImplemented
    direct = warm(f, [XS, XS])
    for other in ([XS], [XS, XS, XS], [], [None, XS], (XS, XS)):
        assert direct(other) is NotImplemented
    assert float(f([XS, 2.0])) == 17


def test_rows():
    """A Ragged, also of pairs; the result has parts of the argument."""
    f = fw.jit(lambda rows, x: fw.map(lambda row: fw.sum(row[0] * x[row[1]]), rows))
    lengths = np.array([2, 0, 4])
    rows = fw.ragged((XS, np.arange(6)), lengths=lengths)
    direct = warm(f, rows, XS)
    np.testing.assert_array_equal(direct(rows, XS), [1, 0, 54])
    fewer = fw.ragged((XS[:1], np.array([3])), lengths=[1])
    np.testing.assert_array_equal(direct(fewer, XS), [0])
    assert direct(fw.ragged(XS, lengths=lengths), XS) is NotImplemented
    assert direct((rows.values, rows.offsets), XS) is NotImplemented

    twice = fw.jit(lambda rows: rows * 2)
    found = warm(twice, fw.ragged(XS, lengths=lengths))(fw.ragged(XS, lengths=lengths))
    assert type(found) is fw.Ragged and found.tolist() == [[0, 2], [], [4, 6, 8, 10]]


def test_none_static_values_and_names():
    """None is compared; so are static arguments next to structures, which may be given by name."""
    f = fw.jit(lambda tree, n, rest=(): tree[0] * n + len(rest), static_argnames="n")
    direct = warm(f, (XS, None), 3)
    np.testing.assert_array_equal(direct((XS, None), 3), XS * 3)
    assert direct((XS, XS), 3) is NotImplemented
    assert direct((XS, None), 4) is NotImplemented
    for _ in range(3):
        f((XS, None), 3, rest=[XS, 1])
    np.testing.assert_array_equal(f._direct.call((XS, None), 3, rest=[XS, 1]), XS * 3 + 2)
    assert f._direct.call((XS, None), 3, other=[XS, 1]) is NotImplemented


def test_extents_of_one_inside_structures():
    """A specialisation that broadcasts is chosen by the arrays inside."""
    f = fw.jit(lambda pair: pair[0] + pair[1])
    matrix, column = np.arange(6.0).reshape(2, 3), np.ones((2, 1))
    direct = warm(f, (matrix, column))
    np.testing.assert_array_equal(direct((matrix, column)), matrix + 1)
    np.testing.assert_array_equal(f((matrix, matrix)), matrix * 2)


def test_dicts_and_deep_structures_are_pythons():
    """They are found by a key; structures of more than 32 parts are, too."""
    f = fw.jit(lambda tree: sum(fw.sum(leaf) for leaf in tree["a"]))
    many = fw.jit(lambda tree: sum(fw.sum(leaf) for leaf in tree))
    for _ in range(4):
        assert float(f({"a": [XS, XS]})) == 30
        assert float(many([XS] * 40)) == 600
    assert f._direct.call is in_python
    assert many._direct.call is in_python


def test_structures_and_what_they_hold_are_not_kept():
    """Neither the arguments of the call that was learned nor those of later ones."""
    f = fw.jit(lambda tree: tree[0] + tree[1])
    tree = [XS.copy(), (XS.copy())]
    direct = warm(f, tree)
    before = [sys.getrefcount(each) for each in (tree, *tree)]
    for _ in range(100):
        direct(tree)
    gc.collect()
    assert [sys.getrefcount(each) for each in (tree, *tree)] == before


def test_structures_with_other_items_are_pythons(monkeypatch):
    """Where the interpreter keeps the items of tuples elsewhere, Python makes all calls."""
    monkeypatch.setattr(calls, "_OPEN", [])
    monkeypatch.setattr(calls, "_are_items_known", lambda: False)
    f = fw.jit(lambda pair: pair[0] + pair[1])
    for _ in range(4):
        np.testing.assert_array_equal(f((XS, XS)), XS * 2)
    assert f._direct.call is in_python


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f4", "f8"])
def test_numbers_of_numpy(dtype):
    """Their class is compared, also inside of structures."""
    f = fw.jit(lambda pair, s: (pair[0] * s, pair[1] == s))
    one, two = np.dtype(dtype).type(1), np.dtype(dtype).type(0)
    x = np.arange(3).astype(dtype)
    direct = warm(f, (x, one), one)
    for a, b in ((one, one), (one, two), (two, one)):
        product, same = direct((x, a), b)
        np.testing.assert_array_equal(product, x * b, strict=True)
        assert bool(same) is bool(a == b)
    assert direct((x, 1), one) is NotImplemented
    assert direct((x, one), np.complex64(1)) is NotImplemented


def _of_numpy(key):
    return tuple(np.asarray(part) if isinstance(part, fw.Array) else part for part in key)


def test_index_tuples_with_slices_and_arrays():
    """Slices are parts of the signature, by the values of their bounds."""
    matrix, at = np.arange(70.0).reshape(7, 10), np.array([1, 5, 2])
    x, a, mask = fw.asarray(matrix), fw.asarray(at), fw.asarray(matrix[:, 0] > 20)
    keys = [
        (slice(None), a), (a, slice(1, 7, 2)), (a, a), (2, a), (..., a), (None, a, slice(-3, None)),
        (mask, 1), (slice(300, None), a), (slice(-300, 1000, 1), a),
    ]  # fmt: skip
    for key in keys:
        direct = warm(fw.getitem, x, key)
        np.testing.assert_array_equal(direct(x, key), matrix[_of_numpy(key)])
    for key in keys:
        others = tuple(slice(1, None) if type(part) is slice else part for part in key)
        np.testing.assert_array_equal(x[others], matrix[_of_numpy(others)])
    with pytest.raises(fw.IndexOutOfBounds, match="index 10 is outside an array of 10"):
        x[:, fw.asarray([10])]


def test_keys_and_shapes_of_public_functions():
    """Keys of random numbers, shapes, lists of arrays and functions as arguments."""
    key = fw.random.key(3)
    calls_of = [
        (fw.random.uniform, (key, 5), {"dtype": fw.f32}), (fw.broadcast_to, (XS, (2, 6)), {}),
        (fw.concat, ([XS, XS],), {}), (fw.reduce, (fw.add, 0, XS), {}),
        (fw.stack, ((XS, XS),), {"axis": 1}), (fw.sum, (XS.reshape(2, 3),), {"axis": (0, 1)}),
    ]  # fmt: skip
    for f, args, kwargs in calls_of:
        first, *_, last = (f(*args, **kwargs) for _ in range(3))
        found = OPERATIONS[f].direct.call(*args, **kwargs)
        assert found is not NotImplemented and found.dtype == first.dtype
        np.testing.assert_array_equal(found, first)
        np.testing.assert_array_equal(last, first)
    assert fw.random.uniform(fw.random.key(4), 5, dtype=fw.f32).tolist() != found.tolist()


def test_the_open_extent_of_a_shape():
    """-1 has its program, whatever was called before."""
    for extent in (6, 6, 6, -1, -1, -1, 6):
        assert fw.reshape(XS, extent).shape == (6,)
        assert fw.reshape(XS, (extent // 2, 2) if extent > 0 else (extent, 2)).shape == (3, 2)
    for _ in range(3):
        with pytest.raises(UserError):
            fw.broadcast_to(XS[:1], -2)


def test_complex_results():
    """Alone, in structures next to others, of rank 0, as parts of arguments, of both widths."""
    f = fw.jit(lambda z, x: ({"a": z * x, "b": [x, z]}, fw.sum(z), z.reshape(2, 3)))
    for dtype in ("c8", "c16"):
        z = fw.asarray((XS + 1j).astype(dtype))
        direct = warm(f, z, XS)
        found, total, rows = direct(z, XS)
        for result, expected in ((found["a"], np.asarray(z) * XS), (found["b"][1], z), (rows, z)):
            assert type(result) is type(z)
            np.testing.assert_array_equal(np.asarray(result).reshape(-1), expected)
        assert total.shape == () and complex(total) == 15 + 6j
        assert found["a"].dtype == np.result_type(z.dtype, XS) and rows.dtype == z.dtype
        product = warm(fw.multiply, z, z)(z, z)
        np.testing.assert_array_equal(product, np.multiply(z, z), strict=False)
        assert product.dtype == z.dtype and not product.to_numpy().flags.writeable
