"""permute by every variant that divides it, and by the one that is chosen: a heat map.

    python -m bench.scatter_variants [--only f64 ..] [--raw FILE] [--save]

2^22 elements are added at places that are all equally likely, or follow Zipf's law, or are sorted,
of 2^4 to 2^26 places of several types. A cell is the chosen variant's time over the best one's, and
the best one's first letters: owner, private, partition. `--save` keeps both in bench/results.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

import flatweave as fw
from bench.machine import slug
from flatweave.base.config import config

ELEMENTS = 1 << 22
EXTENTS = [1 << bits for bits in range(4, 27, 2)]
SKEWS = ("uniform", "zipf", "sorted")
TYPES = ("i32", "f32", "f64", "pair")
VARIANTS = ("owner", "private", "partition")
CHOSEN = "chosen"
THREADS = (1, 2)
BOUND = 1.15
ROUNDS = 5
LEFT, TOP, WIDTH, HEIGHT = 130, 24, 74, 22
Cell = dict[str, float]
Table = dict[str, dict[int, Cell]]


def places(skew: str, extent: int) -> np.ndarray[Any, Any]:
    """Where elements go."""
    random = np.random.default_rng(31)
    if skew == "zipf":
        return (random.zipf(1.2, ELEMENTS) - 1) % extent
    at = random.integers(0, extent, ELEMENTS)
    return np.sort(at) if skew == "sorted" else at


def program(kind: str) -> Callable[..., Any]:
    """Sums, or pairs of a sum and a maximum."""

    def both(a: Any, b: Any) -> Any:
        return a[0] + b[0], fw.maximum(a[1], b[1])

    if kind == "pair":
        return fw.jit(lambda dest, at, xs: fw.permute(both, dest, at, xs))
    return fw.jit(lambda dest, at, xs: fw.permute(fw.add, dest, at, xs))


def arrays(kind: str, length: int) -> Any:
    """Elements of a type."""
    ones = np.arange(length) % 7
    if kind == "pair":
        return ones.astype(np.float64), ones.astype(np.int32)
    return ones.astype({"i32": np.int32, "f32": np.float32, "f64": np.float64}[kind])


def calls(kind: str, skew: str, extent: int, compiled: dict[str, Any]) -> Iterator[Any]:
    """Each variant's call, and that of the chosen one."""
    args = arrays(kind, extent), places(skew, extent), arrays(kind, ELEMENTS)
    for name in (CHOSEN, *VARIANTS):
        if name == "private" and extent > 1 << 20:
            continue  # copies that take longer to clear than all else
        f = compiled.setdefault(f"{kind} {name}", program(kind))

        def call(f: Any = f, name: str = name) -> Any:
            with fw.schedule(permute=None if name == CHOSEN else name):
                return f(*args)

        yield name, call


def measure(kind: str, skew: str, extent: int, threads: int, compiled: dict[str, Any]) -> Cell:
    """The least seconds of each."""
    found: dict[str, list[float]] = {}
    with config.scoped(threads=threads):
        ways = dict(calls(kind, skew, extent, compiled))
        for call in ways.values():
            call()
        for _ in range(ROUNDS):
            for name, call in ways.items():
                start = time.perf_counter()
                call()
                found.setdefault(name, []).append(time.perf_counter() - start)
    return {name: min(times) for name, times in found.items()}


def ratio(cell: Cell) -> float:
    """The chosen variant's time over the best one's."""
    return cell[CHOSEN] / min(cell.values())


def best(cell: Cell) -> str:
    """The fastest variant."""
    return min((name for name in cell if name != CHOSEN), key=lambda name: cell[name])


def missed(table: Table) -> list[str]:
    """Where the choice is not near the best."""
    return [
        f"{name}, {extent:,} places: {ratio(cell):.2f} of {best(cell)}"
        for name, cells in table.items()
        for extent, cell in cells.items()
        if ratio(cell) > BOUND
    ]


def markdown(table: Table) -> str:
    """The ratios, and which variant is the best."""
    lines = ["| | " + " | ".join(f"2^{e.bit_length() - 1}" for e in EXTENTS) + " |",
             "|---" * (len(EXTENTS) + 1) + "|"]  # fmt: skip
    for name, cells in table.items():
        texts = [f"{ratio(cells[e]):.2f} {best(cells[e])[:3]}" for e in EXTENTS if e in cells]
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    return "\n".join([*lines, "", *(f"- missed: {line}" for line in missed(table)), ""])


def heat_map(table: Table) -> Image.Image:
    """Green where the choice is the best, red at twice its time."""
    size = LEFT + len(EXTENTS) * WIDTH, TOP + len(table) * HEIGHT
    picture = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(picture)
    for column, extent in enumerate(EXTENTS):
        draw.text((LEFT + column * WIDTH + 20, 6), f"2^{extent.bit_length() - 1}", fill="black")
    for row, (name, cells) in enumerate(table.items()):
        y = TOP + row * HEIGHT
        draw.text((8, y + 5), name, fill="black")
        for column, extent in enumerate(EXTENTS):
            if extent not in cells:
                continue
            part = min(ratio(cells[extent]) - 1, 1.0)
            colour = int(255 * min(1, 2 * part)), int(255 * min(1, 2 * (1 - part))), 90
            x = LEFT + column * WIDTH
            draw.rectangle((x, y, x + WIDTH - 2, y + HEIGHT - 2), fill=colour)
            text = f"{ratio(cells[extent]):.2f} {best(cells[extent])[:3]}"
            draw.text((x + 10, y + 5), text, fill="black")
    return picture


def main() -> None:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=TYPES, choices=TYPES)
    parser.add_argument("--save", action="store_true", help="keep the results")
    parser.add_argument("--raw", type=Path, help="a file of seconds, to go on with and to draw")
    options = parser.parse_args()
    raw = options.raw
    table: Table = {}
    if raw is not None and raw.exists():
        for name, cells in json.loads(raw.read_text(encoding="utf-8")).items():
            table[name] = {int(extent): cell for extent, cell in cells.items()}
    compiled: dict[str, Any] = {}
    for kind in options.only:
        for skew in SKEWS:
            for threads in THREADS:
                table[f"{kind} {skew} {threads}"] = {
                    extent: measure(kind, skew, extent, threads, compiled) for extent in EXTENTS
                }
    print(markdown(table))
    if raw is not None:
        raw.write_text(json.dumps(table), encoding="utf-8")
    if options.save:
        name = f"{datetime.now(UTC):%Y-%m-%d}-{slug()}-scatter-variants"
        folder = Path(__file__).resolve().parent / "results"
        title = f"# permute by its variants, {ELEMENTS:,} elements; types, skew, threads\n\n"
        (folder / f"{name}.md").write_text(title + markdown(table), encoding="utf-8")
        heat_map(table).save(folder / f"{name}.png")


if __name__ == "__main__":
    main()
