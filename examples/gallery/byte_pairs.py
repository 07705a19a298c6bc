"""Byte pairs: a text as tokens, in the order of merges that a language model has learned.

    python examples/gallery/byte_pairs.py

All words are encoded at once. In each round every word merges its pair of the least rank wherever
that occurs, from left to right. In runs such as "aaaa" every second pair is merged: a pair is where
the one before is not, which is a function from one bool to another, so a scan finds it.

Before: a loop over words in Python, compiled by Numba.
"""

from collections import Counter

import numpy as np

import flatweave as fw

PEER = "Numba"

NEVER = 1 << 30


@fw.jit
def program(text, ranks):
    """The tokens; `ranks[a, b]` is the rank of the merge of two tokens to one, 256 + rank, or
    NEVER. A space begins a word."""
    space = text == ord(" ")
    first = fw.iota(text.shape[0]) == 0

    def then(f, g):  # of two functions from a bool to a bool, as their values for False and True
        return fw.where(f[0], g[1], g[0]), fw.where(f[1], g[1], g[0])

    def merged(state):
        tokens, begins, _ = state
        after = fw.shift(tokens, 1)
        pairs = ~fw.shift(begins, 1, True)
        rank = fw.where(pairs, fw.map(lambda a, b: ranks[a, b], tokens, after), NEVER)
        word = fw.cumsum(begins) - 1
        least = fw.segmented_reduce(fw.minimum, NEVER, begins, rank)
        hit = (rank < NEVER) & (rank == least[word])
        taken, _ = fw.scan(then, (False, True), (hit, fw.zeros(hit.shape, bool)))
        tokens = fw.where(taken, 256 + rank, tokens)
        gone = fw.shift(taken, -1, False)
        kept = fw.filter(lambda token: ~token[2], (tokens, begins, gone))
        return kept[0], kept[1], fw.any(taken)

    start = text.astype(fw.i32), space | first, text.shape[0] > 0
    return fw.while_loop(lambda state: state[2], merged, start)[0]


def before(text, ranks):
    """Word after word, the best pair of each again and again."""
    out = np.empty(len(text), np.int32)
    found = start = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and text[end] != 32:
            continue
        size = end - start
        out[found : found + size] = text[start:end]
        while True:
            best = NEVER
            for i in range(found, found + size - 1):
                best = min(best, ranks[out[i], out[i + 1]])
            if best == NEVER:
                break
            put = i = found
            while i < found + size:
                if i + 1 < found + size and ranks[out[i], out[i + 1]] == best:
                    out[put] = 256 + best
                    i += 1
                else:
                    out[put] = out[i]
                i += 1
                put += 1
            size = put - found
        found, start = found + size, end
    return out[:found]


def learned(text, merges):
    """The most frequent pairs of words' tokens, each merged before the next one is looked for."""
    ranks = np.full((256 + merges, 256 + merges), NEVER, np.int32)
    words = Counter(text.tobytes().replace(b" ", b"\0 ").split(b"\0"))
    parts = [(list(word), number) for word, number in words.items()]
    for rank in range(merges):
        pairs = Counter()
        for word, number in parts:
            for pair in zip(word, word[1:], strict=False):
                pairs[pair] += number
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        ranks[best] = rank
        for word, _ in parts:
            for i in range(len(word) - 1, 0, -1):
                if tuple(word[i - 1 : i + 1]) == best:
                    word[i - 1 : i + 1] = [256 + rank]
    return ranks


def inputs(size=1_000_000):
    """Words of a language, and the merges of a part of them."""
    draw = np.random.default_rng(40)
    parts = [b"ing", b"er", b"th", b"aa", b"on", b"st", b"e", b"a", b"r", b"qu", b"z"]
    words = [b"".join(draw.choice(parts, 1 + k % 5)) for k in range(2000)]
    chosen = np.minimum(draw.zipf(1.2, size // 8 + 1), len(words)) - 1
    text = np.frombuffer(b" ".join(words[k] for k in chosen)[:size], np.uint8)
    return text, learned(text[:20_000], 100)


def main():
    """The merges of "aaaa" are those of its halves."""
    text = np.frombuffer(b"aaaa aaa banana", np.uint8)
    print(program(text, learned(text, 3)).tolist())


if __name__ == "__main__":
    main()
