"""Text in rows of different lengths: where one is found in another, and how far two words differ.

    python examples/nests words

The edit distance of two words is the least number of letters to insert, leave out or replace. A row
of its table depends on the row before and on itself from left to right: a scan of minima.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import flatweave as fw

FAR = 1 << 30


def found(text: Any, pattern: Any) -> Any:
    """The indices in a text where a pattern begins."""
    size = pattern.shape[0]

    def begins(place: Any) -> Any:
        return fw.all(fw.map(lambda j: text[place + j] == pattern[j], fw.iota(size)))

    return fw.filter(begins, fw.iota(fw.maximum(text.shape[0] - size + 1, 0)))


@fw.jit
def places(texts: Any, patterns: Any) -> Any:
    """For each text the indices of its pattern."""
    return fw.map(found, texts, patterns)


def distance(a: Any, b: Any) -> Any:
    """The edit distance of two words."""
    places = fw.iota(b.shape[0] + 1, fw.i32)

    def turn(i: Any, above: Any) -> Any:
        replaced = above[:-1] + (b != a[i]).astype(fw.i32)
        best = fw.minimum(above[1:] + 1, replaced)
        # inserting costs 1 per position: minus the position, it is the minimum of all to the left
        return fw.scan(fw.minimum, FAR, fw.concat([above[:1] + 1, best]) - places) + places

    return fw.fori_loop(0, a.shape[0], turn, places)[b.shape[0]]


@fw.jit
def distances(first: Any, second: Any) -> Any:
    """The edit distance of each pair of words."""
    return fw.map(distance, first, second)


def rows_of(words: Sequence[str]) -> fw.Ragged:
    """The letters of words, one in each row."""
    letters = np.frombuffer("".join(words).encode("latin-1"), np.uint8)
    return fw.ragged(letters, lengths=np.array([len(word) for word in words], np.int64))


def plain_places(text: str, pattern: str) -> list[int]:
    """Where a pattern begins."""
    return [i for i in range(len(text) - len(pattern) + 1) if text.startswith(pattern, i)]


def plain_distance(a: str, b: str) -> int:
    """The edit distance, one letter after the other."""
    above = list(range(len(b) + 1))
    for x in a:
        row = [above[0] + 1]
        for j, y in enumerate(b):
            row.append(min(above[j + 1] + 1, above[j] + (x != y), row[j] + 1))
        above = row
    return above[-1]


def some_words(number: int, longest: int, letters: str = "abcd") -> list[str]:
    """Random words, some of them empty."""
    draw = np.random.default_rng(longest)
    lengths = draw.integers(0, longest + 1, number)
    return ["".join(draw.choice(list(letters), length)) for length in lengths]


def cases(quick: bool) -> Iterator[tuple[str, str, Callable, Callable, Callable]]:
    """Program, input, the job here, the same in plain Python, whether they agree."""
    number = 50 if quick else 5000
    first, second = some_words(number, 10), some_words(number, 12)
    a, b = rows_of(first), rows_of(second)
    yield (
        "edit distances",
        f"{number:,} pairs of words",
        lambda: distances(a, b),
        lambda: [plain_distance(x, y) for x, y in zip(first, second, strict=True)],
        np.array_equal,
    )
    texts, patterns = some_words(number, 100), some_words(number, 3)
    ta, pa = rows_of(texts), rows_of(patterns)
    yield (
        "patterns in texts",
        f"{number:,} texts, each with its own",
        lambda: places(ta, pa),
        lambda: [plain_places(x, y) for x, y in zip(texts, patterns, strict=True)],
        lambda ours, plain: ours.tolist() == plain,
    )
