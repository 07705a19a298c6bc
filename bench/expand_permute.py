"""expand fused into permute: seven micro-benchmarks, every division of the work, one heat map each.

    python bench/expand_permute.py [--quick] [--save]

A source expands to a random number of elements, and each of these is added at a random index, or
dropped. (90% 0-10; 10% 3000-3500) -> 0.75R + 0.25N: nine sources of ten have 0 to 10 elements, the
tenth 3000 to 3500; three of four elements go to one of at most 1000 indices. Times are relative to
the program that is not fused: one compiled function expands, another permutes what it stored.
`--save` keeps the table and the picture in bench/results. After the benchmarks of Accelerate's
expand and permute (its fusion's description, section 5.1).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
from PIL import Image, ImageDraw

import flatweave as fw
from bench.machine import keep

PLACES = 1000
VARIANTS = ("per-source", "per-block", "2-per-block", "16-per-block", "128-per-block",
            "256-per-block", "512-per-block", "balanced")  # fmt: skip
CHOSEN = "chosen"
SIZES = (1, 10, 100, 1000, 10_000, 100_000, 200_000)
MOST_ELEMENTS = 40_000_000
LEAST_TIME = 0.02  # seconds for all samples of one program
Sizes = Callable[[np.random.Generator, int], np.ndarray[Any, Any]]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """How large sources are, as (probability, least, most), and which part of elements is kept."""

    parts: tuple[tuple[float, int, int], ...]
    kept: float = 1.0

    @property
    def name(self) -> str:
        """As in the literature."""
        parts = "; ".join(f"{p:.0%} {low}-{high}" for p, low, high in self.parts)
        kept = "R" if self.kept == 1 else f"{self.kept:g}R + {1 - self.kept:g}N"
        return f"({parts}) -> {kept}"

    def sizes(self, n: int) -> np.ndarray[Any, Any]:
        """The sizes of n sources."""
        rng = np.random.default_rng(n)
        kinds = rng.choice(len(self.parts), n, p=[p for p, _, _ in self.parts])
        found = np.zeros(n, np.int64)
        for kind, (_, low, high) in enumerate(self.parts):
            found[kinds == kind] = rng.integers(low, high + 1, int((kinds == kind).sum()))
        return found


BENCHMARKS = (
    Benchmark(((1.0, 0, 10),)),
    Benchmark(((1.0, 0, 100),)),
    Benchmark(((1.0, 1000, 3000),)),
    Benchmark(((0.75, 1, 1), (0.25, 0, 0))),
    Benchmark(((0.9, 0, 10), (0.1, 3000, 3500))),
    Benchmark(((0.9, 0, 10), (0.1, 3000, 3500)), 0.75),
    Benchmark(((1.0, 0, 10),), 0.01),
)


def scrambled(source: Any, i: Any) -> Any:
    """32 random bits of an element."""
    bits = source.astype(fw.u32) * fw.u32(0x9E3779B1) + i.astype(fw.u32) * fw.u32(0x85EBCA77)
    bits = (bits ^ (bits >> 16)) * fw.u32(0x45D9F3B)
    return bits ^ (bits >> 13)


def placed(kept: float) -> Callable[[Any, Any], Any]:
    """The index of an element among PLACES, or -1."""
    limit = fw.u32(min(round(kept * 2**32), 2**32 - 1))

    def get(source: Any, i: Any) -> Any:
        bits = scrambled(source[1], i)
        place = (bits % fw.u32(PLACES)).astype(fw.i32)
        return place if kept == 1 else fw.where(scrambled(i, source[1]) < limit, place, fw.i32(-1))

    return get


def programs(kept: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The program in one compiled function, and in two."""
    get = placed(kept)

    def size(source: Any) -> Any:
        return source[0]

    @fw.jit
    def fused(sizes: Any, numbers: Any) -> Any:
        places = fw.expand(size, get, (sizes, numbers))
        return fw.permute(fw.add, fw.full(PLACES, fw.i32(0)), places, fw.i32(1))

    @fw.jit
    def expanded(sizes: Any, numbers: Any) -> Any:
        places = fw.expand(size, get, (sizes, numbers))
        return places, fw.full(places.shape[0], fw.i32(1))

    @fw.jit
    def permuted(places: Any, values: Any) -> Any:
        return fw.permute(fw.add, fw.full(PLACES, fw.i32(0)), places, values)

    return fused, lambda sizes, numbers: permuted(*expanded(sizes, numbers))


def forced(variant: str, program: Callable[..., Any]) -> Callable[..., Any]:
    """A program under a variant."""
    def run(*args: Any) -> Any:
        with fw.schedule(expand=variant):
            return program(*args)

    return run


def seconds(candidates: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """The median time of each, all in every round."""
    counts = []
    for candidate in candidates:
        candidate()
        start = time.perf_counter()
        candidate()
        once = time.perf_counter() - start
        counts.append(max(1, min(50, int(LEAST_TIME / rounds / max(once, 1e-7)))))
    samples: list[list[float]] = [[] for _ in candidates]
    for turn in range(rounds):
        order = list(range(len(candidates)))
        for k in order[turn % len(order) :] + order[: turn % len(order)]:
            start = time.perf_counter()
            for _ in range(counts[k]):
                candidates[k]()
            samples[k].append((time.perf_counter() - start) / counts[k])
    return [statistics.median(times) for times in samples]


def measure(benchmark: Benchmark, n: int, rounds: int) -> dict[str, float]:
    """Each program's time over that of the unfused one."""
    sizes, numbers = benchmark.sizes(n), np.arange(n)
    fused, unfused = programs(benchmark.kept)
    names = [CHOSEN, *VARIANTS]
    runs = [fused, *(forced(variant, fused) for variant in VARIANTS), unfused]
    results = [np.asarray(run(sizes, numbers)) for run in runs]
    assert all(np.array_equal(result, results[0]) for result in results)
    candidates = [lambda run=run: run(sizes, numbers) for run in runs]
    *times, whole = seconds(candidates, rounds)
    return {name: found / whole for name, found in zip(names, times, strict=True)}


# -- what is shown --------------------------------------------------------------------------------

Table = dict[str, dict[int, dict[str, float]]]
CELL_WIDTH, CELL_HEIGHT, MARGIN, HEAD = 74, 22, 120, 44


def markdown(table: Table) -> str:
    """One table for each benchmark; the best of a column is bold."""
    lines = ["Times relative to the program that is not fused (1.00); lower is better.", ""]
    for name, columns in table.items():
        lines += [f"## {name}", "", "| sources | " + " | ".join(str(n) for n in columns) + " |",
                  "|---" * (len(columns) + 1) + "|"]  # fmt: skip
        for variant in (CHOSEN, *VARIANTS):
            cells = []
            for found in columns.values():
                text = f"{found[variant]:.2f}"
                cells.append(f"**{text}**" if found[variant] == min(found.values()) else text)
            lines.append(f"| {variant} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def colour(value: float) -> tuple[int, int, int]:
    """Green where fused is much faster, yellow at half, red at the unfused program's time."""
    part = min(max(value, 0.0), 1.5) / 1.5
    red = int(255 * min(1.0, 2 * part))
    return red, int(255 * min(1.0, 2 * (1 - part))), 90


def heat_map(table: Table) -> Image.Image:
    """A block of cells for each benchmark: variants down, sizes across."""
    names = (CHOSEN, *VARIANTS)
    height = HEAD + (len(names) + 1) * CELL_HEIGHT
    width = MARGIN + max(len(columns) for columns in table.values()) * CELL_WIDTH
    picture = Image.new("RGB", (2 * width + 20, height * ((len(table) + 1) // 2)), "white")
    draw = ImageDraw.Draw(picture)
    for number, (name, columns) in enumerate(table.items()):
        left, top = number % 2 * (width + 20), number // 2 * height
        draw.text((left + MARGIN, top + 8), name, fill="black")
        for row, variant in enumerate(names):
            y = top + HEAD - 14 + row * CELL_HEIGHT
            draw.text((left + 8, y + 5), variant, fill="black")
            for column, (n, found) in enumerate(columns.items()):
                x = left + MARGIN + column * CELL_WIDTH
                box = (x, y, x + CELL_WIDTH - 2, y + CELL_HEIGHT - 2)
                draw.rectangle(box, fill=colour(found[variant]))
                draw.text((x + 22, y + 5), f"{found[variant]:.2f}", fill="black")
                if row == len(names) - 1:
                    draw.text((x + 16, y + CELL_HEIGHT + 2), str(n), fill="black")
    return picture


def missed(table: Table) -> list[str]:
    """With 1,000 sources or more: fused at most half of unfused, chosen within 1.15 of the best."""
    found = []
    for name, columns in table.items():
        for n, times in columns.items():
            if n < 1000:
                continue
            if times[CHOSEN] > 0.5:
                found.append(f"{name}, {n} sources: {times[CHOSEN]:.2f} of unfused, needs 0.50")
            best = min(times.values())
            if times[CHOSEN] > 1.15 * best:
                ratio = times[CHOSEN] / best
                found.append(f"{name}, {n} sources: {ratio:.2f} of the best variant, needs 1.15")
    return found


def main() -> None:
    """Measure, print, and keep."""
    parser = argparse.ArgumentParser(description="expand fused into permute")
    parser.add_argument("--quick", action="store_true", help="three sizes, few rounds")
    parser.add_argument("--save", action="store_true", help="keep the results")
    args = parser.parse_args()
    wanted = (10, 1000, 100_000) if args.quick else SIZES
    table: Table = {}
    for benchmark in BENCHMARKS:
        fitting = [n for n in wanted if benchmark.sizes(n).sum() <= MOST_ELEMENTS]
        table[benchmark.name] = {n: measure(benchmark, n, 3 if args.quick else 7) for n in fitting}
        print(markdown({benchmark.name: table[benchmark.name]}), flush=True)
    for line in missed(table):
        print(f"missed: {line}")
    if args.save:
        lines = ["# expand fused into permute", "", markdown(table)]
        lines += [f"- missed: {line}" for line in missed(table)]
        page = keep("\n".join([*lines, ""]), "expand-permute")
        heat_map(table).save(page.with_suffix(".png"))
        print(f"kept in {page} and .png")


if __name__ == "__main__":
    main()
