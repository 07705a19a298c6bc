"""Arrays in files: whatever the format, the values are those of the array that was written."""

import os

import numpy as np
import pytest

import flatweave as fw

XS = np.arange(24, dtype=np.int32) * 7 % 11
YS = XS / 4


def npy(folder, arrays):
    """Files of one array each."""
    for k, array in enumerate(arrays):
        np.save(folder / f"{k}.npy", array)
    return folder


def total(xs):
    """Of all files, in the order of their rows."""
    return fw.jit(lambda x: fw.sum(x * fw.iota(x.shape[0])))(xs)


def test_a_folder_of_arrays_is_one_array(tmp_path):
    """By name; hidden files are ignored; short files share a chunk."""
    (tmp_path / ".hidden").write_text("nothing")
    xs = fw.Chunked.open(npy(tmp_path, [XS[:5], XS[5:6], XS[6:6], XS[6:]]), 6)

    assert repr(xs) == "Chunked(int32[24], 4 chunks)"
    assert xs.bounds == (0, 6, 12, 18, 24)
    assert np.array_equal(np.asarray(xs), XS)
    assert int(total(xs)) == XS @ np.arange(24)
    assert np.array_equal(xs.load(4, 7), XS[4:7])
    assert xs.load(3, 3).shape == (0,)


def test_a_list_and_a_pattern(tmp_path):
    """In the order of the list; a pattern's files by name."""
    npy(tmp_path, [XS[:20], XS[20:]])
    swapped = fw.Chunked.open([tmp_path / "1.npy", str(tmp_path / "0.npy")])

    assert np.array_equal(np.asarray(swapped), [*XS[20:], *XS[:20]])
    assert np.array_equal(np.asarray(fw.Chunked.open(str(tmp_path / "*.npy"))), XS)


def test_bytes_in_the_other_order_and_axes(tmp_path):
    """Numbers are this machine's, rows what they were."""
    np.save(tmp_path / "xs.npy", np.arange(12.0).reshape(6, 2).astype(">f8"))
    xs = fw.Chunked.open(tmp_path / "xs.npy", 4)

    assert xs.dtype == np.dtype("=f8") and xs.shape == (6, 2)
    assert np.array_equal(np.asarray(xs), np.arange(12.0).reshape(6, 2))


def test_arrays_of_fsspec():
    """A file in memory works like one in a remote store."""
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://flatweave/xs.npy", "wb") as file:
        np.save(file, XS)
    with fsspec.open("memory://flatweave/words.txt", "wb") as file:
        file.write(b"ab\ncd")

    assert np.array_equal(np.asarray(fw.Chunked.open("memory://flatweave/*.npy", 5)), XS)
    words = fw.Chunked.open("memory://flatweave/words.txt", 2)
    assert [bytes(each) for each in words] == [b"ab\n", b"cd\n"]


def test_text_is_cut_at_line_ends(tmp_path):
    """A line longer than a chunk stays whole; the last line of every file ends."""
    (tmp_path / "a.txt").write_bytes(b"one\ntwo three\n\nfour")
    (tmp_path / "b.txt").write_bytes(b"")
    (tmp_path / "c.txt").write_bytes(b"five\n")
    xs = fw.Chunked.open(tmp_path, 4)
    lines = fw.jit(lambda x: fw.sum(fw.astype(x == 10, fw.i64)))(xs)

    assert [bytes(each) for each in xs] == [b"one\n", b"two three\n", b"\nfour\n", b"five\n"]
    assert int(lines) == 5
    assert bytes(fw.Chunked.open(tmp_path / "a.txt").load(3, 20)) == b"\ntwo three\n\nfour\n"


def test_bytes_are_cut_anywhere(tmp_path):
    """Any file has them."""
    (tmp_path / "picture.raw").write_bytes(bytes(range(10)))
    xs = fw.Chunked.open(tmp_path / "picture.raw", 4, format="bytes")

    assert xs.bounds == (0, 4, 8, 10)
    assert np.array_equal(np.asarray(xs), np.arange(10, dtype=np.uint8))


def parquet(folder):
    """Two files of two and of three row groups; a column of text next to the numbers."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for k, (begin, end) in enumerate([(0, 9), (9, 24)]):
        own = slice(begin, end)
        names = pa.array([f"row {j}" for j in range(begin, end)])
        table = pa.table({"x": XS[own], "name": names, "y": YS[own], "b": XS[own] > 4})
        parquet.write_table(table, folder / f"{k}.parquet", row_group_size=5)
    return folder


def test_columns_of_parquet(tmp_path):
    """Chunks end where row groups do."""
    xs = fw.Chunked.open(parquet(tmp_path), 9, column="x")

    assert repr(xs) == "Chunked(int32[24], 4 chunks)"
    assert xs.bounds == (0, 9, 14, 19, 24)
    assert np.array_equal(np.asarray(xs), XS)
    assert int(total(xs)) == XS @ np.arange(24)
    assert np.array_equal(xs.load(8, 15), XS[8:15])


def test_several_columns_go_beside_each_other(tmp_path, monkeypatch):
    """A dict of them, read at once."""
    columns = fw.Chunked.open(parquet(tmp_path), 9, column=["y", "x", "b"])
    from flatweave.cluster.formats import Parquet

    asked = []
    read = Parquet.read
    monkeypatch.setattr(Parquet, "read", lambda *args: asked.append(args[1]) or read(*args))
    f = fw.jit(lambda t: fw.sum(t["x"] * t["y"] * fw.where(t["b"], 1, 0)))

    assert float(f(columns)) == np.sum(XS * YS * (XS > 4))
    assert set(map(frozenset, asked)) == {frozenset(columns)}


LISTS = [[1, 2], [], [3], [], [4, 5, 6], [7]]
TEXTS = ["ab", "", "c", "de", "", "f"]
NESTED = [[[1], []], [], [[2, 3]], [[]], [], [[4]]]


def lists(folder):
    """Two files of two row groups each, and one without rows."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def row(k):
        return {"f": [float(k), -1.0], "dates": [k] * (k % 2), "codes": "xy"[k % 2]}

    whole = pa.table({"l": LISTS, "s": TEXTS, "n": NESTED, "t": [[t] for t in TEXTS]})
    dates, fixed = pa.list_(pa.date32()), pa.list_(pa.float64(), 2)
    for name, kind in (("f", fixed), ("dates", dates), ("codes", pa.string())):
        column = pa.array([row(k)[name] for k in range(6)], kind)
        whole = whole.append_column(
            name, column.dictionary_encode() if name == "codes" else column
        )
    for k, (begin, end) in enumerate([(0, 4), (4, 4), (4, 6)]):
        part = whole.slice(begin, end - begin)
        parquet.write_table(part, folder / f"{k}.parquet", row_group_size=2)
    return folder


def test_columns_of_lists_and_text(tmp_path):
    """Are rows that differ in length; of text its bytes; of lists of one length an array."""
    columns = ["l", "s", "n", "t", "f", "dates", "codes"]
    found = fw.Chunked.open(lists(tmp_path), 2, column=columns)

    texts = [list(text.encode()) for text in TEXTS]
    assert repr(found["l"]) == "Chunked(ragged int64[6, ~], 3 chunks)"
    assert repr(found["n"]) == "Chunked(ragged int64[6, ~, ~], 3 chunks)"
    assert found["s"].bounds == (0, 2, 4, 6)
    for name, rows in (
        ("l", LISTS), ("s", texts), ("n", NESTED), ("t", [[text] for text in texts]),
        ("dates", [[k] * (k % 2) for k in range(6)]), ("codes", [[120 + k % 2] for k in range(6)]),
    ):  # fmt: skip
        assert found[name].load(0, 6).tolist() == rows
        assert found[name].load(1, 5).tolist() == rows[1:5]
    assert np.asarray(found["f"]).tolist() == [[k, -1.0] for k in range(6)]


def test_each_chunk_of_lists_is_read_once(tmp_path, monkeypatch):
    """With the other columns, after all rows were counted: no chunk asks for another's rows."""
    t = fw.Chunked.open(lists(tmp_path), 2, column=["l", "s"])
    from flatweave.cluster.formats import Parquet

    asked = []
    read = Parquet.read
    monkeypatch.setattr(Parquet, "read", lambda *args: asked.append(args) or read(*args))
    f = fw.jit(lambda t: fw.map(lambda x, s: fw.sum(x) + s.shape[0], t["l"], t["s"]))

    sums = f(t)
    wanted = [sum(x) + len(s) for x, s in zip(LISTS, TEXTS, strict=True)]
    assert np.asarray(sums).tolist() == wanted
    both = [each for each in asked if len(each[1]) == 2]
    assert len(asked) == 3 * 3 and len(both) == len(set(both)) == 3
    asked.clear()
    assert t["l"].load(0, 6).tolist() == LISTS
    assert len(asked) == 3  # a row group each, of which values and offsets are decoded together


def test_no_rows_of_lists(tmp_path):
    """Is a Ragged without rows."""
    lists(tmp_path)
    xs = fw.Chunked.open(tmp_path / "1.parquet", column="l")

    assert len(xs) == 0 and xs.load(0, 0).tolist() == []
    assert np.asarray(fw.sum(xs, axis=1)).tolist() == []


def test_files_of_arrow(tmp_path):
    """Chunks end where record batches do."""
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"name": pa.array(["a"] * 24), "x": XS, "y": YS})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    pa.feather = pytest.importorskip("pyarrow.feather")
    pa.feather.write_feather(table, tmp_path / "t.feather", chunksize=7)

    for name, bounds in (("t.arrow", (0, 10, 20, 24)), ("t.feather", (0, 7, 14, 24))):
        found = fw.Chunked.open(tmp_path / name, 11, column=("y", "x"))
        assert found["x"].bounds == bounds
        assert np.array_equal(np.asarray(found["x"]), XS)
        assert np.array_equal(np.asarray(found["y"]), YS)
        names = fw.Chunked.open(tmp_path / name, column="name")
        assert names.load(3, 5).tolist() == [[97], [97]]


@pytest.mark.parametrize("version", [2, 3])
def test_arrays_of_zarr(tmp_path, version):
    """Chunks end where Zarr's do; the arrays of a group are columns."""
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "g.zarr", mode="w", zarr_format=version)
    for name, values in (("x", XS), ("m", np.arange(72.0).reshape(24, 3))):
        made = group.create_array(
            name, shape=values.shape, dtype=values.dtype, chunks=(5, *values.shape[1:])
        )
        made[:] = values

    alone = fw.Chunked.open(tmp_path / "g.zarr" / "x", 11)
    both = fw.Chunked.open(tmp_path / "g.zarr", 11, column=["x", "m"])
    assert alone.bounds == (0, 10, 20, 24)
    assert np.array_equal(np.asarray(alone), XS)
    assert np.array_equal(np.asarray(both["m"]), np.arange(72.0).reshape(24, 3))


def test_what_is_not_there_or_not_known(tmp_path):
    """Said when it is opened."""
    npy(tmp_path, [XS, YS])
    with pytest.raises(fw.ArgumentError, match=r"0\.npy.*1\.npy do not go together: int32\[n\]"):
        fw.Chunked.open(tmp_path)
    with pytest.raises(fw.ArgumentError, match="found no file"):
        fw.Chunked.open(tmp_path / "*.parquet")
    with pytest.raises(FileNotFoundError):
        fw.Chunked.open(tmp_path / "2.npy")
    with pytest.raises(fw.ArgumentError, match=r"no 'y'[^$]*one array without a name"):
        fw.Chunked.open(tmp_path / "0.npy", column="y")
    with pytest.raises(fw.ArgumentError, match="does not know what 'csv' is"):
        fw.Chunked.open(tmp_path, format="csv")
    with pytest.raises(fw.ArgumentError, match="path or a list of paths, got int"):
        fw.Chunked.open(7)
    (tmp_path / "z.npy").write_bytes(b"no header")
    with pytest.raises(fw.ArgumentError, match=r"z\.npy cannot be read as npy"):
        fw.Chunked.open(tmp_path / "z.npy")


def test_what_parquet_has_no_numbers_for(tmp_path):
    """Dates, nulls, and columns that nobody named."""
    pa = pytest.importorskip("pyarrow")
    path = parquet(tmp_path) / "0.parquet"
    with pytest.raises(fw.ArgumentError, match=r"has 4 columns[^$]*'x', 'name', 'y' and 'b'"):
        fw.Chunked.open(path)
    from pyarrow import parquet as pq

    table = {"x": [1, None, 3], "s": ["a", "b", None], "l": [[1], [None], []], "d": [{"y": 1}] * 3}
    pq.write_table(pa.table(table), tmp_path / "holes.parquet")
    with pytest.raises(fw.DTypeError, match="column 'd' of"):
        fw.Chunked.open(tmp_path / "holes.parquet", column="d")
    for column, message in (
        ("x", "'x' of .* holds a null among 3 rows, the first in row 1"),
        ("s", "'s' of .* holds a null among 3 rows, the first in row 2"),
        ("l", "'l' of .*: ragged got an Arrow column with a null among the elements"),
    ):
        holes = fw.Chunked.open(tmp_path / "holes.parquet", column=column)
        with pytest.raises(fw.ArgumentError, match=message) as found:
            total(holes) if column == "x" else fw.sum(holes, axis=1)
        assert "fw.sum(" in str(found.value)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "zarr"])
def test_what_is_damaged(tmp_path, kind):
    """Whoever decodes it raises what it likes: the error says which rows of which file."""
    pytest.importorskip({"zarr": "zarr"}.get(kind, "pyarrow"))
    rng = np.random.default_rng(7)
    path = tmp_path / f"xs.{kind}"
    fw.Chunked.cut(rng.random(10_000), 2500).save(path)
    xs = fw.Chunked.open(path)
    files = [each for each in path.rglob("*") if each.is_file() and each.suffix != ".json"]
    for file in files:
        data = bytearray(file.read_bytes())
        begin, end = {"parquet": (4, 40), "arrow": (8, len(data) // 2)}.get(kind, (0, len(data)))
        data[begin:end] = b"\xff" * (end - begin)
        file.write_bytes(data)
    for call in (lambda: fw.sum(xs), lambda: xs.load(0, 10)):
        with pytest.raises(fw.ArgumentError, match=rf"rows 0 to \d+ of .*xs\.{kind}.* be read"):
            call()


def test_a_file_that_became_shorter(tmp_path):
    """Is no array any more."""
    np.save(tmp_path / "xs.npy", XS)
    xs = fw.Chunked.open(tmp_path / "xs.npy", 10)
    os.truncate(tmp_path / "xs.npy", 150)

    assert np.array_equal(xs.load(0, 5), XS[:5])
    with pytest.raises(fw.ArgumentError, match=r"ends before row 9, which existed"):
        total(xs)


@pytest.mark.parametrize("name", ["pyarrow", "zarr", "fsspec"])
def test_without_the_library(name, tmp_path, monkeypatch):
    """It says what to install."""
    monkeypatch.setitem(__import__("sys").modules, name, None)
    if name == "pyarrow":
        monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    path = {"pyarrow": "t.parquet", "zarr": "t.zarr", "fsspec": "memory://t.npy"}[name]
    (tmp_path / path).mkdir() if name == "zarr" else "://" in path or (tmp_path / path).touch()
    with pytest.raises(fw.Unsupported, match=rf"needs {name}") as found:
        fw.Chunked.open(path if "://" in path else tmp_path / path)

    assert "pip install 'flatweave[files]'" in str(found.value)
