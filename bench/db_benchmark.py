"""The questions of db-benchmark, next to polars and DuckDB.

    python -m bench.db_benchmark [GROUP ..] [--scale 0.1] [--cpu] [--save]

    groups     ten questions that group one table of 10^7 rows, 100 groups in each key column
    joins      five questions that join it with tables of 10, 10^4 and 10^7 rows

Tables, questions and their names are those of https://github.com/duckdblabs/db-benchmark: `id1` to
`id3` are strings, `id4` to `id6` integers, and `v1` to `v3` values. An answer of ours is a dict of
columns in arrays, as a table of the others is. Results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import flatweave as fw
from bench import pages
from bench.pages import THREADS
from bench.table_rows import Row, duckdb, installed, pl, reads
from bench.tables import lines_of

Columns = dict[str, Any]
GROUPS = 100
"""Groups of the key columns `id1`, `id2`, `id4` and `id5`; `id3` and `id6` have n / 100."""
SORTED = 2_000_000
"""Answers of more rows are compared by sums in which each row has a random weight."""


def texts(numbers: Any, digits: int) -> fw.Strings:
    """The strings id001, id002, and so on."""
    names = [f"id{number:0{digits}d}" for number in range(int(numbers.max(initial=0)) + 1)]
    return fw.Strings(names)[numbers]


def group_table(scale: float) -> Columns:
    """The table `G1_1e7_1e2_0_0`: nothing is missing, nothing sorted."""
    rng = np.random.default_rng(108)
    n = int(10**7 * scale)
    few = [rng.integers(1, GROUPS + 1, n) for _ in range(4)]
    many = [rng.integers(1, n // GROUPS + 1, n) for _ in range(2)]
    return {
        "id1": texts(few[0], 3), "id2": texts(few[1], 3), "id3": texts(many[0], 10),
        "id4": few[2], "id5": few[3], "id6": many[1],
        "v1": rng.integers(1, 6, n), "v2": rng.integers(1, 16, n),
        "v3": np.round(rng.random(n) * 100, 6),
    }  # fmt: skip


def join_tables(scale: float) -> dict[str, Columns]:
    """`x` of n rows, and tables of n / 10^6, n / 10^3 and n: nine in ten of each one's keys are in
    the other one, and no key is twice in these."""
    rng = np.random.default_rng(109)
    n = int(10**7 * scale)
    sizes = [max(10, n // 10**6), max(10, n // 10**3), n]

    def table(numbers: list[Any], value: str) -> Columns:
        names = {f"id{k + 4}": texts(column, 1) for k, column in enumerate(numbers)}
        rows = len(numbers[0])
        found = {f"id{k + 1}": column for k, column in enumerate(numbers)} | names
        return found | {value: np.round(rng.random(rows) * 100, 6)}

    def keys(size: int, count: int, k: int) -> list[Any]:
        """Columns of which the last has each key once."""
        columns = [rng.integers(1, m + 1, count) for m in sizes[:k]]
        return [*columns, rng.permutation(size)[:count] + 1 + size // 10]

    x = table([rng.integers(1, size + 1, n) for size in sizes], "v1")
    others = {name: table(keys(size, size, k), "v2")
              for k, (name, size) in enumerate(zip(("small", "medium", "big"), sizes, strict=True))}
    return {"x": x, **others}


def totals(table: Columns, keys: str, **wanted: Any) -> Columns:
    """Aggregates by key columns: of each result the column and what is computed of it."""
    values = sorted({column for column, _ in wanted.values()})
    names = keys.split()
    groups = fw.group_by(tuple(table[key] for key in names), *(table[name] for name in values))
    pairs = {name: (values.index(column), what) for name, (column, what) in wanted.items()}
    return dict(zip(names, groups.keys, strict=True)) | groups.agg(**pairs)


def spread(table: Columns) -> Columns:
    """The range of v1 and v2 by id3."""
    found = totals(table, "id3", most=("v1", "max"), least=("v2", "min"))
    return {"id3": found["id3"], "range_v1_v2": found["most"] - found["least"]}


def two_largest(table: Columns) -> Columns:
    """The two largest v3 by id6."""
    groups = fw.group_by(table["id6"], table["v3"])
    best, _ = groups.rows.top_k(2)
    return {"id6": fw.repeat(groups.keys, best.lengths), "largest2_v3": best.values}


def squared_correlation(table: Columns) -> Columns:
    """The square of the correlation of v1 and v2 by id2 and id4."""
    groups = fw.group_by((table["id2"], table["id4"]), table["v1"], table["v2"])
    one, other = groups.rows
    return {"id2": groups.keys[0], "id4": groups.keys[1], "r2": one.corr(other) ** 2}


def sums(values: str, what: str) -> Columns:
    """The same aggregate of several columns."""
    return {name: (name, what) for name in values.split()}


IDS = "id1 id2 id3 id4 id5 id6"
QUESTIONS: dict[str, tuple[Callable[[Columns], Columns], str]] = {
    "sum v1 by id1": (lambda t: totals(t, "id1", **sums("v1", "sum")), "id1, sum(v1) v1"),
    "sum v1 by id1:id2": (
        lambda t: totals(t, "id1 id2", **sums("v1", "sum")), "id1, id2, sum(v1) v1"),
    "sum v1 mean v3 by id3": (
        lambda t: totals(t, "id3", v1=("v1", "sum"), v3=("v3", "mean")),
        "id3, sum(v1) v1, mean(v3) v3"),
    "mean v1:v3 by id4": (
        lambda t: totals(t, "id4", **sums("v1 v2 v3", "mean")),
        "id4, mean(v1) v1, mean(v2) v2, mean(v3) v3"),
    "sum v1:v3 by id6": (
        lambda t: totals(t, "id6", **sums("v1 v2 v3", "sum")),
        "id6, sum(v1) v1, sum(v2) v2, sum(v3) v3"),
    "median v3 sd v3 by id4 id5": (
        lambda t: totals(t, "id4 id5", median_v3=("v3", "median"), sd_v3=("v3", "std")),
        "id4, id5, median(v3) median_v3, stddev(v3) sd_v3"),
    "max v1 - min v2 by id3": (spread, "id3, max(v1) - min(v2) range_v1_v2"),
    "largest two v3 by id6": (two_largest, ""),
    "regression v1 v2 by id2 id4": (squared_correlation, "id2, id4, pow(corr(v1, v2), 2) r2"),
    "sum v3 count by id1:id6": (
        lambda t: totals(t, IDS, v3=("v3", "sum"), count=("v1", "count")),
        "id1, id2, id3, id4, id5, id6, sum(v3) v3, count(*) count"),
}  # fmt: skip
"""What we do, and what DuckDB selects, grouped by its columns that are keys."""


def polars_questions() -> dict[str, Callable[[Any], Any]]:
    """The same by polars."""
    c = pl.col
    r2 = (pl.corr("v1", "v2") ** 2).alias("r2")
    found = [
        lambda t: t.group_by("id1").agg(c("v1").sum()),
        lambda t: t.group_by("id1", "id2").agg(c("v1").sum()),
        lambda t: t.group_by("id3").agg(c("v1").sum(), c("v3").mean()),
        lambda t: t.group_by("id4").agg(c("v1", "v2", "v3").mean()),
        lambda t: t.group_by("id6").agg(c("v1", "v2", "v3").sum()),
        lambda t: t.group_by("id4", "id5").agg(
            c("v3").median().alias("median_v3"), c("v3").std().alias("sd_v3")),
        lambda t: t.group_by("id3").agg((c("v1").max() - c("v2").min()).alias("range_v1_v2")),
        lambda t: t.group_by("id6").agg(c("v3").top_k(2).alias("largest2_v3")).explode(
            "largest2_v3"),
        lambda t: t.group_by("id2", "id4").agg(r2),
        lambda t: t.group_by(IDS.split()).agg(c("v3").sum(), pl.len().alias("count")),
    ]  # fmt: skip
    return dict(zip(QUESTIONS, found, strict=True))


LARGEST = """SELECT id6, largest2_v3 FROM (SELECT id6, v3 AS largest2_v3, row_number() OVER
(PARTITION BY id6 ORDER BY v3 DESC) AS position FROM t) WHERE position <= 2"""


def groups(scale: float) -> Iterator[Row]:
    """The ten questions that group."""
    table = group_table(scale)
    frame, base = frames({"t": table})
    for name, (question, selected) in QUESTIONS.items():
        ours = fw.jit(question)
        keys = ", ".join(key for key in IDS.split() if f"{key}," in selected)
        query = f"SELECT {selected} FROM t GROUP BY {keys}" if selected else LARGEST
        yield Row(
            name, lambda f=ours: f(table),
            installed(
                polars=(pl, lambda f=name: polars_questions()[f](frame["t"])),
                duckdb=(duckdb, lambda q=query: answered(base, q)),
            ),
            {}, reads(**dict.fromkeys(("ours", "polars", "duckdb"), fingerprint)),
        )  # fmt: skip


JOINS = {
    "small inner on int": ("small", "id1", "inner"),
    "medium inner on int": ("medium", "id2", "inner"),
    "medium outer on int": ("medium", "id2", "left"),
    "medium inner on factor": ("medium", "id5", "inner"),
    "big inner on int": ("big", "id3", "inner"),
}


def joined(x: Columns, other: Columns, key: str, how: str) -> Columns:
    """All columns of both tables; those of the right one that the left one has, too, by a new name.
    """
    pairs = fw.join(x[key], other[key], how)
    left, right = pairs.left, pairs.right
    found = {name: column[left] for name, column in x.items()}
    there = right >= 0
    for name, column in other.items():
        if name != key:
            taken = column[right if how == "inner" else fw.where(there, right, 0)]
            named = f"{name}_right" if name in x else name
            found[named] = taken if how == "inner" else fw.Nullable(taken, there)
    return found


def joins(scale: float) -> Iterator[Row]:
    """The five questions that join."""
    tables = {
        name: {k: v if isinstance(v, fw.Strings) else fw.asarray(v) for k, v in table.items()}
        for name, table in join_tables(scale).items()
    }
    frame, base = frames(tables)
    x = tables["x"]
    for name, (other, key, how) in JOINS.items():
        ours = fw.jit(lambda x, y, key=key, how=how: joined(x, y, key, how))
        more = ", ".join(
            f"{other}.{column} AS {column}_right" if column in x else column
            for column in tables[other] if column != key
        )  # fmt: skip
        query = f"SELECT x.*, {more} FROM x {how} JOIN {other} USING ({key})"
        yield Row(
            name, lambda f=ours, other=other: f(x, tables[other]),
            installed(
                polars=(pl, lambda other=other, key=key, how=how: frame["x"].join(
                    frame[other], on=key, how=how)),
                duckdb=(duckdb, lambda q=query: answered(base, q)),
            ),
            {}, reads(**dict.fromkeys(("ours", "polars", "duckdb"), fingerprint)),
        )  # fmt: skip


def frames(tables: dict[str, Columns]) -> tuple[Any, Any]:
    """The tables as polars has them, and a database of DuckDB with them."""
    found = {name: pl.DataFrame({k: pl.Series(v) for k, v in table.items()})
             for name, table in tables.items()} if pl else None  # fmt: skip
    base = duckdb.connect() if duckdb and pl else None
    if base:
        base.execute(f"SET threads TO {THREADS}")
        for name, frame in found.items():
            base.register("given", frame)
            base.execute(f"CREATE TABLE {name} AS FROM given")
            base.unregister("given")
    return found, base


def answered(base: Any, query: str) -> Any:
    """The database, with the answer as its table `answer`, as db-benchmark keeps it."""
    base.execute(f"CREATE OR REPLACE TABLE answer AS {query}")
    return base


def fingerprint(found: Any) -> list[Any]:
    """The columns of an answer in one order of rows; of a long answer how many rows, the sum of
    their hashes, and weighted sums of what is no integer."""
    if duckdb and isinstance(found, duckdb.DuckDBPyConnection):
        found = found.sql("FROM answer").pl()
    names = sorted(found if isinstance(found, dict) else found.columns)
    whole: list[Any] = []
    real: list[Any] = []
    for name in names:
        column = plain(found[name])
        (real if column.dtype.kind == "f" else whole).append(column)
    key = np.zeros(len(whole[0]), np.uint64)
    for column in whole:
        key = (key ^ column.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    if len(key) > SORTED:
        weight = (key >> np.uint64(11)).astype(float) / 2**53
        return [len(key), key.sum(), *(np.nansum(column * weight) for column in real)]
    order = np.lexsort([*real, key])
    return [column[order] for column in (*whole, *real)]


def plain(column: Any) -> Any:
    """A column as numbers: strings without their first letters, missing numbers below 0."""
    valid = None
    if pl and isinstance(column, pl.Series):
        valid = column.is_not_null().to_numpy()
        column = fw.Strings(column.fill_null("id0")) if column.dtype == pl.String else (
            column.fill_null(-1).to_numpy())  # fmt: skip
    elif isinstance(column, fw.Nullable):
        column, valid = column.values, np.asarray(column.valid)
    if isinstance(column, fw.Strings):
        column = column.slice(2).to_numbers(fw.i64)
    numbers = np.asarray(column)
    if numbers.dtype.kind in "iu":
        numbers = numbers.astype(np.int64)
    return numbers if valid is None else np.where(valid, numbers, -1)


ROWS: dict[str, Callable[[float], Iterator[Row]]] = {"groups": groups, "joins": joins}


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="the part of 10^7 rows")
    pages.write(
        "db_benchmark", "Questions of db-benchmark", ROWS, lines_of(ROWS), parser,
        note=lambda options: f", {options.scale:g} of 10^7 rows;"
        f" `python -m bench.db_benchmark --scale {options.scale:g}`.",
        variables={"POLARS_MAX_THREADS": str(THREADS)},
    )  # fmt: skip


if __name__ == "__main__":
    main()
