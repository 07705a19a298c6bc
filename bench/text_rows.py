"""Rows of `bench.tables` about text: 100 MB of it, words of about six letters in lines of fifty."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import flatweave as fw
from bench.table_rows import Row, arrays, installed, pl, reads

SIZE = 100_000_000


def random_lines(size: int, rng: np.random.Generator) -> fw.Strings:
    """Letters, about one comma in eight, in lines of up to a hundred bytes."""
    data = rng.integers(ord("a"), ord("z") + 1, size).astype(np.uint8)
    data[rng.random(size) < 0.12] = ord(",")
    ends = np.sort(rng.integers(0, size, size // 50))
    return fw.Strings(fw.ragged(data, offsets=np.concatenate([[0], ends, [size]])))


def parts(found: Any) -> list[Any]:
    """The bytes of rows of strings, ours or of polars, and where rows begin."""
    if isinstance(found, fw.Ragged):
        return [*arrays(found.values.bytes), np.asarray(found.offsets)]
    lengths = found.list.len().to_numpy()
    return [*arrays(fw.Strings(found.explode()).bytes), np.concatenate([[0], np.cumsum(lengths)])]


def totals(found: Any) -> list[Any]:
    """Keys as bytes and their sums."""
    keys, sums = found if isinstance(found, tuple) else (found["k"], found["x"])
    strings = fw.Strings(keys)
    order = np.asarray(fw.argsort(strings))
    return [*arrays(strings[order].bytes), np.asarray(sums)[order]]


def grouped(keys: Any, x: Any) -> Any:
    """The sum of each key."""
    groups = fw.group_by(keys, x)
    return groups.keys, groups.agg(total="sum")["total"]


def by_polars(keys: Any, x: Any) -> Any:
    """The same by polars."""
    return pl.DataFrame({"k": keys, "x": x}).group_by("k").agg(pl.col("x").sum())


def text(scale: float) -> Iterator[Row]:
    """Methods of strings, and strings as keys."""
    rng = np.random.default_rng(38)
    size = int(SIZE * scale)
    lines = random_lines(size, rng)
    column = pl and pl.Series(lines)
    yield Row("split at commas", lambda: lines.split(","),
              installed(polars=(pl, lambda: column.str.split(","))), {"polars": 1.0},
              reads(ours=parts, polars=parts))  # fmt: skip
    yield Row("find three letters", lambda: lines.find("xyz"), installed(
        polars=(pl, lambda: column.str.find("xyz", literal=True).fill_null(-1).cast(pl.Int64))
    ), {"polars": 1.0})  # fmt: skip
    yield Row("count commas", lambda: lines.count(","), installed(
        polars=(pl, lambda: column.str.count_matches(",", literal=True))
    ), {})  # fmt: skip
    yield Row("lengths in code points", lambda: lines.len(),
              installed(polars=(pl, lambda: column.str.len_chars())), {})  # fmt: skip
    floats = fw.strings_of(np.round(rng.random(size // 8) * 1e4, 3))
    many = pl and pl.Series(floats)
    yield Row("read floats", lambda: floats.to_numbers(fw.f64),
              installed(polars=(pl, lambda: many.cast(pl.Float64))), {"polars": 1.0})  # fmt: skip
    whole = fw.strings_of(rng.integers(0, 10**8, size // 8))
    counted = pl and pl.Series(whole)
    yield Row("read integers", lambda: whole.to_numbers(fw.i64),
              installed(polars=(pl, lambda: counted.cast(pl.Int64))), {"polars": 1.0})  # fmt: skip
    for count in (1_000, 100_000):
        n = size // 50
        names = fw.strings_of(np.arange(count) * 7919 % 1_000_003)
        numbers, x = rng.integers(0, count, n), rng.random(n)
        keys = names[numbers]
        theirs = pl and pl.Series(keys)
        yield Row(f"sums by {count:,} strings", lambda k=keys, x=x: grouped(k, x), installed(
            polars=(pl, lambda k=theirs, x=x: by_polars(k, x))
        ), {"polars": 0.8}, reads(ours=totals, polars=totals))  # fmt: skip
