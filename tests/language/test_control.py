"""cond, while_loop, fori_loop, where: on arrays and inside element functions."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import agree, same, values


def test_while_loop_on_scalars(target):
    """Collatz: the number of steps to 1."""

    def steps(n):
        return fw.while_loop(
            lambda s: s[0] != 1,
            lambda s: (fw.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1),
            (n, 0),
        )[1]

    def expected(n):
        count = 0
        while n != 1:
            n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
        return count

    agree(steps, np.int64(111), np.array(27))
    x = np.arange(1, 40)
    agree(lambda x: fw.map(steps, x), np.array([expected(int(n)) for n in x]), x)


@pytest.mark.parametrize("n", [0, 1, 5, 100])
def test_fori_loop(target, n):
    """Any tree as state; no iteration if hi <= lo."""
    f = fw.jit(lambda n: fw.fori_loop(0, n, lambda i, s: {"a": s["a"] + i, "b": s["b"] * 1.5},
                                      {"a": 0, "b": 1.0}))  # fmt: skip

    same(f(n), {"a": np.int64(n * (n - 1) // 2), "b": np.float64(1.5**n)}, ulps=200)
    same(fw.fori_loop(5, 3, lambda i, s: s + i, 7), np.int64(7))


def test_fori_loop_inside_an_element_function(target):
    """Powers by repeated products, each element with its own count."""
    x, k = np.arange(1, 6), np.array([0, 1, 2, 3, 4])

    agree(
        lambda x, k: fw.map(lambda v, n: fw.fori_loop(0, n, lambda i, p: p * v, v * 0 + 1), x, k),
        x**k, x, k,
    )  # fmt: skip


def test_loops_over_arrays(target):
    """Jacobi steps: an array as state, and arrays from outside."""
    x = values(np.float64, 50)
    expected = x.copy()
    for _ in range(10):
        expected = 0.5 * (np.roll(expected, 1) + np.roll(expected, -1))

    agree(
        lambda x: fw.fori_loop(
            0, 10, lambda i, s: 0.5 * (fw.rotate(s, -1) + fw.rotate(s, 1)), x
        ),
        expected, x,
    )  # fmt: skip


def test_arrays_that_shrink(target):
    """The sieve of Eratosthenes by filtering: the length changes between iterations."""

    def primes(n):
        def body(s):
            left, found = s
            p = left[0]
            return fw.filter(lambda v: v % p != 0, left), fw.concat([found, p.reshape(1)])

        left = fw.iota(n)[2:]
        state = (left, fw.iota(0))
        return fw.while_loop(lambda s: s[0].shape[0] > 0, body, state)[1]

    f = fw.jit(primes)
    for n, expected in [(30, [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]), (2, []), (3, [2])]:
        same(f(n), np.array(expected, np.int64))
    assert f.traces == 1


def test_arrays_that_grow(target):
    """Doubling, from one element."""
    x = np.arange(3.0)

    agree(lambda x: fw.fori_loop(0, 4, lambda i, s: fw.concat([s, s]), x), np.tile(x, 16), x)


def test_state_by_scatter(target):
    """An array that is written in every iteration."""

    def f(x):
        return fw.fori_loop(0, x.shape[0], lambda i, s: fw.scatter(s, i, s[i - 1] + x[i]), x)

    x = values(np.int64, 20)
    expected = x.copy()
    for i in range(20):
        expected[i] = expected[i - 1] + x[i]
    agree(f, expected, x)


def test_python_numbers_take_the_dtype_of_the_body(target):
    """`0` becomes an f32 where the body adds f32s."""
    x = values(np.float32, 5)

    agree(lambda x: fw.fori_loop(0, 5, lambda i, s: s + x[i], 0), np.add.accumulate(x)[-1], x)
    agree(lambda x: fw.fori_loop(0, 3, lambda i, s: s + i, x), x + np.float32(3), x)


def test_a_number_settles_before_an_array_that_it_is_combined_with(target):
    """`2` becomes an i32 in the second trace of the body; only then is the array known as one."""

    def powers(n):
        def body(s):
            found, c = s
            return fw.concat([found, fw.full(1, c)]), fw.minimum(c * c, n)

        return fw.while_loop(lambda s: s[1] < n, body, (fw.empty(0, n.dtype), 2))[0]

    same(fw.jit(powers)(np.int32(300)), np.array([2, 4, 16, 256], np.int32))


def test_nested_loops(target):
    """A loop inside a loop, reading the outer one's state."""
    found = fw.jit(
        lambda n: fw.fori_loop(0, n, lambda i, s: fw.fori_loop(0, i, lambda j, t: t + i * j, s), 0)
    )(6)

    same(found, np.int64(sum(i * j for i in range(6) for j in range(i))))


def test_cond_on_scalars(target):
    """Only the chosen body runs: the other may divide by nothing."""
    x = np.array([3.0, -2.0, 0.0])

    agree(
        lambda x: fw.map(lambda v: fw.cond(v > 0, lambda: v * 2, lambda: -v), x),
        np.where(x > 0, x * 2, -x), x,
    )  # fmt: skip
    agree(lambda x: fw.cond(x[0] > 0, lambda a, b: a, lambda a, b: b, x[1], 7), np.float64(-2), x)


@pytest.mark.parametrize("first", [1.0, -1.0])
def test_cond_on_arrays(target, first):
    """Bodies may give arrays of different lengths."""
    x = np.array([first, 2.0, 3.0, 4.0])
    wanted = x[2:] if first > 0 else np.concatenate([x, x])

    agree(lambda x: fw.cond(x[0] > 0, lambda: x[2:], lambda: fw.concat([x, x])), wanted, x)
    agree(lambda x: fw.cond(x[0] > 0, lambda: x, lambda: -x), x if first > 0 else -x, x)
    agree(
        lambda x: fw.cond(x[0] > 0, lambda: (x, x.shape[0]), lambda: (x * 2, 0)),
        (x, np.int64(4)) if first > 0 else (x * 2, np.int64(0)), x,
    )  # fmt: skip


def test_cond_with_weak_numbers(target):
    """A Python number in one body takes the dtype of the other."""
    x = values(np.float32, 3)

    agree(lambda x: fw.cond(x[0] > 99, lambda: x[1], lambda: 0), np.float32(0), x)


def test_loops_with_matrices(target):
    """Power iteration on a matrix argument."""
    m = np.array([[2.0, 1.0], [1.0, 3.0]])
    expected = np.linalg.matrix_power(m, 5)

    agree(lambda m: fw.fori_loop(0, 4, lambda i, s: fw.dot(s, m), m), expected, m, ulps=8)


def test_a_loop_over_the_arrays_of_all_elements(target):
    """The way round a loop over arrays inside an element function."""
    m = values(np.int64, 12).reshape(4, 3)

    agree(
        lambda m: fw.fori_loop(
            0, 3, lambda i, rows: fw.map(lambda r, row: row * r + i, m, rows), m
        ),
        ((m * m) * m + 1) * m + 2, m,
    )  # fmt: skip


def search(xs, first):
    """The first zero from `first` on, in a loop, in a branch, in a loop."""
    def from_here(k):
        def go_on():
            return fw.while_loop(lambda k: xs[k] != 0, lambda k: k + 1, k)

        return fw.cond(k % 2 == 0, go_on, lambda: fw.while_loop(lambda s: s[1],
            lambda s: (s[0] + 1, xs[s[0] + 1] > 7), (k, True))[0] + 1)  # fmt: skip

    return fw.while_loop(lambda k: k < 1000, from_here, first)


def test_a_loop_ends_where_an_index_is_outside(target):
    """What it waits for never comes: in its condition, in its body, and in one inside of it."""
    loops = {
        "condition": lambda xs: fw.map(lambda i: fw.while_loop(
            lambda k: xs[k] != 0, lambda k: k + 1, i), fw.iota(5)),
        "body": lambda xs: fw.map(lambda i: fw.while_loop(
            lambda s: s[1] != 0, lambda s: (s[0] + 1, xs[s[0] + 1]), (i, 1))[0], fw.iota(5)),
        "counted": lambda xs: fw.map(lambda i: fw.while_loop(
            lambda s: s != 0, lambda s: fw.fori_loop(0, 3, lambda j, t: t + xs[s + j], s), i + 1),
            fw.iota(5)),
        "inside": lambda xs: fw.map(lambda i: search(xs, i), fw.iota(5)),
    }  # fmt: skip
    for program in loops.values():
        with pytest.raises(fw.IndexOutOfBounds):
            fw.jit(program)(np.full(60, 9))


def test_loops_whose_indices_are_inside(target):
    """Their checks change nothing."""
    xs = np.array([3, 0, 9, 9, 0, 5, 0, 0])
    f = fw.jit(lambda xs: fw.map(lambda i: fw.while_loop(
        lambda s: (xs[s[0]] != 0) & (s[1] < 9), lambda s: (s[0] + 1, s[1] + xs[s[0]]), (i, 0)),
        fw.iota(8)))  # fmt: skip

    found, total = f(xs)
    assert np.asarray(found).tolist() == [1, 1, 3, 4, 4, 6, 6, 7]
    assert np.asarray(total).tolist() == [3, 0, 9, 9, 0, 5, 0, 0]
