"""Top-k: the indices of the k best scores in each row, the best first.

    python examples/gallery/top_k.py

One row's program, mapped over all rows; each row is sorted by one thread.

Before: arrays in NumPy.
"""

import numpy as np

import flatweave as fw

PEER = "NumPy"


@fw.jit
def program(scores, k):
    """For each user the k articles with the best scores."""
    return fw.map(lambda row: fw.argsort(row, descending=True)[:k], scores)


def before(scores, k):
    """The k best in any order, then these in theirs."""
    best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1)
    return np.take_along_axis(best, order, axis=1)


def inputs(size=20_000):
    """Scores of a hundred articles for each of `size` users, and k."""
    return np.random.default_rng(3).random((size, 100)), 5


def main():
    """Two users, the two best of four articles."""
    print(program(np.array([[0.1, 0.9, 0.5, 0.2], [0.7, 0.3, 0.4, 0.8]]), 2).tolist())


if __name__ == "__main__":
    main()
