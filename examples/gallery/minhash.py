"""MinHash: a signature of 64 numbers for each document; like documents agree in many.

    python examples/gallery/minhash.py

For each hash function the least hash of any shingle of the document: nothing but sums of rows.

Before: a loop in Python, compiled by Numba.
"""

import numpy as np

import flatweave as fw

PEER = "Numba"


@fw.jit
def program(shingles, lengths, factors, offsets):
    """The signature of each document, for hash functions x -> (x * factor + offset) >> 32."""

    def signature(document):
        def least(factor, offset):
            hashes = fw.map(lambda x: ((x * factor + offset) >> 32).astype(fw.u32), document)
            return fw.min(hashes, initial=2**32 - 1)

        return fw.map(least, factors, offsets)

    return fw.map(signature, fw.ragged(shingles, lengths=lengths))


def before(shingles, lengths, factors, offsets):
    """Three loops."""
    found, start = np.full((len(lengths), len(factors)), 2**32 - 1, np.uint32), 0
    for document, length in enumerate(lengths):
        for k in range(len(factors)):
            least = np.uint64(2**32 - 1)
            for i in range(start, start + length):
                least = min(least, (shingles[i] * factors[k] + offsets[k]) >> np.uint64(32))
            found[document, k] = least
        start += length
    return found


def inputs(size=10_000):
    """Documents of up to 200 shingles, and 64 hash functions."""
    draw = np.random.default_rng(14)
    lengths = draw.integers(0, 201, size)
    words = draw.integers(0, 2**63, lengths.sum() + 128, np.uint64)
    return words[128:], lengths, words[:64] | np.uint64(1), words[64:128]


def main():
    """How alike three documents are."""
    texts = [{"to", "be", "or", "not"}, {"to", "bee", "or", "not"}, {"other"}]
    shingles = [np.uint64(int.from_bytes(word.encode())) for text in texts for word in text]
    a, b, c = np.asarray(program(np.array(shingles), [len(t) for t in texts], *inputs(1)[2:]))
    print(f"first and second: {np.mean(a == b):.2f}, first and third: {np.mean(a == c):.2f}")


if __name__ == "__main__":
    main()
