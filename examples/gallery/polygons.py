"""Areas of convex polygons, each with its own number of corners.

    python examples/gallery/polygons.py

The shoelace formula of one polygon, mapped over rows of different lengths.

Before: arrays in NumPy.
"""

import numpy as np

import flatweave as fw

PEER = "NumPy"


@fw.jit
def program(xs, ys, corners):
    """The area of each polygon; the corners concatenated, and the number of each."""

    def area(x, y):
        return fw.abs(fw.sum(x * fw.rotate(y, 1) - fw.rotate(x, 1) * y)) / 2

    return fw.map(area, fw.ragged(xs, lengths=corners), fw.ragged(ys, lengths=corners))


def before(xs, ys, corners):
    """All corners at once: the next one of each is worked out, then sums by reduceat."""
    starts = np.cumsum(corners) - corners
    after = np.arange(1, len(xs) + 1)
    after[starts + corners - 1] = starts
    return np.abs(np.add.reduceat(xs * ys[after] - xs[after] * ys, starts)) / 2


def inputs(size=200_000):
    """Polygons of 3 to 12 corners on circles."""
    draw = np.random.default_rng(17)
    corners = draw.integers(3, 13, size)
    place = np.arange(corners.sum()) - np.repeat(np.cumsum(corners) - corners, corners)
    angles = 2 * np.pi * place / np.repeat(corners, corners)
    radius = np.repeat(draw.uniform(1, 9, size), corners)
    return radius * np.cos(angles), radius * np.sin(angles), corners


def main():
    """A triangle and a square."""
    xs, ys = np.array([0.0, 4, 0, 1, 3, 3, 1]), np.array([0.0, 0, 3, 1, 1, 3, 3])
    print(program(xs, ys, np.array([3, 4])).tolist())


if __name__ == "__main__":
    main()
