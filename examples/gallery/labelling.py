"""Connected labelling: the patches of an image get the numbers 1, 2, .. in reading order.

    python examples/gallery/labelling.py

Each run of pixels in a row begins as a separate tree; two that meet in neighbouring rows hook the
root of one onto the other, the least offer wins; pointer jumping makes trees flat, until nothing
changes.

Before: a function of SciPy.
"""

import numpy as np
from scipy import ndimage

import flatweave as fw

PEER = "SciPy"


def flat(roots):
    """Trees in which every run points at its root."""
    step = fw.while_loop(
        lambda state: state[1],
        lambda state: (state[0][state[0]], fw.any(state[0][state[0]] != state[0])),
        (roots, True),
    )
    return step[0]


@fw.jit
def program(image):
    """The number of each pixel's patch, 0 where the image is False."""
    height, width = image.shape
    here, pixels = image.reshape(-1), fw.iota(height * width)

    def begins(p):  # a run of its row
        return here[p] & ((p % width == 0) | ~here[fw.maximum(p - 1, 0)])

    def meets(p):  # a run of this row one of the next, for the first time
        return here[p] & here[p + width] & (begins(p) | begins(p + width))

    first = fw.map(begins, pixels)
    run, runs = fw.cumsum(first, dtype=fw.i32) - 1, fw.iota(fw.sum(first), fw.i32)
    above = fw.filter(meets, pixels[: width * (height - 1)])

    def turn(state):
        roots, a, b = state
        roots = flat(fw.permute(fw.minimum, roots, fw.maximum(a, b), fw.minimum(a, b)))
        return roots, *fw.filter(lambda edge: edge[0] != edge[1], (roots[a], roots[b]))

    edges = run[above], run[above + width]
    roots = fw.while_loop(lambda state: state[1].shape[0] > 0, turn, (runs, *edges))[0]
    numbers = fw.cumsum(roots == runs, dtype=fw.i32)[roots]
    labels = fw.map(lambda p: fw.cond(here[p], lambda: numbers[run[p]], lambda: 0), pixels)
    return fw.reshape(labels, (height, width))


def before(image):
    """SciPy's function for it."""
    return ndimage.label(image)[0]


def inputs(size=1000):
    """Noise, smoothed: patches of all sizes in a square image."""
    noise = np.random.default_rng(6).normal(size=(size, size))
    return (ndimage.uniform_filter(noise, 5, mode="constant") > 0.05,)


def picture():
    """For the gallery: patches in colours that differ from those of their neighbours."""
    return program(*inputs(180)) * 37 % 101


def main():
    """Three patches, one of which bends."""
    print(program(np.array([[1, 1, 0, 1], [0, 1, 0, 0], [0, 1, 0, 1]], bool)).tolist())


if __name__ == "__main__":
    main()
