"""Moving median: a series without its outliers.

    python examples/gallery/moving_median.py

The median of a list of scalars is a network of minima and maxima: many windows go through it at a
time, in vector registers. The first and last value stand for what is outside.

Before: a function of SciPy.
"""

import numpy as np
from scipy import ndimage

import flatweave as fw

PEER = "SciPy"


@fw.jit(static_argnames="radius")
def program(series, radius):
    """The median of each value and of `radius` neighbours on either side."""
    places = range(-radius, radius + 1)
    return fw.stencil(lambda near: fw.median([near[k] for k in places]), series, 2 * radius + 1)


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
