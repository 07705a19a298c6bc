"""Sorts by the leading bits of a key: the order of NumPy's stable sort, whatever a sample finds."""

import numpy as np
import pytest

import flatweave as fw
from flatweave.lower.machine import WIDEST

ARGSORT = fw.jit(lambda keys: fw.argsort(keys))
PAIRS = fw.jit(lambda keys, xs: fw.sort_by_key(keys, (xs, keys)))
FAR = 2**62


def sampled(count):
    """The positions that a sort looks at before it begins."""
    return [k * 0x9E3779B97F4A7C15 % 2**64 % count for k in range(WIDEST)]


def keys_of(kind, count):
    """Keys of 64 bits: random ones, and ones of which many are alike."""
    rng = np.random.default_rng(count)
    anywhere, near = rng.integers(-FAR, FAR, count), rng.integers(0, 1 << 20, count)
    match kind:
        case "random":
            return anywhere
        case "floats":
            return rng.normal(size=count) * 10.0 ** rng.integers(-3, 3, count)
        case "halves":
            return np.where(rng.random(count) < 0.5, near, anywhere)
        case "few":
            return rng.choice(anywhere[:3], count) if count else anywhere
    raise ValueError(kind)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["random", "floats", "halves", "few"])
@pytest.mark.parametrize("count", [0, 1, 2, 63, 129, 1025, 70_000])
def test_the_order_is_that_of_a_stable_sort(kind, count, threads):
    """Elements alike in their leading bits, or in all, keep their order where they are equal."""
    keys = keys_of(kind, count)
    order = np.argsort(keys, kind="stable")
    assert np.array_equal(ARGSORT(keys), order)
    moved, (xs, sorted_) = PAIRS(keys, np.arange(count, dtype=np.int32))
    assert np.array_equal(xs, order)
    assert np.array_equal(moved, keys[order])
    assert np.array_equal(sorted_, keys[order])


@pytest.mark.parametrize("reverse", [False, True])
def test_passes_over_all_bits_follow_where_a_sample_misleads(reverse, threads):
    """The sample sees random keys; all others have the same leading bits, and are far from home."""
    count = 70_000
    keys = np.arange(count)[:: -1 if reverse else 1] * 7919 % count
    rng = np.random.default_rng(3)
    keys[sampled(count)] = rng.integers(0, FAR, WIDEST)
    assert np.array_equal(ARGSORT(keys), np.argsort(keys, kind="stable"))


def test_other_bits_have_no_passes():
    """A sort mends what its passes leave, of one key and of several."""
    assert "_mend" in ARGSORT.stages(np.arange(3)).text["kernel"]
    by_two = fw.jit(lambda a, b: fw.argsort((a, b)))
    assert "_mend" in by_two.stages(np.arange(3), np.arange(3)).text["kernel"]
