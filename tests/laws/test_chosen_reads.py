"""Reads at one of two positions of a row: rotations by any distance, rings, negative indices."""

import re

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.codegen.levels import LEVELS, in_force
from tests.structure.counted import opened

LENGTHS = (1, 127, 128, 129, 1025, 2**15 + 1)
FAR = 2**63 - 1


def by_tests(x, c, bound):
    """Indices that go up and down, the bound on either side, one choice within another, and within
    bounds."""
    n = x.shape[0]
    up = fw.generate(n, lambda i: x[fw.where(i + c >= bound, i, n - 1 - i * 0)])
    down = fw.generate(n, lambda i: x[fw.where(bound < c - i, n - 1 - i, -1 - i)] * 2)
    three = fw.generate(
        n, lambda i: x[fw.where(i < bound, i, fw.where(i > bound + n // 2, i - n, i))] + 1
    )
    ring = fw.generate(n, lambda i: x[fw.clip(fw.where(i < bound, i + 1, i - n), 0, n - 1)])
    return up, down, three, ring


def numpy_by_tests(x, c, bound):
    """The same, where sums of 64 bits wrap."""
    n, i = x.size, np.arange(x.size)
    with np.errstate(over="ignore"):
        up = x[np.where(i + np.int64(c) >= bound, i, n - 1)]
        down = x[np.where(bound < np.int64(c) - i, n - 1 - i, -1 - i)] * 2
        beyond = np.where(i > np.int64(bound) + np.int64(n // 2), i - n, i)
    ring = x[np.clip(np.where(i < bound, i + 1, i - n), 0, n - 1)]
    return up, down, x[np.where(i < bound, i, beyond)] + 1, ring


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_wherever_lanes_choose(level, dtype):
    """In the first step, in the last, within one, in none, and where positions wrap."""
    with in_force(level):
        f = fw.jit(by_tests)
        for n in LENGTHS:
            x = np.arange(n).astype(dtype)
            for c in (0, 1, -n, FAR, FAR - n // 2, -FAR - 1):
                for bound in (0, n // 2, n):
                    found, wanted = f(x, c, bound), numpy_by_tests(x, c, bound)
                    for ours, theirs in zip(found, wanted, strict=True):
                        assert np.array_equal(ours, theirs), (n, c, bound)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.bool_])
def test_rotations_are_numpys(dtype, threads):
    """Of vectors, along either axis of matrices, of what runs backwards, added up."""

    def rolled(x, m, by):
        both = fw.roll(m, by, axis=1), fw.roll(m, -by, axis=1)
        again = fw.roll(x[::-1], by), fw.roll(m, (by, 1), axis=(0, 1))
        return fw.roll(x, by), *both, *again

    def numpy_rolled(x, m, by):
        both = np.roll(m, by, axis=1), np.roll(m, -by, axis=1)
        again = np.roll(x[::-1], by), np.roll(m, (by, 1), axis=(0, 1))
        return np.roll(x, by), *both, *again

    with config.scoped(threads=threads):
        f = fw.jit(rolled)
        for n in (0, 1, 3, 127, 128, 129, 1023, 1024, 1025, 40_000):
            x = (np.arange(n) * 7 % 251).astype(dtype)
            m = np.stack([x, x[::-1], x])
            for by in (0, 1, -3, 64, n // 2, n, 3 * n + 1):
                for ours, theirs in zip(f(x, m, by), numpy_rolled(x, m, by), strict=True):
                    assert np.array_equal(ours, theirs), (n, by)


def test_nan_is_moved_as_it_is():
    """With the bits that it has."""
    x = np.arange(300, dtype=np.uint32).view(np.float32)
    x[7] = np.uint32(0x7FC12345).view(np.float32)

    found = np.asarray(fw.jit(fw.roll)(x, 130))

    assert np.array_equal(found.view(np.uint32), np.roll(x, 130).view(np.uint32))


def test_on_every_target(target):
    """The distances at which lanes of one step differ."""
    x = np.arange(1000)
    f = fw.jit(by_tests)

    for c, bound in ((0, 500), (-3, 0), (FAR, 700), (-FAR - 1, 3)):
        for ours, theirs in zip(f(x, c, bound), numpy_by_tests(x, c, bound), strict=True):
            assert np.array_equal(ours, theirs)


def test_a_place_outside_is_reported_where_lanes_choose_it(target):
    """The other elements would have been there."""
    f = fw.jit(lambda x, c: fw.generate(130, lambda i: x[fw.where(i < c, i, i + 100)]))

    with pytest.raises(fw.IndexOutOfBounds, match="index 220 is outside an array of 130"):
        f(np.arange(130), 120)


@pytest.mark.parametrize("level", LEVELS)
def test_loops_that_are_written_out_read_on(level):
    """Each iteration reads at another offset: rows of 2 to 4, forward and backward."""

    def sums(x):
        rows = [fw.reshape(x[: x.shape[0] // k * k], (-1, k)) for k in (2, 3, 4)]
        up = [fw.map(lambda r: fw.reduce(fw.add, 10, r), m) for m in rows]
        return (*up, *(fw.map(lambda r: fw.reduce(fw.add, 10, r[::-1]), m) for m in rows))

    x = np.arange(301) ** 2
    with in_force(level):
        found = fw.jit(sums)(x)
    wanted = [x[: 301 // k * k].reshape(-1, k).sum(1) + 10 for k in (2, 3, 4)] * 2
    assert all(np.array_equal(*pair) for pair in zip(found, wanted, strict=True))


@pytest.mark.parametrize("level", LEVELS)
def test_a_step_that_chooses_alike_is_one_load(level):
    """Gathers stand where lanes of the step may differ, and only there."""
    with in_force(level), config.scoped(no_cache=True):
        text = opened(lambda x, m, c: (fw.roll(x, c), fw.roll(m, c, axis=1)),
                      np.arange(9.0), np.ones((2, 9)), 3).text["llvm"]  # fmt: skip

    near = re.findall(r"\nyes\d+:\n(.*?)\nno\d+:\n", text, re.DOTALL)
    assert len(near) >= 2
    assert all(re.search(r"= load <\d+ x double>", each) for each in near)
    assert not any("gather" in each for each in near)
