"""Reads at clipped indices: neighbours at any distance, from either side, between any ends."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.codegen.levels import LEVELS, in_force
from tests.structure.counted import opened

LENGTHS = (1, 2, 3, 127, 128, 129, 1023, 1025, 2**17 + 1)
FAR = 2**63 - 1


def by_distance(x, c, low, high):
    """Indices that ascend, and indices that descend."""
    n = x.shape[0]
    up = fw.generate(n, lambda i: x[fw.clip(i + c, low, high)])
    down = fw.generate(n, lambda i: x[fw.minimum(fw.maximum(c - i, low), high)] * 2)
    return up, down, fw.sum(fw.map(lambda a, b: a - b, up, down))


def numpy_by_distance(x, c, low, high):
    """The same, where sums of 64 bits wrap."""
    i = np.arange(x.size)
    with np.errstate(over="ignore"):
        up = x[np.minimum(np.maximum(i + np.int64(c), low), high)]
        down = x[np.minimum(np.maximum(np.int64(c) - i, low), high)] * 2
    return up, down, np.sum(up - down)


def neighbours(x):
    """The sum of three, as written by hand."""
    n = x.shape[0]
    return fw.generate(n, lambda i: x[fw.clip(i - 1, 0, n - 1)] - x[fw.clip(i + 1, 0, n - 1)])


@pytest.mark.sampled
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.uint8])
def test_wherever_they_begin(level, dtype):
    """Inside, before, after, across either end, and so far that indices wrap."""
    with in_force(level):
        f = fw.jit(by_distance)
        for n in LENGTHS:
            x = np.arange(n).astype(dtype)
            for c in (0, 1, -1, n // 2, n - 1, n, -n, FAR, FAR - n // 2, -FAR - 1, n - FAR):
                for low, high in ((0, n - 1), (n // 3, n // 2), (n - 1, 0)):
                    found = f(x, c, low, high)
                    wanted = numpy_by_distance(x, c, low, high)
                    for ours, theirs in zip(found[:2], wanted[:2], strict=True):
                        assert np.array_equal(ours, theirs), (n, c, low, high)


def test_on_every_target(target):
    """The distances at which both ends are met."""
    x = np.arange(1000)
    f = fw.jit(by_distance)

    for c in (0, -3, 700, FAR, -FAR - 1):
        for ours, theirs in zip(f(x, c, 0, 999), numpy_by_distance(x, c, 0, 999), strict=True):
            assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("low", "high", "index"), [(0, 130, 130), (-131, 5, -131), (0, -131, -131)]
)
def test_an_end_outside_is_reported_where_it_is_read(low, high, index, target):
    """The other elements would have been there."""
    f = fw.jit(lambda x, c: fw.generate(999, lambda i: x[fw.minimum(fw.maximum(i + c, low), high)]))

    with pytest.raises(fw.IndexOutOfBounds, match=f"index {index} is outside an array of 130"):
        f(np.arange(130), -200)


def test_ends_outside_that_no_element_comes_to_are_no_fault(target):
    """And an end below 0 counts from the end of the array, as any index does."""
    f = fw.jit(lambda x, c, m: fw.generate(m, lambda i: x[fw.clip(i + c, -3, 9999)]))

    assert np.array_equal(f(np.arange(130), 30, 100), np.arange(30, 130))
    assert np.array_equal(f(np.arange(130), -5, 9), [127, 127, 127, 128, 129, 0, 1, 2, 3])
    f = fw.jit(lambda x: fw.generate(9, lambda i: x[fw.minimum(fw.maximum(i, 130), 0)]))
    assert np.array_equal(f(np.arange(130)), np.zeros(9))


def test_the_ends_of_an_array_need_no_test_of_a_read():
    """An index between 0 and the last one is inside."""
    text = opened(neighbours, np.arange(9)).text["kernel"]

    assert "report" not in text


def test_an_array_longer_by_one_is_as_good():
    """As tables of a dynamic program are: its last index is the other one's length."""

    def table(x, rows):
        n = x.shape[0]
        return fw.generate(
            n + 1, lambda i: rows[fw.clip(i - 1, 0, n)] + x[fw.clip(i - 1, 0, n - 1)]
        )

    x, rows = np.arange(300), np.arange(301) * 2
    found = fw.jit(table)(x, rows)
    kernel = opened(table, x, rows).text["kernel"]
    (wide,) = re.findall(r"    lanes \d\d+ .*?\n    lanes 1 ", kernel, re.DOTALL)[:1]

    assert np.array_equal(found, 3 * np.maximum(np.arange(301) - 1, 0))
    assert not re.search(r"minimum|maximum", wide)


@pytest.mark.parametrize("level", LEVELS)
def test_a_step_away_from_the_ends_is_one_load(level):
    """Gathers appear where an index of the step may be clipped, and only there."""
    with in_force(level), config.scoped(no_cache=True):
        text = opened(by_distance, np.arange(9.0), 0, 0, 8).text["llvm"]

    near = re.findall(r"\nyes\d+:\n(.*?)\nno\d+:\n", text, re.DOTALL)
    assert near
    assert all(re.search(r"= load <\d+ x double>", each) for each in near)
    assert not any("gather" in each for each in near)
