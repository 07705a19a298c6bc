"""Arrays in chunks whose extents are 1: they are broadcast, as on one machine."""

import numpy as np
import pytest

import flatweave as fw

M = np.arange(21.0).reshape(7, 3)
ROWS = pytest.mark.parametrize("rows", [1, 3, 1000])
scaled = fw.jit(lambda m, c: (m - c) * 2)


@ROWS
def test_one_row_of_chunks_is_broadcast(rows):
    """Along the axis in chunks, along the other one, along both; then equal shapes again."""
    m = fw.Chunked.cut(M, rows)
    for other in (M[:1], M[:, :1], M[:1, :1], M):
        found = scaled(m, fw.Chunked.cut(other, rows))
        assert isinstance(found, fw.Chunked)
        assert np.array_equal(np.asarray(found), (M - other) * 2)


def test_one_row_beside_arrays_of_the_client():
    """Either of them may have one row."""
    assert np.array_equal(np.asarray(scaled(fw.Chunked.cut(M, 2), M[:1])), (M - M[:1]) * 2)
    assert np.array_equal(np.asarray(scaled(fw.Chunked.cut(M[:1], 2), M)), (M[:1] - M) * 2)


@ROWS
def test_extents_that_are_computed(rows):
    """Of rows that are kept there may be one; of two, the error is that of one machine."""
    kept = fw.jit(lambda xs, most: xs - xs[xs < most])
    xs = fw.Chunked.cut(np.arange(7.0), rows)

    assert np.asarray(kept(xs, 1.0)).tolist() == list(range(7))
    assert np.asarray(kept(xs, 9.0)).tolist() == [0] * 7
    with pytest.raises(fw.ShapeError, match="got 7 and 2 elements"):
        kept(xs, 2.0)


def test_public_functions_and_stages():
    """A library function broadcasts automatically; stages show its steps."""
    m = fw.Chunked.cut(M, 2)
    found = fw.maximum(m, fw.Chunked.cut(M[3:4], 2))

    assert np.array_equal(np.asarray(found), np.maximum(M, M[3]))
    assert "check" in scaled.stages(m, m).text["steps"]
    assert scaled._repr_html_() is None


def test_a_fold_of_the_client_reads_an_array_in_chunks():
    """An array that is whole is folded there, by an operator that reads one in chunks."""
    last = fw.jit(lambda xs, table: fw.reduce(
        lambda a, b: table[b] + 0 * table[a], 5, xs, check=False)
    )  # fmt: skip
    places, table = np.array([3, 1, 5]), np.array([0, 0, 2, 2, 4, 4, 6])

    assert int(last(places, fw.Chunked.cut(table, 2))) == 4
    assert int(last(places[:0], fw.Chunked.cut(table, 2))) == 5
