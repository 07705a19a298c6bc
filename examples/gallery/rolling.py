"""Rolling windows: the mean and the greatest value of every window of a series.

    python examples/gallery/rolling.py

The windows are never stored: each is a slice that two sums of the same loop read.

Before: arrays in NumPy.
"""

import numpy as np

import flatweave as fw

PEER = "NumPy"


@fw.jit
def program(series, width):
    """Of each window of `width` values its mean and its greatest value."""

    def window(start):
        values = series[start : start + width]
        return fw.mean(values), fw.max(values)

    return fw.map(window, fw.iota(fw.maximum(series.shape[0] - width + 1, 0)))


def before(series, width):
    """A view of all windows."""
    if len(series) < width:
        return np.empty(0), np.empty(0)
    windows = np.lib.stride_tricks.sliding_window_view(series, width)
    return windows.mean(axis=1), windows.max(axis=1)


def inputs(size=1_000_000):
    """A random walk, and windows of 20."""
    return np.cumsum(np.random.default_rng(2).normal(size=size)), 20


def main():
    """Windows of three values."""
    means, greatest = program(np.array([1.0, 3.0, 2.0, 7.0]), 3)
    print("means", means.tolist(), "greatest", greatest.tolist())


if __name__ == "__main__":
    main()
