"""Run-length coding: each run of equal values as its value and its length, and back.

    python examples/gallery/run_lengths.py

A run starts where a value differs from the one before; `expand` unpacks.

Before: arrays in NumPy.
"""

import numpy as np

import flatweave as fw

PEER = "NumPy"


@fw.jit
def program(values):
    """The value and the length of each run."""
    n = values.shape[0]
    starts = fw.filter(lambda i: (i == 0) | (values[i] != values[fw.maximum(i - 1, 0)]), fw.iota(n))
    return values[starts], fw.concat([starts[1:], fw.full(fw.minimum(n, 1), n)]) - starts


@fw.jit
def unpacked(values, lengths):
    """Each value as often as its run is long."""
    return fw.expand(lambda run: run[1], lambda run, i: run[0], (values, lengths))


def before(values):
    """The positions of differences."""
    starts = np.flatnonzero(np.concatenate([[True][: len(values)], values[1:] != values[:-1]]))
    return values[starts], np.diff(starts, append=len(values))


def inputs(size=4_000_000):
    """Bytes, each like its neighbour nine times out of ten."""
    draw = np.random.default_rng(4)
    return (np.cumsum(draw.random(size) < 0.1).astype(np.uint8) & 7,)


def main():
    """Pack, and unpack."""
    values, lengths = program(np.array([7, 7, 7, 1, 1, 7]))
    print(values.tolist(), lengths.tolist(), "from", unpacked(values, lengths).tolist())


if __name__ == "__main__":
    main()
