"""An element that is read alone is computed alone: no array is stored for it."""

import re

import numpy as np
import pytest

import flatweave as fw
from tests.structure.counted import opened, stored_types

SIZES = np.array([3, 0, 4, 1])
GRID = np.arange(42.0).reshape(6, 7)
EXPANDED = np.array([np.exp(v + i) for v in SIZES for i in range(v)])


def expanded(xs):
    """Exponentials: each is dear."""
    return fw.expand(lambda v: v, lambda v, i: fw.exp(v + i * 1.0), xs)


def steps(v):
    """A loop for each element."""
    return fw.while_loop(lambda s: s < 1000, lambda s: s * 3 + 1, v)


def thrown(v):
    """What `steps` gives."""
    while v < 1000:
        v = v * 3 + 1
    return v


# name: the program, its argument, its result in NumPy, its kernels, the arrays that it stores
PROGRAMS = {
    "of an expansion": (lambda s: expanded(s)[5], SIZES, EXPANDED[5], 1, ["i64[n_1]"]),
    "two of an expansion": (
        lambda s: (lambda e: e[1] + e[-1])(expanded(s)), SIZES, EXPANDED[1] + EXPANDED[-1], 1,
        ["i64[n_1]"],
    ),
    "a short cut of an expansion": (
        lambda s: expanded(s)[2:5], SIZES, EXPANDED[2:5], 2,
        ["i64[n_1]", "f64[maximum(minimum(5, t) - 2, 0)] (result)"],
    ),
    "a few of an expansion": (
        lambda s: (lambda e: fw.map(lambda i: e[i * 2], fw.iota(3)))(expanded(s)), SIZES,
        EXPANDED[:6:2], 2, ["i64[n_1]", "f64[3] (result)"],
    ),
    "of a dear map": (lambda x: fw.exp(fw.sin(x))[3], SIZES, np.exp(np.sin(1.0)), 0, []),
    "of the sums of rows": (lambda g: fw.sum(g, axis=1)[4], GRID, GRID[4].sum(), 1, ["f64[1]"]),
    "of a map with loops": (lambda x: fw.map(steps, x)[2], SIZES, thrown(4), 1, ["i64[1]"]),
    "in a branch": (
        lambda x: fw.cond(x[0] > 0, lambda: fw.exp(fw.sin(x))[1], lambda: 0.0), SIZES, 1.0, 0, [],
    ),
    "in each turn of a loop": (
        lambda x: (lambda y: fw.fori_loop(0, 4, lambda k, s: s + y[k], 0.0))(fw.exp(fw.sin(x))),
        SIZES, np.exp(np.sin(SIZES)).sum(), 1, ["f64[n_1]"],
    ),
    "of what a turn makes": (
        lambda x: fw.fori_loop(0, 4, lambda k, s: s + fw.exp(fw.sin(x + k))[1], 0.0), SIZES,
        np.exp(np.sin(np.arange(4.0))).sum(), 0, [],
    ),
    "beside the array itself": (
        lambda x: (lambda y: (y, y[1] + 1))(fw.exp(x)), SIZES, (np.exp(SIZES), 2.0), 1,
        ["f64[n_1] (result)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name, target):
    """Those of NumPy."""
    f, arg, wanted, _, _ = PROGRAMS[name]
    found = fw.jit(f)(arg)
    pairs = zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]

    for a, b in pairs:
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_stored(name):
    """Nothing as long as the array that is read."""
    f, arg, _, kernels, arrays = PROGRAMS[name]
    stages = opened(f, arg)
    types = [re.sub(r"t_\d+", "t", text) for text in stored_types(stages)]

    assert stages.kernels == kernels
    assert types == arrays


def test_an_element_that_is_not_there(target):
    """It is an error as for an array that is stored."""
    with pytest.raises(IndexError, match="7"):
        fw.jit(lambda s: expanded(s)[s[0] + 5])(SIZES + np.array([-1, 0, 0, 0]))


def test_what_is_made_of_itself_twice_over_does_not_grow_without_end():
    """Of ten arrays, each read twice by the next one, some are stored: the text stays short."""

    def doubled(x, i, j):
        for _ in range(10):
            x = fw.gather(x, i) + fw.gather(x, j)
        return x

    places = np.arange(5)
    stages = opened(doubled, places * 1.0, places, places[::-1].copy())

    assert len(stages.text["fused"]) < 60_000
    assert len(stages.manifest) > 1
