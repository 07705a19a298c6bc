"""Rows of different lengths in chunks: how they are made, cut, and come back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flatweave as fw
from flatweave.cluster.executor import Rows
from flatweave.cluster.in_process import InProcess

ROWS = fw.ragged([[1.0, 2.0], [], [3.0, 4.0, 5.0], [6.0], [7.0]])


def test_rows_stay_whole():
    """Cut by rows, by values, or made of several: a chunk has at least one row."""
    by_rows = fw.Chunked.cut(ROWS, 2)
    by_values = fw.Chunked.cut(ROWS, values=2)
    joined = fw.Chunked([ROWS, fw.ragged([], dtype=float), ROWS[:2]])

    assert repr(by_rows) == "Chunked(ragged float64[5, ~], 3 chunks)"
    assert [rows.tolist() for rows in by_rows] == [
        [[1, 2], []], [[3, 4, 5], [6]], [[7]],
    ]  # fmt: skip
    assert by_values.bounds == (0, 2, 3, 5)
    assert joined.load(0, len(joined)).tolist() == [*ROWS.tolist(), [1, 2], []]
    assert isinstance(joined, fw.Chunked)
    assert (by_rows.ndim, by_rows.nbytes, len(by_rows)) == (2, 13 * 8, 5)
    assert by_rows.load(1, 4).tolist() == ROWS.tolist()[1:4]


def test_results_are_ragged_again():
    """In chunks where rows are, whole where they are not; what is given back goes on."""
    f = fw.jit(lambda r: (fw.map(lambda row: row[row > 2], r), r, fw.ragged([[1], []])))
    kept, same, whole = f(fw.Chunked.cut(ROWS, 2))
    sums = fw.jit(lambda r: fw.sum(r, axis=1))(kept)

    assert kept.load(0, 5).tolist() == [[], [], [3, 4, 5], [6], [7]]
    assert repr(same) == "Chunked(ragged float64[5, ~], 3 chunks)"
    assert type(whole) is fw.Ragged
    assert np.asarray(sums).tolist() == [0, 0, 12, 6, 7]


def test_rows_of_rows_and_of_several_arrays():
    """Each level is cut where the rows around it are."""
    nested = fw.Chunked.cut(fw.ragged(ROWS, lengths=[2, 0, 3]), 1)
    trees = fw.Chunked.cut(fw.ragged({"a": np.arange(5), "b": np.ones(5)}, lengths=[2, 3]), 1)

    assert repr(nested) == "Chunked(ragged float64[3, ~, ~], 3 chunks)"
    assert [x.tolist() for x in nested] == [[ROWS.tolist()[:2]], [[]], [ROWS.tolist()[2:]]]
    assert repr(trees) == "Chunked(ragged {'a': int64, 'b': float64}[2, ~], 2 chunks)"
    dots = fw.jit(lambda r: fw.map(lambda row: fw.sum(row["a"] * row["b"]), r))(trees)
    assert np.asarray(dots).tolist() == [1, 9]


def test_values_and_offsets_put_together():
    """Wherever they are cut, as those of files are."""
    values = fw.Chunked.cut(np.arange(7.0), 3)
    offsets = fw.Chunked.cut(np.array([0, 2, 2, 6, 7]), 2)
    sums = fw.jit(lambda r: fw.sum(r, axis=1))(fw.Chunked.ragged(values, offsets))

    assert np.asarray(sums).tolist() == [1, 0, 14, 6]


def test_offsets_are_looked_at(tmp_path):
    """Of any integers, in memory and in files; what would be read outside of values is an error."""
    values = fw.Chunked.cut(np.arange(20.0), 6)

    def both(offsets):
        np.save(tmp_path / "o.npy", offsets)
        cuts = offsets, fw.Chunked.cut(offsets, 2), fw.Chunked.open(tmp_path / "o.npy", 3)
        return [lambda each=each: fw.Chunked.ragged(values, each) for each in cuts]

    for dtype in (np.int32, np.uint8):
        for made in both(np.array([0, 5, 5, 20], dtype)):
            assert np.asarray(fw.sum(made(), axis=1)).tolist() == [10.0, 0.0, 180.0]
    for offsets, message in (
        ([0, 10**7, 10, 20], "must not decrease: row 1 would have -9999990 elements"),
        ([0, 4, -3, 5, 20], "must not decrease: row 1 would have -7 elements"),
        ([0, 5, 30], "must end at the number of values, got 30 for 20 values"),
        ([3, 5, 20], "must start at 0, got 3"), ([0.0, 5.0, 20.0], "must be integers"),
    ):  # fmt: skip
        for made in both(np.array(offsets)):
            with pytest.raises(fw.UserError, match=message):
                made()
    with pytest.raises(fw.ShapeError, match="arrays of one length, got 20 and 3"):
        fw.Chunked.ragged((values, np.arange(3)), np.array([0, 20]))
    inner = fw.ragged([[1], [2, 3], []])
    for each in (inner, fw.Chunked.cut(inner, 2)):
        rows = fw.Chunked.ragged(each, fw.Chunked.cut(np.array([0, 1, 3]), 2))
        assert rows.load(0, 2).tolist() == [[[1]], [[2, 3], []]]


def test_rows_that_are_kept_are_all_that_is_read(monkeypatch):
    """A chunk of the result is given the values of about its own rows, not all there are."""
    most = []
    run = InProcess.run

    def watched(self, step, jobs):
        jobs = list(jobs)
        most.extend(
            x.nbytes for _, args in jobs for x in args if isinstance(x, Rows) and x.dtype == float
        )
        return run(self, step, jobs)

    rows = fw.ragged(np.arange(1200.0), offsets=np.arange(0, 1201, 6))
    f = fw.jit(lambda r: fw.filter(lambda x: x[0] % 4 == 0, r))
    monkeypatch.setattr("flatweave.cluster.windows.LITTLE", 0)
    monkeypatch.setattr(InProcess, "run", watched)
    kept = f(fw.Chunked.cut(rows, 20))

    assert kept.load(0, len(kept)).tolist() == rows.tolist()[::2]
    assert 0 < max(most) <= 2 * 20 * 6 * 8


def test_a_row_larger_than_memory():
    """Its function is refused with the way round, which cuts values anywhere."""
    values = np.arange(1000.0) % 7
    offsets = np.array([0, 3, 3, 995, 1000])
    rows = fw.Chunked.ragged(fw.Chunked.cut(values, 16), fw.Chunked.cut(offsets, 1))
    total = fw.jit(lambda r: fw.segmented_reduce(fw.add, 0.0, r.flags, r.values))
    with fw.on(memory="4 KiB"):
        with pytest.raises(fw.ArgumentError, match=r"(?s)7\.8 KiB, .* A row stays whole\."):
            fw.jit(lambda r: fw.map(lambda row: fw.sum(row), r))(rows)
        kept = np.asarray(total(rows))

    assert kept.tolist() == [values[:3].sum(), values[3:995].sum(), values[995:].sum()]


@pytest.mark.slow
@given(
    st.lists(st.integers(0, 4), max_size=12), st.lists(st.integers(0, 12), max_size=4),
    st.lists(st.integers(0, 40), max_size=4),
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_any_cuts(lengths, rows, values):
    """Offsets and values cut at any indices, some of which are the same."""
    check_cuts(lengths, rows, values)


def test_some_cuts():
    """Chunks without rows, rows over several chunks of values, no rows at all."""
    check_cuts([2, 0, 3, 1, 0, 4], [3, 3, 1], [1, 4, 4, 9])
    check_cuts([], [0], [])
    check_cuts([0, 0], [1], [0])
    check_cuts([5], [], [2, 3])


F = fw.jit(
    lambda r: (
        fw.map(lambda row: row[1:] * fw.sum(row), r), fw.sum(r, axis=1), r[r.lengths > 1],
        r.values + 1,
    )
)  # fmt: skip


def check_cuts(lengths, rows, values):
    """What a program gives is what it gives for the rows as they are."""
    whole = fw.ragged(np.arange(sum(lengths)) * 7 % 5 - 1, lengths=np.array(lengths, np.int64))
    offsets = cut_at(np.asarray(whole.offsets), rows)
    given_ = fw.Chunked.ragged(cut_at(np.asarray(whole.values), values), offsets)
    for mine, theirs in zip(F(given_), F(whole), strict=True):
        if isinstance(theirs, fw.Ragged):
            assert mine.load(0, len(mine)).tolist() == theirs.tolist()
        else:
            assert np.array_equal(np.asarray(mine), np.asarray(theirs))


def cut_at(array, places):
    """An array cut at indices, with empty chunks among its chunks."""
    cuts = sorted(min(place, len(array)) for place in places)
    return fw.Chunked(np.split(array, cuts))
