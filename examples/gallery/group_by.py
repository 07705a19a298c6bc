"""Group-by: count, sum, least and greatest price of each article, in one pass over the sales.

    python examples/gallery/group_by.py

Each sale is a tuple of the four aggregates of a group of one; `op` joins two groups.

Before: arrays in NumPy.
"""

import numpy as np

import flatweave as fw

PEER = "NumPy"


def join(a, b):
    """The aggregates of two groups together."""
    return a[0] + b[0], a[1] + b[1], fw.minimum(a[2], b[2]), fw.maximum(a[3], b[3])


@fw.jit
def program(articles, prices, number):
    """Of each article 0, 1, ..: sales, their sum, the least and the greatest price."""
    ones = fw.map(lambda price: (1, price, price, price), prices)
    return fw.histogram(number, articles, ones, join, (0, 0.0, fw.inf, -fw.inf))


def before(articles, prices, number):
    """One function of NumPy for each aggregate."""
    least, greatest = np.full(number, np.inf), np.full(number, -np.inf)
    np.minimum.at(least, articles, prices)
    np.maximum.at(greatest, articles, prices)
    counts = np.bincount(articles, minlength=number)
    return counts, np.bincount(articles, prices, minlength=number), least, greatest


def inputs(size=1_000_000):
    """Sales of a thousand articles."""
    draw = np.random.default_rng(1)
    return draw.integers(0, 1000, size), draw.uniform(1, 100, size).round(2), 1000


def main():
    """The sales of three articles."""
    counts, sums, least, greatest = program([0, 2, 2, 0], [3.0, 5.0, 4.0, 1.0], 3)
    print("sales", counts.tolist(), "sums", sums.tolist())
    print("from", least.tolist(), "to", greatest.tolist())


if __name__ == "__main__":
    main()
