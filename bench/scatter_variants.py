"""permute by every variant that divides it, and by the one that is chosen: a heat map.

    python -m bench.scatter_variants [--only f64 ..] [--raw FILE] [--save]

2^22 elements are added at places that are all equally likely, or follow Zipf's law, or are sorted,
of 2^4 to 2^26 places of several types. A cell is the chosen variant's time over the best one's, and
the best one's first letters: owner, private, partition. Variants take turns; the least time counts.
`--raw` keeps seconds, to go on with and to draw; `--save` keeps both tables in bench/results.
"""

from __future__ import annotations

import argparse
import functools
import json
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import flatweave as fw
from bench.machine import slug
from flatweave.base.config import config

ELEMENTS = 1 << 22
EXTENTS = [1 << bits for bits in range(4, 27, 2)]
SKEWS = ("uniform", "zipf", "sorted")
TYPES = ("u8", "i32", "f32", "f64", "pair")
DTYPES = {"u8": np.uint8, "i32": np.int32, "f32": np.float32, "f64": np.float64}
VARIANTS = ("owner", "private", "partition")
MOST_COPIED = 1 << 20
"""Places of private copies that are tried: larger ones take longer to clear than all else."""
CHOSEN = "chosen"
THREADS = (1, 2)
BOUND = 1.15
ROUNDS = 4
Cell = dict[str, float]
Table = dict[str, dict[int, Cell]]


@functools.cache
def zipf() -> np.ndarray[Any, Any]:
    """Numbers of which k comes up as often as k^-1.2 says."""
    return np.random.default_rng(31).zipf(1.2, ELEMENTS) - 1


@functools.cache
def places(skew: str, extent: int) -> np.ndarray[Any, Any]:
    """Where elements go."""
    if skew == "zipf":
        return zipf() % extent
    at = np.random.default_rng(31).integers(0, extent, ELEMENTS)
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
    found: dict[str, float] = {}
    with config.scoped(threads=threads):
        ways = dict(calls(kind, skew, extent, compiled))
        for call in ways.values():
            call()
        for _ in range(ROUNDS):
            for name, call in ways.items():
                if found.get(name, 0.0) > 2 * min(found.values(), default=0.0):
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
        f"{name}, {extent:,} places: {ratio(cell):.2f} of {best(cell)}"
        for name, cells in table.items()
        for extent, cell in cells.items()
        if ratio(cell) > BOUND
    ]


def markdown(table: Table) -> str:
    """The ratios, and which variant is the best; then the milliseconds of the choice."""
    head = ["| | " + " | ".join(f"2^{e.bit_length() - 1}" for e in EXTENTS) + " |",
            "|---" * (len(EXTENTS) + 1) + "|"]  # fmt: skip
    lines, times = list(head), ["The choice, in ms:", "", *head]
    for name, cells in table.items():
        texts = [f"{ratio(cells[e]):.2f} {best(cells[e])[:3]}" for e in EXTENTS if e in cells]
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
        texts = [f"{cells[e][CHOSEN] * 1e3:.1f}" for e in EXTENTS if e in cells]
        times.append(f"| {name} | " + " | ".join(texts) + " |")
    said = [f"- missed: {line}" for line in missed(table)]
    return "\n".join([*lines, "", *said, "", *times, ""])


def draw(table: Table, path: Path) -> None:
    """Green where the choice is the best, red at one and a half times its time."""
    names = list(table)
    ratios = [[ratio(table[name][e]) if e in table[name] else np.nan for e in EXTENTS]
              for name in names]  # fmt: skip
    figure = Figure(figsize=(12, 1.5 + 0.3 * len(names)), layout="constrained")
    axes = figure.subplots()
    shown = axes.imshow(ratios, cmap="RdYlGn_r", vmin=1.0, vmax=1.5, aspect="auto")
    axes.set_xticks(range(len(EXTENTS)), [f"2^{e.bit_length() - 1}" for e in EXTENTS])
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("places of the destination")
    axes.set_title(f"permute of {ELEMENTS:,} elements: the chosen variant's time over the best's")
    for row, name in enumerate(names):
        for column, extent in enumerate(EXTENTS):
            if extent in table[name]:
                cell = table[name][extent]
                text = f"{ratio(cell):.2f} {best(cell)[:3]}"
                axes.text(column, row, text, ha="center", va="center", fontsize=8)
    figure.colorbar(shown, ax=axes, extend="max", pad=0.01)
    figure.savefig(path, dpi=80)


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
                name = f"{kind} {skew} {threads}"
                if name in table:
                    continue
                table[name] = {
                    extent: measure(kind, skew, extent, threads, compiled) for extent in EXTENTS
                }
                if raw is not None:
                    raw.write_text(json.dumps(table), encoding="utf-8")
    print(markdown(table))
    if options.save:
        name = f"{datetime.now(UTC):%Y-%m-%d}-{slug()}-scatter-variants"
        folder = Path(__file__).resolve().parent / "results"
        title = f"# permute by its variants, {ELEMENTS:,} elements; types, skew, threads\n\n"
        (folder / f"{name}.md").write_text(title + markdown(table), encoding="utf-8")
        draw(table, folder / f"{name}.png")


if __name__ == "__main__":
    main()
