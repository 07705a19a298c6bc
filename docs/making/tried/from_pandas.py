"""Tried as a new user who comes from pandas: the trimmed mean of each group.

In an empty environment with `pip install . pandas`, by README.md, docs/from/pandas.md and
docs/how_to/groups.md alone.

Stumbles, and what was changed:
    group_by(df["city"], ..) refused a column of texts       keys may be texts
    .. and again where pandas is without pyarrow             texts may be objects of Python
    how to get a Series back was on no page                  a sentence in docs/from/pandas.md
"""

import numpy as np
import pandas as pd

import flatweave as fw

rng = np.random.default_rng(0)
df = pd.DataFrame({
    "city": rng.choice(["Oslo", "Rome", "Lima"], 1000),
    "price": rng.lognormal(3, 1, 1000).round(2),
})  # fmt: skip


def trimmed_mean(prices):
    """Without the lowest and the highest tenth: README.md."""
    cut = prices.shape[0] // 10
    return fw.mean(fw.sort(prices)[cut : prices.shape[0] - cut])


groups = fw.group_by(df["city"], df["price"])
table = pd.DataFrame(groups.agg(trimmed=trimmed_mean, n="count"), index=groups.keys)
print(table.round(3).to_string())


def in_pandas(prices):
    """The same, called once for each group."""
    cut = len(prices) // 10
    return np.sort(prices)[cut : len(prices) - cut].mean()


expected = df.groupby("city")["price"].apply(in_pandas)
print("as in pandas:", np.allclose(table["trimmed"], expected))
