"""Distributions: means, spreads and the whole shape, of fixed seeds."""

import math
import statistics

import numpy as np
import pytest

import flatweave as fw
from tests.random.battery import chi_square, kolmogorov

KEY = fw.random.key(2026)
MANY = 40_000
NORMAL = statistics.NormalDist()


@pytest.mark.sampled
@pytest.mark.parametrize("generator", ["philox", "threefry"])
@pytest.mark.parametrize("dtype", [fw.f32, fw.f64])
def test_floats_have_their_shape(generator, dtype):
    """Uniform, normal and exponential, moved and stretched."""
    key = fw.random.key(5, generator)

    u = np.asarray(fw.random.uniform(key, MANY, -2.0, 3.0, dtype))
    z = np.asarray(fw.random.normal(key, MANY, 10.0, 3.0, dtype))
    e = np.asarray(fw.random.exponential(key, MANY, 4.0, dtype))

    assert u.dtype == z.dtype == e.dtype == dtype.numpy
    assert u.min() >= -2.0 and u.max() <= 3.0
    kolmogorov((u + 2.0) / 5.0)
    kolmogorov(np.array([NORMAL.cdf((v - 10.0) / 3.0) for v in z.tolist()]))
    kolmogorov(1 - np.exp(-e.astype(np.float64) / 4.0))


def test_normals_are_the_inverse_of_their_distribution(target):
    """To 4 ulp, at both ends and in the middle."""
    words = np.random.Philox(key=2026).random_raw(3000)
    z = np.asarray(fw.random.normal(KEY, len(words)))

    def quantile(word):
        end = (min(word, 2**64 - 1 - word) + 0.5) * 2.0**-64
        return math.copysign(NORMAL.inv_cdf(end), -1 if word < 2**63 else 1)

    expected = np.array([quantile(word) for word in words.tolist()])
    assert np.max(np.abs(z - expected) / np.spacing(np.abs(expected))) <= 4


def test_integers_are_even():
    """Of a small range, of one that a third of all words would make uneven, of narrow dtypes."""
    die = np.asarray(fw.random.integers(KEY, 1, 7, 6000))
    wide = np.asarray(fw.random.integers(KEY, 0, 3 * 2**62, 6000, dtype=fw.u64))
    narrow = np.asarray(fw.random.integers(KEY, -128, 128, 6000, dtype=fw.i8))
    computed = np.asarray(fw.jit(lambda n: fw.random.integers(KEY, n, shape=6000))(7))

    chi_square(np.bincount(die, minlength=7)[1:])
    chi_square(np.bincount((wide // np.uint64(2**60)).astype(np.int64), minlength=12))
    chi_square(np.bincount(narrow.astype(np.int64) + 128, minlength=256))
    assert computed.max() < 7 and computed.min() >= 0


def test_ranges_at_the_ends():
    """One number, all of them, and computed ranges that hold none."""
    assert set(np.asarray(fw.random.integers(KEY, 4, 5, 9)).tolist()) == {4}
    ends = np.iinfo(np.int64)
    everything = np.asarray(fw.random.integers(KEY, ends.min, ends.max + 1, 9))
    assert len(set(everything.tolist())) == 9
    empty = fw.jit(lambda a, b: fw.random.integers(KEY, a, b, 3))(5, 2)
    assert np.asarray(empty).tolist() == [5, 5, 5]


@pytest.mark.parametrize("mean", [0.0, 0.3, 4.0, 9.99, 10.0, 60.0, 1e5])
def test_poisson(mean):
    """Mean and variance are the same number; means below 10 are made in another way."""
    found = np.asarray(fw.random.poisson(KEY, mean, MANY)).astype(np.float64)

    error = math.sqrt(mean / MANY)
    assert abs(found.mean() - mean) <= 4 * error
    assert abs(found.var() - mean) <= 5 * math.sqrt((mean + 2 * mean**2) / MANY)
    assert (found >= 0).all()


def test_poisson_of_an_array_of_means(target):
    """Each element has a separate mean, and invalid means give 0."""
    means = np.array([[0.0, 1000.0, 3.0], [float("nan"), -1.0, 12.0]])

    found = np.asarray(fw.random.poisson(KEY, means))

    assert found.shape == (2, 3)
    assert found[0, 0] == found[1, 0] == found[1, 1] == 0
    assert 800 < found[0, 1] < 1200


def test_permutations():
    """Of numbers and of rows; all of a few are as likely."""
    rows = np.arange(10.0).reshape(5, 2)

    assert sorted(np.asarray(fw.random.permutation(KEY, 130)).tolist()) == list(range(130))
    order = np.asarray(fw.random.permutation(KEY, 5))
    np.testing.assert_array_equal(np.asarray(fw.random.permutation(KEY, rows)), rows[order])
    assert np.asarray(fw.random.permutation(KEY, 0)).tolist() == []


def test_all_permutations_are_as_likely():
    """Of three elements, many times."""
    many = fw.jit(
        lambda k: fw.map(lambda each: fw.random.permutation(each, 3), fw.random.keys(k, 6000))
    )

    codes = np.asarray(many(KEY)) @ np.array([9, 3, 1])

    chi_square(np.unique(codes, return_counts=True)[1])


def test_choices():
    """With and without weights, with and without replacement."""
    letters = np.array([10.0, 20.0, 30.0])
    weights = np.array([1.0, 0.0, 3.0])

    assert np.asarray(fw.random.choice(KEY, letters)).tolist() in letters.tolist()
    even = np.asarray(fw.random.choice(KEY, letters, (3000,)))
    chi_square(np.unique(even, return_counts=True)[1])
    weighted = np.asarray(fw.random.choice(KEY, 3, 4000, p=weights))
    assert set(weighted.tolist()) == {0, 2}
    assert abs((weighted == 2).mean() - 0.75) < 0.03
    alone = np.asarray(fw.random.choice(KEY, 50, (5, 10), replace=False))
    assert sorted(alone.ravel().tolist()) == list(range(50))
    first = np.asarray(fw.random.choice(KEY, 3, 2, replace=False, p=weights))
    assert set(first.tolist()) == {0, 2}


def test_rows_of_a_ragged_shape(target):
    """The numbers of a row after the other, whatever the lengths."""
    like = fw.ragged([[1, 2], [], [3, 4, 5]])

    found = fw.random.uniform(KEY, like)

    flat = np.asarray(fw.random.uniform(KEY, 5)).tolist()
    assert found.tolist() == [flat[:2], [], flat[2:]]
