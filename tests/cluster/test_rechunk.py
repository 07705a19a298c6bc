"""An array cut anew: the same rows, other chunks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flatweave as fw

XS = np.random.default_rng(3).random(100)
ROWS = XS[:96].reshape(24, 4)


def chunks(array, cuts):
    """An array cut at indices."""
    return fw.Chunked(np.split(array, sorted(cuts)))


@given(
    st.lists(st.integers(0, 24), max_size=6), st.integers(1, 30), st.integers(1, 30),
    st.integers(0, 24), st.integers(0, 24),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_rows_are_the_same(cuts, rows, again, begin, end):
    """Whatever it was cut into before, and how often."""
    found = chunks(ROWS, cuts).rechunk(again).rechunk(rows)
    begin, end = sorted((begin, end))

    assert np.array_equal(np.asarray(found), ROWS)
    assert [len(each) for each in found][:-1] == [rows] * (len(found.pieces) - 1)
    assert np.array_equal(found.load(begin, end), ROWS[begin:end])
    assert np.array_equal(np.concatenate(list(found)), ROWS)


def test_sums_of_arrays_that_are_cut_alike_have_the_same_bits():
    """And of others they need not; both ways of saying how."""
    total = fw.jit(fw.sum)
    wanted = total(fw.Chunked.cut(XS, 7))
    other = chunks(XS, [3, 50])

    assert total(other.rechunk(7)) == wanted
    assert total(other.rechunk(fw.Chunked.cut(XS, 7))) == wanted
    assert other.rechunk(fw.Chunked.cut(XS, 7)).bounds == fw.Chunked.cut(XS, 7).bounds


def test_results_and_files_are_cut_anew(tmp_path):
    """Nothing is read before it is needed; an empty array has no rows to cut."""
    np.save(tmp_path / "xs.npy", XS)
    opened = fw.Chunked.open(tmp_path / "xs.npy", 30)
    kept = fw.jit(lambda x: x[x > 0.5])(opened)
    nothing = fw.Chunked.cut(XS[:0], 3).rechunk(5)

    highest = fw.jit(lambda x: fw.scan(fw.maximum, 0.0, x))(kept.rechunk(11))
    assert np.array_equal(np.asarray(highest), np.maximum.accumulate(XS[XS > 0.5]))
    assert np.asarray(nothing).shape == (0,)
    assert np.array_equal(np.asarray(fw.jit(lambda x: x * 2)(nothing)), XS[:0])


def test_dask_takes_what_was_cut_anew():
    """With the new chunks."""
    pytest.importorskip("dask.array")
    found = fw.Chunked.cut(XS, 30).rechunk(40).to_dask()

    assert found.chunks == ((40, 40, 20),)
    assert np.array_equal(found.compute(scheduler="sync"), XS)


def test_rows_of_different_lengths_stay_whole():
    """They are counted, whatever they have."""
    rows = fw.ragged([[1, 2], [], [3], [4, 5, 6], [7], []])
    found = fw.Chunked.cut(rows, 4).rechunk(2)

    assert found.bounds == (0, 2, 4, 6)
    assert [row.tolist() for row in found.load(0, 6)] == [row.tolist() for row in rows]
    assert np.asarray(fw.jit(lambda r: fw.map(fw.sum, r))(found)).tolist() == [3, 0, 3, 15, 7, 0]


@pytest.mark.parametrize("rows", [0, 2.5, fw.Chunked.cut(XS[:9], 3)])
def test_what_says_no_chunks(rows):
    """A number of rows from 1 up, or an array of the same length."""
    with pytest.raises(fw.ArgumentError, match=r"from 1 up|100 rows as one of 9 rows"):
        fw.Chunked.cut(XS, 10).rechunk(rows)
