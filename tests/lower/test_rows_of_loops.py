"""Elements of rows that loop over a row with the same number, or read along their own: lanes go
along each row."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from flatweave.base.errors import IndexOutOfBounds

LENGTHS = {
    "of none or one": ([0, 1, 0, 1, 1, 0], [3, 2, 40, 0, 1, 5]),
    "around a step": (
        [3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 0], [2, 0, 1, 3, 9, 8, 7, 2, 0, 1, 3, 9, 8],
    ),
    "skewed": ([0] * 40 + [700, 0, 3, 1, 0], [2] * 40 + [3, 50, 1, 600, 0]),
    "empty": ([0, 0, 0], [0, 4, 0]),
    "none": ([], []),
}  # fmt: skip


def within(own, other):
    """For each element the distances to all of the other row."""
    return np.abs(np.asarray(other)[None, :] - np.asarray(own)[:, None])


def nearest(own, other):
    def one(x):
        return fw.cond(other.shape[0] > 0, lambda: fw.argmin(fw.abs(other - x)), lambda: -1)

    return fw.map(one, own)


def before(own, other):
    """How many elements of the other row come before the first that is not less."""

    def one(x):
        def less(k):
            return fw.cond(k < other.shape[0], lambda: other[k] < x, lambda: False)

        return fw.while_loop(less, lambda k: k + 1, 0)

    return fw.map(one, own)


def distances(x, other):
    return fw.sum(fw.abs(other - x))


PROGRAMS = {
    "nearest": (nearest, lambda a, b: within(a, b).argmin(1) if len(b) else np.full(len(a), -1)),
    "distances": (
        lambda a, b: fw.map(lambda x: distances(x, b), a), lambda a, b: within(a, b).sum(1),
    ),
    "running": (
        lambda a, b: fw.cumsum(fw.map(lambda x: distances(x, b), a)),
        lambda a, b: within(a, b).sum(1).cumsum(),
    ),
    "total": (
        lambda a, b: fw.sum(fw.map(lambda x: distances(x, b), a)),
        lambda a, b: within(a, b).sum(),
    ),
    "kept": (
        lambda a, b: fw.filter(lambda x: fw.any(fw.abs(b - x) < 3), a),
        lambda a, b: a[(within(a, b) < 3).any(1)],
    ),
    "mirrored": (lambda a, b: a * a[::-1] - a[:1], lambda a, b: a * a[::-1] - a[:1]),
    "a number of the row": (
        lambda a, b: fw.map(lambda x: fw.abs(x - fw.sum(b)) * 2, a),
        lambda a, b: np.abs(a - b.sum()) * 2,
    ),
    "before": (
        before,
        lambda a, b: np.array([np.argmax([*(b >= x), True]) for x in a], np.int64),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kind", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_elements_that_loop_over_another_row(name, kind, dtype, target, threads):
    """The values are whole numbers, so that sums are exact in any order."""
    ours, plain = PROGRAMS[name]
    draw = np.random.default_rng(7)
    left, right = (
        np.split(draw.integers(0, 90, sum(lengths)).astype(dtype), np.cumsum(lengths)[:-1])
        if lengths else [] for lengths in LENGTHS[kind]
    )  # fmt: skip
    rows = [
        fw.ragged(np.concatenate([*side, np.zeros(0, dtype)]), lengths=np.array(lengths, np.int64))
        for side, lengths in zip((left, right), LENGTHS[kind], strict=True)
    ]
    found = fw.jit(lambda a, b: fw.map(ours, a, b))(*rows)
    wanted = [plain(a, b) for a, b in zip(left, right, strict=False)]
    if isinstance(found, fw.Ragged):
        assert found.tolist() == [np.asarray(row).tolist() for row in wanted]
    else:
        assert np.asarray(found).tolist() == [float(value) for value in wanted]


@pytest.mark.parametrize("wrong", [0, 5, 12])
def test_idle_lanes_read_nothing(wrong, target):
    """The first element with a wrong index is named; lanes beyond the row have none."""
    places = fw.ragged(np.array([0, 3, 1, 2, 0, 9, 1, 3, 2, 1, 0, 1, -9]), lengths=[5, 2, 0, 6])
    table = np.arange(10.0)
    counts = fw.ragged(np.zeros(8), lengths=[3, 1, 2, 2])

    def looked_up(own, other):
        return fw.map(lambda place: fw.sum(other + fw.gather(table, place)), own)

    program = fw.jit(lambda rows, more: fw.map(looked_up, rows, more))
    right = fw.ragged(np.clip(places.values, 0, 9), lengths=[5, 2, 0, 6])
    assert np.asarray(program(right, counts).values).size == 13
    values = np.asarray(right.values).copy()
    values[wrong] = 10
    with pytest.raises(IndexOutOfBounds, match="index 10"):
        program(fw.ragged(values, lengths=[5, 2, 0, 6]), counts)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_idle_lanes_gather_little(dtype):
    """Along a row, lanes that gather fill one register, others two."""
    lengths = [40, 0, 3, 64]
    xs = fw.ragged(np.zeros(107, dtype), lengths=lengths)
    at = fw.ragged(np.zeros(107, np.int64), lengths=lengths)
    products = fw.jit(lambda at, xs, x: fw.map(lambda i, y: fw.sum(y * x[i]), at, xs))
    powers = fw.jit(lambda xs: fw.map(lambda y: fw.sum(fw.exp(y)), xs))
    one = 32 // np.dtype(dtype).itemsize
    with config.scoped(cpu="x86-64-v3"):
        assert most_lanes(products, at, xs, np.zeros(9, dtype)) == one
        assert most_lanes(powers, xs) == 2 * one


def most_lanes(f, *args):
    """Of the steps along rows."""
    kernels = f.stages(*args).text["kernel"].split("\n\nkernel ")
    (along,) = (text for text in kernels if text.partition("(")[0].endswith("_rows"))
    return max(map(int, re.findall(r"lanes (\d+)", along)))
