"""Moving median: a series without its outliers.

    python examples/gallery/moving_median.py

The middle of each window, sorted; the first and last value stand for what is outside.

Before: a function of SciPy; at size 200,000
2.10 ms, here 17.76 ms (two cores of a Zen 5 with AVX-512).
"""

import numpy as np
from scipy import ndimage

import flatweave as fw

PEER = "SciPy"


@fw.jit
def program(series, radius):
    """The median of each value and of `radius` neighbours on either side."""
    n, width = series.shape[0], 2 * radius + 1

    def median(i):
        window = fw.map(lambda k: series[fw.clip(i - radius + k, 0, n - 1)], fw.iota(width))
        return fw.sort(window)[radius]

    return fw.map(median, fw.iota(n))


def before(series, radius):
    """SciPy's filter."""
    return ndimage.median_filter(series, 2 * radius + 1, mode="nearest")


def inputs(size=200_000):
    """A wave with outliers, windows of nine."""
    draw = np.random.default_rng(18)
    return np.sin(np.arange(size) / 50) + 5 * (draw.random(size) < 0.02), 4


def main():
    """One outlier."""
    print(program(np.array([1.0, 2.0, 99.0, 3.0, 4.0]), 1).tolist())


if __name__ == "__main__":
    main()
