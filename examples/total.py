"""A sum of squares: the program that docs/tour.md follows from Python to machine code."""

import numpy as np

import flatweave as fw


@fw.jit
def total(xs):
    """The sum of the squares of all elements."""
    return fw.sum(fw.map(lambda x: x * x, xs))


if __name__ == "__main__":
    print(total(np.arange(1000, dtype=np.float32)))
