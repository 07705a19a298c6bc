"""Elements of an array taken in order of memory, whatever its shape, are read in a row."""

import numpy as np
import pytest

import flatweave as fw
from tests.structure.counted import opened

OPERATIONS = {
    "sum": lambda m: fw.sum(m),
    "greatest": lambda m: fw.max(m * m),
    "scan": lambda m: fw.cumsum(m),
    "kept": lambda m: m[m > 0],
    "reshaped": lambda m: fw.reshape(m, -1) + 1,
    "place": lambda m: fw.argmax(m),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_neighbours_are_one_load(name):
    """Of two axes and of three."""
    for shape in ((3, 4), (2, 3, 4)):
        text = opened(OPERATIONS[name], np.ones(shape)).text["llvm"]

        assert "gather" not in text


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (1, 1), (13, 11), (2, 0, 3), (5, 2, 13)])
def test_values(shape, target):
    """Extents that are 0 among them, by which nothing is divided."""
    m = np.arange(np.prod(shape, dtype=int)).reshape(shape) * 5 % 31 - 7
    f = fw.jit(lambda m: (fw.sum(m), fw.cumsum(m, axis=None), m[m > 0], fw.reshape(m, -1) * 2))

    wanted = m.sum(), m.cumsum(), m[m > 0], m.ravel() * 2
    for ours, theirs in zip(f(m), wanted, strict=True):
        assert np.array_equal(ours, theirs)


def test_a_read_that_is_left_out_says_nothing_of_its_array(target):
    """The same quotient and remainder next to a branch that reads; by 0 they are what they are."""

    def f(m, here):
        n = m.shape[1]
        flat = fw.reshape(m, -1)
        return fw.generate(6, lambda i: fw.cond(
            here, lambda: flat[i] * 10, lambda: i) + i // n * n + i % n)  # fmt: skip

    empty, full = np.zeros((0, 0), int), np.arange(6).reshape(2, 3)
    wanted = fw.jit(f, target="interp")(empty, False)

    assert np.array_equal(fw.jit(f)(empty, False), wanted)
    assert np.array_equal(fw.jit(f)(full, True), np.arange(6) * 11)


def test_places_along_a_row_are_not_tested():
    """Of `m[i]` the number of a row is, once for each; and errors name it."""
    f = fw.jit(lambda m, i: m[i])
    m = np.arange(300).reshape(3, 100)
    steps = f.stages(m, np.array([2, 0])).text["kernel"].split(" lanes ")[1:]

    assert "report" in steps[0] and "cast u64" not in steps[0]
    assert np.array_equal(f(m, np.array([2, -3, 1])), m[[2, -3, 1]])
    with pytest.raises(IndexError, match="index 3 is outside an array of 3"):
        f(m, np.array([2, 3]))


def test_a_copy_is_read_where_it_is_from(target):
    """Operands of products in stacks are not copied in front of them."""
    f = fw.jit(fw.matmul, target=target)
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(40.0).reshape(2, 4, 5)

    assert np.array_equal(f(a, b), a @ b)
    assert np.array_equal(f(a[:1], b), a[:1] @ b)
    if target == "cpu":
        stored = [line for line in f.stages(a, b).manifest if "(result)" not in line]
        assert len(stored) == 1, "what blocks of a long fold give"


def test_neighbours_of_short_rows(target):
    """In other rows and next to each other, near the ends and away from them; of three axes."""

    def around(m):
        ring = fw.roll(m, 1, axis=0) - fw.roll(m, -1, axis=1)
        return m[2:] - m[:-2], m[:, 1:] * m[:, :-1], m[::-1] + m[1:-1, :1][0], ring

    f = fw.jit(around)
    for shape in ((3, 1), (40, 3), (130, 5), (41, 3, 2), (7, 40)):
        m = np.arange(np.prod(shape)).reshape(shape) * 7919 % 101
        wanted = m[2:] - m[:-2], m[:, 1:] * m[:, :-1], m[::-1] + m[1:-1, :1][0]
        for ours, theirs in zip(f(m), (*wanted, np.roll(m, 1, 0) - np.roll(m, -1, 1))):
            assert np.array_equal(ours, theirs), shape


def test_points_of_three_numbers(target):
    """Parts of pictures, and their neighbours: stored, read again, in branches and in loops."""

    def parts(p, k):
        right = p[:, 1:] - p[:, :-1]
        below = fw.cond(k > 1, lambda: p[1:] * p[:-1], lambda: p[:-1] * 1)
        ahead = fw.fori_loop(0, k, lambda _, q: fw.roll(q, 1, axis=0) + q, p)
        return right, fw.sum(right, axis=0), below, ahead, p[1:-1, 2:] + 0, p[::-1] - p[:, :1]

    def numpy_parts(p, k):
        right, ahead = p[:, 1:] - p[:, :-1], p
        for _ in range(k):
            ahead = np.roll(ahead, 1, axis=0) + ahead
        below = p[1:] * p[:-1] if k > 1 else p[:-1]
        return right, right.sum(axis=0), below, ahead, p[1:-1, 2:], p[::-1] - p[:, :1]

    f = fw.jit(parts, target=target)
    for shape in ((4, 5, 3), (3, 40, 3), (2, 2, 1), (3, 4, 0), (2, 3, 70)):
        p = np.arange(np.prod(shape)).reshape(shape) * 7919 % 101
        for k in (0, 3):
            for ours, theirs in zip(f(p, k), numpy_parts(p, k)):
                assert np.array_equal(ours, theirs), (shape, k)
