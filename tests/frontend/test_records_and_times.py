"""NumPy's arrays of records and of times: a dict of fields, and integers that keep their unit."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

RECORDS = np.array(
    [(1, 2.5, (3, 4), [1, 2]), (5, 6.5, (7, 8), [3, 4]), (9, 0.5, (1, 2), [5, 6])],
    dtype=[("a", "i4"), ("b", "f8"), ("c", [("x", ">i8"), ("y", "?")]), ("d", "f4", 2)],
)
DAYS = np.array(["2024-02-28", "2024-03-01", "1969-12-31"], "M8[D]")


def test_records_are_dicts_of_their_fields(target):
    """Of any order of bytes, nested, with fields of several elements; on each call."""
    f = fw.jit(lambda r, k: {"sum": r["a"] + r["b"] * k, "x": r["c"]["x"], "all": r})
    for records in (RECORDS, RECORDS[::2], RECORDS[:1], RECORDS[:0], RECORDS):
        found = f(records, 2)

        same(found["sum"], records["a"] + records["b"] * 2)
        same(found["x"], records["c"]["x"].astype(np.int64))
        same(found["all"]["d"], records["d"])
        same(found["all"]["c"]["y"], records["c"]["y"])
        assert list(found["all"]) == ["a", "b", "c", "d"]


def test_elements_of_records(target):
    """Element functions get one, and a single record is a dict of numbers."""
    same(fw.map(lambda r: r["a"] * r["b"], RECORDS), RECORDS["a"] * RECORDS["b"])
    same(fw.jit(lambda k: fw.map(lambda r: r["a"] * k, RECORDS))(2), RECORDS["a"] * 2)
    same(fw.jit(lambda r: r["a"] + r["b"])(RECORDS[1]), np.array(11.5))
    back = np.rec.fromarrays(list(fw.jit(lambda r: r)(RECORDS[["a", "b"]]).values()), names="a,b")
    assert back.tolist() == RECORDS[["a", "b"]].tolist()


@pytest.mark.parametrize("unit", ["D", "25s"])
def test_times_are_integers_with_their_unit(target, unit):
    """Through a compiled function and back, not copied where nobody writes to them."""
    days = DAYS.astype(f"M8[{unit}]")
    days.setflags(write=False)
    spans = days - days[0]
    found = fw.jit(lambda t, s: {
        "t": t, "less": t < t[0], "span": t - t[0], "back": t[0] + s, "twice": 2 * s,
        "size": abs(s), "minus": -s, "before": t - s, "ratio": s // np.timedelta64(3, "D"),
        "half": s // 2,
        "sorted": fw.sort(t), "read": fw.gather(t, [2, 0]), "same": t == t[1], "ticks": t.ticks,
        "last": t.like(fw.max(t.ticks)), "first": t[:1],
    })(days, spans)  # fmt: skip
    expected = {
        "t": days, "less": days < days[0], "span": spans, "back": days[0] + spans,
        "twice": 2 * spans, "size": abs(spans), "minus": -spans, "before": days - spans,
        "ratio": spans // np.timedelta64(3, "D"), "half": spans // 2, "sorted": np.sort(days),
        "read": days[[2, 0]], "same": days == days[1], "ticks": days.view(np.int64),
        "last": days.max(), "first": days[:1],
    }  # fmt: skip

    for name, want in expected.items():
        got = np.asarray(found[name])
        assert got.dtype == np.asarray(want).dtype, name
        np.testing.assert_array_equal(got, want, err_msg=name)
    assert np.shares_memory(found["t"], days) == (target in ("interp", "cpu"))
    assert np.shares_memory(np.asarray(found["span"]), found["span"].ticks)


def test_times_outside_of_a_compiled_function():
    """A result goes in again, is mapped over, shown, pickled, and meets arrays of NumPy."""
    t = fw.jit(lambda t: t)(DAYS)

    assert (len(t), t.ndim, t.shape, t.tolist()) == (3, 1, (3,), DAYS.tolist())
    shown = "['2024-02-28', '2024-03-01', '1969-12-31']"
    assert repr(t) == f"Times({shown}, dtype=datetime64[D])"
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(t)), DAYS)
    np.testing.assert_array_equal(DAYS - t[0], DAYS - DAYS[0])
    np.testing.assert_array_equal(np.datetime64("2024-03-01") - t, DAYS[1] - DAYS)
    np.testing.assert_array_equal(fw.map(lambda d: d - np.timedelta64(1, "D"), t), DAYS - 1)
    later = np.asarray(t, "M8[s]", copy=True)
    np.testing.assert_array_equal(later, DAYS)
    np.testing.assert_array_equal(fw.jit(lambda a, b: b - a)(DAYS[0], DAYS), DAYS - DAYS[0])
    assert (t == "a text") is False


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda t: t + t, fw.DTypeError, "add of points in time and points in time means nothing"),
        (lambda t: (t - t) - t, fw.DTypeError, "sub of spans of time and points in time"),
        (lambda t: t * 2, fw.DTypeError, "mul of points in time and numbers"),
        (lambda t: (t - t) * 1.5, fw.DTypeError, "anything but integers"),
        (lambda t: (t - t) < t, fw.DTypeError, "compared with a span"),
        (lambda t: t + 1, fw.DTypeError, "int meets times of dtype"),
        (lambda t: t - DAYS.astype("M8[s]"), fw.DTypeError, "Bring them to one unit"),
        (lambda t: t + np.timedelta64(1, "h"), fw.DTypeError, "Bring them to one unit"),
        (lambda t: fw.sum(t), fw.DTypeError, r"sum of points in time"),
        (lambda t: fw.mean(t), fw.ArgumentError, r"t\.ticks"),
        (lambda t: fw.minimum(t, 3), fw.DTypeError, "int meets times of dtype"),
        (lambda t: fw.where(t < t[0], t, 0), fw.DTypeError, "int meets times of dtype"),
        (lambda t: fw.maximum(t, t - t), fw.DTypeError, "compared with a span"),
        (lambda t: t.astype("M8[M]"), fw.DTypeError, "months differ in length"),
        (lambda t: fw.asarray(RECORDS), fw.DTypeError, "dict of its fields"),
    ],
)
def test_what_means_nothing(call, error, message):
    """Each is refused with what to do about it."""
    with pytest.raises(error) as caught:
        fw.jit(call)(DAYS)
    assert caught.match(message)


SPAN = np.timedelta64(36, "h")
FUNCTIONS = {  # of times, ours and NumPy's
    "extremes": lambda m, t: (m.min(t), m.max(t), m.argmin(t), m.max(t) - t),
    "elementwise": lambda m, t: (m.maximum(t, t[1]), m.where(t > t[0], t, t[0]),
                                 m.equal(t, t[::-1]), m.clip(t, t[2], t[0])),
    "moved": lambda m, t: (m.flip(t), m.roll(t, 1), m.take(t, [2, 0]), m.repeat(t, 2),
                           m.reshape(t, (3, 1)), m.concatenate([t, t]), m.stack([t, t])),
    "spans": lambda m, t: (m.diff(t), m.sum(t - t[0]), m.cumsum(t - t[0]), m.abs(t - t[0]),
                           (t - t[0]) % np.timedelta64(7, "D"), m.ptp(t)),
    "numbers": lambda m, t: ((t - t[0]) / np.timedelta64(7, "D"), m.searchsorted(m.sort(t), t),
                             m.isin(t, t[:1]), m.array_equal(t, t)),
    "sets": lambda m, t: (m.unique(t), *m.unique_counts(t), *m.unique_inverse(t)),
    "units": lambda m, t: (t.astype("M8[s]"), t.astype("M8[W]"), t.astype("M8[25s]"),
                           t.astype("M8[h]") + SPAN),
    "empty": lambda m, t: (m.sort(t[:0]), m.unique(t[:0]), m.diff(t[:1]), m.sum((t - t)[:0])),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_times(name):
    """Give what NumPy's give, in a jitted function and outside of it."""
    function = FUNCTIONS[name]
    wanted = function(np, DAYS)
    for found in (fw.jit(lambda t: function(fw, t))(DAYS), function(fw, fw.asarray(DAYS))):
        for ours, theirs in zip(found, wanted, strict=True):
            assert np.asarray(ours).dtype == np.asarray(theirs).dtype
            np.testing.assert_array_equal(np.asarray(ours), theirs)


def test_rows_of_times_and_missing_ones():
    """Each row, each missing time; results are rows of times and of spans."""
    rows = fw.ragged(DAYS, lengths=[1, 0, 2])
    known = fw.Nullable(np.array(["2024-03-01", "NaT", "1969-12-31"], "M8[D]"))
    days = DAYS.tolist()

    assert fw.max(rows, axis=1, initial=DAYS[2]).tolist() == [days[0], days[2], days[1]]
    gaps = fw.map(lambda row: fw.diff(row), rows)
    assert gaps.tolist() == [[], [], [days[2] - days[1]]]
    assert (rows - DAYS[0]).tolist()[2] == [day - days[0] for day in days[1:]]
    assert (rows < DAYS[0]).tolist() == [[False], [], [False, True]]
    assert rows.firsts().tolist() == [days[0], None, days[1]]
    assert fw.rolling(DAYS, 2, 1).tolist() == [days[:1], days[:2], days[1:]]
    assert (fw.max(known).tolist(), fw.argmin(known).tolist()) == (days[1], 2)
    assert fw.sort(known).tolist() == [days[2], days[1], None]
    assert fw.where(fw.is_none(known), DAYS[0], known).tolist() == [days[1], days[0], days[2]]
    assert fw.top_k(known, 1)[0].tolist() == [days[1]]
    assert fw.cummin(known).tolist() == [days[1], None, days[2]]
    carries = fw.recurrence(lambda c, t: (fw.maximum(c, t), t - c), DAYS[0], DAYS)[1]
    assert np.asarray(carries).tolist() == [day - last for day, last in
                                            zip(days, [days[0], days[0], days[1]], strict=True)]


def test_times_that_are_not_set():
    """Have no integer, and times without a unit no meaning."""
    days = DAYS.copy()
    days[1] = "NaT"
    for function in (fw.jit(lambda t: t), fw.sort, lambda t: fw.jit(lambda s: s - t)(DAYS)):
        with pytest.raises(fw.ArgumentError, match=r"1 time not set \(NaT\)"):
            function(days)
    with pytest.raises(fw.DTypeError, match="have no unit"):
        fw.jit(lambda t: t)(np.zeros(1, "m8"))


FRESH = """
import numpy as np
import flatweave as fw

days = np.array(["2024-02-28", "2024-03-01"], "M8[D]")
print(np.asarray(fw.jit(lambda t: t - t[0])(days)), fw.sort(days[::-1]).tolist()[0])
"""


def test_a_process_that_has_seen_no_times():
    """The first array of times is recognised, whatever has been imported before."""
    done = subprocess.run(
        [sys.executable, "-c", FRESH], capture_output=True, text=True, timeout=150, check=False
    )

    assert (done.stdout, done.stderr) == ("[0 2] 2024-02-28\n", "")
