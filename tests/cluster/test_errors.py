"""What cannot be done in chunks is said before it runs; what goes wrong, as on one machine."""

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk

XS = fw.Chunked.cut(np.arange(10), 4)


def test_an_index_outside_names_the_line_and_the_chunk():
    """And the element of the whole array."""
    f = fw.jit(lambda xs, idx: fw.map(lambda i: xs[i], idx))
    with pytest.raises(fw.IndexOutOfBounds, match=r"index 77 is outside an array of 10") as found:
        f(XS, fw.Chunked.cut(np.array([1, 2, 3, 77]), 2))

    assert "(first found at element 3)" in str(found.value)
    assert "in chunk 1, rows 2 to 3" in str(found.value)
    assert "xs[i]" in str(found.value)


def test_arrays_of_different_lengths():
    """The extents are those of the whole arrays."""
    with pytest.raises(fw.ShapeError, match="10 and 3"):
        fw.jit(lambda x, y: fw.map(lambda a, b: a + b, x, y))(XS, np.arange(3))


def test_what_has_no_rule_says_so_by_name():
    """With its line, before anything runs: a kernel sees all of its arrays."""

    @fk.kernel
    def turned(xs):
        return fk.pconcat_map(lambda part: fk.reverse(fk.force(part)), fk.split_up(5, xs))

    f = fw.jit(lambda xs: turned(xs) * 2)
    with pytest.raises(fw.Unsupported, match="kernel has no rule for arrays in chunks") as found:
        f(XS)

    assert "turned(xs) * 2" in str(found.value)


def test_nothing_large_is_put_together_by_accident(monkeypatch):
    """The message says how it is done on purpose."""
    monkeypatch.setattr("flatweave.frontend.values.chunked.GATHERED", 64)
    with pytest.raises(fw.ArgumentError, match=r"80 B.*np\.asarray does not put together") as found:
        np.asarray(XS)

    assert "xs.load(0, len(xs))" in str(found.value)
    assert XS.load(3, 6).tolist() == [3, 4, 5]


@pytest.mark.parametrize("arrays", [[], [np.arange(3), np.arange(3.0)], [np.int64(3)]])
def test_arrays_that_do_not_go_together(arrays):
    """No array, two dtypes, a scalar."""
    with pytest.raises(fw.ArgumentError, match="arrays of one dtype whose rows have one shape"):
        fw.Chunked(arrays)


def test_rows_that_differ_in_length_are_no_array():
    """Nor are they saved as one; what to do is said."""
    rows = fw.Chunked.cut(fw.ragged([[1, 2], [], [3]]), 2)
    with pytest.raises(fw.ArgumentError, match="is no array: its rows differ in length"):
        np.asarray(rows)
    message = r"(?s)save as npy takes arrays,.* Chunked\.ragged puts"
    with pytest.raises(fw.ArgumentError, match=message):
        rows.save("rows.npy")
    with pytest.raises(fw.ArgumentError, match="Ragged values of one structure, got a Ragged and"):
        fw.Chunked([fw.ragged([[1]]), np.arange(3)])
    with pytest.raises(fw.ArgumentError, match="rows or by a number of values: give one"):
        fw.Chunked.cut(fw.ragged([[1]]))


def test_arguments_of_another_kind(tmp_path):
    """A number for a list of arrays or the name of a column; times; a list of nothing."""
    with pytest.raises(fw.ArgumentError, match="needs a list of arrays, got an int[^$]*cut"):
        fw.Chunked(5)
    np.save(tmp_path / "x.npy", np.arange(3))
    with pytest.raises(fw.ArgumentError, match="has no 3"):
        fw.Chunked.open(tmp_path / "x.npy", column=3)
    with pytest.raises(fw.DTypeError, match="Functions of arrays in memory take times of NumPy"):
        fw.Chunked.cut(np.array(["2020-01-01"], "M8[s]"), 1)
    with pytest.raises(fw.DTypeError, match=r"integers of times: xs.astype\(np.int64\)"):
        fw.Chunked.of([], "M8[s]")
    with pytest.raises(fw.ArgumentError, match="a list of futures, got an empty one"):
        fw.Chunked.from_dask([])


def test_protocols_that_fsspec_has_not():
    """The error says where those that it has are listed."""
    pytest.importorskip("fsspec")
    with pytest.raises(fw.ArgumentError, match=r"Protocol not known[^$]*available_protocols"):
        fw.Chunked.open("nowhere://a.npy")


@pytest.mark.parametrize("rows", [0, -1, 2.5, None])
def test_a_chunk_has_rows(rows):
    """A whole number of them."""
    with pytest.raises(fw.ArgumentError, match="a whole number of rows from 1 up"):
        fw.Chunked.cut(np.arange(3), rows)


@pytest.mark.parametrize("memory", ["much", "0", -1, "2 XB"])
def test_memory_is_a_size(memory):
    """In bytes, or with a unit."""
    with pytest.raises(fw.ArgumentError, match="a number of bytes, or a size as text, got"):
        fw.on(memory=memory)


def test_a_chunk_that_does_not_fit():
    """It says how large it is, and what to do, before it is read."""
    with fw.on(memory="150 B"), pytest.raises(fw.ArgumentError, match=r"32 B, of which 6 do not"):
        fw.jit(lambda x: fw.sum(x))(XS)


def test_on_wants_a_client():
    """Anything else is refused at once."""
    with (
        pytest.raises(fw.ArgumentError, match=r"a client of dask\.distributed, got"),
        fw.on("tcp://localhost:8786"),
    ):
        pass
