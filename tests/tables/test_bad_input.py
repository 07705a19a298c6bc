"""What is refused, with the remedy that its message names; columns with nulls are taken."""

import datetime

import numpy as np
import pytest

import flatweave as fw

DAYS = np.array(["2026-01-01", "2026-01-05"], "datetime64[D]")
SECONDS = DAYS.astype("datetime64[s]")
NAN = float("nan")

REFUSED = {
    "as-of of text": (lambda: fw.join_asof(["a"], ["b"]), fw.DTypeError, "by=(left"),
    "objects": (lambda: fw.group_by(np.array([{}], object)), fw.ArgumentError, "a number's dtype"),
    "no key column": (lambda: fw.group_by((), [1]), fw.ArgumentError, "Give one at least"),
    "no name": (lambda: fw.group_by([1], [1]).agg("sum"), fw.ArgumentError, "agg(total='sum')"),
    "spread": (lambda: fw.group_by([1, 2, 2]).spread([1, 2, 3]), fw.ShapeError, "3 values for 2"),
    "units of a join": (lambda: fw.join(DAYS, SECONDS), fw.DTypeError, "one unit"),
    "units of an as-of join": (lambda: fw.join_asof(DAYS, SECONDS), fw.DTypeError, "one unit"),
    "units of intervals": (
        lambda: fw.overlaps(DAYS, DAYS, SECONDS, SECONDS), fw.DTypeError, "one unit",
    ),
    "running sums of times": (
        lambda: fw.cumsum(DAYS), fw.DTypeError, "cumsum of points in time",
    ),
    "indices some of which are missing": (
        lambda: fw.gather(fw.Nullable([1, None]), fw.Nullable([0, None])), fw.Unsupported,
        "gather has no meaning",
    ),
    "a date as a width": (
        lambda: fw.rolling_by(DAYS, [1, 2], DAYS[0]), fw.DTypeError,
        "the width of rolling_by is np.datetime64('2026-01-01'), and the times have dtype",
    ),
    "a number as a width": (
        lambda: fw.rolling_by(DAYS, [1, 2], 3), fw.DTypeError, 'np.timedelta64(3, "D")',
    ),
    "hours as a width of days": (
        lambda: fw.rolling_by(DAYS, [1, 2], np.timedelta64(3, "h")), fw.DTypeError,
        't.astype("datetime64[h]")',
    ),
    "months as a width of days": (
        lambda: fw.rolling_by(DAYS, [1, 2], np.timedelta64(1, "M")), fw.DTypeError,
        't.astype("datetime64[M]")',
    ),
    "a date as a tolerance": (
        lambda: fw.join_asof(DAYS, DAYS, tolerance=DAYS[0]), fw.DTypeError,
        "the tolerance of join_asof is np.datetime64",
    ),
    "a sum of text": (
        lambda: fw.group_by([1, 2], fw.Strings(["a", "b"])).agg(total="sum"), fw.ArgumentError,
        "agg got 'sum' for total: sum of strings has no meaning",
    ),
    "a sum of no values": (
        lambda: fw.group_by([1, 2]).agg(total="sum"), fw.ArgumentError, "fw.group_by(keys, xs)",
    ),
    "a list of columns": (
        lambda: fw.group_by([np.arange(3), np.arange(3)]), fw.ShapeError, "as a tuple, (a, b)",
    ),
    "texts and numbers": (
        lambda: fw.group_by(np.array(["a", 1], object)), fw.ArgumentError, "int in row 1",
    ),
    "too many of the best": (
        lambda: fw.top_k([1, 2, 3], 9), fw.ShapeError, "a k of 9, and 3 elements",
    ),
    "text to sort by": (
        lambda: fw.sort_by_key(fw.Strings(["a"]), [1]), fw.Unsupported, "fw.argsort(s)",
    ),
    "times and numbers": (lambda: fw.join_asof(DAYS, [1, 2]), fw.DTypeError, "numbers"),
    "a span for numbers": (
        lambda: fw.join_asof([1], [1], tolerance=np.timedelta64(1, "s")), fw.DTypeError, "number",
    ),
    "a negative span": (
        lambda: fw.join_asof(DAYS, DAYS, tolerance=np.timedelta64(-1, "h")), fw.ArgumentError,
        "negative",
    ),
    "by of one side": (lambda: fw.join_asof([1], [1], by=[1]), fw.ArgumentError, "pair"),
    "several as-of keys": (lambda: fw.join_asof(([1], [1]), [1]), fw.ArgumentError, "by=(left"),
    "half a window": (lambda: fw.rolling([1, 2], 1.5), fw.DTypeError, "integer"),
    "negative min_periods": (lambda: fw.rolling([1], 2, -1), fw.ArgumentError, "negative"),
    "a time that is NaN": (lambda: fw.rolling_by([NAN], [1], 1.0), fw.ArgumentError, "NaN"),
    "half an element": (lambda: fw.top_k([1, 2], 1.5), fw.DTypeError, "integer"),
    "an axis of top_k": (lambda: fw.top_k([[1, 2]], 1, axis=2), fw.UserError, "axis 2"),
    "an axis of argpartition": (lambda: fw.argpartition([1], 0, axis=1), fw.UserError, "axis 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_error_with_its_remedy(name):
    """It names the line of the call, too."""
    call, error, said = REFUSED[name]

    with pytest.raises(error) as found:
        call()
    assert said in str(found.value)
    assert "test_bad_input.py:" in str(found.value)


def test_a_tolerance_in_another_unit():
    """An hour is less than the day between two days."""
    days = np.array(["2026-01-01", "2026-01-02"], "datetime64[D]")
    spans = (np.timedelta64(1, "h"), np.timedelta64(24, "h"), np.timedelta64(2, "D"))

    found = [fw.join_asof(days[1:], days[:1], tolerance=span).tolist() for span in spans]
    assert found == [[-1], [0], [0]]


def test_values_with_nulls_of_other_libraries():
    """Sums skip them, as in the library they come from."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")

    for column in (pandas.Series([1, None, 3], dtype="Int64"), polars.Series([1, None, 3])):
        found = fw.group_by([1, 2, 1], column).agg(total="sum", mean="mean", n="count")
        assert [part.tolist() for part in found.values()] == [[4, 0], [2.0, None], [2, 0]]


class Dtype:
    """What another library says of its elements; pandas has a base for those of a zone."""

    def __init__(self, name, **more):
        self.name = name
        self.__dict__.update(more)

    def __str__(self):
        return self.name


class Column:
    """A column of times of another library, which gives objects unless a dtype is asked for."""

    def __init__(self, times, dtype):
        self.times, self.dtype = times, dtype

    def __array__(self, dtype=None, copy=None):
        given = object if self.dtype is OF_A_ZONE else self.times.dtype
        return self.times.astype(dtype or given)


OF_A_ZONE = Dtype("datetime64[D, Europe/Berlin]", base=DAYS.dtype)


@pytest.mark.parametrize("dtype", [Dtype("Date"), Dtype("Datetime('us')"), DAYS.dtype, OF_A_ZONE])
def test_columns_of_times(dtype):
    """Every function takes them as it takes an array of NumPy, a jitted one, too."""
    days = Column(DAYS, dtype)
    ends = DAYS + 1

    assert fw.rolling_by(days, [1, 2], np.timedelta64(120, "h")).tolist() == [[1], [1, 2]]
    assert fw.rolling_by(days, [1, 2], datetime.timedelta(days=1)).tolist() == [[1], [2]]
    assert fw.overlaps(days, ends, days, ends).tolist() == [[0], [1]]
    assert fw.nearest(days, ends, days, ends)[0].tolist() == [0, 1]
    assert fw.join_asof(days, days).tolist() == [0, 1]
    assert fw.jit(lambda t: t - t[0])(days).tolist() == (DAYS - DAYS[0]).tolist()
    assert fw.group_by(days, [1, 2]).keys.tolist() == DAYS.tolist()


def test_columns_of_times_of_which_some_are_missing():
    """Of a zone, too, they are a Nullable of times."""
    days = Column(np.array(["2026-01-01", "NaT"], "datetime64[D]"), OF_A_ZONE)

    found = fw.group_by(days, [1, 2]).keys
    assert found.tolist() == [datetime.date(2026, 1, 1), None]


def test_times_as_values():
    """The first and the last of a group are times again."""
    found = fw.group_by([1, 1], DAYS).agg(first="first", last="max", n="count")

    assert found["first"].to_numpy().tolist() == DAYS[:1].tolist()
    assert found["last"].to_numpy().tolist() == DAYS[1:].tolist()
    assert found["n"].tolist() == [2]


def test_a_recurrence_over_no_elements():
    """The carry is the first one, of any step."""
    for step in (lambda c, x: (c + x, c), lambda c, x: (fw.sqrt(c * x), c)):
        last, outputs = fw.recurrence(step, 2.0, [])
        assert (float(last), outputs.tolist()) == (2.0, [])
