"""Word count: how often each word is there, over many text files in chunks.

    python examples/cluster word_count

A word's letters are folded to a number where it stands: a scan that begins anew at each word, and
does not mind where chunks are cut. Equal numbers meet by sorting, and
are counted between their first and their last one.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import flatweave as fw

BASE = 0x9E3779B97F4A7C15  # odd: a word is a polynomial in it, modulo 2^64


def join(a: Any, b: Any) -> Any:
    """Two successive pieces of a word: their polynomials, and powers of the base."""
    return a[0] * b[1] + b[0], a[1] * b[1]


@fw.jit
def program(text: Any) -> Any:
    """Each word's number, and how often it is there; in the order of the numbers."""
    inside = text > ord(" ")
    starts = inside & ~fw.shift(inside, -1, False)
    ends = inside & ~fw.shift(inside, 1, False)
    letters = fw.map(lambda c: (c.astype(fw.u64), fw.u64(BASE)), text)
    hashes, _ = fw.segmented_scan(join, (fw.u64(0), fw.u64(1)), starts, letters)
    words = fw.sort(hashes[ends])
    changes = words[1:] != words[:-1]
    first = fw.concat([fw.full(fw.minimum(words.shape[0], 1), True), changes])
    ones = fw.full(words.shape[0], 1)
    return words[first], fw.segmented_reduce(fw.add, 0, first, ones)


def written(folder: Path, files: int, words: int) -> list[Path]:
    """Files of random words, a few of which are frequent."""
    draw = np.random.default_rng(12)
    known = ["".join(map(chr, draw.integers(97, 123, 1 + k % 9))) for k in range(20_000)]
    paths = [folder / f"{k}.txt" for k in range(files)]
    for path in paths:
        chosen = np.minimum(draw.zipf(1.3, words), len(known)) - 1
        path.write_text(" ".join(known[k] for k in chosen) + "\n", encoding="ascii")
    return paths


def cases(folder: Path, quick: bool) -> Iterator[tuple[str, str, Callable, Callable]]:
    """What the demo runs: program, input, the job on chunks, the same on one machine."""
    files, words = (3, 300) if quick else (8, 200_000)
    paths = written(folder, files, words)
    text = fw.Chunked.open(paths, rows=6 * words)  # a byte is a row
    yield (
        "word count",
        f"{files} files, {files * words:,} words",
        lambda: program(text),
        lambda: program(np.concatenate([np.fromfile(path, np.uint8) for path in paths])),
    )
