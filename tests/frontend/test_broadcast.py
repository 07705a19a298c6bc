"""Extents that a program computes and that are 1 in a run are broadcast, as NumPy broadcasts."""

import numpy as np
import pytest

import flatweave as fw

EXTENTS = [0, 1, 4]


@pytest.fixture(scope="module")
def programs():
    """Compiled once for all extents."""
    kept = lambda xs, k: fw.filter(lambda x: x < k, xs)
    return {
        "filter": fw.jit(lambda xs, k, ys: kept(xs, k) + ys),
        "filter on the right": fw.jit(lambda xs, k, ys: ys - kept(xs, k)),
        "slice": fw.jit(lambda xs, k, ys: xs[:k] + ys),
        "iota": fw.jit(lambda xs, k, ys: ys - fw.iota(k)),
        "two": fw.jit(lambda xs, k, ys: kept(xs, k) * fw.filter(lambda y: y >= 0, ys)),
        "where": fw.jit(lambda xs, k, ys: fw.where(kept(xs, k) >= 0, ys, kept(xs, k))),
        "branch": fw.jit(lambda xs, k, ys: fw.cond(k < 9, lambda: xs[:k] + ys, lambda: ys)),
    }


MEANT = {
    "filter": lambda xs, k, ys: xs[:k] + ys,
    "filter on the right": lambda xs, k, ys: ys - xs[:k],
    "slice": lambda xs, k, ys: xs[:k] + ys,
    "iota": lambda xs, k, ys: ys - np.arange(k),
    "two": lambda xs, k, ys: xs[:k] * ys,
    "where": lambda xs, k, ys: np.where(xs[:k] >= 0, ys, xs[:k]),
    "branch": lambda xs, k, ys: xs[:k] + ys,
}


def agree(found, meant):
    """Both give the same array, or both refuse the shapes."""
    try:
        expected = meant()
    except ValueError:
        with pytest.raises(fw.ShapeError, match="broadcast"):
            found()
        return
    got = np.asarray(found())
    assert got.shape == expected.shape
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("m", EXTENTS)
@pytest.mark.parametrize("k", EXTENTS)
@pytest.mark.parametrize("name", MEANT)
def test_vectors(programs, target, name, k, m):
    """Whichever of the two has one element, and where it has none."""
    xs, ys = np.arange(5), np.arange(m) * 100
    agree(lambda: programs[name](xs, k, ys), lambda: MEANT[name](xs, k, ys))


@fw.jit
def matrices(k, m, a, b):
    """Extents of results along both axes, from numbers."""
    grid = lambda rows, columns: fw.generate((rows, columns), lambda i, j: 10 * i + j)
    return grid(k, a) + grid(m, b)


@fw.jit
def matrix_and_vector(k, m, xs):
    """One axis against the last of two."""
    return fw.generate((m, k), lambda i, j: 10 * i + j) + fw.filter(lambda x: x >= 0, xs)


def grid(rows, columns):
    """`10 i + j`"""
    return 10 * np.arange(rows)[:, None] + np.arange(columns)


@pytest.mark.parametrize("a, b", [(3, 3), (1, 3), (3, 1), (0, 1), (3, 2)])
@pytest.mark.parametrize("k, m", [(4, 4), (1, 4), (4, 1), (0, 1), (1, 1), (4, 2)])
def test_matrices(target, k, m, a, b):
    """Each axis separately."""
    agree(lambda: matrices(k, m, a, b), lambda: grid(k, a) + grid(m, b))


@pytest.mark.parametrize("n", EXTENTS)
@pytest.mark.parametrize("k", EXTENTS)
def test_a_matrix_and_a_vector(target, k, n):
    """The vector goes along the last axis."""
    agree(lambda: matrix_and_vector(k, 3, np.arange(n)), lambda: grid(3, k) + np.arange(n))


def test_a_state_that_changes_length(target):
    """The state of a loop has one element only in its first iteration."""
    def grown(n, ys):
        start = fw.full(n, 1)
        return fw.fori_loop(0, 2, lambda i, s: fw.concat([s, s])[: ys.size] + ys, start)

    assert np.asarray(fw.jit(grown)(1, np.array([5]))).tolist() == [11]
    assert np.asarray(fw.jit(grown)(2, np.array([5, 6]))).tolist() == [11, 13]


def test_index_arrays(target):
    """Index arrays of computed lengths broadcast, too."""
    f = fw.jit(lambda xs, k, idx: xs[fw.iota(k), idx])
    xs = np.arange(12).reshape(3, 4)

    assert np.asarray(f(xs, 1, np.array([1, 2]))).tolist() == [1, 2]
    assert np.asarray(f(xs, 2, np.array([1, 2]))).tolist() == [1, 6]


def test_broadcast_to_a_shape(target):
    """`fw.broadcast` repeats what has one element when it runs."""
    f = fw.jit(lambda k, n: fw.broadcast(fw.iota(k), (2, n)))

    assert np.asarray(f(1, 3)).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert np.asarray(f(3, 3)).tolist() == [[0, 1, 2], [0, 1, 2]]
    with pytest.raises(fw.ShapeError, match="an axis of 2 elements cannot be broadcast to 1"):
        f(2, 1)


def test_rows_of_a_map(target):
    """Inside an element function, where extents differ between elements."""
    rows = fw.ragged(np.array([1, 2, 3, 4]), lengths=[1, 3])
    f = fw.jit(lambda rows, ys: fw.map(lambda r: fw.sum(r + ys), rows))

    assert np.asarray(f(rows, np.array([10, 20, 30]))).tolist() == [63, 69]


def test_the_message_names_the_extents(target):
    """Where neither is 1, and where rows would take another length."""
    f = fw.jit(lambda xs, ys: fw.filter(lambda x: x > 0, xs) + ys)
    with pytest.raises(fw.ShapeError, match="got 2 and 3 elements"):
        f(np.array([0, 1, 2]), np.array([1, 2, 3]))
    rows = fw.ragged(np.array([1, 2, 3, 4]), lengths=[1, 3])
    longer = fw.jit(lambda rows, ys: fw.map(lambda r: r + ys, rows))
    with pytest.raises(fw.ShapeError, match="got 1 and 3 elements"):
        longer(rows, np.array([10, 20, 30]))


def test_a_variant_is_traced_once(target):
    """The second call that broadcasts, and one that fails, compile nothing."""
    f = fw.jit(lambda xs, ys: fw.filter(lambda x: x > 0, xs) + ys)
    one, three = np.array([0, 0, 7]), np.array([1, 2, 3])
    assert np.asarray(f(one, three)).tolist() == [8, 9, 10]
    traces = f.traces
    assert np.asarray(f(one, three + 1)).tolist() == [9, 10, 11]
    with pytest.raises(fw.ShapeError):
        f(np.array([0, 1, 2]), three)

    assert f.traces == traces
