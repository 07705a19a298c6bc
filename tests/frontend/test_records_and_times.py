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
    assert repr(t) == "Times(Array([19781, 19783,    -1], dtype=int64), dtype=datetime64[D])"
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
        (lambda t: t + t, fw.DTypeError, "a point in time plus another means nothing"),
        (lambda t: (t - t) - t, fw.DTypeError, "minus a point"),
        (lambda t: t * 2, fw.DTypeError, "of a point in time"),
        (lambda t: (t - t) * 1.5, fw.DTypeError, "anything but an integer"),
        (lambda t: (t - t) < t, fw.DTypeError, "compared with a span"),
        (lambda t: t + 1, fw.DTypeError, "int meets times of dtype"),
        (lambda t: t - DAYS.astype("M8[s]"), fw.DTypeError, "Bring them to one unit"),
        (lambda t: t + np.timedelta64(1, "h"), fw.DTypeError, "Bring them to one unit"),
        (lambda t: fw.sum(t), fw.ArgumentError, r"t\.ticks"),
        (lambda t: fw.minimum(t, t), fw.ArgumentError, r"t\.ticks"),
        (lambda t: fw.asarray(DAYS), fw.DTypeError, r"view\(np\.int64\)"),
        (lambda t: fw.asarray(RECORDS), fw.DTypeError, "dict of its fields"),
    ],
)
def test_what_means_nothing(call, error, message):
    """Each is refused with what to do about it."""
    with pytest.raises(error) as caught:
        fw.jit(call)(DAYS)
    assert caught.match(message)


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
