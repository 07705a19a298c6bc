"""Nearest neighbours: for each point the distance to the nearest other one, by a grid of cells.

    python examples/gallery/neighbours.py

Points are sorted by cell; a point looks at the squares of cells around its own, each wider by
one than the last, until nothing nearer can be outside.

Before: a function of SciPy.
"""

import numpy as np
from scipy.spatial import cKDTree

import flatweave as fw

PEER = "SciPy"


@fw.jit
def program(xs, ys):
    """The distance from each point of the unit square to the nearest other one; inf if none."""
    n = xs.shape[0]
    side = fw.maximum(fw.sqrt(n / 2).astype(fw.i64), 1)  # so that a cell has two points
    column, row = (fw.clip((part * side).astype(fw.i64), 0, side - 1) for part in (xs, ys))
    cells, order = fw.sort_by_key(row * side + column, fw.iota(n))
    first = fw.searchsorted(cells, fw.iota(side * side + 1))
    x, y = xs[order], ys[order]

    def nearest(i):
        column, row = cells[i] % side, cells[i] // side

        def look(state):
            reach, best = state
            left, right = fw.maximum(column - reach, 0), fw.minimum(column + reach, side - 1)

            def in_row(row, best):
                def nearer(j, best):
                    far = (x[j] - x[i]) ** 2 + (y[j] - y[i]) ** 2
                    return fw.where(j == i, best, fw.minimum(best, far))

                start, stop = first[row * side + left], first[row * side + right + 1]
                return fw.fori_loop(start, stop, nearer, best)

            low, high = fw.maximum(row - reach, 0), fw.minimum(row + reach, side - 1)
            return reach + 1, fw.fori_loop(low, high + 1, in_row, best)

        def unsure(state):
            seen = (state[0] - 1) / side  # all points nearer than this were looked at
            return (state[1] > seen * seen) & (state[0] <= side)

        return order[i], fw.sqrt(fw.while_loop(unsure, look, (1, fw.inf))[1])

    places, distances = fw.map(nearest, fw.iota(n))
    return fw.scatter(fw.zeros(n), places, distances)


def before(xs, ys):
    """SciPy's tree."""
    points = np.stack([xs, ys], axis=1)
    return cKDTree(points).query(points, k=2)[0][:, 1]


def inputs(size=100_000):
    """Points of the unit square."""
    return tuple(np.random.default_rng(7).random((2, size)))


def main():
    """Two near each other, one far away."""
    print(program(np.array([0.1, 0.1, 0.9]), np.array([0.2, 0.3, 0.3])).tolist())


if __name__ == "__main__":
    main()
