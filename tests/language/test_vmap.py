"""vmap: along any axis of any argument, to any axis of the results, against NumPy."""

import functools
import itertools
from typing import NamedTuple

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import agree, same

SHAPES = [(2, 3, 4), (0, 3, 4), (1, 1, 1), (5, 0, 2), (3, 4, 0), (129, 2, 3), (2, 1025, 3)]


def numbers(shape):
    """Small whole numbers, all different, of which one is NaN."""
    found = np.arange(float(np.prod(shape))).reshape(shape) % 1021
    found[..., -1:] = np.nan
    return found


def test_every_axis_goes_to_every_place(target):
    """From the front and from the end; one program for all sizes."""
    axes = list(itertools.product((0, 1, 2, -1, -3), (0, 1, 2, -1, -2)))
    f = fw.jit(lambda t: [fw.vmap(lambda m: m - 2 * m[::-1], a, o)(t) for a, o in axes])

    for shape in SHAPES:
        t = numbers(shape)
        fronts = [np.moveaxis(t, a, 0) for a, _ in axes]
        same(f(t), [np.moveaxis(m - 2 * m[:, ::-1], 0, o)
                    for m, (_, o) in zip(fronts, axes, strict=True)])  # fmt: skip
    assert f.traces == 1


def test_an_argument_without_an_axis(target):
    """It is the same for all; those by name go along their first axis."""
    def f(m, v, column, k=1):
        rows = fw.vmap(lambda row, v, k=0: fw.sum(row * v) + k, (0, None))
        columns = fw.vmap(fw.dot, (1, None), 0)
        products = fw.vmap(fw.vmap(lambda a, b: a - b, (None, 0)), (0, None), 1)
        return rows(m, v), rows(m, v, k=column), columns(m, column), products(column, v)

    for n, k in ((3, 4), (0, 4), (1, 1), (3, 0), (127, 128)):
        m, v, c = np.arange(float(n * k)).reshape(n, k), np.arange(k) % 3, np.arange(float(n)) % 5
        expected = m @ v, m @ v + c, c @ m, c - v[:, None]
        if n == 3:
            agree(f, expected, m, v, c)
        same(fw.jit(f)(m, v, c), expected)


class Line(NamedTuple):
    """What a structured argument may be."""

    slope: object
    start: object


def test_structures_have_structures_of_axes(target):
    """Tuples, lists, dicts and NamedTuples, of arguments and results; an axis for a part is one for
    all in it."""
    def value(line, at):
        y = line.slope * at["x"] + line.start
        return {"y": y, "both": (at["x"], [y, line.start])}

    axes = {"y": 0, "both": (1, None)}
    f = fw.vmap(value, (Line(None, None), {"x": 1}), {"y": 0, "both": 1})
    x = np.arange(6.0).reshape(2, 3)
    y = 2 * x + np.array([1.0, 5.0])[:, None]
    starts = np.broadcast_to(np.array([1.0, 5.0])[:, None], (2, 3))

    line = Line(2.0, np.array([1.0, 5.0]))
    agree(f, {"y": y.T, "both": (x, [y, starts])}, line, {"x": x})
    with pytest.raises(fw.ArgumentError, match="differs from element to element"):
        fw.vmap(value, (Line(None, None), {"x": 1}), axes)(line, {"x": x})


def test_a_result_that_is_the_same_for_all(target):
    """It is computed once, around the elements, and also where there are none."""
    def f(xs, w):
        total = fw.sum(w * w)
        return xs * total, total, w[::-1], 7, fw.ragged([[1], [2, 3]])

    go = fw.jit(fw.vmap(f, (0, None), (0, None, None, None, None)))
    for n in (0, 1, 3):
        xs, w = np.arange(float(n)), np.array([3, 4, 5])
        scaled, total, turned, seven, rows = go(xs, w)
        same((scaled, total, turned, seven), (xs * 50, np.int64(50), w[::-1], np.int64(7)))
        assert rows.tolist() == [[1], [2, 3]]
    assert go.traces == 1


def test_checks_move_with_what_they_guard(target):
    """A read around the elements is checked there."""
    f = fw.vmap(lambda x, w, k: (x, w[fw.sum(k)]), (0, None, None), (0, None))

    same(f(np.arange(2), np.arange(5), np.array([1, 2])), (np.arange(2), np.int64(3)))
    with pytest.raises(fw.IndexOutOfBounds):
        f(np.arange(2), np.arange(5), np.array([9, 9]))


def test_rows_of_a_ragged(target):
    """Empty ones, too, next to arrays; to any depth."""
    lists = [[3, 1, 2], [], [5]]
    rows, k = fw.ragged(lists), np.array([2, 7, 1])
    deep = fw.ragged([[[1, 2], [3]], [], [[], [4]]])

    scaled, last = fw.jit(fw.vmap(lambda row, k: (row * k, fw.sum(row) - k)))(rows, k)
    assert scaled.tolist() == [[6, 2, 4], [], [5]]
    assert last.tolist() == [4, -7, 4]
    assert fw.vmap(fw.vmap(lambda x, y: x - y, (0, None)), (0, None))(rows, 1).tolist() == [
        [2, 0, 1], [], [4],
    ]  # fmt: skip
    assert fw.vmap(fw.vmap(fw.sum))(deep).tolist() == [[3, 3], [], [0, 4]]
    assert fw.vmap(fw.iota)(np.array([2, 0, 1])).tolist() == [[0, 1], [], [0]]
    matrices = fw.vmap(lambda row: fw.stack([row, -row]))(rows)
    assert matrices.tolist()[2] == [[5], [-5]]


def test_scans_of_rows_with_an_operator_that_does_not_commute(target, threads):
    """Along either axis of a matrix, for every number of threads."""
    m = np.arange(129 * 9).reshape(129, 9) % 7 % 3

    def lines(values):
        """Each prefix of the maps x -> value x + 1, in order."""
        def after(f, g):
            return f[0] * g[0], f[1] * g[0] + g[1]
        return fw.scan(after, (1, 0), (values, fw.full(values.shape[0], 1)))

    def plain(values):
        return list(itertools.accumulate(
            [(value, 1) for value in values.tolist()],
            lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]),
        ))  # fmt: skip

    for in_axis, rows in ((0, m), (1, m.T)):
        wanted = np.array([plain(row) for row in rows])
        same(fw.vmap(lines, in_axis)(m), (wanted[..., 0], wanted[..., 1]))


def test_python_values_stay_what_they_are(target):
    """Where they have no axis: a count for Python's loops, a text, a function."""
    def f(x, n, how, g):
        return g(sum([x] * n) if how == "sum" else x)

    x = np.arange(6.0).reshape(2, 3)
    go = fw.vmap(f, (1, None, None, None), 1)
    same(go(x, 3, "sum", fw.sqrt), np.sqrt(3 * x))
    same(go(x, 3, "one", abs), x)


def test_what_can_be_given(target):
    """A jitted function, a partial, a method, complex numbers, lists, arrays of ours."""
    x = np.arange(6.0).reshape(2, 3)
    z = x + 1j
    jitted = fw.jit(lambda v, k: v * k, static_argnames="k")

    same(fw.vmap(functools.partial(jitted, k=3))(x), x * 3)
    same(fw.jit(fw.vmap(jitted, (0, None)), static_argnames="k")(x, 2), x * 2)
    same(fw.vmap(fw.asarray(x).dot)(x), x @ x.T)
    same(fw.vmap(lambda z: z * fw.sum(z), 1, 1)(z), z * z.sum(0))
    same(fw.vmap(lambda a, b: a + b)([1, 2], [[1, 1], [2, 2]]), np.array([[2, 2], [4, 4]]))
    same(fw.vmap(fw.sum, -1)(fw.asarray(x)), x.sum(0))


def test_it_keeps_name_and_signature():
    """So that `jit` finds the parameters."""
    @fw.vmap
    def energy(mass, speed=2):
        """Half of it."""
        return mass * speed * speed / 2

    assert (energy.__name__, energy.__doc__) == ("energy", "Half of it.")
    same(energy(np.arange(3.0)), np.arange(3.0) * 2)
    same(energy(np.arange(3.0), speed=np.arange(3.0)), np.arange(3.0) ** 3 / 2)


def test_loops_that_surely_run_keep_lengths(target):
    """The state begins with another length of which only a check knows that it is the same one."""
    m, b = np.arange(18.0).reshape(2, 3, 3) % 7, np.arange(6.0).reshape(2, 3)

    def steps(m, b):
        return fw.fori_loop(0, 2, lambda i, s: (b - m @ s[0], s[1] @ m), (fw.zeros(3), fw.ones(3)))

    left, right = fw.jit(fw.vmap(steps, out_axes=(1, 0)))(m, b)
    same(left, (b - np.einsum("kij,kj->ki", m, b)).T)
    same(right, np.einsum("ki,kij->kj", m.sum(1), m))
    assert isinstance(fw.vmap(lambda m: fw.fori_loop(0, 1, lambda i, s: m[0], fw.ones(0)))(m),
                      fw.Array)  # fmt: skip
    maybe = fw.jit(lambda x, n: fw.fori_loop(0, n, lambda i, s: x, fw.ones(1)))
    assert maybe(b[0], 0).shape == (1,)
