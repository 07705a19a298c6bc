"""`import flatweave.pandas`, `.polars`, `.duckdb`, `.awkward`, with the libraries themselves."""

import datetime
import importlib
import sys

import numpy as np
import pytest

import flatweave as fw

COLUMNS = {
    "k": ["b", "a", "b", "c"], "v": [1.0, 2.0, 3.0, 4.0], "n": [1, 2, 3, 4],
}  # fmt: skip
ROWS = [("a", 2.0, 2), ("b", 4.0, 3), ("c", 4.0, 4)]


@pytest.mark.parametrize("library", ["pandas", "polars", "duckdb", "awkward"])
def test_a_library_that_is_not_installed(library, monkeypatch):
    """The import says which module needs it, and what to do."""
    monkeypatch.delitem(sys.modules, f"flatweave.{library}", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(f"flatweave.{library}")

    assert str(caught.value) == (
        f"flatweave.{library} needs {library}, which is not installed: pip install {library}."
    )


def test_pandas():
    """Columns in and out, with their index; groups as pandas'."""
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pytest.importorskip("flatweave.pandas")
    df = pd.DataFrame(COLUMNS, index=[10, 20, 30, 40])
    mine = df.fw.group_by("k", total=("v", "sum"), most=("n", fw.max))
    theirs = df.groupby("k").agg(total=("v", "sum"), most=("n", "max"))

    assert np.shares_memory(df.fw["v"].to_numpy(), df["v"].to_numpy())
    assert df.fw.map(lambda v, n: v * n, "v", "n").equals(df.v * df.n)
    assert df.fw.apply(lambda v: {"s": v + 1, "t": v}, "v").equals(pd.DataFrame(
        {"s": df.v + 1, "t": df.v}
    ))  # fmt: skip
    assert df.v.fw.apply(fw.cumsum).equals(df.v.cumsum())
    assert df.k.fw.apply(lambda k: k.upper()).tolist() == ["B", "A", "B", "C"]
    assert [(key, *row) for key, row in zip(mine.index, mine.to_numpy(), strict=True)] == ROWS
    assert mine.to_numpy().tolist() == theirs.to_numpy().tolist()
    two = df.fw.group_by(["k", "n"], mean=(("v", "n"), lambda v, n: fw.sum(v * n)))
    assert (two.index.names, two["mean"].tolist()) == (["k", "n"], [4.0, 1.0, 9.0, 16.0])
    missing = pd.Series([1, None, 3], dtype="Int64")
    assert missing.fw.map(lambda x: x * 2).tolist() == [2, pd.NA, 6]
    with pytest.raises(fw.ArgumentError, match="a column and a function"):
        df.fw.group_by("k", total="sum")


def test_polars():
    """Namespaces of frames, lazy frames and expressions."""
    pl = pytest.importorskip("polars")
    pytest.importorskip("flatweave.polars")
    df = pl.DataFrame(COLUMNS)
    mine = df.fw.group_by("k", total=("v", "sum"), most=("n", fw.max))

    assert mine.rows() == ROWS
    assert df.fw.map(lambda v, n: v * n, "v", "n").to_list() == [1, 4, 9, 16]
    assert df.fw.apply(lambda v: {"s": v + 1}, "v").to_dict(as_series=False) == {"s": [2, 3, 4, 5]}
    assert df.select(pl.col("v").fw.map(lambda x: x * x, pl.Float64))["v"].to_list() == [
        1, 4, 9, 16
    ]  # fmt: skip
    together = pl.struct("v", "n").fw.apply(lambda v, n: v + fw.cumsum(n), pl.Float64)
    assert df.lazy().select(together.alias("s")).collect()["s"].to_list() == [2, 5, 9, 14]
    lazy = df.lazy().fw.apply(lambda t: {"w": t["v"] * 2, "k": t["k"]},
                              {"w": pl.Float64, "k": pl.String})  # fmt: skip
    assert lazy.filter(pl.col("w") > 4).collect().rows() == [(6.0, "b"), (8.0, "c")]
    empty = pl.Series("x", [1, None]).to_frame()
    assert empty.select(pl.col("x").fw.map(lambda x: x + 1, pl.Int64))["x"].to_list() == [2, None]


def test_duckdb():
    """Functions in SQL, with NULL and text; tables as columns."""
    duckdb = pytest.importorskip("duckdb")
    ours = pytest.importorskip("flatweave.duckdb")
    con = duckdb.connect()
    con.sql("CREATE TABLE t AS SELECT i, i * 0.5 AS x, 'w' || i AS w FROM range(5000) r(i)")
    con.sql("INSERT INTO t VALUES (NULL, 1, NULL)")
    ours.register(con, "f", lambda i, x: i * x, ["BIGINT", "DOUBLE"], "DOUBLE")
    ours.register(con, "up", lambda w: w.upper(), ["VARCHAR"], "VARCHAR", elements=False)

    found = con.sql("SELECT f(i, CAST(x AS DOUBLE)) AS y FROM t ORDER BY i").fetchall()
    assert found == [(i * i / 2,) for i in range(5000)] + [(None,)]
    texts = con.sql("SELECT up(w) AS u FROM t WHERE i < 3 ORDER BY i").fetchall()
    assert texts == [("W0",), ("W1",), ("W2",)]
    table = ours.columns(con.sql("SELECT i, w FROM t WHERE i < 3 ORDER BY i"))
    assert (table["i"].tolist(), table["w"].tolist()) == ([0, 1, 2], ["w0", "w1", "w2"])
    with pytest.raises(fw.DTypeError, match=r"column 'span' is .* of intervals[^$]*epoch_us"):
        ours.columns(con.sql("SELECT INTERVAL 3 DAY AS span"))


def test_awkward():
    """There and back: records, lists, options, text."""
    ak = pytest.importorskip("awkward")
    ours = pytest.importorskip("flatweave.awkward")
    for value in (
        [1.5, 2.5], [1, None, 3], [[1, 2], [], [3]], [[[1], []], []], ["a", "ü", ""], ["a", None],
        [[1, None], [], [3]], [{"x": 1, "y": [1.5, 2.5]}, {"x": 2, "y": []}], [(1, 2.5), (3, 4.5)],
        [{"x": {"z": None}, "y": "a"}, {"x": {"z": 2}, "y": "b"}], [[{"x": 1}], []], [["a"], []],
    ):  # fmt: skip
        array = ak.Array(value)
        assert ours.to(ours.of(array)).to_list() == array.to_list()
    numbers = ak.Array([1.0, 2.0])
    assert np.shares_memory(ours.of(numbers).to_numpy(), numbers.layout.data)


def test_awkward_through_arrow():
    """Whatever the table of the page names: bytes, times, lists of records, missing lists."""
    ak = pytest.importorskip("awkward")
    ours = pytest.importorskip("flatweave.awkward")
    pytest.importorskip("pyarrow")
    times = np.array(["2020-01-01", "2021-02-03"], "M8[s]")
    for array in (
        ak.Array(times), ak.Array([[times[0]], []]), ak.Array([[1], [2, 3], None]),
        ak.Array([[{"x": 1, "y": "a"}], []]), ak.Array([[{"x": 1, "y": [1, 2]}], []]),
        ak.Array([{"x": 1}, None]),
    ):  # fmt: skip
        assert ours.to(ours.of(array)).to_list() == array.to_list()
    assert ours.of(ak.Array([b"ab", b"\xff"])).tolist() == [[97, 98], [255]]
    for union in (ak.Array([1, "a"]), ak.Array([[1, [2]], []])):
        with pytest.raises(fw.DTypeError, match="the array is an Arrow column of unions[^$]*one"):
            ours.of(union)
    with pytest.raises(fw.ArgumentError, match="of takes an ak.Array, got a Record"):
        ours.of(ak.Record({"x": 1}))


def test_objects_of_python():
    """No address is read; the column is named, and for dates what makes times of them."""
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pytest.importorskip("flatweave.pandas")
    pytest.importorskip("flatweave.polars")
    columns = {"x": [1, 2], "o": [object(), 3]}
    for table in (pl.DataFrame(columns), pd.DataFrame(columns)):
        with pytest.raises(fw.UserError, match="column 'o' .*Python objects"):
            table.fw.arrays()
    dates = pd.DataFrame({"d": [datetime.date(2020, 1, 1)]})
    with pytest.raises(fw.ArgumentError, match=r"column 'd' holds[^$]*datetime64\[us\]"):
        dates.fw.apply(lambda d: d)


def test_groups_of_categories():
    """In the order of the categories, with the dtype of the column."""
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pytest.importorskip("flatweave.pandas")
    pytest.importorskip("flatweave.polars")
    grades, values = ["lo", "hi", None, "lo"], [1, 2, 3, 5]
    column = pd.Categorical(grades, categories=["lo", "mid", "hi"], ordered=True)
    df = pd.DataFrame({"c": column, "v": values})
    mine = df.fw.group_by("c", n=("v", "sum"))
    theirs = df.groupby("c", observed=True, dropna=False).agg(n=("v", "sum"))
    pd.testing.assert_frame_equal(mine, theirs)
    for dtype in (pl.Enum(["lo", "mid", "hi"]), pl.Categorical):
        table = pl.DataFrame({"c": pl.Series(grades, dtype=dtype), "v": values})
        found = table.fw.group_by("c", n=("v", "sum"))
        assert found["c"].dtype == table["c"].dtype
        assert sorted(found.rows(), key=str) == [("hi", 2), ("lo", 6), (None, 3)]
    table = table.with_columns(pl.col("c").cast(pl.Enum(["lo", "mid", "hi"])))
    assert table.fw.group_by("c", n=("v", "sum"))["c"].to_list() == ["lo", "hi", None]


def test_results_that_do_not_fit():
    """Of another length than the index; no dict of columns; the user's line."""
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pytest.importorskip("flatweave.pandas")
    pytest.importorskip("flatweave.polars")
    df = pd.DataFrame({"v": [1.0, 2.0, 3.0]})
    for apply in (
        lambda: df.v.fw.apply(lambda v: v[v > 1]), lambda: df.fw.apply(lambda v: v[v > 1]),
        lambda: df.fw.apply(lambda v: {"w": v[v > 1]}),
    ):  # fmt: skip
        with pytest.raises(fw.ArgumentError, match="has 2 elements, and its index would have 3"):
            apply()
    lazy = pl.DataFrame({"v": [1.0]}).lazy().fw.apply(lambda t: t["v"], {"v": pl.Float64})
    with pytest.raises(fw.ArgumentError, match=r"a dict of columns[^$]*lazy\.collect\(\)"):
        lazy.collect()


def test_misuse_of_duckdb():
    """What is no function, and no relation; a sum of integers is no i64 there."""
    duckdb = pytest.importorskip("duckdb")
    ours = pytest.importorskip("flatweave.duckdb")
    con = duckdb.connect()
    with pytest.raises(fw.ArgumentError, match="register needs a function, got an int"):
        ours.register(con, "q", 3, ["DOUBLE"], "DOUBLE")
    with pytest.raises(fw.ArgumentError, match="columns needs what a query gives, got an int"):
        ours.columns(3)
    with pytest.raises(fw.DTypeError, match=r"column 's' [^$]*in SQL by x::BIGINT"):
        ours.columns(con.sql("SELECT sum(i) AS s FROM range(5) r(i)"))


def test_times():
    """Columns of times are Times, with NaT a Nullable of them, and come back with their unit."""
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pytest.importorskip("flatweave.pandas")
    pytest.importorskip("flatweave.polars")
    days = pd.to_datetime(["2024-01-02", "2024-01-01", "2024-01-02"])
    df = pd.DataFrame({"day": days, "v": [1.0, 2.0, 4.0], "late": pd.to_datetime([None, 1, 2])})
    table = pl.DataFrame({"day": df.day, "v": df.v})

    assert df.fw.apply(lambda day: day, "day").equals(df.day)
    assert df.fw.apply(lambda late: late, "late").isna().tolist() == [True, False, False]
    totals = df.fw.group_by("day", total=("v", "sum"))
    assert totals.total.tolist() == [2.0, 5.0]
    assert totals.index.equals(df.groupby("day").v.sum().index)
    assert table.fw.group_by("day", total=("v", "sum")).equals(
        table.group_by("day").agg(total=pl.col("v").sum()).sort("day")
    )
    assert table.fw.apply(lambda day: day - day[0], "day").dtype == pl.Duration("us")
    assert table.fw["day"].shape == (3,)
    zoned = df.day.dt.tz_localize("Europe/Berlin")
    utc = zoned.dt.tz_convert(None)
    assert zoned.to_frame().fw["day"].tolist() == utc.dt.to_pydatetime().tolist()
    assert fw.group_by(zoned, df.v).keys.tolist() == sorted({*utc.dt.to_pydatetime()})
    assert zoned[:0].fw.array.dtype == utc.dtype
    assert pl.DataFrame({"d": table["day"].dt.date()}).fw["d"].dtype == "datetime64[D]"
    with pytest.raises(pl.exceptions.DuplicateError):
        table.fw.group_by("day", day=("v", "sum"))


def test_lists_and_structs_of_polars():
    """Nulls among rows and among elements, texts in rows, structs; both ways."""
    pl = pytest.importorskip("polars")
    pytest.importorskip("flatweave.polars")
    df = pl.DataFrame({
        "rows": [[1, None], None, []], "words": [["a", "b"], [], ["c"]],
        "points": [{"x": 1, "w": "a"}, {"x": None, "w": "b"}, {"x": 3, "w": "c"}],
    })  # fmt: skip

    for name in ("rows", "words"):
        found = df.fw[name]
        assert found.tolist() == df[name].to_list()
        assert pl.Series(found).to_list() == df[name].to_list()
        assert str(df[name].to_list()) in repr(found)
    points = df.fw["points"]
    assert (points["x"].tolist(), points["w"].tolist()) == ([1, None, 3], ["a", "b", "c"])
    assert fw.sum(df.fw["rows"].values.values).tolist() == 1


def test_random_tables_of_arrow():
    """Equal after both ways, and shared; `python -m tests.interop.arrow_tables` makes more."""
    pytest.importorskip("pyarrow")
    arrow_tables = pytest.importorskip("tests.interop.arrow_tables")
    counted = arrow_tables.Counter()
    wrong = [line for seed in range(25) for line in arrow_tables.tried(seed, counted)]

    assert not wrong
    assert counted["columns over the memory of Arrow"] > 5


def test_what_has_no_meaning_here():
    """Is refused with what to do about it."""
    pa = pytest.importorskip("pyarrow")
    taken = pytest.importorskip("flatweave.library_columns").taken
    for column, message in (
        (pa.array([1, 2], pa.time64("us")), "integers"),
        (pa.array([1, None], pa.decimal128(5, 2)), "floats"),
        (pa.array([[1], None], pa.list_(pa.decimal128(5, 2))), "floats"),
    ):
        with pytest.raises(fw.DTypeError, match=message):
            taken(column)
