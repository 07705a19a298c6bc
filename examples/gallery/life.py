"""Conway's Life on a torus, many generations in one call.

    python examples/gallery/life.py

A stencil that goes round, in a loop on the array.

Before: arrays in NumPy.
"""

import numpy as np

import flatweave as fw

PEER = "NumPy"

NEAR = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]


def born(near):
    """Whether a cell lives in the next generation."""
    alive = near[NEAR[0]]
    for place in NEAR[1:]:
        alive = alive + near[place]
    return ((alive == 3) | ((alive == 2) & (near[0, 0] == 1))).astype(fw.u8)


@fw.jit
def program(world, generations):
    """The world, 0 and 1, after some generations."""
    return fw.fori_loop(
        0, generations, lambda _, world: fw.stencil(born, world, (3, 3), "wrap"), world
    )


def before(world, generations):
    """Eight moved copies, added."""
    for _ in range(generations):
        alive = sum(np.roll(world, place, (0, 1)) for place in NEAR)
        world = ((alive == 3) | ((alive == 2) & (world == 1))).astype(np.uint8)
    return world


def inputs(size=1000):
    """A square world, a third of it alive, for 20 generations."""
    return (np.random.default_rng(8).random((size, size)) < 0.33).astype(np.uint8), 20


def picture():
    """For the gallery: a hundred generations on."""
    world, _ = inputs(180)
    return program(world, 100)


def main():
    """A glider, four generations on: one cell further to the right and down."""
    world = np.zeros((5, 5), np.uint8)
    world[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = 1
    print("\n".join("".join(".#"[cell] for cell in row) for row in program(world, 4).tolist()))


if __name__ == "__main__":
    main()
