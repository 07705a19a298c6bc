"""Eager calls found by dtypes and ranks: what else decides the program is not forgotten."""

import sys
from collections import OrderedDict
from typing import Any, NamedTuple

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.frontend.call import direct, eager
from flatweave.frontend.values.tree import flatten, map_leaves
from flatweave.runtime.cpu import address_of, stated_address

XS = np.arange(6.0)


def both(call):
    """The value of a call made twice: the second is found by its key."""
    first, second = call(), call()
    assert first.dtype == second.dtype
    np.testing.assert_array_equal(np.asarray(first), np.asarray(second))
    return second


def test_numbers_are_arguments():
    """One program for all values of one type."""
    for number in (2, 3, 2.5, True):
        np.testing.assert_array_equal(np.asarray(both(lambda n=number: fw.add(XS, n))), XS + number)
    assert both(lambda: fw.add(np.float32(1), 2)).dtype == np.float32
    assert both(lambda: fw.add(2**63, 1)).dtype == np.uint64  # no i64: the slow way


def test_what_decides_the_program_is_no_argument():
    """Values of shapes, neutral elements and static parameters."""
    assert both(lambda: fw.reshape(XS, (2, -1))).shape == (2, 3)
    assert both(lambda: fw.reshape(XS, (-1, 2))).shape == (3, 2)
    assert both(lambda: fw.sum(XS.reshape(2, 3), 0)).shape == (3,)
    assert both(lambda: fw.sum(XS.reshape(2, 3), 1)).shape == (2,)
    assert both(lambda: fw.iota(3)).shape == (3,)
    assert both(lambda: fw.iota(4)).shape == (4,)


def test_extents_of_one_are_broadcast():
    """The same key, other extents."""
    column = np.ones((3, 1))
    for other in (column, np.ones((3, 4)), np.ones((1, 4)), column):
        np.testing.assert_array_equal(both(lambda o=other: fw.add(o, column)), other + column)


def test_layout_and_byte_order_are_converted():
    """Columns and foreign bytes are not read as they lie."""
    both(lambda: fw.add(XS, 1))
    np.testing.assert_array_equal(both(lambda: fw.add(XS[::2], 1)), XS[::2] + 1)
    np.testing.assert_array_equal(both(lambda: fw.add(XS.astype(">f8"), 1)), XS + 1)


def test_calls_with_views_are_made_as_with_their_copies():
    """By machine code, once it knows the call."""
    image = np.arange(60.0).reshape(5, 4, 3)
    backwards = np.lib.stride_tricks.as_strided(image[::-1], image.shape)
    twice = fw.jit(lambda x, by=2.0: x * by)
    for view in (image[:, ::2], image.T, image[::-1], backwards):
        for call in (twice, lambda x: twice(x, by=3), fw.flip, lambda x: fw.sum(x, axis=-1)):
            np.testing.assert_array_equal(both(lambda c=call, x=view: c(x)), call(view.copy()))
    assert twice._direct.call(image) is not NotImplemented


def test_complex_arrays_are_found():
    """By their dtype and rank; the program is given pairs of floats, of every layout and rank."""
    z = XS.reshape(2, 3) + 1j
    key, flat = [], []
    assert direct.quick((z,), key, flat) and key == [z.dtype, 2]
    assert flat[:3] == [2, 3, 2] and flat[3].shape == (2, 3, 2) and np.shares_memory(flat[3], z)
    twice = fw.jit(lambda x: x + x)
    for given in (z, fw.asarray(z), z.astype(np.complex64), z[:, ::2], z.astype(">c16"), z[0, 0],
                  np.array(1j), z[:0], z.real.copy()):  # fmt: skip
        found = both(lambda given=given: twice(given))
        np.testing.assert_array_equal(found, np.asarray(given) * 2)
        np.testing.assert_array_equal(both(lambda given=given: fw.conj(given)), np.conj(given))


def test_switches_choose_the_table():
    """A call compiled for one target, CPU or schedule is not found under another."""
    known = direct.Known()
    table = known.here()
    assert known.here() is table
    with config.scoped(target="interp"):
        assert known.here() is not table
        assert known.here("cpu") is table
    with fw.schedule(permute="owner"):
        assert known.here() is not table
    assert known.here() is table


def test_the_quick_way_is_taken(monkeypatch):
    """The second call does not flatten arguments."""
    fw.subtract(XS, XS)
    monkeypatch.setattr(eager, "OperationCall", None)
    np.testing.assert_array_equal(fw.subtract(XS, 2 * XS), -XS)


def test_addresses_are_those_that_arrays_state():
    """Of arrays, parts of arrays, empty and read-only ones."""
    still = np.arange(3)
    still.setflags(write=False)
    for array in (XS, XS[2:], XS.reshape(2, 3)[1:], np.zeros(0), still, np.ones((), np.int8)):
        assert address_of(array) == stated_address(array)


class Pair(NamedTuple):
    """A structure of a user."""

    first: Any
    second: Any


TREES = {
    "tuple": lambda x: (x, 2.0),
    "list": lambda x: [x, x[:2]],
    "dict": lambda x: {"b": x, "a": (x[1:], None)},
    "named": lambda x: Pair(x, [x]),
    "ragged": lambda x: fw.ragged(x, lengths=[2, 0, len(x) - 2]),
    "rows of pairs": lambda x: fw.ragged((x, x * 2), lengths=[len(x)]),
}


def doubled(tree):
    """All leaves twice; rows as rows."""
    return map_leaves(lambda leaf: leaf * 2, tree)


@pytest.mark.parametrize("kind", TREES)
def test_structures_are_found_by_their_key(kind, monkeypatch):
    """Later calls flatten nothing, whatever the sizes; other structures are other signatures."""
    made, twice = TREES[kind], fw.jit(doubled, target="interp")
    twice(made(XS))
    monkeypatch.setattr(sys.modules["flatweave.jit"], "Call", None)
    for size in (6, 3):
        given = made(XS[:size].copy())
        for found, leaf in zip(flatten(twice(given))[0], flatten(given)[0], strict=True):
            np.testing.assert_array_equal(found, np.asarray(leaf) * 2)


def test_structures_of_other_kinds_are_told_apart():
    """Nested alike, of the same leaves: the trace sees which one it is."""
    kind = fw.jit(lambda tree: (type(tree).__name__, list(tree), tree)[2], target="interp")
    for given in ((XS, XS), [XS, XS], Pair(XS, XS), {"a": XS, "b": XS}, ((XS,), XS), (XS, (XS,)),
                  {"b": XS, "a": XS}, OrderedDict(b=XS, a=XS), (XS, None, XS)):  # fmt: skip
        for _ in range(2):
            found = kind(given)
            assert type(found) is type(given) and str(flatten(found)[1]) == str(flatten(given)[1])
            assert not isinstance(given, dict) or list(found) == list(given)


def test_what_nests_too_deeply_is_left_to_flatten():
    """A list that holds itself is an error that says so."""
    endless = []
    endless.append(endless)
    with pytest.raises(fw.ArgumentError, match="nested without end"):
        fw.jit(lambda tree: tree)(endless)


def test_numbers_of_numpy_are_quick():
    """A NumPy scalar among the arguments, which is an array of rank 0."""
    key, flat = [], []
    assert direct.quick((np.float32(2), XS), key, flat)
    assert key == [np.dtype("f4"), 0, XS.dtype, 1] and flat[0] == 2 and flat[1] == 6
