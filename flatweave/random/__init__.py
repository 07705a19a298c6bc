"""fw.random: random numbers from keys, the same on every target and for any number of threads.

    key = fw.random.key(7)
    here, there = fw.random.split(key)                 # two keys that share nothing
    fw.random.normal(here, (1000, 3))
    fw.random.integers(there, 0, 6, shape=n)           # n may be computed
    fw.map(lambda k: fw.random.uniform(k), fw.random.keys(key, n))

A number depends only on its key and its index (Salmon and others, "Parallel random numbers: as
easy as 1, 2, 3", 2011): nothing is kept between calls, and the same key gives the same numbers
again. A key is used for one array, then split. The dtype of the key selects one of two generators:

    keys.py             Philox 4x64 of ten rounds, the words of numpy.random.Philox(key=seed);
                        Threefry 2x32 of twenty rounds, the bits of jax.random.key(seed);
                        key, split, keys, fold_in; arrays of words, and more words for an element
    distributions.py    uniform, normal, exponential, permutation, choice; bits, integers, poisson
"""

from flatweave.random.distributions import (
    bits,
    choice,
    exponential,
    integers,
    normal,
    permutation,
    poisson,
    uniform,
)
from flatweave.random.keys import Key, fold_in, key, keys, split

__all__ = [
    "Key", "bits", "choice", "exponential", "fold_in", "integers", "key", "keys", "normal",
    "permutation", "poisson", "split", "uniform",
]  # fmt: skip
