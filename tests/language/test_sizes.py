"""Shapes with more elements than are counted raise, wherever extents are multiplied or added."""

from __future__ import annotations

import numpy as np
import pytest

import flatweave as fw

BIG = 2**40  # no machine has memory for as many numbers
MANY = r"an array of shape \({}\) has too many elements: there may be 2\*\*60 - 1\."
SQUARE = MANY.format(f"{BIG}, {BIG}")

PRODUCTS = {
    "reshape": lambda n: fw.reshape(np.zeros(0), (n, n))[5, 5],
    "reshape of what is found": lambda n: fw.reshape(np.zeros(0), (n, n, -1)),
    "broadcast": lambda n: fw.sum(fw.broadcast(1.0, (n, n))),
    "stretched operands": lambda n: fw.sum(fw.iota(n)[:, None] * fw.iota(n)),
    "where": lambda n: fw.sum(fw.where(fw.iota(n)[:, None] > 3, 1, fw.iota(n))),
    "dot": lambda n: fw.sum(fw.dot(fw.full((n, 1), 1.0), fw.full((1, n), 1.0))),
    "rows": lambda n: fw.sum(fw.replicate(n, fw.iota(n))),
    "rows of a map": lambda n: fw.sum(fw.map(lambda i: fw.iota(n), fw.iota(n))),
    "generate": lambda n: fw.sum(fw.generate((n, n), lambda i, j: i + j)),
    "empty": lambda n: fw.empty((n, n)),
    "backpermute": lambda n: fw.sum(fw.backpermute((n, n), lambda i, j: 0, np.ones(2))),
    "no elements": lambda n: fw.full((0, n, n), 1.0),
    "no elements behind": lambda n: fw.full((n, n, 0), 1.0),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_of_extents_never_wraps(name):
    """Where they are known while tracing, then; else when it runs, with the numbers."""
    with pytest.raises(fw.ExtentOverflowError, match=r"has too many elements"):
        fw.jit(lambda: PRODUCTS[name](BIG))()
    with pytest.raises(fw.ExtentOverflowError, match=r"has too many elements") as caught:
        fw.jit(PRODUCTS[name], target="cpu")(BIG)
    assert str(BIG) in str(caught.value)
    assert "test_sizes.py" in str(caught.value)


def test_the_first_shape_that_is_too_great_is_named(target):
    """Constants with the extents that vary."""
    with pytest.raises(fw.ExtentOverflowError, match=SQUARE):
        fw.jit(PRODUCTS["reshape"], target=target)(BIG)
    with pytest.raises(fw.ExtentOverflowError, match=MANY.format("1152921504606846976, 16")):
        fw.jit(lambda n: fw.sum(fw.replicate(n, np.zeros(16))), target=target)(2**60)


def test_outside_jit_too():
    """Eager calls are programs like others."""
    with pytest.raises(fw.ExtentOverflowError, match=MANY.format(f"0, {2**60}")):
        fw.full((0, 2**60), 1.0)
    with pytest.raises(fw.ExtentOverflowError):
        fw.full((0, 2**62, 2**62), 1.0)


def test_shapes_of_most_elements_are_counted(target):
    """Nobody has them; a sum over one of their elements is there in no time."""
    f = fw.jit(lambda n: fw.generate((n, 9), lambda i, j: i * 2 + j)[3, 4], target=target)

    assert int(f(2**10 if target == "interp" else (2**60 - 1) // 9)) == 10
    if target == "cpu":
        assert fw.jit(lambda n: fw.full((0, n), 1.0))(2**60 - 1).shape == (0, 2**60 - 1)


def test_a_sum_of_extents_never_wraps(target):
    """The parts of concat may be computed where they are read, so that they can be this long."""
    message = f"concat of {2**62} and {2**62} elements has more than an i64 can count"
    with pytest.raises(fw.ExtentOverflowError, match=message):
        fw.jit(lambda: fw.concat([fw.iota(2**62)] * 2), target=target)()
    if target == "cpu":
        with pytest.raises(fw.ExtentOverflowError, match=message):
            fw.jit(lambda n: fw.sum(fw.concat([fw.iota(n)] * 4)), target=target)(2**62)


@pytest.mark.parametrize("n", [2**60, 2**61 + 2, 2**62, 2**63 - 1])
def test_more_bytes_than_an_i64_counts_are_no_memory(n, target):
    """The number of bytes wraps to few of them."""
    for make in (fw.empty, fw.iota, lambda n: fw.full(n, 1.0), lambda n: fw.histogram(n, [1, 2])):
        with pytest.raises(fw.OutOfMemory):
            make(n)


def test_what_a_first_trace_of_a_loop_checked_is_checked_in_the_second(target):
    """A state that becomes a float is traced again, and the checks of the first trace go."""
    f = fw.jit(
        lambda n: fw.fori_loop(0, 3, lambda i, s: s + fw.sum(fw.iota(n) * 1.5), 0), target=target
    )

    with pytest.raises(fw.NegativeExtentError, match="-3"):
        f(-3)
