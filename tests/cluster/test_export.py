"""Arrays in chunks as files: a written array is read back unchanged."""

import os
import subprocess
import sys

import numpy as np
import pytest

import flatweave as fw
from flatweave.cluster import export, file_sinks
from flatweave.cluster.in_process import Store

XS = np.arange(24, dtype=np.int32) * 7 % 11
ROWS = np.arange(72.0).reshape(24, 3)


def again(path, column=None):
    """What a file holds."""
    return np.asarray(fw.Chunked.open(path, column=column))


def kept(xs):
    """Some rows, in chunks of other lengths."""
    return fw.jit(lambda x: x[x > 2])(xs)


@pytest.mark.parametrize("rows", [1, 5, 100])
def test_npy_and_bytes(tmp_path, rows):
    """NumPy reads them; bytes have no header."""
    xs = kept(fw.Chunked.cut(XS, rows))
    xs.save(tmp_path / "xs.npy")
    xs.save(tmp_path / "xs.raw", format="bytes")
    fw.Chunked.cut(ROWS, rows).save(tmp_path / "rows.npy")

    assert np.array_equal(np.load(tmp_path / "xs.npy"), XS[XS > 2])
    assert np.load(tmp_path / "xs.npy").dtype == np.int32
    assert (tmp_path / "xs.raw").read_bytes() == XS[XS > 2].tobytes()
    assert np.array_equal(np.load(tmp_path / "rows.npy"), ROWS)
    assert sorted(os.listdir(tmp_path)) == ["rows.npy", "xs.npy", "xs.raw"]


def test_a_file_replaced_by_what_is_made_of_it(tmp_path):
    """It is whole until all has been written."""
    np.save(tmp_path / "xs.npy", XS)
    xs = fw.Chunked.open(tmp_path / "xs.npy", 10)
    fw.jit(lambda x: x * 2)(xs).save(tmp_path / "xs.npy")

    assert np.array_equal(np.load(tmp_path / "xs.npy"), XS * 2)


def test_nothing_at_all(tmp_path):
    """Is an array of no rows."""
    fw.jit(lambda x: x[x > 99])(fw.Chunked.cut(XS, 7)).save(tmp_path / "xs.npy")

    assert np.load(tmp_path / "xs.npy").shape == (0,)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_tables(tmp_path, kind):
    """One column, or several; rows of several axes are lists of a fixed size."""
    pytest.importorskip("pyarrow")
    xs, rows = fw.Chunked.cut(XS, 7), fw.Chunked.cut(ROWS, 9)
    xs.save(tmp_path / f"x.{kind}")
    xs.save(tmp_path / f"t.{kind}", column="x", beside={"rows": rows, "big": kept_mask(xs)})
    fw.jit(lambda x: x[x > 99])(xs).save(tmp_path / f"none.{kind}")

    assert np.array_equal(again(tmp_path / f"x.{kind}", "values"), XS)
    assert np.array_equal(again(tmp_path / f"t.{kind}", "rows"), ROWS)
    assert np.array_equal(again(tmp_path / f"t.{kind}", "big"), XS > 4)
    assert again(tmp_path / f"none.{kind}").shape == (0,)
    assert len(os.listdir(tmp_path / f"t.{kind}")) == 4


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_tables_of_lists(tmp_path, kind):
    """Rows that differ in length are lists, of lists, of records, next to numbers; cut anywhere."""
    pytest.importorskip("pyarrow")
    rows = fw.ragged([[1, 2], [], [3], [], [], [4, 5, 6]])
    nested = fw.ragged([[[1], []], [], [[2, 3]], [[]], [], [[4]]])
    records = fw.ragged({"a": np.arange(6), "b": np.arange(6) > 2}, lengths=[0, 4, 0, 0, 1, 1])
    xs = fw.Chunked.cut(rows, 4)
    beside = {
        "n": fw.Chunked.cut(nested, 5), "r": fw.Chunked.cut(records, 1), "x": xs.offsets,
    }  # fmt: skip
    with pytest.raises(fw.ArgumentError, match="'x' has 7 rows, the first column 6"):
        xs.save(tmp_path / f"t.{kind}", beside=beside)
    beside["x"] = fw.Chunked.cut(XS[:6], 3)
    xs.save(tmp_path / f"t.{kind}", column="l", beside=beside)
    fw.jit(lambda r: r[r.lengths > 9])(xs).save(tmp_path / f"none.{kind}")

    found = fw.Chunked.open(tmp_path / f"t.{kind}", 4, column=["l", "n", "r", "x"])
    for name, there in (("l", rows), ("n", nested), ("r", records), ("x", XS[:6])):
        assert found[name].load(0, 6).tolist() == there.tolist()
    assert len(fw.Chunked.open(tmp_path / f"none.{kind}")) == 0


def kept_mask(xs):
    """Booleans as long as an array."""
    return fw.jit(lambda x: x > 4)(xs)


def test_zarr(tmp_path):
    """Whatever our chunks are, Zarr's are of one length."""
    zarr = pytest.importorskip("zarr")
    kept(fw.Chunked.cut(XS, 5)).save(tmp_path / "x.zarr")
    rows = fw.Chunked.cut(ROWS, 7)
    rows.save(tmp_path / "t.zarr", column="rows", beside={"x": fw.Chunked.cut(XS, 5)})

    assert np.array_equal(zarr.open(tmp_path / "x.zarr", mode="r")[:], XS[XS > 2])
    assert np.array_equal(again(tmp_path / "x.zarr"), XS[XS > 2])
    assert np.array_equal(again(tmp_path / "t.zarr", "rows"), ROWS)
    assert np.array_equal(again(tmp_path / "t.zarr", "x"), XS)


@pytest.mark.parametrize("kind", ["npy", "parquet", "arrow", "zarr", "bytes"])
def test_results_without_rows(tmp_path, kind):
    """Every format keeps that there are none, what they would hold, and of what shape."""
    if kind not in ("npy", "bytes"):
        pytest.importorskip({"zarr": "zarr"}.get(kind, "pyarrow"))
    xs = fw.Chunked.cut(np.arange(10, dtype=np.float32), 4)
    for number, (found, shape) in enumerate((
        (xs[xs > 10], (0,)), (fw.Chunked.of([], np.float32), (0,)),
        (fw.Chunked([np.zeros((0, 3), np.float32)]), (0, 3)),
    )):  # fmt: skip
        found.save(tmp_path / str(number), format=kind)
        again = fw.Chunked.open(tmp_path / str(number), format=kind)
        assert len(again) == 0 and float(fw.sum(again)) == 0
        assert kind == "bytes" or (again.shape, again.dtype) == (shape, np.float32)
    if kind in ("parquet", "arrow"):
        with pytest.raises(fw.ArgumentError, match="no rows without elements"):
            fw.Chunked([np.zeros((3, 0))]).save(tmp_path / "none", format=kind)


def test_folders_of_fsspec():
    """Of its own memory, as of a distant store."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("fsspec")
    fw.Chunked.cut(XS, 7).save("memory://saved/t.parquet")

    assert np.array_equal(again("memory://saved/t.parquet"), XS)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_parts_and_fields_are_columns(tmp_path, kind):
    """Parts of complex numbers and fields of records are columns of numbers."""
    pytest.importorskip("pyarrow")
    pairs = np.zeros(24, [("a", "i4"), ("b", "c8", (2,))])
    pairs["a"], pairs["b"] = XS, ROWS[:, :2] * 1j + 1
    records = fw.Chunked.cut(pairs, 9)
    fw.Chunked.cut(XS, 7).save(tmp_path / f"t.{kind}", beside={"r": records})
    names = ["values", "r.a", "r.b.real", "r.b.imag"]
    found = fw.Chunked.open(tmp_path / f"t.{kind}", column=names)

    wanted = XS, pairs["a"], pairs["b"].real, pairs["b"].imag
    for name, values in zip(names, wanted, strict=True):
        assert np.array_equal(np.asarray(found[name]), values), name


@pytest.mark.parametrize("kind", ["npy", "bytes"])
def test_records(tmp_path, kind):
    """One array, as it is in memory."""
    records = np.array([(1, 2.0), (3, 4.0), (5, 6.0)], [("a", "i4"), ("b", "f8")])
    fw.Chunked.cut(records, 2).save(tmp_path / "r", format=kind)

    if kind == "bytes":
        assert (tmp_path / "r").read_bytes() == records.tobytes()
    else:
        found = fw.Chunked.open(tmp_path / "r", format=kind)
        assert np.array_equal(found.load(0, 3), records)


def test_columns_have_names_of_their_own(tmp_path):
    """Else one of them would be lost."""
    xs = fw.Chunked.cut(XS, 7)
    for column, other in (("k", "k"), (None, "values"), ("k", "k.real")):
        array = xs if other != "k.real" else xs + 1j
        with pytest.raises(fw.ArgumentError, match=f"save got two columns '{other}'"):
            array.save(tmp_path / "t.parquet", column=column, beside={other: xs})
    assert os.listdir(tmp_path) == []


def test_files_need_no_cluster(tmp_path):
    """Without `distributed` an array is saved from this process."""
    program = (
        "import sys; sys.modules['distributed'] = None; import flatweave as fw\n"
        "fw.Chunked.cut(fw.iota(10), 3).save(sys.argv[1])"
    )
    path = str(tmp_path / "xs.npy")
    subprocess.run([sys.executable, "-c", program, path], check=True)

    assert np.load(path).tolist() == list(range(10))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a disk without room")
def test_a_full_disk(tmp_path, monkeypatch):
    """Saved or spilled, the error says which file, how much, and what to do."""
    sink = file_sinks.NpyFile(str(tmp_path / "xs.b"), (24,), 0, 8)
    os.symlink("/dev/full", tmp_path / "xs.b.partial")
    monkeypatch.setitem(export.FORMATS, "bytes", (lambda *_: sink, ()))
    with pytest.raises(fw.DeviceError, match=r"no room left for .*xs\.b, of which 96 B were") as e:
        fw.Chunked.cut(XS, 7).save(tmp_path / "xs.b", format="bytes")
    assert "Make room there" in str(e.value) and "save(tmp_path" in str(e.value)
    assert os.listdir(tmp_path) == []

    store = Store(0, str(tmp_path))
    os.symlink("/dev/full", os.path.join(store._place(), "0"))
    with pytest.raises(fw.DeviceError, match=r"no room left for .*0, of which 8\.0 KiB were") as e:
        store.keep(np.zeros(1024))
    assert "fw.on(folder=..)" in str(e.value)


@pytest.mark.parametrize("kind", ["npy", "raw", "parquet", "zarr"])
def test_what_fails_leaves_nothing(tmp_path, kind):
    """Chunks that were written before another one could not be read; what had the name stays."""
    if kind in ("parquet", "zarr"):
        pytest.importorskip({"parquet": "pyarrow"}.get(kind, kind))
    np.save(tmp_path / "old.npy", XS)
    if kind == "npy":
        np.save(tmp_path / "out.npy", ROWS)
    before = sorted(os.listdir(tmp_path))
    xs = fw.Chunked.open(tmp_path / "old.npy", 7)
    os.truncate(tmp_path / "old.npy", 190)
    with pytest.raises(fw.ArgumentError, match="ends before row 20"):
        xs.save(tmp_path / f"out.{kind}", format={"raw": "bytes"}.get(kind))

    assert sorted(os.listdir(tmp_path)) == before


def test_what_cannot_be_written(tmp_path):
    """Said before anything is written."""
    xs = fw.Chunked.cut(XS, 7)
    with pytest.raises(fw.ArgumentError, match="does not know what to make of"):
        xs.save(tmp_path / "xs.csv")
    with pytest.raises(fw.ArgumentError, match=r"xs\.npy is one array"):
        xs.save(tmp_path / "xs.npy", beside={"y": xs})
    with pytest.raises(fw.ArgumentError, match="'y' has 20 rows, the first column 24"):
        xs.save(tmp_path / "xs.npy", beside={"y": fw.Chunked.cut(XS[:20], 7)})
    rows = fw.Chunked.cut(fw.ragged([[1], []]), 1)
    with pytest.raises(fw.ArgumentError, match="save as npy takes arrays, and rows"):
        rows.save(tmp_path / "rows.npy")
    with pytest.raises(fw.ArgumentError, match="is on a disk"):
        xs.save("memory://xs.npy")
    (tmp_path / "old.parquet").mkdir()
    (tmp_path / "old.parquet" / "part.parquet").touch()
    with pytest.raises(fw.ArgumentError, match="is there already, and has files in it") as found:
        xs.save(tmp_path / "old.parquet")
    assert 'xs.save(tmp_path / "old' in str(found.value)
    assert os.listdir(tmp_path) == ["old.parquet"]
