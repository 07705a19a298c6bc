"""Monte Carlo: the price of an Asian option, the mean over random paths of what they pay.

    python examples/gallery/option.py

A path is a row of a matrix of normal numbers; their sums, exponentials and the mean of these are
one pass over it, and no path is stored.

Before: arrays in NumPy.
"""

import numpy as np

import flatweave as fw

PEER = "NumPy"

START, STRIKE, RATE, VOLATILITY, STEPS = 100.0, 100.0, 0.03, 0.2, 50


@fw.jit
def program(seed, paths):
    """The price of the right to buy at STRIKE what was worth the mean of a year, and its error."""
    z = fw.random.normal(fw.random.key(seed), (paths, STEPS))
    logs = fw.cumsum((RATE - VOLATILITY**2 / 2) / STEPS + VOLATILITY / STEPS**0.5 * z, axis=1)
    means = fw.mean(fw.exp(logs), axis=1)
    paid = fw.maximum(START * means - STRIKE, 0.0) * np.exp(-RATE)
    return fw.mean(paid), fw.std(paid) / fw.sqrt(paths)


def before(seed, paths):
    """All paths as one matrix."""
    z = np.random.default_rng(seed).normal(size=(paths, STEPS))
    logs = np.cumsum((RATE - VOLATILITY**2 / 2) / STEPS + VOLATILITY / STEPS**0.5 * z, axis=1)
    paid = np.maximum(START * np.exp(logs).mean(axis=1) - STRIKE, 0.0) * np.exp(-RATE)
    return paid.mean(), paid.std() / np.sqrt(paths)


def agree(ours, theirs):
    """Other random numbers: within four errors of each other."""
    (price, error), (other, other_error) = (map(float, pair) for pair in (ours, theirs))
    return abs(price - other) <= 4 * np.hypot(error, other_error)


def inputs(size=200_000):
    """A seed and the number of paths."""
    return 10, size


def main():
    """A price and its error."""
    price, error = program(10, 20_000)
    print(f"{float(price):.2f} +- {float(error):.2f}")


if __name__ == "__main__":
    main()
