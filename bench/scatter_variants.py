"""permute by every variant, and by the chosen one: a heat map.

    python -m bench.scatter_variants [--only f64 ..] [--raw FILE] [--seconds 80] [--save]

2^22 elements are added at indices that are all equally likely, or follow Zipf's law, or are sorted,
or are one index for 15 of 16 elements, of 2^4 to 2^26 destinations. A cell is the chosen
variant's time over the best one's, and the best one's first letters: owner, private, partition.
Variants alternate; the least time counts, and cells that miss the bound have more rounds. `--raw`
keeps the seconds of each cell, to go on from and to draw, so that `--seconds` may end a run at any
cell; `--save` keeps the tables and the picture in bench/results.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

import flatweave as fw
from bench.machine import keep, model
from flatweave.base.config import config
from flatweave.codegen.llvm.isa import here

ELEMENTS = 1 << 22
EXTENTS = [1 << bits for bits in range(4, 27, 2)]
SKEWS = ("uniform", "zipf", "sorted", "one")
TYPES = ("u8", "i32", "f32", "f64", "pair")
DTYPES = {"u8": np.uint8, "i32": np.int32, "f32": np.float32, "f64": np.float64}
VARIANTS = ("owner", "private", "partition")
ONE_PLACE = 15 / 16
"""Of all elements, if one index is hot."""
MOST_COPIED = 1 << 20
"""Places of private copies that are tried: larger ones take longer to clear than all else."""
CHOSEN = "chosen"
THREADS = (1, 2)
BOUND = 1.15
ROUNDS, MORE_ROUNDS = 5, 25
Cell = dict[str, float]
Table = dict[str, dict[int, Cell]]


@functools.lru_cache(maxsize=2)
def places(skew: str, extent: int) -> np.ndarray[Any, Any]:
    """Where elements go."""
    random = np.random.default_rng(31)
    if skew == "zipf":
        return (random.zipf(1.2, ELEMENTS) - 1) % extent
    at = random.integers(0, extent, ELEMENTS)
    if skew == "one":
        return np.where(random.random(ELEMENTS) < ONE_PLACE, extent // 2, at)
    return np.sort(at) if skew == "sorted" else at


def program(kind: str) -> Callable[..., Any]:
    """Sums, or pairs of a sum and a maximum."""

    def both(a: Any, b: Any) -> Any:
        return a[0] + b[0], fw.maximum(a[1], b[1])

    if kind == "pair":
        return fw.jit(lambda dest, at, xs: fw.permute(both, dest, at, xs))
    return fw.jit(lambda dest, at, xs: fw.permute(fw.add, dest, at, xs))


@functools.lru_cache(maxsize=4)
def arrays(kind: str, length: int) -> Any:
    """Elements of a type."""
    numbers = np.arange(length) % 7
    if kind == "pair":
        return numbers.astype(np.float64), numbers.astype(np.int32)
    return numbers.astype(DTYPES[kind])


def calls(kind: str, skew: str, extent: int, compiled: dict[str, Any]) -> Iterator[Any]:
    """Each variant's call, and that of the chosen one."""
    args = arrays(kind, extent), places(skew, extent), arrays(kind, ELEMENTS)
    for name in (CHOSEN, *VARIANTS):
        if name == "private" and extent > MOST_COPIED:
            continue
        f = compiled.setdefault(f"{kind} {name}", program(kind))

        def call(f: Any = f, name: str = name) -> Any:
            with fw.schedule(permute=None if name == CHOSEN else name):
                return f(*args)

        yield name, call


def measure(kind: str, skew: str, extent: int, threads: int, compiled: dict[str, Any]) -> Cell:
    """The least seconds of each; a variant that takes far longer than another is not run again."""
    found: Cell = {}
    with config.scoped(threads=threads):
        ways = dict(calls(kind, skew, extent, compiled))
        for call in ways.values():
            call()
        for turn in range(MORE_ROUNDS):
            if turn >= ROUNDS and ratio(found) <= BOUND:
                break
            for name, call in ways.items():
                if turn > 1 and found[name] > 2 * min(found.values()):
                    continue
                start = time.perf_counter()
                call()
                found[name] = min(found.get(name, 1e9), time.perf_counter() - start)
    return found


def ratio(cell: Cell) -> float:
    """The chosen variant's time over the best one's."""
    return cell[CHOSEN] / min(cell.values())


def best(cell: Cell) -> str:
    """The fastest variant."""
    return min((name for name in cell if name != CHOSEN), key=lambda name: cell[name])


def missed(table: Table) -> list[str]:
    """Where the choice is not near the best."""
    return [
        f"{name}, {extent:,} indices: {ratio(cell):.2f} of {best(cell)}"
        for name, cells in table.items()
        for extent, cell in cells.items()
        if ratio(cell) > BOUND
    ]


def summary(table: Table) -> str:
    """How near the choice is to the best in all cells, in one line."""
    found = sorted(ratio(cell) for cells in table.values() for cell in cells.values())
    near = sum(each <= BOUND for each in found)
    return (f"{len(found)} cells: {near} within {BOUND} of the best ({near / len(found):.1%}), "
            f"median {found[len(found) // 2]:.2f}, largest {found[-1]:.2f}")  # fmt: skip


def markdown(table: Table) -> str:
    """The ratios, and which variant is the best; then the milliseconds of the choice."""
    head = ["| | " + " | ".join(f"2^{e.bit_length() - 1}" for e in EXTENTS) + " |",
            "|---" * (len(EXTENTS) + 1) + "|"]  # fmt: skip
    lines, times = list(head), ["The choice, in ms:", "", *head]
    for name, cells in table.items():
        texts = [shown(cells[e]) if e in cells else "" for e in EXTENTS]
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
        texts = [f"{cells[e][CHOSEN] * 1e3:.1f}" if e in cells else "" for e in EXTENTS]
        times.append(f"| {name} | " + " | ".join(texts) + " |")
    said = [f"- missed: {line}" for line in missed(table)]
    return "\n".join([summary(table), "", *lines, "", *said, "", *times, ""])


def shown(cell: Cell) -> str:
    """The choice's time over the best's, and which that is."""
    return f"{ratio(cell):.2f} {best(cell)[:3]}"


CELL_WIDTH, CELL_HEIGHT, MARGIN, HEAD = 74, 22, 110, 40


def colour(value: float) -> tuple[int, int, int]:
    """Green where the choice is the best, yellow at the bound, red from 1.3 of its time on."""
    part = min(max((value - 1) / (2 * (BOUND - 1)), 0.0), 1.0)
    return int(255 * min(1.0, 2 * part)), int(230 * min(1.0, 2 * (1 - part))), 90


def heat_map(table: Table) -> Image.Image:
    """Types, skew and threads down, destinations across."""
    size = MARGIN + len(EXTENTS) * CELL_WIDTH, HEAD + len(table) * CELL_HEIGHT
    picture = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(picture)
    title = f"permute of {ELEMENTS:,} elements: the chosen variant's time over the best one's"
    draw.text((8, 6), title, fill="black")
    for column, extent in enumerate(EXTENTS):
        x = MARGIN + column * CELL_WIDTH
        draw.text((x + 24, HEAD - 14), f"2^{extent.bit_length() - 1}", fill="black")
        for row, cells in enumerate(table.values()):
            y = HEAD + row * CELL_HEIGHT
            if extent in cells:
                box = (x, y, x + CELL_WIDTH - 2, y + CELL_HEIGHT - 2)
                draw.rectangle(box, fill=colour(ratio(cells[extent])))
                draw.text((x + 13, y + 5), shown(cells[extent]), fill="black")
    for row, name in enumerate(table):
        draw.text((8, HEAD + row * CELL_HEIGHT + 5), name, fill="black")
    return picture


def read(raw: Path | None) -> Table:
    """The cells that were kept."""
    if raw is None or not raw.exists():
        return {}
    kept = json.loads(raw.read_text(encoding="utf-8"))
    return {name: {int(e): cell for e, cell in cells.items()} for name, cells in kept.items()}


def fill(table: Table, kinds: list[str], raw: Path | None, seconds: float) -> bool:
    """Measure the cells that are not there, for so long at most; whether all are there now."""
    start, compiled = time.monotonic(), dict[str, Any]()
    for kind, skew, threads in itertools.product(kinds, SKEWS, THREADS):
        table.setdefault(f"{kind} {skew} {threads}", {})
    for skew, extent, kind, threads in itertools.product(SKEWS, EXTENTS, kinds, THREADS):
        cells = table[f"{kind} {skew} {threads}"]
        if extent in cells:
            continue
        if time.monotonic() - start > seconds:
            return False
        cells[extent] = measure(kind, skew, extent, threads, compiled)
        if raw is not None:
            raw.write_text(json.dumps(table), encoding="utf-8")
    return True


def main() -> None:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=TYPES, choices=TYPES)
    parser.add_argument("--save", action="store_true", help="keep the results")
    parser.add_argument("--raw", type=Path, help="a file of seconds, to go on with and to draw")
    parser.add_argument("--seconds", type=float, default=1e9, help="end after so long")
    options = parser.parse_args()
    table = read(options.raw)
    whole = fill(table, list(options.only), options.raw, options.seconds)
    print(markdown(table))
    print("every cell is measured" if whole else "cells are left: run it again")
    if options.save:
        title = (f"# permute by its variants, {ELEMENTS:,} elements; types, skew, threads\n\n"
                 f"{model()}, {os.cpu_count()} cores, code for {here().name}.\n\n")  # fmt: skip
        page = keep(title + markdown(table), "scatter-variants")
        heat_map(table).save(page.with_suffix(".png"))


if __name__ == "__main__":
    main()
