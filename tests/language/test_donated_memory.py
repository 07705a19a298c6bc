"""jit(donate=..): who else holds the memory of an argument sees it as it was."""

import copy

import numpy as np

import flatweave as fw
from tests.language.giving import address, gives, ours


def test_no_array_that_somebody_holds_changes(target):
    """Views, copies of references and results over the same memory keep their elements."""
    step = fw.jit(lambda x: fw.replace(x, 0, -1.0), donate="x")
    twice = fw.jit(lambda x: (x, x.reshape(2, 2)))
    for hold in (np.asarray, memoryview, lambda x: np.asarray(x)[1:], lambda x: x.reshape(2, 2)):
        if hold is memoryview and not hasattr(memoryview, "__buffer__"):
            continue  # before Python 3.12 nobody can ask for a buffer of ours
        x = ours(np.arange(4.0))
        held = hold(x)
        expected = copy.deepcopy(np.asarray(held))

        gives(step(x), [-1.0, 1.0, 2.0, 3.0])
        assert np.array_equal(np.asarray(held), expected)
    flat, square = twice(ours(np.arange(4.0)))
    gives(step(flat), [-1.0, 1.0, 2.0, 3.0])
    gives(square, [[0.0, 1.0], [2.0, 3.0]])
    mine = np.arange(4.0)
    gives(step(fw.asarray(mine)), [-1.0, 1.0, 2.0, 3.0])
    assert mine[0] == 0.0


def test_an_array_given_twice_is_read_as_it_was(target):
    """Both times, or once donated and once kept; and captured arrays."""
    step = fw.jit(lambda x, y: (fw.replace(x, 0, -1.0), y * 2), donate="x")
    both = fw.jit(lambda x, y: (fw.replace(x, 0, -1.0), fw.replace(y, 1, -2.0)), donate=(0, 1))
    for f, second in ((step, [0.0, 2.0, 4.0]), (both, [0.0, -2.0, 2.0])):
        x = ours(np.arange(3.0))
        gives(f(x, x), ([-1.0, 1.0, 2.0], second))
        mine = np.arange(3.0)
        gives(f(mine, mine), ([-1.0, 1.0, 2.0], second))
        mine = np.arange(4.0)
        gives(f(mine[:3], mine[1:])[0], [-1.0, 1.0, 2.0])
        assert mine.tolist() == [0.0, 1.0, 2.0, 3.0]
    beside = ours(np.arange(3.0))
    reads = fw.jit(lambda x: fw.replace(x, 0, -1.0) + beside, donate="x")
    gives(reads(beside), [-1.0, 2.0, 4.0])
    gives(reads(ours(np.ones(3))), [-1.0, 2.0, 3.0])


def test_memory_of_numpy_is_written_where_it_can_be(target):
    """The array itself, or a part of it; what cannot be written to, or is not as programs read
    it, stays as it is."""
    step = fw.jit(lambda x: fw.scatter(x, np.array([1]), np.array([-1.0])), donate="x")
    half = fw.jit(lambda x: x / 2, donate="x")
    for f, expected in ((step, [1.0, -1.0, 3.0]), (half, [0.5, 1.0, 1.5])):
        mine = np.array([9.0, 1.0, 2.0, 3.0, 9.0])
        result = f(mine[1:4])
        gives(result, expected)
        if target == "cpu":
            assert mine.tolist() == [9.0, *expected, 9.0]
            assert address(result) == address(mine[1:])
        mine = np.array([1.0, 2.0, 3.0])
        mine.setflags(write=False)
        gives(f(mine), expected)
        assert mine.tolist() == [1.0, 2.0, 3.0]
        strided = np.array([1.0, 9.0, 2.0, 9.0, 3.0])
        gives(f(strided[::2]), expected)
        assert strided.tolist() == [1.0, 9.0, 2.0, 9.0, 3.0]
        gives(f(np.array([1.0, 2.0, 3.0], ">f8")), expected)
        gives(f(memoryview(np.array([1.0, 2.0, 3.0]))), expected)


def test_an_array_at_any_address_is_written(target):
    """NumPy's arrays begin where they like; large ones are stored around the caches elsewhere."""
    half = fw.jit(lambda x: x * 2 + 1, donate="x", target="cpu")
    for begin in (1, 3):
        mine = np.zeros(600_000 + 8)[begin : begin + 600_000]
        gives(half(mine), np.ones(600_000))
        assert mine[0] == mine[-1] == 1.0
        assert mine.base[begin - 1] == mine.base[begin + 600_000] == 0.0
