"""Statistical tests of random numbers. Each raises AssertionError for what chance would give once
in ten thousand times; `python -m tests.random` runs them all on many more numbers."""

import math

import numpy as np

# quantile of the normal distribution that it exceeds once in 10,000 times
Z = 3.719


def kolmogorov(values: np.ndarray) -> float:
    """How far the distribution of numbers in [0, 1] is from the uniform one, times sqrt(n)."""
    ordered = np.sort(np.asarray(values, np.float64))
    n = len(ordered)
    steps = np.arange(n) / n
    distance = max(np.max(ordered - steps), np.max(steps + 1 / n - ordered)) * math.sqrt(n)
    assert distance < 2.225, f"sqrt(n) D = {distance}"
    return float(distance)


def chi_square(counts: np.ndarray) -> float:
    """How far counts are from equal ones, in standard deviations (Wilson and Hilferty)."""
    counts = np.asarray(counts, np.float64)
    freedom = len(counts) - 1
    statistic = float(np.sum((counts - counts.mean()) ** 2) / counts.mean())
    spread = 2 / (9 * freedom)
    z = ((statistic / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)
    assert abs(z) < Z + 0.5, f"chi square of {freedom} degrees is {statistic}, z = {z}"
    return z


def correlation(values: np.ndarray, lag: int) -> float:
    """The correlation of numbers in [0, 1] with those `lag` positions later, in standard
    deviations."""
    centred = values - 0.5
    n = len(values) - lag
    z = float(np.dot(centred[:n], centred[lag:]) * 12 / math.sqrt(n))
    assert abs(z) < Z + 0.5, f"lag {lag}: z = {z}"
    return z


def ones(words: np.ndarray) -> float:
    """How often the bits of words are 1, at each position: the largest deviation."""
    width, n = 8 * words.dtype.itemsize, len(words)
    shares = [int(np.sum(words >> np.uint64(at) & np.uint64(1))) for at in range(width)]
    z = max(abs(share - n / 2) * 2 / math.sqrt(n) for share in shares)
    assert z < Z + 1.0, f"a bit is 1 in {max(shares)} or {min(shares)} of {n} words"
    return z


def avalanche(first: np.ndarray, second: np.ndarray) -> float:
    """How many bits differ in words whose keys or counters differ in one bit: half of them."""
    n = first.size * 64
    z = float((np.sum(np.bitwise_count(first ^ second)) - n / 2) * 2 / math.sqrt(n))
    assert abs(z) < Z + 0.5, f"z = {z}"
    return z


def gaps(values: np.ndarray, below: float, most: int = 30) -> float:
    """How many numbers stand between those below a limit: a geometric distribution."""
    places = np.flatnonzero(values < below)
    lengths = np.minimum(np.diff(places) - 1, most)
    share = below * (1 - below) ** np.arange(most)
    expected = np.append(share, 1 - share.sum()) * len(lengths)
    return _fit(np.bincount(lengths, minlength=most + 1), expected)


def collisions(words: np.ndarray, bits: int) -> float:
    """How many of n words share their upper bits with an earlier one: about n*n / 2**(bits + 1)."""
    kept = np.unique(words >> np.uint64(64 - bits))
    n = len(words)
    expected = n - 2**bits * -math.expm1(n * math.log1p(-(2.0**-bits)))
    z = (n - len(kept) - expected) / math.sqrt(expected)
    assert abs(z) < Z + 0.5, f"{n - len(kept)} collisions, {expected:.0f} expected"
    return z


def orders(values: np.ndarray) -> float:
    """Which of four neighbours is how large: 24 orders, all as likely."""
    groups = np.argsort(values[: len(values) // 4 * 4].reshape(-1, 4), axis=1)
    return chi_square(np.unique(groups @ np.array([64, 16, 4, 1]), return_counts=True)[1])


def _fit(counts: np.ndarray, expected: np.ndarray) -> float:
    """How far counts are from expected ones, in standard deviations."""
    freedom = len(counts) - 1
    ratio = float(np.sum((counts - expected) ** 2 / expected)) / freedom
    spread = 2 / (9 * freedom)
    z = (ratio ** (1 / 3) - (1 - spread)) / math.sqrt(spread)
    assert abs(z) < Z + 0.5, f"z = {z}"
    return z
