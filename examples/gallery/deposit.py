"""Particle deposit: each particle spreads its charge over the four corners of its cell.

    python examples/gallery/deposit.py

`expand` makes four shares of a particle, which go into the grid without being stored.

Before: a loop in Python, compiled by Numba.
"""

import numpy as np

import flatweave as fw

PEER = "Numba"


@fw.jit
def program(xs, ys, extent):
    """The charge at each point of a grid of extent * extent; coordinates go to extent - 1."""

    def share(particle, corner):
        x, y = particle
        i, j = fw.floor(x), fw.floor(y)
        right, up = corner % 2, corner // 2
        weight = fw.where(right == 1, x - i, i + 1 - x) * fw.where(up == 1, y - j, j + 1 - y)
        return (i.astype(fw.i64) + right) * extent + j.astype(fw.i64) + up, weight

    places, weights = fw.expand(lambda particle: 4, share, (xs, ys))
    density = fw.histogram(extent * extent, places, weights, identity=0.0)
    return fw.reshape(density, (extent, extent))


def before(xs, ys, extent):
    """Particle after particle."""
    grid = np.zeros((extent, extent))
    for k in range(len(xs)):
        i, j = int(xs[k]), int(ys[k])
        x, y = xs[k] - i, ys[k] - j
        grid[i, j] += (1 - x) * (1 - y)
        grid[i + 1, j] += x * (1 - y)
        grid[i, j + 1] += (1 - x) * y
        grid[i + 1, j + 1] += x * y
    return grid


def inputs(size=1_000_000):
    """Particles around the middle of a grid."""
    xs, ys = np.random.default_rng(5).normal(64, 15, (2, size)).clip(0, 126.9)
    return xs, ys, 128


def picture():
    """For the gallery: the charge of all particles."""
    return program(*inputs())


def main():
    """One particle near a corner, one in the middle of a cell."""
    print(program(np.array([0.25, 1.5]), np.array([0.0, 1.5]), 3).tolist())


if __name__ == "__main__":
    main()
