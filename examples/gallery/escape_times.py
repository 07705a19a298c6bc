"""Mandelbrot histogram: how many points of the plane leave the circle after how many iterations.

    python examples/gallery/escape_times.py

Each point has a loop, whose number of iterations goes straight into the histogram.

Before: a loop in Python, compiled by Numba.
"""

import numpy as np

import flatweave as fw

PEER = "Numba"


def turns(i, j, extent, limit):
    """The number of iterations until a point of the grid is outside, or the limit."""
    real, imaginary = 3.0 * j / extent - 2.2, 3.0 * i / extent - 1.5

    def step(state):
        x, y, turn = state
        return x * x - y * y + real, 2.0 * x * y + imaginary, turn + 1

    def inside(state):
        return (state[0] ** 2 + state[1] ** 2 <= 4.0) & (state[2] < limit)

    return fw.while_loop(inside, step, (0.0, 0.0, 0))[2]


@fw.jit
def all_turns(extent, limit):
    """The iterations of each point of a grid of extent * extent."""
    return fw.generate((extent, extent), lambda i, j: turns(i, j, extent, limit))


@fw.jit
def program(extent, limit):
    """For 0, 1, .. limit turns the number of points of a grid of extent * extent."""
    return fw.histogram(limit + 1, all_turns(extent, limit).reshape(-1))


def before(extent, limit):
    """Point after point."""
    found = np.zeros(limit + 1, np.int64)
    for i in range(extent):
        for j in range(extent):
            real, imaginary = 3.0 * j / extent - 2.2, 3.0 * i / extent - 1.5
            x, y, turn = 0.0, 0.0, 0
            while x * x + y * y <= 4.0 and turn < limit:
                x, y = x * x - y * y + real, 2.0 * x * y + imaginary
                turn += 1
            found[turn] += 1
    return found


def inputs(size=500):
    """The grid's extent and 200 iterations."""
    return size, 200


def picture():
    """For the gallery: the logarithm of each point's iterations."""
    return np.log(all_turns(180, 100))


def main():
    """A coarse grid and a few iterations."""
    print(program(40, 8).tolist())


if __name__ == "__main__":
    main()
