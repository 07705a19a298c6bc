"""CSV statistics: count, sum, least and greatest value of each station, over many files in chunks.

    python examples/cluster csv_statistics

A line is `station,temperature`, for instance `17,-3.4`. Fields are folded to numbers in
place, by a scan that restarts after each comma and line end. Temperatures are counted in
tenths, so all sums are exact.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import flatweave as fw


def join(a: Any, b: Any) -> Any:
    """Two pieces of a number: digits, 10 to how many, and whether it is below 0."""
    return a[0] * b[1] + b[0], a[1] * b[1], a[2] | b[2]


def piece(byte: Any) -> Any:
    """One byte; a point, a comma and a line end change nothing."""
    is_digit = (byte >= ord("0")) & (byte <= ord("9"))
    digit = fw.where(is_digit, byte.astype(fw.i64) - ord("0"), 0)
    return digit, fw.where(is_digit, 10, 1), byte == ord("-")


def both(a: Any, b: Any) -> Any:
    """Statistics of two sets of temperatures together."""
    return a[0] + b[0], a[1] + b[1], fw.minimum(a[2], b[2]), fw.maximum(a[3], b[3])


@fw.jit
def program(text: Any, stations: Any) -> Any:
    """Of each station: how many temperatures, their sum, the least, the greatest, in tenths."""
    ends_line = text == ord("\n")
    ends_field = ends_line | (text == ord(","))
    starts = fw.shift(ends_field, -1, True)
    digits, _, below = fw.segmented_scan(join, (0, 1, False), starts, fw.map(piece, text))
    numbers = fw.where(below, -digits, digits)
    station, tenths = numbers[text == ord(",")], numbers[ends_line]
    ones = fw.map(lambda t: (1, t, t, t), tenths)
    return fw.histogram(stations, station, ones, both, (0, 0, 10_000, -10_000))


def written(folder: Path, files: int, lines: int, stations: int) -> list[Path]:
    """Files of lines."""
    draw = np.random.default_rng(3)
    paths = [folder / f"{k}.csv" for k in range(files)]
    for path in paths:
        drawn = zip(draw.integers(0, stations, lines), draw.normal(9, 12, lines), strict=True)
        text = "".join(f"{station},{value:.1f}\n" for station, value in drawn)
        path.write_text(text, encoding="ascii")
    return paths


def cases(folder: Path, quick: bool) -> Iterator[tuple[str, str, Callable, Callable]]:
    """What the demo runs: program, input, the job on chunks, the same on one machine."""
    files, lines, stations = (3, 200, 10) if quick else (8, 250_000, 400)
    paths = written(folder, files, lines, stations)
    text = fw.Chunked.open(paths, rows=8 * lines)  # a byte is a row
    yield (
        "CSV statistics",
        f"{files} files, {files * lines:,} lines",
        lambda: program(text, stations),
        lambda: program(np.concatenate([np.fromfile(path, np.uint8) for path in paths]), stations),
    )
