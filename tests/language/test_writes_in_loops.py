"""Loops that write a few elements of an array that they also read: values, and bounded work.

Arrays never change, so what is read after a write in the text has the old elements.
"""

import numpy as np
import pytest

import flatweave as fw
from flatweave.simulator import run as simulator
from flatweave.simulator.counts import Counting
from tests.language.agreement import agree, same


def every(step):
    """The state after a step for each index of the first axis."""
    return lambda x, j: fw.fori_loop(0, x.shape[0], lambda i, s: step(i, s, j), x)


def in_a_while_loop(step):
    """The same, with the index in the state."""

    def f(x, j):
        state = (0, x)
        return fw.while_loop(
            lambda s: s[0] < x.shape[0], lambda s: (s[0] + 1, step(s[0], s[1], j)), state
        )[1]  # fmt: skip

    return f


def in_numpy(step, x, j):
    """The state after steps of NumPy, each of which has the old array and a copy to write."""
    for i in range(len(x)):
        new = x.copy()
        step(i, x, new, j)
        x = new
    return x


def swapped(i, s, j):
    return fw.replace(fw.replace(s, i, s[j[i]]), j[i], s[i])


def swap(i, s, new, j):
    new[i] = s[j[i]]
    new[j[i]] = s[i]


def before(i, s, new, j):
    new[i] = s[max(i - 1, 0)] + 1


def chosen(i, s, new, j):
    if j[i] > i:
        new[i] = s[j[i]] + 1


def chosen_swap(i, s, new, j):
    if j[i] > i:
        swap(i, s, new, j)


def nested(i, s, new, j):
    if j[i] > i:
        if i % 2 == 0:
            new[i] = 1
    else:
        new[j[i]] = s[i] + 2


def filled(i, s, new, j):
    if j[i] > i:
        for k in range(j[i] - i):
            new[k] = new[k] + i


def windows(i, s, new, j):
    at = np.minimum(i + np.arange(3), len(s) - 1)
    new[at] = s[at][::-1] + j[i]


def added(i, s, new, j):
    np.add.at(new, np.array([i, j[i]]), s[[j[i], i]])


ELEMENTS = {
    "a swap": (swapped, swap),
    "the other order": (
        lambda i, s, j: fw.replace(fw.replace(s, j[i], s[i]), i, s[j[i]]),
        lambda i, s, new, j: (new.__setitem__(j[i], s[i]), new.__setitem__(i, s[j[i]])),
    ),
    "a branch": (
        lambda i, s, j: fw.cond(j[i] > i, lambda: fw.replace(s, i, s[j[i]] + 1), lambda: s), chosen,
    ),
    "a swap in a branch": (
        lambda i, s, j: fw.cond(j[i] > i, lambda: swapped(i, s, j), lambda: s), chosen_swap,
    ),
    "branches in branches": (
        lambda i, s, j: fw.cond(
            j[i] > i, lambda: fw.cond(i % 2 == 0, lambda: fw.replace(s, i, 1), lambda: s),
            lambda: fw.replace(s, j[i], s[i] + 2),
        ), nested,
    ),
    "a loop in a branch": (
        lambda i, s, j: fw.cond(
            j[i] > i,
            lambda: fw.fori_loop(0, j[i] - i, lambda k, t: fw.replace(t, k, t[k] + i), s),
            lambda: s,
        ), filled,
    ),
    "a scatter of a few": (
        lambda i, s, j: (lambda at: fw.scatter(s, at, s[at][::-1] + j[i]))(
            fw.minimum(i + fw.iota(3), s.shape[0] - 1)), windows,
    ),
    "a permute": (
        lambda i, s, j: fw.permute(
            fw.add, s, fw.stack([i, j[i]]), fw.stack([s[j[i]], s[i]])), added,
    ),
}  # fmt: skip
ROWS = {
    "the row before": (lambda i, s, j: fw.replace(s, i, s[fw.maximum(i - 1, 0)] + 1), before),
    "its own row": (
        lambda i, s, j: fw.replace(s, i, s[i] * 2 - 1),
        lambda i, s, new, j: new.__setitem__(i, s[i] * 2 - 1),
    ),
    "two rows": (swapped, swap),
    "a row in a branch": (
        lambda i, s, j: fw.cond(j[i] > i, lambda: fw.replace(s, i, s[j[i]] + 1), lambda: s), chosen,
    ),
    "sums of columns": (
        lambda i, s, j: fw.replace(s, i, fw.sum(s, axis=0) % 7),
        lambda i, s, new, j: new.__setitem__(i, s.sum(axis=0) % 7),
    ),
    "elements of another row": (
        lambda i, s, j: fw.replace(s, i, fw.gather(s[j[i]], fw.iota(3) - 1, default=5)),
        lambda i, s, new, j: new.__setitem__(i, [5, *s[j[i]][:2]]),
    ),
}  # fmt: skip
ALL = {**ELEMENTS, **ROWS}
LINEAR = [name for name in ALL if name not in ("a loop in a branch", "sums of columns")]


def given(name, n, *rows):
    """A vector, or a matrix where steps write rows, and indices."""
    shape = (*rows, n) if name in ELEMENTS else (*rows, n, 3)
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape) * 7 % 31
    return x, np.random.default_rng(n).integers(0, max(n, 1), n)


@pytest.mark.parametrize("n", [0, 1, 6])
@pytest.mark.parametrize("name", ALL)
def test_the_old_elements_are_read(target, name, n):
    """In both kinds of loops, and for each row of an array of several."""
    step, reference = ALL[name]
    x, j = given(name, n)
    xs, _ = given(name, n, 3)

    agree(every(step), in_numpy(reference, x, j), x, j)
    agree(in_a_while_loop(step), in_numpy(reference, x, j), x, j)
    wanted = np.stack([in_numpy(reference, each, j) for each in xs])
    agree(lambda xs, j: fw.map(lambda x: every(step)(x, j), xs), wanted, xs, j)


def test_several_arrays(target):
    """Each is read after another one was written; a number is summed on the way."""
    x, y = np.arange(5), np.arange(5) * 3 % 7

    def step(i, s):
        a, b, total = s
        return fw.replace(a, i, b[i]), fw.replace(b, i, a[i] + 1), total + a[i] * b[i]

    a, b = y.copy(), x + 1
    agree(
        lambda x, y: fw.fori_loop(0, 5, step, (x, y, 0)), (a, b, np.sum(x * y)), x, y
    )  # fmt: skip


def test_an_old_array_that_is_kept(target):
    """The state has the array before the write, too: that is a copy in each iteration."""
    x = np.arange(4)

    def step(i, s):
        return s[1], fw.replace(s[1], i, s[0][i] + s[1][i])

    def numpy(x):
        old, new = x, x
        for i in range(4):
            old, new = new, np.where(np.arange(4) == i, old[i] + new[i], new)
        return old, new

    agree(lambda x: fw.fori_loop(0, 4, step, (x, x)), numpy(x), x)


def test_copies_that_remain_are_told(target):
    """The array, the line and the reason; none where every write is in place."""

    def kept(x):
        return fw.fori_loop(0, 4, lambda i, s: (s[1], fw.replace(s[1], i, s[0][i] + 1)), (x, x))

    def read(x):
        return fw.fori_loop(0, 4, lambda i, s: fw.scatter(s, 3 - fw.iota(4), s), x)

    def told(f, x):
        notes = fw.jit(f).stages(x).notes
        return [str(note) for note in notes if "copied in each iteration" in note]

    x = np.arange(4)
    line = f"test_writes_in_loops.py:{kept.__code__.co_firstlineno + 1}"
    for each in (x, np.arange(12).reshape(4, 3)):
        (note,) = set(told(kept, each)) if target != "interp" else ("",)
        assert target == "interp" or (line in note and "s is copied" in note and "again" in note)
    assert target == "interp" or "also reads it" in told(read, x)[0]
    for name in ("a swap", "a branch", "the row before"):
        step, (x, j) = ALL[name][0], given(name, 6)
        assert not told(lambda x, step=step, j=j: every(step)(x, fw.asarray(j)), x)


@pytest.mark.parametrize(("a", "b"), [(9, 1), (1, 9), (9, 8)])
def test_the_first_failure_is_reported(target, a, b):
    """A read that comes before a write fails after a check that is before it in the text."""
    x = np.arange(4)

    def f(x, a, b):
        return fw.fori_loop(0, 2, lambda i, s: fw.replace(fw.replace(s, a, 1), 0, s[b]), x)

    with pytest.raises(IndexError, match="index 9 is outside an array of 4 elements"):
        fw.jit(f)(x, a, b)


def test_gradients(target):
    """Of loops that write rows and swap elements."""
    x, j = given("the row before", 5)
    rows = np.zeros((5, 3))

    def f(step):
        return lambda x: fw.sum(every(step)(x, fw.asarray(j)) ** 2)

    found = fw.jit(fw.grad(f(ROWS["the row before"][0])))(x.astype(float))
    rows[0] = 2 * (5 * (x[0] + 1.0) + 10)
    same(found, rows, ulps=8)
    y = x[:, 0].astype(float)
    same(fw.jit(fw.grad(f(swapped)))(y), 2 * y, ulps=8)


def written(f, name, n, *rows):
    """How many elements the kernels of a call write."""
    x, _ = given(name, n, *rows)
    compiled, flat = fw.jit(f, target="cpu").taken(x, np.arange(n)[::-1])
    counting = Counting()
    simulator.run(compiled.executable.whole.unit, flat, counter=counting)
    return counting.counts().global_writes


def in_a_map(step):
    """The same for two rows."""
    return lambda xs, j: fw.map(lambda x: every(step)(x, j), xs)


LOOPS = [(every, name) for name in LINEAR] + [
    (loop, name) for loop in (in_a_while_loop, in_a_map)
    for name in ("a swap", "a swap in a branch", "the row before")
]  # fmt: skip


@pytest.mark.parametrize(("loop", "name"), LOOPS)
def test_work_grows_with_the_iterations(loop, name):
    """Four times as many iterations write four times as many elements, not sixteen times."""
    rows = (2,) if loop is in_a_map else ()
    with fw.schedule(version="by-row"):
        few, many = (written(loop(ALL[name][0]), name, n, *rows) for n in (6, 24))

    assert many <= 4.5 * few
