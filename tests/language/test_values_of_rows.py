"""What an element function of rows computes once for each row of a matrix: values, and the work."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import agree

SHAPES = [(0, 3), (5, 0), (1, 1), (3, 128), (40, 7), (2, 1023), (130, 129)]


def rows_of(shape, dtype=np.float64):
    """Distinct numbers."""
    return (np.arange(np.prod(shape)) % 97 - 31).reshape(shape).astype(dtype)


@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(target, shape):
    """Two folds, of which the second needs the first."""
    a = rows_of(shape)
    powers = np.exp(a - a.max(1, keepdims=True, initial=-np.inf))

    def softmax(r):
        e = fw.exp(r - fw.max(r, initial=-np.inf))
        return e / fw.sum(e)

    found = fw.jit(lambda a: fw.map(softmax, a))(a)

    assert np.allclose(np.asarray(found), powers / powers.sum(1, keepdims=True))


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape[1]])
def test_of_the_first_and_the_last(target, shape):
    """One element of a row is part of what is computed once."""
    a = rows_of(shape, np.int64)

    agree(lambda a: fw.map(lambda r: r * fw.sum(r - r[0]), a),
          a * (a - a[:, :1]).sum(1, keepdims=True), a)  # fmt: skip
    agree(lambda a: fw.map(lambda r: r * fw.sum(r * r[-1]), a),
          a * (a * a[:, -1:]).sum(1, keepdims=True), a)  # fmt: skip


def test_rows_that_have_no_first_element():
    """Nothing is computed of them, and nothing read; the interpreter raises IndexOutOfBounds."""
    turned = fw.jit(lambda a: fw.map(lambda r: r * fw.sum(fw.iota(r[0])), a), target="cpu")

    assert turned(rows_of((5, 0), np.int64)).shape == (5, 0)


def test_of_other_rows(target):
    """What depends on the inner index alone, and on the outer one of three."""
    a, xs = rows_of((5, 130), np.int64), np.arange(4)
    cube = rows_of((3, 4, 130), np.int64)

    agree(lambda a, xs: fw.map(lambda x: fw.map(lambda r: x * fw.sum(r), a), xs),
          xs[:, None] * a.sum(1), a, xs)  # fmt: skip
    agree(lambda c: fw.map(lambda m: fw.map(lambda r: r - fw.sum(r) + fw.sum(m[0]), m), c),
          cube - cube.sum(2, keepdims=True) + cube[:, :1].sum(2, keepdims=True), cube)  # fmt: skip


def test_a_loop_of_each_row(target):
    """Rows differ in their number of iterations."""
    a = rows_of((20, 9), np.int64)

    def halved(r):
        return r + fw.while_loop(lambda s: s > 1, lambda s: s // 2, fw.max(r) + 100)

    agree(lambda a: fw.map(halved, a), a + 1, a)


def test_the_work_is_in_proportion_to_the_elements():
    """One pass for the values of the rows, one for the elements; no fold for each element."""
    normal = fw.jit(lambda a: fw.map(lambda r: r / fw.sqrt(fw.sum(r * r)), a))

    stages = normal.stages(rows_of((130, 129)))

    first, second = stages.text["fused"].split(" = sweep ")[1:]
    assert "fold" in first
    assert "fold" not in second
    assert stages.kernels == 2
