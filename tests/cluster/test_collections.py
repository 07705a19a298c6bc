"""Dask's collections as arrays in chunks, and back; here, without a cluster."""

import numpy as np
import pytest

import flatweave as fw

dask = pytest.importorskip("dask")
arrays = pytest.importorskip("dask.array")
XS = np.arange(24.0)


@pytest.fixture(autouse=True)
def in_this_thread():
    """Dask computes here and now."""
    with dask.config.set(scheduler="synchronous"):
        yield


def test_blocks_are_chunks():
    """Of an array whose blocks have known lengths."""
    xs = fw.Chunked.from_dask(arrays.from_array(XS, chunks=10) * 2)
    found = fw.jit(lambda x: (fw.cumsum(x), fw.sum(x)))(xs)

    assert repr(xs) == "Chunked(float64[24], 3 chunks)"
    assert np.array_equal(np.asarray(found[0]), np.cumsum(XS * 2))
    assert float(found[1]) == np.sum(XS * 2)


def test_lengths_that_nobody_knows_are_asked_for_once():
    """Of what was picked by a mask."""
    asked = []

    @dask.delayed
    def block(k):
        asked.append(k)
        return XS[k * 10 : k * 10 + 10][XS[k * 10 : k * 10 + 10] % 3 == 0]

    parts = [arrays.from_delayed(block(k), (np.nan,), np.float64) for k in range(3)]
    xs = fw.Chunked.from_dask(arrays.concatenate(parts))
    assert asked == []
    assert len(xs) == 8 and xs.bounds == (0, 4, 7, 8)
    assert sorted(asked) == [0, 1, 2]
    assert np.array_equal(np.asarray(fw.jit(lambda x: x + 1)(xs)), XS[XS % 3 == 0] + 1)


def test_axes_behind_the_first_are_not_cut():
    """They are put together."""
    rows = XS.reshape(8, 3)
    xs = fw.Chunked.from_dask(arrays.from_array(rows, chunks=(3, 2)))

    assert xs.shape == (8, 3) and len(xs.pieces) == 3
    assert np.array_equal(np.asarray(xs), rows)


def test_delayed_arrays():
    """The first one says what they all are; one that is something else is an error."""
    parts = [dask.delayed(np.ones)(n) for n in (2, 0, 3)]
    xs = fw.Chunked.from_dask(parts)
    assert xs.bounds == (0, 2, 2, 5)
    assert float(fw.jit(lambda x: fw.sum(x))(xs)) == 5

    other = fw.Chunked.from_dask([*parts, dask.delayed(np.arange)(3)])
    with pytest.raises(fw.ArgumentError, match=r"is int64\[3\], where the collection says float64"):
        fw.jit(lambda x: fw.sum(x))(other)


def test_blocks_of_another_length_than_declared():
    """They are not read past their end, nor taken for less than they are."""
    f = fw.jit(lambda x: (fw.sum(x), x * 2))
    for made, declared in ((3, 5), (7, 5), (0, 5)):
        block = arrays.from_delayed(dask.delayed(np.ones)(made), (declared,), np.float64)
        for whole in (block, arrays.concatenate([arrays.ones(4, chunks=2), block])):
            xs = fw.Chunked.from_dask(whole)
            with pytest.raises(fw.ArgumentError, match=rf"has {made} rows, .* says {declared}\."):
                f(xs)
            with pytest.raises(fw.ArgumentError, match="compute_chunk_sizes"):
                np.asarray(xs)


def test_blocks_that_change():
    """A block whose length was asked for, and that has another one when it is computed."""
    lengths = iter([3, 2])
    block = dask.delayed(lambda: np.ones(next(lengths)), pure=False)()
    xs = fw.Chunked.from_dask(arrays.from_delayed(block, (np.nan,), np.float64))
    assert len(xs) == 3
    with pytest.raises(fw.ArgumentError, match=r"has 2 rows, .* says 3\."):
        fw.jit(lambda x: fw.sum(x))(xs)


def test_blocks_with_something_missing():
    """Masked arrays and nulls are refused, as they are elsewhere."""
    masked = arrays.ma.masked_array(arrays.arange(4.0, chunks=2), [False, False, True, False])
    with pytest.raises(fw.ArgumentError, match="masked array"):
        fw.jit(lambda x: fw.sum(x))(fw.Chunked.from_dask(masked))
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    column = frames.from_pandas(pandas.DataFrame({"x": pandas.array([1, None], "Int64")}), 1).x
    with pytest.raises(fw.ArgumentError, match="1 null"):
        fw.jit(lambda x: fw.sum(x))(fw.Chunked.from_dask(column))


def test_collections_are_chunks_where_chunks_are_computed(monkeypatch):
    """Within fw.on nothing is computed as a whole; elsewhere a collection is an array."""
    computed = []
    compute = arrays.Array.compute
    monkeypatch.setattr(arrays.Array, "compute", lambda x: computed.append(x) or compute(x))
    xs = arrays.from_array(XS, chunks=10)
    with fw.on(memory="1 GiB"):
        assert float(fw.sum(xs)) == XS.sum() and float(fw.dot(xs, xs + 1)) == XS @ (XS + 1)
        found = fw.jit(lambda r: r["x"] * 2)({"x": xs})
        assert repr(found) == "Chunked(float64[24], 3 chunks)"
        assert np.array_equal(np.asarray(found), XS * 2)
        xarray = pytest.importorskip("xarray")
        assert float(fw.max(xarray.DataArray(xs))) == XS.max()
        assert computed == []
        assert float(fw.sum(xs.sum())) == XS.sum()  # a number
    assert float(fw.sum(xs)) == XS.sum() and len(computed) == 2


def test_columns_of_data_frames():
    """Partitions are chunks."""
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    table = pandas.DataFrame({"x": np.arange(10), "y": XS[:10], "s": list("abcdefghij")})
    frame = frames.from_pandas(table, npartitions=3)
    xs = fw.Chunked.from_dask(frame[frame.x > 2].x)
    ys = fw.Chunked.from_dask(frame[frame.x > 2].y)

    assert float(fw.jit(lambda x, y: fw.dot(x, y))(xs, ys)) == np.sum(XS[3:10] ** 2)
    with pytest.raises(fw.DTypeError, match="chunks hold numbers"):
        fw.Chunked.from_dask(frame.s)
    with pytest.raises(fw.ArgumentError, match="one column of a data frame"):
        fw.Chunked.from_dask(frame)


def test_a_dask_array_of_chunks(tmp_path):
    """Of memory, of files, of what came from Dask."""
    np.save(tmp_path / "xs.npy", XS)
    for xs in (
        fw.Chunked.cut(XS, 10), fw.Chunked.open(tmp_path / "xs.npy", 10),
        fw.Chunked.from_dask(arrays.from_array(XS, chunks=10)),
    ):  # fmt: skip
        found = xs.to_dask()
        assert found.chunks == ((10, 10, 4),) and found.dtype == XS.dtype
        assert np.array_equal((found + 1).compute(), XS + 1)

    assert fw.Chunked.of([], np.int32, (2,)).to_dask().shape == (0, 2)


@pytest.mark.parametrize("value", [7, [1, 2], arrays.from_array(XS).sum(), None, []])
def test_what_is_no_collection(value):
    """It says what to do."""
    with pytest.raises(fw.ArgumentError, match="from_dask takes"):
        fw.Chunked.from_dask(value)
