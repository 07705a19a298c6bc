"""Expansions of more than 2^31 results, of which nothing is stored, and what indices may be."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import agree, same

LARGE = np.array([2**31 + 5, 0, 2**33, 3])


def test_the_length_of_an_expansion_that_nobody_computes():
    """Only the sizes are added up."""
    f = fw.jit(lambda xs: fw.expand(lambda x: x, lambda x, i: i, xs).shape[0])

    same(f(LARGE), np.int64(LARGE.sum()))
    same(f(np.array([2**62, 2**62 - 1])), np.int64(2**63 - 1))


def test_some_results_of_many():
    """A result is found at its index, however far after the others."""
    ends = np.cumsum(LARGE)
    places = np.array([0, 2**31 + 4, 2**31 + 5, 2**33, 2**31 + 2**33 + 5, ends[-1] - 1])
    sources = np.searchsorted(ends, places, side="right")

    def f(xs, places):
        return fw.gather(fw.expand(lambda x: x, lambda x, i: (x, i), xs), places)

    same(fw.jit(f)(LARGE, places), (LARGE[sources], places - (ends - LARGE)[sources]))


@pytest.mark.sampled
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_reduction_of_more_than_two_thousand_million_results(threads):
    """The first, the last, and how many they are: in one pass that stores nothing."""
    sizes = np.array([3, 2**31, 0, 2])

    def f(sizes):
        ys = fw.expand(lambda x: x, lambda x, i: i, sizes)
        return fw.reduce(fw.maximum, 0, ys), ys.shape[0]

    with config.scoped(threads=threads):
        same(fw.jit(f)(sizes), (np.int64(2**31 - 1), np.int64(2**31 + 5)))


def test_one_source_of_more_than_two_thousand_million_results():
    """expand_reduce counts in i64, too."""
    f = fw.jit(
        lambda sizes: fw.expand_reduce(lambda x: x, lambda x, i: 1, fw.add, 0, sizes)
    )

    same(f(np.array([5, 2**31 + 3])), np.array([5, 2**31 + 3]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32])
def test_narrow_indices_into_a_long_array(target, dtype):
    """They reach what they can say, and are widened before anything is done with them."""
    xs, idx = np.arange(70_000), np.array([0, 127, 5]).astype(dtype)

    agree(lambda xs, idx: xs[idx], xs[idx], xs, idx)
    agree(lambda xs, idx: fw.gather(xs, -idx.astype(fw.i8)), xs[-idx.astype(np.int8)], xs, idx)
    agree(lambda idx: fw.histogram(1000, idx), np.bincount(idx, minlength=1000), idx)


def test_iota_up_to_the_last_number_of_its_dtype(target):
    """One more does not fit."""
    for dtype, count in ((np.int8, 128), (np.uint8, 256), (np.uint16, 65_536)):
        agree(lambda n, dtype=dtype: fw.iota(n, dtype), np.arange(count, dtype=dtype), count)
        with pytest.raises(fw.ExtentOverflowError):
            fw.iota(count + 1, dtype)
        with pytest.raises(OverflowError):
            fw.jit(lambda n, dtype=dtype: fw.iota(n, dtype))(count + 1)


def test_functions_that_raise(target):
    """What a size or a get raises reaches the caller as it is; the next call works."""

    class Mine(Exception):
        pass

    def fail(*args):
        raise Mine("not today")

    xs = np.array([1, 2])
    for size, get in ((fail, lambda x, i: i), (lambda x: x, fail)):
        f = fw.jit(lambda xs, size=size, get=get: fw.expand(size, get, xs))
        with pytest.raises(Mine, match="not today"):
            f(xs)
        with pytest.raises(Mine, match="not today"):
            fw.expand_reduce(size, get, fw.add, 0, xs)
    agree(lambda xs: fw.expand(lambda x: x, lambda x, i: i, xs), np.array([0, 0, 1]), xs)
