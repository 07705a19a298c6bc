"""Word counts: each distinct word of a text, the most frequent first.

    python examples/gallery/word_counts.py

Each word's hash is a reduction of its letters; equal hashes meet by sorting.

Before: lists of bytes and a Counter in Python.
"""

from collections import Counter

import numpy as np

import flatweave as fw

PEER = "Python"

BASE = 0x9E3779B97F4A7C15  # odd: a word is a polynomial in it, modulo 2^64


@fw.jit
def program(text):
    """Where each distinct word stands first, its length and how often it is there; words are
    parted by spaces and line ends."""
    n = text.shape[0]
    starts = (text > ord(" ")) & ~fw.shift(text > ord(" "), -1, False)
    places = fw.filter(lambda i: starts[i], fw.iota(n))

    def hashed(place):
        def letter(state):
            h, end = state
            return h * fw.u64(BASE) + text[end], end + 1

        def inside(state):
            return (state[1] < n) & (text[fw.minimum(state[1], n - 1)] > ord(" "))

        h, end = fw.while_loop(inside, letter, (fw.u64(1), place))
        return h, end - place

    hashes, lengths = fw.map(hashed, places)
    hashes, places, lengths = fw.sort((hashes, places, lengths), key=lambda word: word[0])
    firsts = fw.filter(
        lambda i: (i == 0) | (hashes[i] != hashes[fw.maximum(i - 1, 0)]), fw.iota(hashes.shape[0])
    )
    after = fw.concat([firsts[1:], fw.full(fw.minimum(n, 1), hashes.shape[0])])[: firsts.shape[0]]
    found = places[firsts], lengths[firsts], after - firsts
    return fw.sort(found, key=lambda word: (-word[2], word[0]))


def before(text):
    """Python's counter."""
    return Counter(text.tobytes().split())


def counted(text, found):
    """The words of what was found, and their numbers, in order."""
    words = zip(*(column.tolist() for column in found), strict=True)
    return [(text[place : place + size].tobytes(), number) for place, size, number in words]


def agree(ours, theirs, text):
    """The same words in the same order; those as frequent as each other as they come."""
    return counted(text, ours) == theirs.most_common()


def inputs(size=500_000):
    """Words of a language in which a few are frequent."""
    draw = np.random.default_rng(12)
    words = ["".join(map(chr, draw.integers(97, 123, 1 + k % 9))) for k in range(20_000)]
    chosen = np.minimum(draw.zipf(1.3, size), len(words)) - 1
    return (np.frombuffer(" ".join(words[k] for k in chosen).encode(), np.uint8),)


def main():
    """The words of a rhyme."""
    text = np.frombuffer(b"the cat and the hat and the bat", np.uint8)
    print(counted(text, program(text)))


if __name__ == "__main__":
    main()
