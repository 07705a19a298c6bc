"""A conditional random field over sentences of different lengths: marginals are a gradient.

A sentence has a score for each word and tag, and tags that follow one another have scores, too. The
sum over all ways to tag a sentence is a loop over its words. The derivative of its logarithm by a
word's score is the probability of that tag there, so one `fw.grad` is what the forward-backward
algorithm computes (Sutton and McCallum, An introduction to conditional random fields, 2012).

    python examples/learning/sentences.py [FOLDER]      sentences.png: each row a sentence
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

import flatweave as fw

COLOURS = np.array([[214, 69, 65], [68, 108, 179]])


def log_sum(a, b):
    """log(exp a + exp b), at any size."""
    top = fw.maximum(a, b)
    return top + fw.log(fw.exp(a - top) + fw.exp(b - top))


def log_partition(first, second, follows):
    """The logarithm of the sum over all ways to tag one sentence with two tags."""

    def word(i, before):
        a, b = before
        return (
            log_sum(a + follows[0, 0], b + follows[1, 0]) + first[i],
            log_sum(a + follows[0, 1], b + follows[1, 1]) + second[i],
        )

    return log_sum(*fw.fori_loop(1, first.shape[0], word, (first[0], second[0])))


def marginals(first, second, follows):
    """The probability of the first tag at each word of each sentence."""
    def total(first):
        return fw.sum(fw.map(lambda a, b: log_partition(a, b, follows), first, second))

    return fw.grad(total)(first)


def by_hand(first, second, follows):
    """The same for one sentence, by going forward and backward in NumPy."""
    scores = np.stack([first, second], 1)
    ahead, behind = [scores[0]], [np.zeros(2)]
    for score in scores[1:]:
        ahead.append(np.logaddexp.reduce(ahead[-1][:, None] + follows, 0) + score)
    for score in scores[:0:-1]:
        behind.append(np.logaddexp.reduce(follows + score + behind[-1], 1))
    both = np.array(ahead) + np.array(behind[::-1])
    return np.exp(both[:, 0] - np.logaddexp.reduce(both, 1))


def sentences(count=40, seed=0):
    """Noisy scores of words whose true tags seldom change, and the scores of neighbours."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 60, count)
    tags = [np.cumsum(rng.random(n) < 0.1) % 2 for n in lengths]
    scores = [np.where(tag, -1, 1) + rng.normal(0, 1.5, tag.size) for tag in tags]
    first = fw.ragged([s / 2 for s in scores])
    return first, fw.ragged([-s / 2 for s in scores]), np.array([[1.1, -1.1], [-1.1, 1.1]])


def draw(folder: Path) -> Path:
    """Words from left to right, in the colour of their likely tag; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = fw.jit(marginals)(*sentences())
    picture = np.full((len(rows), max(map(len, rows)), 3), 255.0)
    for number, row in enumerate(rows):
        p = np.asarray(row)[:, None]
        picture[number, : len(p)] = p * COLOURS[0] + (1 - p) * COLOURS[1]
    path = folder / "sentences.png"
    image = Image.fromarray(picture.astype(np.uint8))
    image.resize((590, 400), Image.Resampling.NEAREST).save(path)
    return path


if __name__ == "__main__":
    print(draw(Path(sys.argv[1] if len(sys.argv) > 1 else "build")))
