"""generate, iota, full, replicate, empty."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import DTYPES, agree, same


@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (3, 4), (2, 0, 3), (2, 3, 4), ()])
def test_generate(target, shape):
    """The function gets one index for each axis."""
    indices = np.indices(shape)
    expected = sum((10**k * i for k, i in enumerate(indices)), np.zeros(shape, np.int64))
    f = fw.jit(lambda: fw.generate(shape, lambda *at: sum(10**k * i for k, i in enumerate(at)) + 0))

    if shape:
        same(f(), expected)
    else:
        same(f(), np.int64(0))


def test_generate_gives_trees(target):
    """An element may be a tuple; a length needs no tuple."""
    same(fw.generate(3, lambda i: (i, i * 0.5)), (np.arange(3), np.arange(3) * 0.5))


@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_iota(target, dtype):
    """0, 1, .., in any dtype."""
    same(fw.iota(5, dtype), np.arange(5, dtype=dtype))
    same(fw.iota(0, dtype=dtype), np.arange(0, dtype=dtype))


def test_extents_are_arguments(target):
    """One trace serves every length."""
    f = fw.jit(lambda n: fw.iota(n) * 2)

    for n in (0, 1, 5, 1000):
        same(f(n), np.arange(n) * 2)
    assert f.traces == 1


def test_shapes_of_arguments(target):
    """`x.shape` can be given to a source."""
    x = np.zeros((3, 5), np.float32)

    agree(lambda x: fw.generate(x.shape, lambda i, j: i - j), np.subtract(*np.indices((3, 5))), x)
    agree(lambda x: fw.iota(x.shape[0] + 1), np.arange(4), x)
    agree(lambda x: x / x.shape[1], x / 5, x)
    agree(lambda x: x.size, np.int64(15), x)


def test_full(target):
    """Scalars, tuples of scalars, and rows."""
    same(fw.full(3, 1.5), np.full(3, 1.5))
    same(fw.full((2, 3), np.int8(7)), np.full((2, 3), 7, np.int8))
    same(fw.full(2, True), np.full(2, True))
    same(fw.full(3, 7, np.float32), np.full(3, 7, np.float32))
    same(fw.full((), 7), np.int64(7))
    same(fw.replicate(2, (1, 2.5)), (np.full(2, 1), np.full(2, 2.5)))
    same(fw.replicate(2, np.arange(3)), np.tile(np.arange(3), (2, 1)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_empty(target, dtype):
    """Its elements are set by what is scattered into it."""
    found = fw.jit(lambda: fw.scatter(fw.empty(3, dtype), fw.iota(3), dtype(1)))()

    same(found, np.ones(3, dtype))


def test_arange_of_computed_bounds(target):
    """Lengths and numbers of the program, with a step of either sign; empty where NumPy's is."""
    for bounds in (
        lambda n: (n,), lambda n: (-n,), lambda n: (2, n), lambda n: (n, 2), lambda n: (n, -1, -2),
        lambda n: (1, n, 3), lambda n: (-n, n, 4), lambda n: (n - 1, -1, -1),
    ):  # fmt: skip
        f = fw.jit(lambda x, n, bounds=bounds: (
            fw.arange(*bounds(x.shape[0])), fw.arange(*bounds(n), dtype=fw.f32)
        ))  # fmt: skip
        for n in (0, 1, 7):
            same(f(np.ones(n), n)[0], np.arange(*bounds(n)))
            same(f(np.ones(n), n)[1], np.arange(*bounds(n), dtype=np.float32))
    rows = fw.map(lambda n: fw.sum(fw.arange(n) * 2), np.arange(4))
    same(rows, np.array([0, 0, 2, 6]))


def test_arange_of_a_length_needs_no_checks():
    """Its elements are known to be indices of the array."""
    f = fw.jit(lambda x: fw.map(lambda i: x[i] * 2, fw.arange(x.shape[0])))

    assert "check" not in f.stages(np.ones(3)).text["flat"].replace("checked=false", "")
