"""Box filter by summed areas: the mean of a square around each pixel, however large it is.

    python examples/gallery/box_filter.py

Sums of all rectangles from the corner are two scans; a square is made of four of them.

Before: arrays in NumPy.
"""

import numpy as np

import flatweave as fw

PEER = "NumPy"


@fw.jit
def program(image, radius):
    """The mean of the pixels up to `radius` away, of those that are there."""
    height, width = image.shape
    areas = fw.cumsum(fw.cumsum(image.astype(fw.i64), axis=0), axis=1)

    def area(i, j):
        return fw.where((i < 0) | (j < 0), 0, areas[fw.maximum(i, 0), fw.maximum(j, 0)])

    def mean(i, j):
        top, bottom = fw.maximum(i - radius, 0) - 1, fw.minimum(i + radius, height - 1)
        left, right = fw.maximum(j - radius, 0) - 1, fw.minimum(j + radius, width - 1)
        total = area(bottom, right) - area(top, right) - area(bottom, left) + area(top, left)
        return total / ((bottom - top) * (right - left))

    return fw.generate((height, width), mean)


def before(image, radius):
    """The same, with a frame of zeros."""
    height, width = image.shape
    areas = np.zeros((height + 1, width + 1), np.int64)
    areas[1:, 1:] = image.astype(np.int64).cumsum(axis=0).cumsum(axis=1)
    i, j = np.arange(height)[:, None], np.arange(width)
    top, bottom = np.maximum(i - radius, 0), np.minimum(i + radius + 1, height)
    left, right = np.maximum(j - radius, 0), np.minimum(j + radius + 1, width)
    total = areas[bottom, right] - areas[top, right] - areas[bottom, left] + areas[top, left]
    return total / ((bottom - top) * (right - left))


def inputs(size=2000):
    """A square image of bytes, and a radius."""
    return np.random.default_rng(15).integers(0, 256, (size, size)).astype(np.uint8), 15


def main():
    """A bright pixel, spread over its neighbours."""
    image = np.zeros((4, 4), np.uint8)
    image[1, 1] = 90
    print(program(image, 1).tolist())


if __name__ == "__main__":
    main()
