"""What `bench.tables` measures: programs of Flatweave, and the same by the libraries installed."""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import flatweave as fw
from bench import table_loops

Call = Callable[[], Any]


def optional(name: str) -> Any:
    """A library, or None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


pl, pd, ak, duckdb = (optional(name) for name in ("polars", "pandas", "awkward", "duckdb"))
numba, spatial, ncls = (optional(name) for name in ("numba", "scipy.spatial", "ncls"))


@dataclass(frozen=True)
class Row:
    """A call of ours and those of peers; the least ratio of their times to ours that is wanted.

    `read` makes the arrays that are compared of what a call gives: by default its parts.
    """

    name: str
    ours: Call
    peers: dict[str, Call]
    wanted: dict[str, float]
    read: dict[str, Callable[[Any], Any]] = field(default_factory=lambda: reads())


def arrays(found: Any) -> list[Any]:
    """The arrays of a result."""
    if isinstance(found, fw.Ragged):
        return [np.asarray(found.values), np.asarray(found.offsets)]
    if isinstance(found, tuple | list):
        return [part for each in found for part in arrays(each)]
    return [np.asarray(found)]


def sorted_columns(*names: str) -> Callable[[Any], Any]:
    """The columns of a frame of polars or pandas in the order of all of them."""
    def read(frame: Any) -> list[Any]:
        columns = [np.asarray(frame[name].to_numpy()) for name in names]
        order = np.lexsort(columns[::-1])
        return [column[order] for column in columns]

    return read


def reads(**known: Callable[[Any], Any]) -> dict[str, Callable[[Any], Any]]:
    """How results of peers are read that are no tuples of arrays."""
    found: dict[str, Callable[[Any], Any]] = defaultdict(lambda: arrays)
    found.update(known)
    return found


def installed(**peers: tuple[Any, Call]) -> dict[str, Call]:
    """The calls of peers whose library is there."""
    return {name: call for name, (library, call) in peers.items() if library is not None}


def trimmed(row: Any) -> Any:
    """The mean without the least and the greatest tenth."""
    n = row.shape[0]
    cut = n // 10
    return fw.mean(fw.sort(row)[cut : n - cut])


def drawdown(row: Any) -> Any:
    """The deepest fall from a peak."""
    return fw.max(fw.cummax(row) - row, initial=0.0)


def trimmed_by_numpy(row: Any) -> Any:
    """The same for one row of NumPy."""
    n = len(row)
    return np.sort(row)[n // 10 : n - n // 10].mean()


def drawdown_by_numpy(row: Any) -> Any:
    """The same for one row of NumPy."""
    return (np.maximum.accumulate(row) - row).max()


def groups(scale: float) -> Iterator[Row]:
    """10^7 rows: named aggregates, and functions of one's own for each of 10^4 groups."""
    rng = np.random.default_rng(37)
    n = int(10**7 * scale)
    x = rng.random(n)
    for count in (100, 10_000, 1_000_000):
        keys = rng.integers(0, max(2, int(count * scale) if count > 10_000 else count), n)
        frame = pl.DataFrame({"k": keys, "x": x}) if pl else None
        base = duckdb.connect() if duckdb else None
        if base:
            base.execute("SET threads TO 2; CREATE TABLE t AS SELECT * FROM frame")
        for name in ("sum", "mean", "median"):
            ours = fw.jit(lambda k, x, name=name: _aggregate(fw.group_by(k, x), name))
            yield Row(
                f"{name} by {count:,} groups", lambda k=keys, f=ours: f(k, x),
                installed(
                    polars=(pl, lambda f=frame, name=name: f.group_by("k").agg(
                        getattr(pl.col("x"), name)())),
                    duckdb=(duckdb, lambda b=base, name=name: b.sql(
                        f"SELECT k, {name}(x) AS x FROM t GROUP BY k").fetchnumpy()),
                ),
                {"polars": 1.0, "duckdb": 1.0},
                reads(polars=sorted_columns("k", "x"), duckdb=_of_duckdb("k", "x")),
            )  # fmt: skip
    count = 10_000
    keys = rng.integers(0, count, n)
    frame = pl.DataFrame({"k": keys, "x": x}) if pl else None
    table = pd.DataFrame({"k": keys, "x": x}) if pd else None
    for function, by_numpy in ((trimmed, trimmed_by_numpy), (drawdown, drawdown_by_numpy)):
        ours = fw.jit(lambda k, x, f=function: _mapped(fw.group_by(k, x), f))
        yield Row(
            f"{function.__name__} by {count:,} groups", lambda f=ours: f(keys, x),
            installed(
                polars=(pl, lambda f=by_numpy: frame.group_by("k").map_groups(
                    lambda g: pl.DataFrame({"k": g["k"][:1], "x": [f(g["x"].to_numpy())]}))),
                pandas=(pd, lambda f=by_numpy: table.groupby("k")["x"].apply(
                    lambda s: f(s.to_numpy())).reset_index()),
                numba=(numba, lambda f=function: table_loops.by_group(
                    f.__name__, keys, x, count)),
            ),
            {"polars": 20.0, "pandas": 20.0, "numba": 1.5},
            reads(polars=sorted_columns("k", "x"), pandas=sorted_columns("k", "x")),
        )  # fmt: skip


def _aggregate(found: Any, name: str) -> Any:
    return found.keys, found.agg(x=name)["x"]


def _mapped(found: Any, function: Any) -> Any:
    return found.keys, found.map(function)


def _of_duckdb(*names: str) -> Callable[[Any], Any]:
    def read(found: Any) -> list[Any]:
        order = np.lexsort([found[name] for name in names[::-1]])
        return [np.asarray(found[name])[order] for name in names]

    return read


def joins(scale: float) -> Iterator[Row]:
    """Inner and as-of joins, overlaps of intervals, points that are near."""
    rng = np.random.default_rng(38)
    for spread in ("dense", "sparse"):
        n, m = int(2_500_000 * scale), int(1_000_000 * scale)
        room = m if spread == "dense" else 2**62
        right = rng.permutation(m) if spread == "dense" else rng.integers(0, room, m)
        left = right[rng.integers(0, m, n)]
        left = np.where(rng.random(n) < 0.1, rng.integers(0, room, n), left)
        one, other = ({"k": k, "i": np.arange(len(k))} for k in (left, right))
        frames = [pl.DataFrame(t) for t in (one, other)] if pl else None
        base = duckdb.connect() if duckdb else None
        if base:
            a, b = frames
            base.execute("SET threads TO 2; CREATE TABLE a AS SELECT * FROM a; CREATE TABLE b AS"
                         " SELECT k, i AS j FROM b")  # fmt: skip
        ours = fw.jit(lambda a, b: _pairs(fw.join(a, b)))
        yield Row(
            f"inner join, {spread} random keys", lambda f=ours, a=left, b=right: f(a, b),
            installed(
                polars=(pl, lambda f=frames: f[0].join(f[1], on="k")),
                duckdb=(duckdb, lambda b=base: b.sql(
                    "SELECT i, j FROM a JOIN b USING (k)").fetchnumpy()),
            ),
            {"duckdb": 1.0},
            reads(polars=sorted_columns("i", "i_right"), duckdb=_of_duckdb("i", "j")),
        )  # fmt: skip
    n, m = int(2_000_000 * scale), int(4_000_000 * scale)
    a, b = np.sort(rng.random(n)), np.sort(rng.random(m))
    ours = fw.jit(lambda a, b: fw.join_asof(a, b))
    yield Row("as-of join, sorted", lambda: ours(a, b),
              installed(numba=(numba, lambda: table_loops.asof(a, b))), {"numba": 1.0})  # fmt: skip
    n = int(1_000_000 * scale)
    starts, starts2 = (rng.integers(0, 100 * n, n) for _ in range(2))
    ends, ends2 = (s + rng.integers(1, 200, n) for s in (starts, starts2))
    count = fw.jit(lambda *a: fw.overlaps(*a).values)
    yield Row(
        "overlaps", lambda: count(starts, ends, starts2, ends2),
        installed(ncls=(ncls, lambda: ncls.NCLS(starts2, ends2, np.arange(n)).all_overlaps_both(
            starts, ends, np.arange(n)))), {"ncls": 3.0},
        reads(ours=lambda v: [np.sort(v)], ncls=lambda v: [np.sort(v[1])]),
    )  # fmt: skip
    points = rng.random((n, 3))
    radius = (30 / n / (4 / 3 * np.pi)) ** (1 / 3)
    near = fw.jit(lambda p: fw.neighbors(p, radius).lengths)
    yield Row(
        "neighbours, 30 each", lambda: near(points),
        installed(scipy=(spatial, lambda: spatial.cKDTree(points).query_ball_point(
            points, radius, workers=THREADS, return_length=True) - 1)), {"scipy": 1.5},
    )  # fmt: skip


THREADS = 2


def _pairs(found: Any) -> Any:
    return found.left, found.right


def mass(a: Any, b: Any) -> Any:
    """The invariant mass of two massless particles."""
    shape = fw.cosh(a["eta"] - b["eta"]) - fw.cos(a["phi"] - b["phi"])
    return fw.sqrt(2 * a["pt"] * b["pt"] * shape)


def rows(scale: float) -> Iterator[Row]:
    """Events of particles."""
    rng = np.random.default_rng(39)
    n = int(1_000_000 * scale)
    counts = rng.poisson(4, n)
    total = int(counts.sum())
    parts = {"pt": rng.exponential(30, total), "eta": rng.normal(0, 1.5, total),
             "phi": rng.uniform(-np.pi, np.pi, total)}  # fmt: skip
    offsets = np.concatenate([[0], np.cumsum(counts)])
    events = fw.ragged(parts, offsets=offsets)
    pt = fw.ragged(parts["pt"], offsets=offsets)
    theirs = ak.unflatten(ak.zip(parts), counts) if ak else None
    masses = fw.jit(lambda e: fw.map(mass, *(p.values for p in e.combinations(2))))

    def by_awkward() -> Any:
        a, b = ak.unzip(ak.combinations(theirs, 2))
        return np.sqrt(2 * a.pt * b.pt * (np.cosh(a.eta - b.eta) - np.cos(a.phi - b.phi)))

    yield Row(
        "masses of combinations(2)", lambda: masses(events),
        installed(awkward=(ak, by_awkward),
                  numba=(numba, lambda: table_loops.masses(offsets, *parts.values()))),
        {"awkward": 5.0, "numba": 1.5}, reads(awkward=lambda v: [np.asarray(ak.flatten(v))]),
    )  # fmt: skip
    best = fw.jit(lambda rows: rows.argmax(axis=1).fill_none(-1))
    yield Row(
        "argmax", lambda: best(pt), installed(awkward=(ak, lambda: ak.argmax(theirs.pt, axis=1))),
        {"awkward": 3.0}, reads(awkward=lambda v: [np.asarray(ak.fill_none(v, -1))]),
    )  # fmt: skip
    ordered = fw.jit(lambda rows: fw.sort(rows, axis=1).values)
    yield Row(
        "sort", lambda: ordered(pt), installed(awkward=(ak, lambda: ak.sort(theirs.pt, axis=1))),
        {"awkward": 3.0}, reads(awkward=lambda v: [np.asarray(ak.flatten(v))]),
    )  # fmt: skip

    cut = fw.jit(lambda rows: _cut_products(rows))

    def cut_by_awkward() -> Any:
        a, b = ak.unzip(ak.cartesian([theirs.pt, theirs.pt]))
        return ak.flatten((a * b)[a + b > 100])

    yield Row("cartesian with a cut", lambda: cut(pt), installed(awkward=(ak, cut_by_awkward)),
              {"awkward": 3.0})  # fmt: skip


def _cut_products(rows: Any) -> Any:
    a, b = rows.cartesian(rows)
    left, right = fw.filter(lambda e: e[0] + e[1] > 100, (a.values, b.values))
    return left * right


def average(mean: Any, x: Any) -> Any:
    """A step of an exponential average."""
    mean = 0.9 * mean + 0.1 * x
    return mean, mean


def crooked(c: Any, x: Any) -> Any:
    """A step that has no parallel form."""
    c = fw.sqrt(c * c * 0.5 + x)
    return c, c


def recurrences(scale: float) -> Iterator[Row]:
    """Series of 10^7 elements in all."""
    rng = np.random.default_rng(40)
    n = int(10**7 * scale)
    x = rng.random(n)
    one = fw.jit(lambda x: fw.recurrence(average, 0.0, x)[1])
    yield Row("exponential average, one series", lambda: one(x),
              installed(numba=(numba, lambda: table_loops.average(x))), {"numba": 1.5})  # fmt: skip
    many = fw.ragged(x, offsets=np.arange(0, n + 1, 1000))
    each = fw.jit(lambda r: fw.recurrence(average, 0.0, r)[1].values)
    yield Row(
        "exponential average, series of 1,000", lambda: each(many),
        installed(numba=(numba, lambda: table_loops.averages(x, n // 1000, 1000))), {"numba": 1.5},
    )  # fmt: skip
    loop = fw.jit(lambda x: fw.recurrence(crooked, 0.0, x)[1])
    yield Row("not affine, one series", lambda: loop(x),
              installed(numba=(numba, lambda: table_loops.crooked(x))), {"numba": 0.9})  # fmt: skip


ROWS: dict[str, Callable[[float], Iterator[Row]]] = {
    "groups": groups, "joins": joins, "rows": rows, "recurrences": recurrences,
}  # fmt: skip
