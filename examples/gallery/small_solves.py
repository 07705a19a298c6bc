"""Small solves: hundreds of thousands of systems of three equations at once.

    python examples/gallery/small_solves.py

Cramer's rule: a determinant and three more, in registers; nothing is stored between.

Before: arrays in NumPy.
"""

import numpy as np

import flatweave as fw

PEER = "NumPy"


def cross(a, b):
    """The cross product of two columns."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def inner(a, b):
    """The inner product of two columns."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@fw.jit
def program(matrices, sides):
    """The x of each matrix * x = side."""

    def solved(m, side):
        a, b, c = ([m[i, j] for i in range(3)] for j in range(3))
        bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
        determinant = inner(a, bc)
        return tuple(inner(side, part) / determinant for part in (bc, ca, ab))

    return fw.stack(fw.map(solved, matrices, sides), axis=1)


def before(matrices, sides):
    """A call of LAPACK for each."""
    return np.linalg.solve(matrices, sides[:, :, None])[:, :, 0]


def inputs(size=300_000):
    """Matrices with a strong diagonal, and right sides."""
    draw = np.random.default_rng(16)
    return draw.random((size, 3, 3)) + 2 * np.eye(3), draw.random((size, 3))


def main():
    """2 x = 2, 4 y = 2, x + z = 4."""
    matrices = np.array([[[2.0, 0, 0], [0, 4, 0], [1, 0, 1]]])
    print(program(matrices, np.array([[2.0, 2.0, 4.0]])).tolist())


if __name__ == "__main__":
    main()
