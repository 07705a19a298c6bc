"""Rows of `bench.tables` about text: 100 MB of it, words of about six letters in lines of fifty."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from typing import Any

import numpy as np

import flatweave as fw
from bench import table_loops
from bench.table_loops import numba
from bench.table_rows import Row, arrays, installed, pl, reads, sorted_columns

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
        some = fw.Nullable(keys, rng.random(n) < 0.95)
        nulls = pl and pl.Series(some)
        yield Row(f"sums by {count:,} strings and none", lambda k=some, x=x: grouped(k, x),
                  installed(polars=(pl, lambda k=nulls, x=x: by_polars(k, x))),
                  {"polars": 0.8}, reads(ours=known_totals, polars=known_totals))  # fmt: skip
    yield from joins(size // 50, rng)


def programs(scale: float) -> Iterator[Row]:
    """What is written with scans, filters and loops over bytes: programs of `examples/gallery` next
    to loops that one writes by hand, and to a reader of CSV."""
    module = lambda name: importlib.import_module(f"examples.gallery.{name}")  # noqa: E731
    csv, logs, merges = module("csv_columns"), module("log_lines"), module("byte_pairs")
    (table,) = csv.inputs(int(2_000_000 * scale))
    held = table.tobytes()
    yield Row("CSV columns with quotes", lambda: csv.program(table),
              installed(polars=(pl, lambda: pl.read_csv(
                  io.BytesIO(held), empty_string_is_null=False))),
              {"polars": 0.5}, reads(ours=_parts_of_columns, polars=_parts_of_columns))  # fmt: skip
    (log,) = logs.inputs(int(200_000 * scale))
    yield Row("log lines", lambda: logs.program(log),
              installed(numba=(numba, lambda: table_loops.log_lines(log))),
              {"numba": 2.0})  # fmt: skip
    words, ranks = merges.inputs(int(1_000_000 * scale))
    by_hand = table_loops.compiled()(merges.before)
    yield Row("byte pairs", lambda: [merges.program(words, ranks)],
              installed(numba=(numba, lambda: [by_hand(words, ranks)])),
              {"numba": 2.0})  # fmt: skip


def _parts_of_columns(found: Any) -> list[Any]:
    """Numbers as they are, and strings as bytes and offsets."""
    columns = found if isinstance(found, tuple) else found.get_columns()
    numbers = [np.asarray(column) for column in (columns[0], columns[2])]
    texts = (fw.Strings(column) for column in (columns[1], columns[3]))
    return [*numbers, *(part for column in texts for part in arrays(column.bytes))]


def known_totals(found: Any) -> list[Any]:
    """Keys as bytes and their sums, without the missing key, whose sum is last."""
    keys, sums = found if isinstance(found, tuple) else (found["k"], found["x"])
    keys, sums = fw.Nullable(keys), np.asarray(sums)
    valid = np.asarray(keys.valid)
    known = totals((keys.values[valid], sums[valid]))
    return [*known, sums[~valid]]


def pairs(found: Any) -> list[Any]:
    """The indices of both sides of a join, in their order."""
    if not isinstance(found, tuple):
        return sorted_columns("i", "j")(found)
    return [np.asarray(part) for part in found]


def joined(left: Any, right: Any) -> Any:
    """The pairs of an inner join."""
    join = fw.join(left, right)
    return join.left, join.right


def joins(n: int, rng: np.random.Generator) -> Iterator[Row]:
    """Inner joins of n keys with a tenth as many, of which nine in ten occur."""
    m = n // 10
    names = fw.strings_of(np.arange(m) * 7919 % 1_000_003)
    numbers = rng.integers(0, m + m // 10, n)
    strings = fw.concat([names, fw.strings_of(np.arange(2_000_000, 2_000_000 + m))])
    there = rng.random(n) < 0.95, rng.random(m) < 0.95
    sparse = np.arange(m) * 7919 * 10**9 + 3
    whole = sparse[numbers % m]
    for kind, left, right in (
        ("strings", strings[numbers], names),
        ("strings and none", fw.Nullable(strings[numbers], there[0]),
         fw.Nullable(names, there[1])),
        ("integers and none", fw.Nullable(whole, there[0]), fw.Nullable(sparse, there[1])),
    ):  # fmt: skip
        frames = pl and [
            pl.DataFrame({"k": pl.Series(key), name: np.arange(len(key))})
            for key, name in ((left, "i"), (right, "j"))
        ]
        yield Row(f"inner join, {kind}", lambda a=left, b=right: joined(a, b), installed(
            polars=(pl, lambda f=frames: f[0].join(f[1], on="k"))
        ), {"polars": 0.8}, reads(ours=pairs, polars=pairs))  # fmt: skip
    x = rng.random(n)
    for count in (1_000, 100_000):
        keys = fw.Nullable(rng.integers(0, count, n) * 7919 * 10**9, there[0])
        theirs = pl and pl.Series(keys)
        yield Row(f"sums by {count:,} integers and none", lambda k=keys: grouped(k, x), installed(
            polars=(pl, lambda k=theirs: by_polars(k, x))
        ), {"polars": 0.8}, reads(ours=sums_in_order, polars=sums_in_order))  # fmt: skip


def sums_in_order(found: Any) -> list[Any]:
    """The sums of the keys, ascending."""
    sums = found[1] if isinstance(found, tuple) else found["x"]
    return [np.sort(np.asarray(sums))]
