"""The statistical tests take random words, and find what is wrong with others."""

import numpy as np
import pytest

import flatweave as fw
from tests.random.__main__ import STREAMS, figures

N = 1 << 16
INDICES = np.arange(N, dtype=np.uint64)
GOOD = np.random.Philox(key=1).random_raw(N)
BAD = {
    "a counter": INDICES << np.uint64(48),
    "a bit that is always 1": GOOD | np.uint64(1 << 40),
    "low bits of a linear congruence": INDICES * np.uint64(6364136223846793005) + np.uint64(1),
    "each word twice": np.repeat(GOOD[: N // 2], 2),
    "a few words": GOOD % np.uint64(1000) * np.uint64(2**64 // 1000),
    "neighbours in order": np.sort(GOOD.reshape(-1, 2), axis=1).ravel(),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_random_is_found(name):
    """By one test or another."""
    with pytest.raises(AssertionError):
        list(figures(BAD[name]))


@pytest.mark.sampled
@pytest.mark.parametrize("generator", ["philox", "threefry"])
@pytest.mark.parametrize("stream", STREAMS)
def test_words_are_random(generator, stream):
    """One array, first words of many keys, keys folded with neighbouring numbers."""
    assert len(list(figures(STREAMS[stream](fw.random.key(3, generator), N)))) == 14
