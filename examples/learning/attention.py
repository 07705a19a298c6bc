"""Attention trained over sequences of different lengths: which feature says what belongs together.

Each word has two features and a noisy value; words of one group share the value and are near each
other by the first feature, while the second one is noise. A word's output is the mean of all values
of its sequence, weighted by a softmax of distances. Training finds how much each feature counts, so
that outputs are the values without noise. Nothing is padded, and no matrix of weights is stored.

    python examples/learning/attention.py [FOLDER]      attention.png: weights before, and after
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import flatweave as fw


def attend(scales, first, second, values):
    """The output of each word of one sequence."""
    def word(a, b):
        d = (scales[0] * (first - a)) ** 2 + (scales[1] * (second - b)) ** 2
        weights = fw.exp(-d)
        return fw.sum(weights * values) / fw.sum(weights)

    return fw.map(word, first, second)


def loss(scales, first, second, values, wanted):
    """The mean squared distance of outputs from the values without noise."""
    out = fw.map(lambda a, b, v: attend(scales, a, b, v), first, second, values)
    return fw.mean((out.values - wanted.values) ** 2)


def train(data, steps=80, rate=6.0):
    """How much each feature counts, and the loss of each step."""
    step = fw.jit(fw.value_and_grad(loss))
    scales, losses = np.array([1.0, 1.0]), []
    for _ in range(steps):
        value, slope = step(scales, *data)
        scales = scales - rate * np.asarray(slope)
        losses.append(float(value))
    return scales, losses


def by_hand(scales, first, second, values):
    """The weights of one sequence, in NumPy: a row for each word."""
    d = [(scale * (x[:, None] - x)) ** 2 for scale, x in zip(scales, (first, second), strict=True)]
    weights = np.exp(-d[0] - d[1])
    return weights / weights.sum(1, keepdims=True)


def sequences(count=60, seed=0):
    """Two features and a noisy value of each word, and the value without noise."""
    rng = np.random.default_rng(seed)
    rows = []
    for length in rng.integers(4, 60, count):
        group = np.sort(rng.integers(0, 4, length))
        wanted = rng.normal(0, 1, 4)[group]
        first = group / 2 + rng.normal(0, 0.08, length)
        rows.append((first, rng.normal(0, 1, length), wanted + rng.normal(0, 0.3, length), wanted))
    return tuple(fw.ragged([row[k] for row in rows]) for k in range(4))


def draw(folder: Path) -> Path:
    """The weights in the longest sequence before and after, dark where they are large; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    data = sequences()
    longest = max(range(len(data[0])), key=lambda k: len(data[0][k]))
    row = [np.asarray(column[longest]) for column in data[:3]]
    pictures = []
    for scales in (np.array([1.0, 1.0]), train(data)[0]):
        weights = by_hand(scales, *row)
        grey = 255 * (1 - weights / weights.max(1, keepdims=True))
        pictures.append(np.pad(grey, ((0, 0), (0, 3)), constant_values=255))
    image = Image.fromarray(np.concatenate(pictures, 1)[:, :-3].astype(np.uint8))
    path = folder / "attention.png"
    image.resize((image.width * 5, image.height * 5), Image.Resampling.NEAREST).save(path)
    return path


if __name__ == "__main__":
    print(draw(Path(sys.argv[1] if len(sys.argv) > 1 else "build")))
