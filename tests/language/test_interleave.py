"""Interleaved elements of several arrays, arrays joined along other axes, every second element."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

SIZES = [0, 1, 2, 127, 128, 129, 1025]


SLOW = pytest.mark.slow


@pytest.mark.parametrize("count", [2, *(pytest.param(k, marks=SLOW) for k in (1, 3, 4, 5))])
def test_stack_along_the_last_axis(target, count):
    """Of vectors and matrices; dtypes are promoted."""
    stacked = fw.jit(lambda *xs: fw.stack(xs, -1))
    for n in SIZES:
        xs = [np.arange(n, dtype=d) + k for k, d in enumerate("fdlbd"[:count])]
        same(stacked(*xs), np.stack(xs, -1))
    rows = [np.arange(12.0).reshape(3, 4) + k for k in range(count)]
    same(stacked(*rows), np.stack(rows, -1))


def test_what_is_stacked_is_computed_in_the_pass_that_stores_it():
    """One kernel, one array."""
    f = fw.jit(lambda x: fw.stack([x + 1, x * 2], -1))
    stages = f.stages(np.zeros(3))

    assert stages.kernels == 1
    assert len(stages.manifest) == 1


def test_every_number_of_threads(threads):
    """Many blocks, the last one not full; the same for pairs of floats that leave a program."""
    n = 100_003
    xs = np.arange(float(n))
    z = xs + 1j * xs[::-1]

    same(fw.stack([xs, xs + 1, xs + 2], -1), np.stack([xs, xs + 1, xs + 2], -1))
    same(fw.jit(lambda z: fw.conj(z) + 1)(z), z.conj() + 1)


@pytest.mark.parametrize("axis", [1, pytest.param(2, marks=SLOW)])
def test_concat_along_other_axes(target, axis):
    """Few arrays and many; none has elements, or only some."""
    joined = fw.jit(lambda xs: fw.concat(xs, axis))
    for widths in ([3], [2, 5], [0, 4, 1], [1, 0, 0, 129, 2]):
        shapes = [(3, w, 2) if axis == 1 else (3, 2, w) for w in widths]
        xs = [np.arange(float(np.prod(s))).reshape(s) + k for k, s in enumerate(shapes)]
        same(joined(xs), np.concatenate(xs, axis))


@pytest.mark.parametrize("stride", [3, *(pytest.param(k, marks=SLOW) for k in (2, 4, 5))])
def test_every_second_element(stride):
    """From each start; nothing is read after the last element."""
    taken = [fw.jit(lambda xs, k=k: xs[k::stride]) for k in range(stride)]
    for n in SIZES:
        for dtype in (np.float64, np.bool_):
            xs = (np.arange(n) * 7 % 5).astype(dtype)
            for k, f in enumerate(taken):
                same(f(xs), xs[k::stride])


def test_stack_inside_rows(target):
    """In element functions, of rows of one length and of several."""
    rows = np.arange(6.0).reshape(2, 3)
    found = fw.map(lambda row: fw.stack([row, row + 1], -1), rows)
    same(found, np.stack([rows, rows + 1], -1))
    ragged = fw.map(lambda row: fw.stack([row, row * 2], -1), fw.ragged([[1.0, 2], [], [3]]))
    assert ragged.tolist() == [[[1, 2], [2, 4]], [], [[3, 6]]]
