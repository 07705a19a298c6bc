"""What the tests of examples/kernels share."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk


def affine(first, then):
    """x -> a x + b after another: associative, and does not commute."""
    return first[0] * then[0], first[1] * then[0] + then[1]


@pytest.fixture
def composed():
    """Gives the compositions of affine functions that a block makes of each part of an array, on a
    target: `composed(block, extent, target)`, and what they should be with all of their prefixes.
    """
    draw = np.random.default_rng(7)

    def run(block, extent, target, count=2):
        slopes, offsets = draw.integers(-5, 6, (2, extent * count))

        @fk.kernel
        def parts(a, b):
            return fk.pconcat_map(
                lambda part: block(affine, part), fk.split_up(extent, fk.zip(a, b))
            )

        with fw.target(target):
            found = parts(slopes, offsets)
        prefixes = []
        for part in range(count):
            state = (1, 0)
            for i in range(part * extent, (part + 1) * extent):
                state = affine(state, (int(slopes[i]), int(offsets[i])))
                prefixes.append(state)
        wanted = np.array(prefixes, object).reshape(count, extent, 2) % 2**64
        return [np.asarray(leaf).view(np.uint64) for leaf in found], wanted.astype(np.uint64)

    return run
