"""fw.profile: what ran inside, kernel by kernel, by whichever way it was called."""

import gc
import json
import os
import sys
import threading
import weakref

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from flatweave.base import recording
from flatweave.base.errors import ArgumentError, IndexOutOfBounds
from flatweave.base.locks import HAS_FORKS
from flatweave.profiler import profile
from flatweave.runtime import execute

XS = np.arange(100_000.0)
NEAR = 1000.0  # us; where compiled code has another clock, it is brought near to Python's


@fw.jit(target="cpu")
def total(xs):
    return fw.sum(xs)


@fw.jit(target="cpu")
def kept(xs):
    return fw.filter(lambda x: x < 1000, xs)


@fw.jit(target="cpu")
def turns(xs, n):
    return fw.fori_loop(0, n, lambda i, s: fw.scan(lambda a, b: a + b, 0.0, s * 0.5), xs)


def only(rows, **wanted):
    """The one row that is so."""
    (row,) = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return row


def test_bytes_launches_and_threads(threads):
    """A sum reads its argument once a call; each thread, and one that replaced another,
    worked for a part of the time."""
    with fw.profile() as p:
        for _ in range(3):
            total(XS)
    row = only(p.rows(), function="total")

    assert (row["launches"], row["bytes"]) == (3, 3 * XS.nbytes)
    assert row["bandwidth"] == pytest.approx(row["bytes"] / row["seconds"])
    assert row["line"].endswith(f"test_profile.py:{total.__wrapped__.__code__.co_firstlineno + 2}")
    assert row["threads"] == min(threads, row["blocks"] // 3) <= len(row["busy"])
    assert all(0 <= share <= 1 for share in row["busy"]) and max(row["busy"]) > 0
    assert row["share"] == 1.0
    call = only(p.calls(), function="total")
    assert (call["calls"], call["failed"]) == (3, 0)
    assert 0 < call["in_kernels"] <= call["seconds"] <= p.seconds


@pytest.mark.parametrize("n", [0, 1, 127, 1025, 70_000])
def test_what_only_a_run_tells_is_known_after_it(n):
    """How many elements a filter keeps, and so what it writes."""
    xs = np.arange(float(n))
    with fw.profile() as p:
        given = kept(xs)
    rows = [row for row in p.rows() if row["bytes"] is not None]

    assert sum(row["bytes"] for row in rows) == (xs.nbytes + given.nbytes if n else 0)


def test_sizes_are_summed():
    """Calls with other sizes are the same kernel, however many sizes there are."""
    total(XS)
    with pytest.MonkeyPatch.context() as patch, fw.profile() as p, fw.profile() as few:
        patch.setattr(profile, "MOST_SIZES", 2)
        for n in (1, 2, 3, 4, 3):
            total(XS[:n])
    rows = p.rows(), few.rows()

    assert [row["launches"] for (row,) in rows] == [5, 5]
    assert [row["bytes"] for (row,) in rows] == [None, None]  # of the third size on
    with fw.profile() as p:
        for n in (1, 2, 3, 4, 3):
            total(XS[:n])
    assert only(p.rows())["bytes"] == 13 * 8


def test_every_turn_of_a_loop_is_a_launch():
    """More of them than a trail has room for: it is emptied on the way."""
    turns(XS, 1)
    with pytest.MonkeyPatch.context() as patch, fw.profile() as p, fw.profile() as inner:
        patch.setattr(execute, "ROOM", 5)
        patch.setattr(execute, "_FREE_TRACES", [])
        given = turns(XS, 50)

    assert np.array_equal(given, turns(XS, 50))
    for each in (p, inner):
        row = max(each.rows(), key=lambda row: row["launches"])
        assert row["launches"] == 50
        assert row["bytes"] == 50 * 2 * XS.nbytes
        assert each.peak_bytes >= XS.nbytes


def test_eager_calls_nests_and_kernels_are_seen():
    """And what was compiled meanwhile, with the time of each stage."""

    @fk.kernel(target="cpu")
    def scaled(xs: fk.Pull[fw.f64], a: fw.f64):
        return fk.map(lambda x: a * x, xs)

    rows = fw.ragged(np.arange(1000.0), lengths=np.full(100, 10))
    with fw.target("cpu"), fw.profile() as p:
        fw.map(lambda x: x * 0.7311, XS)
        fw.map(lambda row: fw.sum(fw.map(lambda v: v * v, row)), rows)
        scaled(XS, 3.0)
    found = {row["function"]: row for row in p.rows()}

    assert found["map"]["launches"] and found["scaled"]["bytes"] == 2 * XS.nbytes
    assert len([row for row in p.calls() if row["function"] == "map"]) == 2
    stages = only(p.calls(), function="scaled")["compile"]
    assert {"lower", "emit", "compile"} <= stages.keys() and min(stages.values()) > 0


def test_on_the_interpreter_there_are_calls_alone():
    """It launches nothing."""
    with fw.target("interp"), fw.profile() as p:
        fw.sum(XS)

    assert p.rows() == [] and only(p.calls())["calls"] == 1
    assert "sum" in str(p)


def test_only_what_is_inside_is_seen():
    """Profiles may be nested: both see what is inside both."""
    with fw.profile() as outer:
        total(XS)
        with fw.profile() as inner:
            total(XS)
    total(XS)

    assert (only(outer.calls())["calls"], only(inner.calls())["calls"]) == (2, 1)
    assert [only(each.rows())["bytes"] for each in (outer, inner)] == [2 * XS.nbytes, XS.nbytes]
    assert recording.OPEN == []


def test_an_error_inside_keeps_what_was_seen():
    """A call that failed counts, as one that failed; the profile ends."""
    @fw.jit(target="cpu")
    def at(xs, i):
        return fw.map(lambda k: xs[k], i)

    at(XS, np.array([1]))
    with pytest.raises(IndexOutOfBounds), fw.profile() as p:
        total(XS)
        at(XS, np.array([100_000]))

    assert [(row["function"], row["calls"], row["failed"]) for row in p.calls()] == [
        ("total", 1, 0), ("at", 1, 1)
    ]  # fmt: skip
    assert {row["function"] for row in p.rows()} == {"total", "at"}
    assert recording.OPEN == []


def test_inside_a_trace_it_is_refused():
    """Nothing runs there."""
    @fw.jit
    def watched(xs):
        with fw.profile():
            return xs + 1

    with pytest.raises(ArgumentError, match="Open the profile around the call"):
        watched(XS)
    assert recording.OPEN == []


def test_a_profile_is_opened_once():
    """Another `with` takes another one."""
    with fw.profile() as p:
        pass

    with pytest.raises(ArgumentError, match="Take another one"), p:
        pass
    assert p.rows() == p.calls() == [] and str(p)


def test_all_threads_are_seen():
    """Calls at once, each launching: whoever has no workers runs alone."""
    total(XS)
    gate = threading.Barrier(4)

    def work():
        gate.wait()
        for _ in range(10):
            total(XS)

    with fw.profile() as p:
        crew = [threading.Thread(target=work) for _ in range(4)]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()

    assert only(p.rows())["launches"] == only(p.calls())["calls"] == 40
    assert only(p.rows())["bytes"] == 40 * XS.nbytes


@pytest.mark.skipif(not HAS_FORKS, reason="no forks")
def test_the_child_of_a_fork_is_not_watched():
    """It leaves the `with` as its parent does, and can open another profile."""
    with fw.profile() as p:
        total(XS)
        child = os.fork()
        if not child:
            total(XS)
    if not child:
        with fw.profile() as own:
            total(XS)
        fine = [len(each.calls()) == each.calls()[0]["calls"] == 1 for each in (p, own)]
        os._exit(0 if all(fine) else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert only(p.calls())["calls"] == 1


def test_no_array_is_kept():
    """A profile holds sizes."""
    xs = np.arange(3000.0)
    with fw.profile() as p:
        ys = fw.jit(lambda v: v + 1, target="cpu")(xs)
    gone = weakref.ref(xs), weakref.ref(ys)
    del xs, ys
    gc.collect()

    assert [each() for each in gone] == [None, None]
    assert only(p.rows())["bytes"] == 2 * 3000 * 8


def test_the_trace_has_a_track_for_each_thread(tmp_path):
    """Chrome's format: named tracks, boxes with a beginning and a duration, inside the profile."""
    with fw.profile() as p:
        total(XS)
        fw.jit(lambda v: v * 0.1234, target="cpu")(XS)
    path = p.trace(tmp_path / "run.json")
    events = json.loads(path.read_text())["traceEvents"]

    named = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    boxes = [event for event in events if event["ph"] == "X"]
    assert {event["tid"] for event in boxes} <= named.keys()
    assert threading.current_thread().name in named.values()
    assert {event["cat"] for event in boxes} == {"call", "kernel", "compile"}
    ends = [event["ts"] + event["dur"] for event in boxes]
    assert min(event["ts"] for event in boxes) >= 0 and max(ends) <= p.seconds * 1e6 + NEAR
    call = next(event for event in boxes if event["name"] == "total")
    inside = [event for event in boxes if event["args"].get("of") == "total"]
    assert inside and all(
        call["ts"] - NEAR <= event["ts"]
        and event["ts"] + event["dur"] <= call["ts"] + call["dur"] + NEAR
        for event in inside
    )


def test_a_trace_is_bounded(tmp_path, monkeypatch):
    """Sums are of all there was; of events the first ones are kept."""
    monkeypatch.setattr(profile, "MOST_EVENTS", 7)
    with fw.profile() as p:
        for _ in range(20):
            total(XS)
    told = json.loads(p.trace(tmp_path / "run.json").read_text())

    assert sum(event["ph"] == "X" for event in told["traceEvents"]) == 7
    assert told["otherData"]["events left out"] > 0
    assert only(p.calls())["calls"] == 20


def test_a_trace_that_cannot_be_written_names_the_folder(tmp_path):
    """As a page does."""
    with fw.profile() as p:
        pass

    with pytest.raises(ArgumentError, match="no folder .*nowhere"):
        p.trace(tmp_path / "nowhere" / "run.json")


@pytest.mark.parametrize("is_rich", [True, False])
def test_the_table_says_what_the_rows_say(is_rich, monkeypatch):
    """By rich, or plain where it is not installed."""
    if not is_rich:
        monkeypatch.setitem(sys.modules, "rich.console", None)
    with fw.profile() as p:
        total(XS)
        kept(XS)
    text = str(p)

    for row in p.rows():
        assert row["kernel"] in text and row["function"] in text
    assert "781.2 KiB" in text and "of memory" in text
    assert "test_profile.py:" in text and str(fw) not in text
    assert len(max(text.splitlines(), key=len)) <= 160


def test_measuring_the_machine_is_not_told():
    """What a table needs of it is work of our own."""
    with fw.profile() as p:
        total(XS)
        str(p)
        with recording.unseen():
            total(XS)

    assert only(p.calls())["calls"] == 1


def test_chunks_are_seen():
    """A function of arrays in chunks is a call for each chunk."""
    @fw.jit(target="cpu")
    def double(xs):
        return xs * 2

    with fw.profile() as p:
        found = double(fw.Chunked.cut(XS, 30_000))
        assert np.array_equal(np.asarray(found), XS * 2)

    assert sum(row["launches"] for row in p.rows()) == 4
    assert sum(row["bytes"] for row in p.rows()) == 2 * XS.nbytes


@pytest.mark.parametrize("version, does", [("by-row", "by row"), ("flat", "radix sort")])
def test_the_version_of_a_nest_is_named(version, does):
    """Of the two, the version that ran, with its kernels."""
    rows = fw.ragged(np.arange(1000.0)[::-1].copy(), lengths=np.full(50, 20))
    with fw.schedule(version=version), fw.target("cpu"), fw.profile() as p:
        fw.map(fw.sort, rows)

    assert {"by row", "radix sort"} & {row["does"] for row in p.rows()} == {does}
