"""Lists of numbers: arrays where a function takes an array, structures where one takes any tree."""

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

X = np.arange(3.0)
ARRAYS = {
    "sum": (lambda x: fw.sum([x[0], x[2], 1]), 3.0),
    "stack": (lambda x: fw.stack([1, 2]), np.array([1, 2])),
    "stack of rows": (lambda x: fw.stack([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]])),
    "concat": (lambda x: fw.concat([[1, 2], [3.5]]), np.array([1.0, 2.0, 3.5])),
    "asarray": (lambda x: fw.asarray([[x[1], 2], [3, x[0]]]), np.array([[1.0, 2.0], [3.0, 0.0]])),
    "asarray of a dtype": (lambda x: fw.asarray([x[1], 2], fw.f32), np.array([1, 2], np.float32)),
    "an operator": (lambda x: x + [x[2], 0, 1], np.array([2.0, 1.0, 3.0])),
    "scatter": (lambda x: fw.scatter(x, [0, 2], [x[1], 9]), np.array([1.0, 1.0, 9.0])),
    "map": (lambda x: fw.map(lambda v: v + 1, [x[1], 4]), np.array([2.0, 5.0])),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_where_an_array_is_wanted_a_list_is_one(target, name):
    """In jitted functions, with traced numbers in it, as outside of them."""
    f, expected = ARRAYS[name]
    for result in (f(fw.asarray(X)), fw.jit(f)(X)):
        same(result, np.asarray(expected) if np.ndim(expected) else np.float64(expected))


def test_a_list_of_numbers_is_so_many_arguments(target):
    """Of a jitted function; and may be used as an array in it."""
    same(fw.jit(lambda xs: xs)([1, 2.5]), [np.int64(1), np.float64(2.5)])
    same(fw.jit(lambda x, i: fw.scatter(x, i, 7.0))(X, [0, 2]), np.array([7.0, 1.0, 7.0]))
    same(fw.jit(fw.sum)([[1, 2], [3, 4]]), np.int64(10))


def test_states_and_branches_keep_their_lists(target):
    """A loop's state is a structure: a list stays one, of numbers, too; so do those of cond."""

    def f(x):
        turned = fw.fori_loop(0, 3, lambda i, s: [s[0] + 1, s[1] * 2.0], [1, 2.0])
        waited = fw.while_loop(lambda s: s[0] < 9, lambda s: [s[0] + s[1], s[1]], [0, 4])
        chosen = fw.cond(x[1] > 0, lambda s: [s[1], s[0]], lambda s: [5, 6], [1, 2])
        return turned, waited, chosen

    expected = (
        [np.int64(4), np.float64(16)],
        [np.int64(12), np.int64(4)],
        [np.int64(2), np.int64(1)],
    )
    for result in (f(fw.asarray(X)), fw.jit(f)(X)):
        same(result, expected)
    pairs = fw.map(lambda v: [1, 2], X)
    same(pairs, [np.full(3, 1), np.full(3, 2)])


def test_what_is_no_list_of_numbers_is_said(target):
    """A tuple is a structure in any case."""
    for f in (lambda x: fw.sum((x[0], 1)), lambda x: fw.sqrt((1.0, 4.0)), lambda x: fw.sum([x, 1])):
        with pytest.raises(fw.ArgumentError):
            fw.jit(f)(X)
        with pytest.raises(fw.ArgumentError):
            f(fw.asarray(X))
