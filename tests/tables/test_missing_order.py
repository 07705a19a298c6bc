"""Missing values in sets, runs, running totals and records, and in columns of every library."""

import numpy as np
import pytest

import flatweave as fw

N = fw.Nullable([3, None, 3, 1])
F = fw.Nullable([3.0, None, np.nan, 1.0])
S = fw.Strings(["b", None, "b", "a"])


def test_sets_have_a_missing_element_last():
    """It equals itself; NaN comes before it. Counts of different elements leave it out."""
    assert fw.unique(N).tolist() == [1, 3, None]
    assert fw.unique(F).tolist()[::3] == [1.0, None]
    assert fw.unique(S).tolist() == ["a", "b", None]
    values, where, inverse, counts = fw.unique(N, True, True, True)
    assert where.tolist() == [3, 0, 1]
    assert values[inverse].tolist() == N.tolist()
    assert counts.tolist() == [1, 2, 1]
    assert [part.tolist() for part in fw.value_counts(S)] == [["a", "b", None], [1, 2, 1]]
    assert fw.unique_counts(N).counts.tolist() == [1, 2, 1]
    assert [int(fw.n_unique(x)) for x in (N, S)] == [2, 2]
    assert fw.isin(N, [3]).tolist() == [True, None, True, False]
    assert fw.isin(S, ["a"]).tolist() == [False, None, False, True]


def test_runs_and_running_totals():
    """A missing element is a run of its own, and stays missing in totals."""
    values, lengths = fw.run_lengths(fw.Nullable([1, None, None, 1]))
    assert (values.tolist(), lengths.tolist()) == ([1, None, 1], [1, 2, 1])
    assert fw.changed(N).tolist() == [True] * 4
    assert N.cumsum().tolist() == [3, None, 6, 7]
    assert fw.cummax(N).tolist() == [3, None, 3, 3]
    assert fw.diff(N).tolist() == [None, None, -2]


def test_order_and_counts():
    """Ranks, the best, positions, segments and histograms."""
    assert fw.rank(N).tolist() == [2.5, None, 2.5, 1.0]
    assert fw.rank(S).tolist() == [2.5, None, 2.5, 1.0]
    assert [part.tolist() for part in fw.top_k(N, 2)] == [[3, 3], [0, 2]]
    assert fw.searchsorted([1, 2, 3], N).tolist() == [2, None, 2, 0]
    assert fw.segment_sum(N, [0, 0, 1, 1]).tolist() == [3, 4]
    assert fw.histogram(4, N).tolist() == [0, 1, 0, 2]
    assert fw.flatnonzero(N).tolist() == [0, 2, 3]
    assert fw.dot(N, N).tolist() == 19
    assert fw.ptp(N).tolist() == 2
    assert fw.append(N, [7]).tolist() == [3, None, 3, 1, 7]


def test_functions_without_a_meaning_say_so():
    """Instead of a result that has forgotten what is missing."""
    with pytest.raises(fw.Unsupported, match="no meaning for missing values"):
        N[N]
    with pytest.raises(fw.Unsupported, match="no meaning for missing values"):
        fw.segment_sum([1.0, 2.0], [0, 0], N)
    with pytest.raises(fw.OperatorError, match="neutral element like its elements"):
        fw.histogram(4, [0, 1, 2, 3], N)


def test_records_and_nested_lists():
    """A missing record is missing as a whole; lists of lists are a matrix."""
    records = fw.Nullable({"x": np.arange(3), "y": np.ones(3)}, [True, False, True])

    assert records[1:].tolist() == [None, {"x": 2, "y": 1.0}]
    assert fw.Nullable([[1, None], [2, 3]]).tolist() == [[1, None], [2, 3]]
    assert fw.Nullable(np.array([1, None], object)).tolist() == [1, None]
    assert N.reshape((2, 2)).T.tolist() == [[3, 3], [None, 1]]


def test_text_and_times_are_values():
    """Of lists and of columns; NaT is missing."""
    pandas = pytest.importorskip("pandas")
    arrow = pytest.importorskip("pyarrow")

    for column in (["a", None], arrow.array(["a", None]), pandas.Series(["a", None])):
        assert fw.Nullable(column).tolist() == ["a", None]
    for column in (arrow.array([1, None], arrow.timestamp("s")),
                   pandas.Series(pandas.to_datetime(["2020-01-01", None]))):  # fmt: skip
        assert [time is None for time in fw.Nullable(column).tolist()] == [False, True]


def test_rows_of_missing_values_and_of_text_go_out():
    """To Arrow and to Awkward, with their nulls."""
    arrow = pytest.importorskip("pyarrow")
    pytest.importorskip("awkward")
    rows = fw.ragged(N, lengths=[2, 0, 2])
    parts = fw.Strings(["a,b", ""]).split(",")

    assert arrow.array(rows).to_pylist() == [[3, None], [], [3, 1]]
    assert rows.to_awkward().to_list() == [[3, None], [], [3, 1]]
    assert arrow.array(parts).to_pylist() == [["a", "b"], [""]]
    assert parts.to_awkward().to_list() == [["a", "b"], [""]]
    assert N.to_arrow().to_pylist() == [3, None, 3, 1]


def test_strings_are_values_of_groups():
    """Rows, and aggregates by the order of the strings."""
    groups = fw.group_by([0, 0, 1, 1], S)
    names = ("min", "max", "first", "last", "count", "n_unique")
    found = groups.agg(**{name: name for name in names})

    assert groups.rows.tolist() == [["b", None], ["b", "a"]]
    assert {name: found[name].tolist() for name in names} == {
        "min": ["b", "a"], "max": ["b", "b"], "first": ["b", "b"], "last": ["b", "a"],
        "count": [1, 2], "n_unique": [1, 2],
    }  # fmt: skip
    assert groups.spread(groups.agg(most="max")["most"]).tolist() == ["b"] * 4
