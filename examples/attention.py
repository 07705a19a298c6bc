"""Attention over sequences of different lengths: which word of one sentence looks like which.

    python examples/attention.py                  sentences and their translations

Each query of a sequence is compared with every key of the same sequence; a softmax makes weights
of the scores, and the weights mix the values. Padding to the longest sequence would compute mostly
nothing: here queries, keys and values are ragged, and so is the matrix of weights, a row for each
query. Sequences may be empty.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw

SENTENCES = (
    ("the water in the house is warm", "het water in het huis is warm"),
    ("my brother drinks cold milk", "mein Bruder trinkt gern jeden Tag kalte Milch"),
    ("the president of the national university", "le président de l'université nationale"),
    ("music", "la musica"),
)
EXTENT, SHARPNESS = 128, 12.0  # of a word's vector; how much of a likeness is enough
SHADES = " .:-=+*#%@"


def softmax(row: Any) -> Any:
    """Positive weights that add up to one; the largest exponent is 0, so none overflows."""
    powers = fw.exp(row - fw.reduce(fw.maximum, -fw.inf, row))
    return powers / fw.sum(powers)


@fw.jit
def ragged_softmax(rows: Any) -> Any:
    """The softmax of each row."""
    return fw.map(softmax, rows)


@fw.jit
def attention(queries: Any, keys: Any, values: Any) -> Any:
    """For each query the weights of its sequence's keys, a row, and its mix of their values."""
    sequences = fw.replicated_iota(queries.lengths)
    extent = queries.values.shape[1]

    def keys_of(query: Any) -> Any:
        return keys.lengths[query[1]]

    def score(query: Any, k: Any) -> Any:
        vector, sequence = query
        key = keys.values[keys.offsets[sequence] + k]
        return fw.sum(vector * key) / fw.sqrt(extent)

    sources = (queries.values, sequences)
    scores = fw.expand(keys_of, score, sources)
    weights = fw.map(softmax, fw.ragged(scores, lengths=fw.map(keys_of, sources)))

    def mix(row: Any, sequence: Any) -> Any:
        places = values.offsets[sequence] + fw.iota(row.shape[0])
        return fw.sum(fw.map(lambda weight, at: weight * values.values[at], row, places), axis=0)

    return weights, fw.map(mix, weights, sequences)


@fw.jit
def vectors(words: Any) -> Any:
    """How often each pair of neighbouring letters is in a word, as a vector of length one."""
    letters, owners = words.values, fw.replicated_iota(words.lengths)
    before = fw.where(words.flags, 0, fw.rotate(letters, -1)).astype(fw.i64)
    count = words.lengths.shape[0]
    counts = fw.permute(
        fw.add, fw.full((count, EXTENT), 0.0), (owners, (31 * before + letters) % EXTENT), 1.0
    )
    return fw.map(lambda row: row / fw.sqrt(fw.sum(row * row)), counts)


def embedded(sentences: list[str]) -> fw.Ragged:
    """Sentences as sequences of vectors, one for each word."""
    words = [word.encode() for sentence in sentences for word in sentence.lower().split()]
    letters = fw.ragged(
        np.frombuffer(b"".join(words), np.uint8), lengths=[len(word) for word in words]
    )
    return fw.ragged(vectors(letters), lengths=[len(sentence.split()) for sentence in sentences])


def numpy_attention(queries: Any, keys: Any, values: Any) -> tuple[list[np.ndarray], np.ndarray]:
    """The same in NumPy, sequence by sequence."""
    weights, mixes = [], []
    for query, key, value in zip(*(map(np.asarray, part) for part in (queries, keys, values))):
        scores = query @ key.T / np.sqrt(query.shape[1])
        powers = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
        weights.append(powers / powers.sum(axis=1, keepdims=True))
        mixes.append(weights[-1] @ value)
    return weights, np.concatenate(mixes)


def is_close(ours: Any, numpys: Any) -> bool:
    """Whether two results are equal but for rounding."""
    weights = np.concatenate([part.ravel() for part in numpys[0]])
    pairs = ((ours[0].values, weights), (ours[1], numpys[1]))
    return all(np.allclose(mine, theirs, rtol=1e-4, atol=1e-5) for mine, theirs in pairs)


def table(sentence: str, translation: str, rows: list[np.ndarray]) -> str:
    """The weights of a sentence's words: the darker a square, the more it is looked at."""
    margin = max(map(len, sentence.split())) + 2
    lines = [" " * margin + "  ".join(translation.split())]
    for word, row in zip(sentence.split(), rows, strict=True):
        cells = (
            (3 * SHADES[int(weight * (len(SHADES) - 1) + 0.5)]).center(len(over))
            for weight, over in zip(row, translation.split(), strict=True)
        )
        lines.append(f"{word:>{margin - 2}}  {'  '.join(cells)}".rstrip())
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Print the weights of each pair of sentences, compare with NumPy: 0 when they agree."""
    queries = embedded([sentence for sentence, _ in SENTENCES])
    keys = embedded([translation for _, translation in SENTENCES])
    sharp = fw.ragged(SHARPNESS * np.sqrt(EXTENT) * queries.values, offsets=queries.offsets)
    found = attention(sharp, keys, keys)
    rows = [np.asarray(row) for row in found[0]]
    for (sentence, translation), start, stop in zip(
        SENTENCES, queries.offsets, queries.offsets[1:], strict=False
    ):
        print(table(sentence, translation, rows[start:stop]) + "\n")
    padded = len(SENTENCES) * int(np.max(queries.lengths)) * int(np.max(keys.lengths))
    print(f"{found[0].values.size} weights; {padded} if all sentences were as long as the longest")
    return 0 if is_close(found, numpy_attention(sharp, keys, keys)) else 1


def sequences(number: int, extent: int = 32) -> tuple[fw.Ragged, fw.Ragged, fw.Ragged]:
    """Random queries, keys and values; few sequences are long."""
    draw = np.random.default_rng(2017)

    def part(lengths: np.ndarray) -> fw.Ragged:
        return fw.ragged(draw.random((lengths.sum(), extent), np.float32), lengths=lengths)

    queries, keys = (np.minimum(draw.zipf(1.5, number), 200) for _ in range(2))
    return part(queries), part(keys), part(keys)


def cases(number: int = 2000) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """For the demo: program, input, the job here, the same in NumPy, whether they agree."""
    given = sequences(number)
    yield (
        "ragged attention",
        f"{number:,} sequences of 1 to 200 vectors",
        lambda: attention(*given),
        lambda: numpy_attention(*given),
        is_close,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
