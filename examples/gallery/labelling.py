"""Connected labelling: the patches of an image get the numbers 1, 2, .. in reading order.

    python examples/gallery/labelling.py

Each pixel begins as a tree of its own; two neighbours hook the root of one onto the other, the
least offer wins; pointer jumping makes trees flat, until nothing changes.

Before: a function of SciPy; at size 1000
4.90 ms, here 20.29 ms (two cores of a Zen 5 with AVX-512).
"""

import numpy as np
from scipy import ndimage

import flatweave as fw

PEER = "SciPy"


def flat(roots):
    """Trees in which every pixel points at its root."""
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
    right = fw.filter(lambda p: here[p] & (p % width < width - 1), pixels)
    right = fw.filter(lambda p: here[p + 1], right)
    below = fw.filter(lambda p: here[p] & here[p + width], pixels[: width * (height - 1)])
    a, b = fw.concat([right, below]), fw.concat([right + 1, below + width])

    def turn(state):
        roots, a, b = state
        roots = flat(fw.permute(fw.minimum, roots, fw.maximum(a, b), fw.minimum(a, b)))
        return roots, *fw.filter(lambda edge: edge[0] != edge[1], (roots[a], roots[b]))

    roots = fw.while_loop(lambda state: state[1].shape[0] > 0, turn, (pixels, a, b))[0]
    numbers = fw.cumsum(((roots == pixels) & here).astype(fw.i64))
    return fw.reshape(fw.where(here, numbers[roots], 0), (height, width))


def before(image):
    """SciPy's function for it."""
    return ndimage.label(image)[0]


def inputs(size=1000):
    """Noise, smoothed: patches of all sizes in a square image."""
    noise = np.random.default_rng(6).normal(size=(size, size))
    return (ndimage.uniform_filter(noise, 5, mode="constant") > 0.05,)


def main():
    """Three patches, one of which turns a corner."""
    print(program(np.array([[1, 1, 0, 1], [0, 1, 0, 0], [0, 1, 0, 1]], bool)).tolist())


if __name__ == "__main__":
    main()
