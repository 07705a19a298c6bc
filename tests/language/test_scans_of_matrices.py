"""Scans of small matrices, and of numbers with vectors, by the user's operators."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.errors import UserError

LENGTHS = [0, 1, 2, 127, 129, 1025, 5000]


def times(a, b):
    """The product of two matrices of 2 x 2, modulo 1009, so that it is exact."""
    return fw.generate((2, 2), lambda i, j: (a[i, 0] * b[0, j] + a[i, 1] * b[1, j]) % 1009)


def products(matrices, start):
    """Every prefix, one matrix after the other."""
    found, total = [], start
    for each in matrices:
        total = total @ each % 1009
        found.append(total)
    return np.array(found, np.int64).reshape(matrices.shape)


def test_products_of_matrices(target, threads):
    """They do not commute; from both ends, with and without the element itself."""
    start = np.array([[1, 2], [3, 5]])
    forward = fw.jit(lambda x: fw.scan(times, start, x))
    before = fw.jit(lambda x: fw.scan(times, start, x, exclusive=True))
    backward = fw.jit(lambda x: fw.scan(lambda a, b: times(a, b), start, x, reverse=True))
    for length in LENGTHS[: 4 if target == "interp" else None]:
        xs = np.random.default_rng(length).integers(0, 1009, (length, 2, 2))
        wanted = products(xs, start)
        np.testing.assert_array_equal(forward(xs), wanted)
        np.testing.assert_array_equal(before(xs), np.concatenate([start[None], wanted])[:-1])
        turned = products(xs[::-1].transpose(0, 2, 1), start.T)[::-1].transpose(0, 2, 1)
        np.testing.assert_array_equal(backward(xs), turned)


def test_one_pass_over_memory():
    """Elements stay in registers."""
    f = fw.jit(lambda x: fw.scan(times, np.eye(2, dtype=np.int64), x))

    assert f.stages(np.zeros((9, 2, 2), np.int64)).kernels == 1


def test_numbers_beside_vectors(target):
    """A factor and a shift of three numbers: affine maps of a space."""
    rng = np.random.default_rng(0)
    factors, shifts = rng.integers(-1, 2, 300), rng.integers(-9, 9, (300, 3))

    def after(f, g):
        return f[0] * g[0], fw.generate((3,), lambda i: f[1][i] * g[0] + g[1][i])

    found = fw.jit(lambda a, b: fw.scan(after, (1, np.zeros(3, np.int64)), (a, b)))(
        factors, shifts
    )
    total = np.zeros(3, np.int64)
    for k in range(300):
        total = total * factors[k] + shifts[k]
        np.testing.assert_array_equal(found[1][k], total)
    np.testing.assert_array_equal(found[0], np.cumprod(factors))


@pytest.mark.parametrize("shape", [(3, 3), (2, 3)])
def test_other_matrices_are_refused(shape):
    """The operator says how large they are."""
    f = fw.jit(lambda x: fw.scan(times, 0, x))

    with pytest.raises(UserError, match="takes rows of"):
        f(np.zeros((5, *shape), np.int64))


@pytest.mark.parametrize("shape", [(), (1, 2), (2, 1)])
def test_what_a_scan_begins_with_is_broadcast(shape):
    """As long as a row of matrices, or of one row or column."""
    start = np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape)
    xs = np.random.default_rng(0).integers(0, 1009, (40, 2, 2))

    found = fw.jit(lambda x, e: fw.scan(times, e, x))(xs, start)

    np.testing.assert_array_equal(found, products(xs, np.broadcast_to(start, (2, 2))))
