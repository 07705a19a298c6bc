"""Programs on chunks in this process: the values of one machine."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flatweave as fw
from flatweave.cluster import calls, drive
from flatweave.cluster.in_process import InProcess
from tests.cluster.programs import PROGRAMS, QUICK, agree

PLACE = InProcess("interp")


CASES = [(name, rows) for name in PROGRAMS for rows in (1, 7, 1000)]
"""Of one row, of some, one for all."""


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        case if case[0] in QUICK or case[1] == 7 else pytest.param(*case, marks=pytest.mark.slow)
        for case in CASES
    ],
)
def test_values_are_those_of_one_machine(name, rows):
    """Whatever the chunks."""
    with fw.target("interp"):
        agree(name, PLACE, rows)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6))
@settings(max_examples=20, deadline=None)
def test_any_chunks(lengths):
    """Chunks of any lengths, empty ones among them."""
    parts = [np.arange(n) * 7 % 5 - 1 for n in lengths]
    xs = np.concatenate(parts)
    f = fw.jit(lambda x: (fw.sum(x), fw.cumsum(x), x[x > 1], x[1:] * x[:-1]))
    for mine, theirs in zip(f(fw.Chunked(parts)), f(xs), strict=True):
        assert np.array_equal(np.asarray(mine), np.asarray(theirs))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(0, 9), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_some_rows_are_those_of_their_pieces(lengths, begin, count):
    """Chunks without rows have no elements; rows after the last one do not exist."""
    parts = [np.arange(n) + 10 * k for k, n in enumerate(lengths)]
    xs = fw.Chunked(parts)
    found = xs.between(begin, begin + count)

    assert all(first < last for _, first, last in found)
    loaded = [x for piece, first, last in found for x in piece.load(first, last)]
    assert loaded == np.concatenate(parts)[begin : begin + count].tolist()


def test_arrays_of_other_chunks_meet():
    """Each chunk takes its rows wherever they are."""
    xs, ys = np.arange(20), np.arange(20) * 3
    f = fw.jit(lambda x, y: (x + y, fw.dot(x, y)))
    total, product = f(fw.Chunked.cut(xs, 6), fw.Chunked.cut(ys, 7))

    assert np.array_equal(np.asarray(total), xs + ys)
    assert int(product) == xs @ ys


def test_a_whole_array_beside_chunks():
    """It is cut as they are."""
    xs = np.arange(20)
    found = fw.jit(lambda x, y: x * y)(fw.Chunked.cut(xs, 6), xs)

    assert np.array_equal(np.asarray(found), xs * xs)


def test_other_extents_are_cut_at_the_same_parts():
    """A reshape of rows has as many chunks as these; a few rows fewer are cut where these are."""
    rows = fw.Chunked.cut(np.arange(60).reshape(10, 6), 4)
    flat = fw.jit(lambda m: fw.reshape(m, (-1,)))(rows)
    again = fw.jit(lambda x: fw.reshape(x, (-1, 6)))(flat)
    tail = fw.jit(lambda m: m[1:])(rows)

    assert flat.bounds == (0, 24, 48, 60)
    assert again.bounds == rows.bounds
    assert tail.bounds == (0, 4, 8, 9)


def test_public_functions_take_chunks():
    """Outside of jitted functions, too; called again, they are not compiled again."""
    xs, ks = np.arange(20) % 7, np.arange(20) % 3
    chunks, keys = fw.Chunked.cut(xs, 6), fw.Chunked.cut(ks, 7)
    for _ in range(2):
        assert int(fw.sum(chunks)) == xs.sum()
    ordered = fw.sort((keys, chunks))
    found = fw.map(lambda x: x + 1, chunks)

    assert np.array_equal(np.asarray(ordered[1]), xs[np.lexsort((xs, ks))])
    assert np.array_equal(np.asarray(found), xs + 1)


def test_a_lambda_written_anew_is_not_divided_anew():
    """From the same line; from another one errors would name this one."""
    xs = fw.Chunked.cut(np.arange(20), 6)
    count = len(calls._DIVIDED)
    for _ in range(3):
        fw.map(lambda x: x + 17, xs)
    assert len(calls._DIVIDED) == count + 1
    fw.map(lambda x: x + 17, xs)
    fw.map(lambda x: x + 18, xs)

    assert len(calls._DIVIDED) == count + 3


def test_a_loop_of_the_client_compiles_once(monkeypatch):
    """The iterations' work on whole arrays, and the code that combines the chunks of each."""
    made = []
    compiled = drive.compile_program
    monkeypatch.setattr(drive, "compile_program", lambda *args: made.append(1) or compiled(*args))
    monkeypatch.setattr(drive, "_MADE", {})
    keys = fw.Chunked.cut(np.arange(9000) % 5000, 5000)
    f = fw.jit(lambda ks, turns: fw.fori_loop(
        0, turns, lambda _, sums: fw.permute(fw.add, sums, ks, ks % 2), fw.zeros(5000, fw.i64)
    ))  # fmt: skip
    first = f(keys, 1)
    count = len(made)
    found = f(keys, 3)

    assert int(first[3]) == 2 and int(found[3]) == 6
    assert 0 < count == len(made)


def test_what_does_not_fit_says_what_it_is():
    """A chunk, one row, or an array of which every chunk reads all; and what to do about it."""
    xs, rows = fw.Chunked.cut(np.arange(4000), 500), fw.Chunked.cut(np.zeros((4, 4000)), 1)
    every = fw.jit(lambda xs: fw.map(lambda x: fw.sum(fw.map(lambda k: xs[x // k], xs[:9])), xs))
    with fw.on(memory="16 KiB"):
        with pytest.raises(fw.ArgumentError, match=r"a chunk has 31\.2 KiB, of") as said:
            fw.sum(xs.rechunk(4000))
        assert "fewer rows: xs.rechunk(rows)" in str(said.value)
        with pytest.raises(fw.ArgumentError, match=r"a chunk has 31\.2 KiB, of") as said:
            fw.sum(rows, axis=1)
        assert "A row stays whole" in str(said.value)
        with pytest.raises(fw.ArgumentError, match="every chunk reads all of an array of 31"):
            every(xs)
    with pytest.raises(fw.ArgumentError, match="load takes rows from 0 up, got -3"):
        xs.load(-3, 4000)


def test_results_go_on():
    """What a function gives in chunks, another one takes."""
    xs = fw.Chunked.cut(np.arange(20), 6)
    kept = fw.jit(lambda x: x[x % 3 == 0])(xs)
    total = fw.jit(lambda x: fw.cumsum(x))(kept)

    assert repr(kept) == "Chunked(int64[7], 4 chunks)"
    assert np.array_equal(np.asarray(total), np.cumsum(np.arange(0, 20, 3)))


def test_what_was_compiled_serves_other_chunks():
    """Neither lengths nor their number are part of the signature."""
    f = fw.jit(lambda x: fw.sum(x))
    f(fw.Chunked.cut(np.arange(20), 6))
    f(fw.Chunked.cut(np.arange(99), 50))

    assert f.traces == 1


def test_a_file_is_read_by_chunks(tmp_path):
    """Only the rows that are needed."""
    xs = np.arange(12.0).reshape(6, 2)
    np.save(tmp_path / "xs.npy", xs)
    opened = fw.Chunked.open(tmp_path / "xs.npy", 4)
    found = fw.jit(lambda m: fw.map(lambda row: fw.sum(row), m))(opened)

    assert repr(opened) == "Chunked(float64[6, 2], 2 chunks)"
    assert np.array_equal(np.asarray(found), xs.sum(1))


def test_bars_count_bytes(capsys):
    """One for each step, full when it is done; none is left when a call fails."""
    pytest.importorskip("rich")
    xs = fw.Chunked.cut(np.arange(3000), 1000)
    with fw.on(progress=True):
        fw.jit(lambda x: fw.sum(x - fw.mean(x)))(xs)
        with pytest.raises(fw.IndexOutOfBounds):
            places = fw.Chunked.cut(np.arange(2990, 3008), 9)
            fw.jit(lambda x, k: fw.map(lambda i: x[i], k))(xs, places)

    lines = [line for line in capsys.readouterr().out.splitlines() if "/" in line]
    full = [line for line in lines if "23.4/23.4 KiB" in line]
    assert len(full) >= 2
    assert "test_in_process.py:" in full[0]
    assert "fw.jit(lambda" in full[0]
