"""Statistical tests of both generators on many numbers, as a table.

    python -m tests.random --numbers 16777216 --seeds 4

Figures are standard deviations from what chance gives, but the first, Kolmogorov's sqrt(n) D.
"""

import argparse
import sys
from collections.abc import Callable, Iterator

import numpy as np

import flatweave as fw
from tests.random import battery


def words(key: fw.random.Key, n: int) -> np.ndarray:
    """Words of 64 bits."""
    return np.asarray(fw.random.bits(key, n))


def across(key: fw.random.Key, n: int) -> np.ndarray:
    """The first word of each of `n` keys that a key is split into."""
    made = fw.jit(lambda k, m: fw.map(lambda each: fw.random.bits(each), fw.random.keys(k, m)))
    return np.asarray(made(key, n))


def neighbours(key: fw.random.Key, n: int) -> np.ndarray:
    """Words of the keys that a key and neighbouring numbers make."""
    made = fw.jit(
        lambda k, m: fw.map(lambda i: fw.random.bits(fw.random.fold_in(k, i)), fw.iota(m))
    )
    return np.asarray(made(key, n))


STREAMS: dict[str, Callable[[fw.random.Key, int], np.ndarray]] = {
    "one array": words,
    "first words of split keys": across,
    "keys folded with 0, 1, ..": neighbours,
}  # fmt: skip


def figures(drawn: np.ndarray) -> Iterator[tuple[str, float]]:
    """The figures of some words; AssertionError for what is no chance."""
    u = (drawn >> np.uint64(11)) * 2.0**-53
    low = (drawn & np.uint64(2**32 - 1)) * 2.0**-32
    yield "Kolmogorov", battery.kolmogorov(u)
    yield "of the low halves", battery.kolmogorov(low)
    yield "bytes", battery.chi_square(np.bincount(drawn.view(np.uint8), minlength=256))
    pairs = (drawn >> np.uint64(56)).astype(np.int64)
    pairs = pairs[: len(pairs) // 2 * 2].reshape(-1, 2) @ np.array([256, 1])
    yield "pairs", battery.chi_square(np.bincount(pairs, minlength=65536))
    yield "single bits", battery.ones(drawn)
    for lag in (1, 2, 4, 8, 1024):
        yield f"lag {lag}", battery.correlation(u, lag)
    yield "gaps", battery.gaps(u, 0.1)
    yield "orders of four", battery.orders(u)
    yield "collisions", battery.collisions(drawn, 34)
    yield "successive bits", battery.avalanche(drawn[:-1], drawn[1:])


def main() -> int:
    """Print a table; 1 where a figure is no chance."""
    parser = argparse.ArgumentParser(prog="tests.random", description=__doc__)
    parser.add_argument("--numbers", type=int, default=2**22)
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    failed = 0
    for generator in ("philox", "threefry"):
        for name, stream in STREAMS.items():
            for seed in range(options.seeds):
                drawn = stream(fw.random.key(seed, generator), options.numbers)
                told = []
                try:
                    told += [f"{what} {figure:.2f}" for what, figure in figures(drawn)]
                except AssertionError as wrong:
                    failed += 1
                    told.append(f"FAILED: {wrong}")
                sys.stdout.write(f"{generator}, {name}, seed {seed}: {', '.join(told)}\n")
                sys.stdout.flush()
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
