"""Donated arrays on a device: results are in their memory."""

import numpy as np
import pytest

import flatweave as fw
from tests.conftest import DEVICE

pytestmark = pytest.mark.needs_device


def on_device(values):
    """An array in the memory of the device."""
    return fw.jit(lambda x: x + 0, target=DEVICE)(values)


def place(array):
    """The memory that an array is in, as the driver calls it."""
    return array.resident.memory.handle


PROGRAMS = {
    "scatter": lambda x: fw.scatter(x, np.array([1, 9]), np.array([5.0, 6.0])),
    "element by element": lambda x: x * 2 + 1,
    "loop": lambda x: fw.fori_loop(0, 3, lambda i, s: fw.replace(s, i, 7.0), x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_memory_of_the_device_is_written_in_place(name):
    """A chain of calls stays in one piece of memory; a copy on the host keeps its elements."""
    f, x = PROGRAMS[name], np.arange(1000.0)
    step, expected = fw.jit(f, donate="x", target=DEVICE), x
    given = on_device(x)
    shown, before = np.asarray(given), place(given)
    for _ in range(3):
        given, expected = step(given), np.asarray(fw.jit(f)(expected))
        assert place(given) is before

    np.testing.assert_array_equal(np.asarray(given), expected)
    np.testing.assert_array_equal(shown, x)


def test_memory_that_others_know_is_copied():
    """A view of it, and the array given twice; and whoever gave it finds out."""
    step = fw.jit(lambda x, y: (fw.scatter(x, np.array([0]), np.array([9.0])), y * 1), donate="x",
                  target=DEVICE)  # fmt: skip
    x = on_device(np.arange(4.0))
    held = x.reshape(2, 2)
    np.testing.assert_array_equal(step(x, 1.0)[0], [9.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(held, [[0.0, 1.0], [2.0, 3.0]])
    x = on_device(np.arange(4.0))
    first, second = step(x, x)
    np.testing.assert_array_equal(first, [9.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(second, np.arange(4.0))
    for use in (lambda: x + 1, lambda: np.asarray(x), lambda: x.device, lambda: step(x, 1.0)):
        with pytest.raises(fw.EscapedArrayError, match="donated to <lambda>"):
            use()
    assert repr(x).startswith("<an array donated")


def test_a_call_is_tried_again_on_elements_as_they_were():
    """Of kernels that find extents to differ one knows when the program has ended."""
    def late(x, y):
        more = fw.scatter(x, np.array([0]), np.array([5.0]))
        return more, fw.filter(lambda v: v > 2, more) * y

    step = fw.jit(late, donate="x", target=DEVICE)
    first, second = step(on_device(np.arange(4.0)), np.ones(1))
    np.testing.assert_array_equal(first, [5.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(second, [5.0, 3.0])


def test_an_array_of_a_device_is_given_on_the_host():
    """It is copied there, and that copy is written."""
    step = fw.jit(lambda x: x * 2, donate="x", target="cpu")
    x = on_device(np.arange(4.0))
    shown = np.asarray(x)
    np.testing.assert_array_equal(step(x), np.arange(4.0) * 2)
    np.testing.assert_array_equal(shown, np.arange(4.0))
