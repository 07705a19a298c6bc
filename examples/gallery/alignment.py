"""Local alignment: the Smith-Waterman score of many pairs of sequences, by anti-diagonals.

    python examples/gallery/alignment.py

The cells of an anti-diagonal depend on the two before it alone, so they are computed at once.

Before: a loop in Python, compiled by Numba.
"""

import numpy as np

import flatweave as fw

PEER = "Numba"

MATCH, MISMATCH, GAP = 2, -1, -2


def score(a, b):
    """The best score of any part of a with any part of b."""
    n, m = a.shape[0], b.shape[0]

    def diagonal(k, state):
        older, last, best = (
            state  # element i of diagonal k is cell (i, k - i); row and column 0 are 0
        )

        def cell(i):
            j = k - i
            inside = (i > 0) & (j > 0) & (j <= m)
            same = a[fw.clip(i - 1, 0, n - 1)] == b[fw.clip(j - 1, 0, m - 1)]
            above = fw.maximum(i - 1, 0)
            found = fw.maximum(older[above] + fw.where(same, MATCH, MISMATCH), 0)
            found = fw.maximum(found, fw.maximum(last[i], last[above]) + GAP)
            return fw.where(inside, found, 0)

        new = fw.map(cell, fw.iota(n + 1))
        return last, new, fw.maximum(best, fw.max(new))

    zeros = fw.full(n + 1, 0)
    return fw.cond(
        (n > 0) & (m > 0),
        lambda: fw.fori_loop(2, n + m + 1, diagonal, (zeros, zeros, 0))[2],
        lambda: 0,
    )


@fw.jit
def program(letters, lengths, others, other_lengths):
    """The score of each pair; concatenated sequences, and their lengths."""
    return fw.map(
        score, fw.ragged(letters, lengths=lengths), fw.ragged(others, lengths=other_lengths)
    )


def before(letters, lengths, others, other_lengths):
    """Cell after cell, one row of the table at hand."""
    scores, start, other = np.zeros(len(lengths), np.int64), 0, 0
    for pair in range(len(lengths)):
        row = np.zeros(other_lengths[pair] + 1, np.int64)
        for i in range(lengths[pair]):
            diagonal = 0
            for j in range(other_lengths[pair]):
                step = MATCH if letters[start + i] == others[other + j] else MISMATCH
                best = max(diagonal + step, row[j] + GAP, row[j + 1] + GAP, 0)
                diagonal, row[j + 1] = row[j + 1], best
                scores[pair] = max(scores[pair], best)
        start, other = start + lengths[pair], other + other_lengths[pair]
    return scores


def inputs(size=1000):
    """Pairs of sequences of up to 200 of four letters."""
    draw = np.random.default_rng(9)
    lengths, other_lengths = draw.integers(0, 201, (2, size))
    return (
        draw.integers(0, 4, lengths.sum()).astype(np.uint8), lengths,
        draw.integers(0, 4, other_lengths.sum()).astype(np.uint8), other_lengths,
    )  # fmt: skip


def main():
    """One pair, with a gap."""
    a, b = (np.frombuffer(text, np.uint8) for text in (b"GGTTGACTA", b"TGTTACGG"))
    print(int(program(a, [len(a)], b, [len(b)])[0]))


if __name__ == "__main__":
    main()
