"""reshape, transpose, reverse, rotate, concat: the same elements elsewhere."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import DTYPES, agree, same, values


@pytest.mark.parametrize(
    "shape", [(12,), (3, 4), (2, 6), (2, 3, 2), (-1, 3), (4, -1), (1, 12, 1), -1]
)
def test_reshape(target, shape):
    """Row-major order stays; one extent may be found from the others."""
    x = np.arange(12).reshape(4, 3)

    agree(lambda x: fw.reshape(x, shape), x.reshape(shape), x)
    agree(lambda x: x.reshape(shape), x.reshape(shape), x)


@pytest.mark.parametrize("n", [0, 12])
def test_reshape_outside_of_jit(target, n):
    """The extent that is found, of NumPy arrays, lists and empty ones too."""
    x = np.arange(n)

    same(fw.reshape(x, (-1, 4)), x.reshape(-1, 4))
    same(fw.reshape(x.tolist() or x, [4, np.int64(-1)]), x.reshape(4, -1))
    same(fw.reshape((x, x > 3), -1), (x, x > 3))


def test_reshape_of_one_element(target):
    """A scalar has every shape of one element."""
    agree(lambda x: x.reshape(1, 1), np.full((1, 1), 7.0), np.array(7.0))
    agree(lambda x: x.reshape(()), np.float64(7), np.full((1, 1), 7.0))


def test_reshape_by_traced_extents(target):
    """Extents may be arguments."""
    x = np.arange(12)
    f = fw.jit(lambda x, n: x.reshape(n, -1))

    for n in (1, 3, 12):
        same(f(x, n), x.reshape(n, -1))
    with pytest.raises(fw.ShapeError):
        f(x, 5)


@pytest.mark.parametrize("axes", [None, (0, 1, 2), (2, 0, 1), (1, 0, 2), (-1, 0, 1)])
def test_transpose(target, axes):
    """Axes in any order, reversed when none is given."""
    x = np.arange(24).reshape(2, 3, 4)

    agree(lambda x: fw.transpose(x, axes), np.transpose(x, axes), x)


def test_T(target):
    """The transposed matrix; a vector is its own."""
    x = np.arange(6.0).reshape(2, 3)

    agree(lambda x: (x.T, x[0].T, x.T.T), (x.T, x[0], x), x)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
@pytest.mark.parametrize("k", [0, 1, -1, 3, 7, -12])
def test_rotate(target, n, k):
    """To the left by k, around the end."""
    x = np.arange(n)

    agree(lambda x: fw.rotate(x, k), np.roll(x, -k), x)


def test_rotate_by_a_traced_distance(target):
    """Along any axis."""
    x = np.arange(12).reshape(3, 4)
    f = fw.jit(lambda x, k: (fw.rotate(x, k), fw.rotate(x, k, axis=1)))

    for k in (-5, 0, 2):
        same(f(x, k), (np.roll(x, -k, 0), np.roll(x, -k, 1)))


def test_reverse(target):
    """From last to first, along an axis."""
    x = np.arange(6).reshape(2, 3)

    agree(lambda x: (fw.reverse(x), fw.reverse(x, axis=1)), (x[::-1], x[:, ::-1]), x)
    agree(lambda x: fw.reverse((x, x + 1)), (x[::-1], x[::-1] + 1), x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_concat(target, dtype):
    """Several arrays, empty ones among them."""
    x, y = values(dtype, 5), values(dtype, 0)

    agree(lambda x, y: fw.concat([x, y, x[1:]]), np.concatenate([x, y, x[1:]]), x, y)


def test_concat_of_other_things(target):
    """Dtypes are promoted; rows and tuples are joined too."""
    x, m = np.arange(3, dtype=np.int8), np.arange(6.0).reshape(2, 3)

    agree(lambda x: fw.concat([x, x * 0.5]), np.concatenate([x, x * 0.5]), x)
    agree(lambda m: fw.concat([m, m[:1]]), np.concatenate([m, m[:1]]), m)
    agree(lambda m: fw.concat([m, m[:, :1]], axis=1), np.concatenate([m, m[:, :1]], axis=1), m)
    agree(lambda x: fw.concat([(x, x + 1), (x, x)]), (np.tile(x, 2), np.r_[x + 1, x]), x)
    agree(lambda x: fw.concat([x]), x, x)


def test_broadcast(target):
    """An axis of extent 1, and new axes in front."""
    x = np.arange(3).reshape(3, 1)

    agree(lambda x: fw.broadcast(x, (2, 3, 4)), np.broadcast_to(x, (2, 3, 4)), x)
    agree(lambda x: fw.expand_dims(x, 0), x[None], x)
