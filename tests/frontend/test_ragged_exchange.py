"""Rows of Awkward, Arrow, polars, pandas and SciPy, in and out; values are not copied.

Each test runs where its library is installed: pip install flatweave[exchange].
"""

import ctypes
import datetime as dt
import gc
import subprocess
import sys

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend.values import arrow_interface
from tests.language.agreement import same

pytestmark = pytest.mark.usefixtures("little_to_collect")

ROWS = [[3, 1], [], [4, 1, 5], [9]]
NESTED = [[[1], [2, 3]], [], [[], [4]]]
RECORDS = [[{"x": 1, "y": 2.5}], [], [{"x": 2, "y": 3.5}]]
LIBRARIES = ("awkward", "pyarrow", "polars", "pandas")
EVERY_KIND = [
    ROWS, NESTED, RECORDS, [[1.5, np.nan]], [[True, False], [True]], [[(1, 2.5)], []], [], [[]],
    np.arange(12.0).reshape(2, 3, 2),
]  # fmt: skip


def is_shared(a, b):
    """Whether two arrays are the same memory."""
    return np.shares_memory(np.asarray(a), np.asarray(b))


def same_lists(a, b):
    """The same Python values, NaN among them."""
    assert repr(a) == repr(b)


@pytest.mark.parametrize("rows", EVERY_KIND, ids=str)
def test_awkward_there_and_back(rows):
    """Records, tuples, rows of rows and elements of higher rank."""
    pytest.importorskip("awkward")
    ragged = fw.ragged(rows)
    there = ragged.to_awkward()

    same_lists(there.to_list(), ragged.tolist())
    same_lists(fw.ragged(there).tolist(), ragged.tolist())
    assert fw.ragged(there).dtype == ragged.dtype


def test_awkward_is_not_copied():
    """Either way, and from the middle of an array as well."""
    ak = pytest.importorskip("awkward")
    array = ak.Array(ROWS)

    assert is_shared(fw.ragged(array).values, array.layout.content.data)
    assert is_shared(fw.ragged(array[1:3]).values, array.layout.content.data)
    ragged = fw.ragged(ROWS)
    assert is_shared(ragged.to_awkward().layout.content.data, ragged.values)
    assert is_shared(ragged.to_awkward().layout.offsets.data, ragged.offsets)


def test_layouts_of_awkward():
    """What its functions give: masked, gathered, regular, with options, of several fields."""
    ak = pytest.importorskip("awkward")
    array = ak.Array(ROWS)

    for found, expected in (
        (array[array > 2], [[3], [], [4, 5], [9]]),
        (array[[2, 0, 0]], [[4, 1, 5], [3, 1], [3, 1]]),
        (array[::-1], ROWS[::-1]),
        (ak.concatenate([array, array]), ROWS * 2),
        (ak.to_regular(ak.Array([[1, 2], [3, 4]])), [[1, 2], [3, 4]]),
        (ak.Array(np.ones((2, 3))), [[1.0] * 3] * 2),
        (ak.to_regular(ak.Array([[[1, 2], [3, 4]], [], [[5, 6]]]), axis=2),
         [[[1, 2], [3, 4]], [], [[5, 6]]]),
        (ak.drop_none(ak.Array([[1], None, [2]])), [[1], [2]]),
        (ak.Array([[1, None], [2]])[1:], [[2]]),
        (ak.Array([[], []]), [[], []]),
        (ak.Array(RECORDS)[[2, 0]], [RECORDS[2], RECORDS[0]]),
    ):  # fmt: skip
        assert fw.ragged(found).tolist() == expected
    assert fw.jit(lambda k: fw.ragged(array) + k)(1).tolist() == [[x + 1 for x in r] for r in ROWS]


def test_what_awkward_holds_beside_numbers():
    """Nulls, text, unions, flat arrays: each refused with what to do."""
    ak = pytest.importorskip("awkward")
    for rows, error, message in (
        ([[1, None], [None]], fw.ArgumentError, "2 nulls among the elements of its rows"),
        ([[1], None], fw.ArgumentError, "a null among its rows, the first at 1"),
        (["ab"], fw.DTypeError, "text"),
        ([[1], [[2]]], fw.Unsupported, "union"),
        ([1, 2], fw.ArgumentError, "no lists"),
        ([[{"x": [1]}]], fw.Unsupported, "records that hold lists"),
    ):
        with pytest.raises(error, match=message):
            fw.ragged(ak.Array(rows))
    with pytest.raises(fw.ArgumentError, match=r"fw\.ragged"):
        fw.jit(lambda x: x)(ak.Array(ROWS))


@pytest.mark.parametrize("rows", EVERY_KIND, ids=str)
def test_arrow_there_and_back(rows):
    """Structs are dicts; lists of a fixed size are elements of higher rank."""
    pa = pytest.importorskip("pyarrow")
    ragged = fw.ragged(rows)
    there = ragged.to_arrow()
    expected = ragged.tolist()
    if expected and expected[0] and isinstance(expected[0][0], tuple):
        expected = [[{"0": x, "1": y} for x, y in row] for row in expected]

    same_lists(there.to_pylist(), expected)
    same_lists(fw.ragged(there).tolist(), expected)
    same_lists(pa.array(ragged).to_pylist(), expected)


def test_arrow_is_not_copied():
    """Either way, and from the middle of an array as well, which lives as long as the rows."""
    pa = pytest.importorskip("pyarrow")
    array = pa.array(ROWS * 2)

    for part in (array, array[2:], array.cast(pa.large_list(pa.int64()))):
        assert is_shared(fw.ragged(part).values, part.values.to_numpy())
        assert fw.ragged(part).tolist() == part.to_pylist()
    ragged = fw.ragged(ROWS)
    assert is_shared(ragged.to_arrow().values.to_numpy(), ragged.values)
    for make in (pa.array, lambda rows: pa.chunked_array([rows])):
        rows = fw.ragged(make([np.arange(1000.0)]))
        gc.collect()
        same(rows[0], np.arange(1000.0))


def test_kinds_of_arrow_arrays():
    """Chunks, slices of bits, structs, fixed sizes, lists of nothing, tables' columns."""
    pa = pytest.importorskip("pyarrow")
    numbers = pa.list_(pa.int32())
    bits = [[True, False], [True], []] * 5

    for found, expected in (
        (pa.chunked_array([ROWS, [], ROWS[:1]], numbers), ROWS + ROWS[:1]),
        (pa.chunked_array([], numbers), []),
        (pa.chunked_array([NESTED, NESTED]), NESTED * 2),
        (pa.chunked_array([RECORDS, RECORDS[::-1]]), RECORDS + RECORDS[::-1]),
        (pa.array(bits)[4:11], bits[4:11]),
        (pa.array(NESTED)[1:], NESTED[1:]),
        (pa.array(RECORDS)[1:], RECORDS[1:]),
        (pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2))[1:], [[3, 4]]),
        (pa.array([[[1, 2]], [], [[5, 6]]], pa.list_(pa.list_(pa.int8(), 2)))[1:], [[], [[5, 6]]]),
        (pa.array([[], []]), [[], []]),
        (pa.array([[1, None], [2]])[1:], [[2]]),
        (pa.table({"rows": ROWS})["rows"], ROWS),
        (pa.array(["ab", "", "\u00e9"])[1:], [[], [195, 169]]),
        (pa.chunked_array([["a"], []], pa.large_string()), [[97]]),
        (pa.array([b"ab"], pa.binary()), [[97, 98]]),
        (pa.array([["a", ""], []]), [[[97], []], []]),
    ):
        assert fw.ragged(found).tolist() == expected
    assert fw.ragged(pa.chunked_array([], numbers)).dtype == np.int32
    assert fw.ragged(pa.array(NESTED), dtype=fw.f32).dtype == np.float32


def test_what_arrow_holds_beside_numbers():
    """Nulls wherever they are read, times, tables: each refused with what to do."""
    pa = pytest.importorskip("pyarrow")
    for column, error, message in (
        (pa.array([[1, None], [2, None]]), fw.ArgumentError, "2 nulls among the elements"),
        (pa.array([[1], None]), fw.ArgumentError, "a null among its rows, the first at 1"),
        (pa.array([[None, None]]), fw.ArgumentError, "2 nulls"),
        (pa.array([[{"x": None}]]), fw.ArgumentError, "null"),
        (pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), fw.ArgumentError, "a null"),
        (pa.array(["a", None]), fw.ArgumentError, "a null among its rows, the first at 1"),
        (pa.array([[dt.date(2026, 1, 1)]]), fw.DTypeError, "times, not of numbers"),
        (pa.array([1, 2]), fw.ArgumentError, "no lists"),
        (pa.table({"rows": ROWS}), fw.ArgumentError, "one column"),
        (pa.array([[{"x": [1]}]]), fw.Unsupported, "records that hold lists"),
    ):
        with pytest.raises(error) as caught:
            fw.ragged(column)
        assert message in str(caught.value)
    with pytest.raises(fw.ArgumentError, match=r"fw\.ragged"):
        fw.jit(lambda x: x)(pa.array(ROWS))


NAN = np.nan
HOLES = [  # rows, with NaN for what is missing, and where that is
    ([[1, None], [], [None, 4]], [[1.0, NAN], [], [NAN, 4.0]],
     [[False, True], [], [True, False]]),
    ([[1.5, None]], [[1.5, NAN]], [[False, True]]),
    ([[True, None], [False]], [[1.0, NAN], [0.0]], [[False, True], [False]]),
    ([[[1, None], []], [[2]]], [[[1.0, NAN], []], [[2.0]]], [[[False, True], []], [[False]]]),
    ([[{"x": 2, "y": 0.5}], [{"x": 1, "y": None}, None]],
     [[{"x": 2.0, "y": 0.5}], [{"x": 1.0, "y": NAN}, {"x": NAN, "y": NAN}]],
     [[{"x": False, "y": False}], [{"x": False, "y": True}, {"x": True, "y": True}]]),
    ([[None], []], [[NAN], []], [[True], []]),
    ([[1, 2], []], [[1, 2], []], [[False, False], []]),
]  # fmt: skip
COLUMNS = {  # how a library has such rows, also in the middle of others and in several parts
    "awkward": lambda ak, rows: [ak.Array(rows), ak.Array([*rows, *rows])[len(rows) :]],
    "pyarrow": lambda pa, rows: [
        pa.array(rows), pa.array([*rows, *rows])[len(rows) :],
        pa.chunked_array([rows[:1], rows[1:]], pa.array(rows).type),
    ],
    "polars": lambda pl, rows: [pl.Series(rows), pl.Series([*rows, *rows])[len(rows) :]],
}  # fmt: skip


def without_holes(rows, masks):
    """Rows with 0 where a mask is true."""
    if isinstance(rows, list):
        return [without_holes(*pair) for pair in zip(rows, masks, strict=True)]
    if isinstance(masks, dict):
        return {name: without_holes(rows and rows[name], mask) for name, mask in masks.items()}
    return 0 if masks else rows


@pytest.mark.parametrize("library", COLUMNS)
@pytest.mark.parametrize(("rows", "floats", "masks"), HOLES, ids=str)
def test_missing_elements(library, rows, floats, masks):
    """NaN, or a mask with anything for each, in rows of rows and in records, too."""
    for column in COLUMNS[library](pytest.importorskip(library), rows):
        same_lists(fw.ragged(column, nulls="nan").tolist(), floats)
        values, missing = fw.ragged(column, nulls="mask")
        assert missing.tolist() == masks
        held = without_holes(values.tolist(), masks)
        assert held == without_holes(rows, masks)
        if floats != rows:
            with pytest.raises(fw.ArgumentError, match=r'(?s)null.*fw\.ragged\(xs, nulls="nan'):
                fw.ragged(column)


def test_missing_elements_in_other_layouts():
    """Masks of bytes, which leave values where they are, dictionaries, lists of a fixed size."""
    ak, pa = pytest.importorskip("awkward"), pytest.importorskip("pyarrow")
    array = ak.Array([[1, 2], [3]])
    holes = ak.mask(array, ak.Array([[True, False], [True]]))
    pairs = pa.array([[[1, 2], None, [None, 4]]], pa.list_(pa.list_(pa.int8(), 2)))
    codes = pa.array([30, None, 30]).dictionary_encode()

    values, missing = fw.ragged(holes, nulls="mask")
    assert is_shared(values.values, array.layout.content.data)
    assert missing.tolist() == [[False, True], [False]]
    same_lists(fw.ragged(pairs, nulls="nan").tolist(), [[[1.0, 2.0], [NAN, NAN], [NAN, 4.0]]])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 3]), codes)
    same_lists(fw.ragged(lists, nulls="nan").tolist(), [[30.0], [NAN, 30.0]])
    equal = pa.array([[1, None], [3, 4]], pa.list_(pa.int8(), 2))
    assert fw.ragged(equal, nulls="mask")[1].tolist() == [[False, True], [False, False]]
    same(fw.ragged(ak.Array([[1, None]]), nulls="nan", dtype=fw.f32).values, np.float32([1, NAN]))


@pytest.mark.parametrize("nulls", ["raise", "nan", "mask"])
def test_missing_rows(nulls):
    """They have no elements, so that they raise in each way of taking nulls, with a way out."""
    ak, pa = pytest.importorskip("awkward"), pytest.importorskip("pyarrow")
    for column in (
        ak.Array([[1], None]), ak.Array([[[1], None]]), pa.array([[1], None]),
        pa.array([[[1], None]]), pa.array(["a", None]), pa.array(["a", None], pa.string_view()),
        pa.array(["a", None]).dictionary_encode(), pa.array([[1, 2], None], pa.list_(pa.int8(), 2)),
        pa.array([[1], None], pa.list_view(pa.int8())),
    ):  # fmt: skip
        with pytest.raises(fw.ArgumentError, match=r"(?s)a null among .*the first at 1.*drop"):
            fw.ragged(column, nulls=nulls)


MASKED = np.ma.masked_array([[1, 2], [3, 4]], [[False, True], [False, False]])


@pytest.mark.parametrize("call", [
    lambda nulls: fw.ragged(MASKED, nulls=nulls),
    lambda nulls: fw.ragged(list(MASKED), nulls=nulls),
    lambda nulls: fw.ragged(MASKED.ravel(), lengths=[2, 2], nulls=nulls),
    lambda nulls: fw.jit(lambda n: fw.ragged(MASKED.ravel(), lengths=n, nulls=nulls))([2, 2]),
    lambda nulls: fw.jit(lambda x: fw.ragged([MASKED[0], x], nulls=nulls))(np.array([3, 4])),
])  # fmt: skip
def test_masked_arrays(call):
    """Matrices, rows one by one, and flat values with their lengths, inside programs as well."""
    with pytest.raises(fw.ArgumentError, match=r"masked array(?s:.*)nulls="):
        call("raise")
    same_lists(call("nan").tolist(), [[1.0, NAN], [3.0, 4.0]])
    rows, missing = call("mask")
    assert without_holes(rows.tolist(), missing.tolist()) == [[1, 0], [3, 4]]
    assert missing.tolist() == [[False, True], [False, False]]


def test_no_elements_are_missing_in_arrays_of_ours():
    """Their masks say so; a list with None raises, as in asarray."""
    for rows in (fw.ragged(ROWS), ROWS, np.ones((2, 3)), np.zeros((2, 0))):
        expected = fw.ragged(rows)
        assert fw.ragged(rows, nulls="nan").tolist() == expected.tolist()
        values, missing = fw.ragged(rows, nulls="mask")
        assert values.tolist() == expected.tolist()
        assert missing.tolist() == [[False] * len(row) for row in expected.tolist()]
    values, missing = fw.jit(lambda r: fw.ragged(r, nulls="mask"))(fw.ragged(ROWS))
    assert missing.tolist() == [[False] * len(row) for row in ROWS]
    for nulls in ("raise", "nan", "mask"):
        with pytest.raises(fw.ArgumentError, match=r"fw\.nan instead"):
            fw.ragged([[1, None]], nulls=nulls)
    with pytest.raises(fw.ArgumentError, match="not a way to take nulls"):
        fw.ragged(ROWS, nulls="zero")


def test_polars():
    """Columns of lists, of lists of structs and of arrays; and Ragged values as columns."""
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")  # what makes the column of a Ragged

    for rows in (ROWS, NESTED, RECORDS):
        assert fw.ragged(pl.Series(rows)).tolist() == rows
        assert fw.ragged(pl.DataFrame({"rows": rows})["rows"]).tolist() == rows
        assert pl.Series(fw.ragged(rows)).to_list() == rows
    assert fw.ragged(pl.Series(ROWS)[1:3]).tolist() == ROWS[1:3]
    assert fw.ragged(pl.Series([[1, 2]], dtype=pl.Array(pl.Int8, 2))).tolist() == [[1, 2]]
    with pytest.raises(fw.ArgumentError, match="null"):
        fw.ragged(pl.Series([[1, None]]))
    with pytest.raises(fw.ArgumentError, match="null"):
        fw.ragged(pl.Series([[1], None]))
    with pytest.raises(fw.ArgumentError, match="one column"):
        fw.ragged(pl.DataFrame({"rows": ROWS}))


def test_pandas():
    """Series of lists or arrays, whatever their index, and Arrow's columns."""
    pd = pytest.importorskip("pandas")

    assert fw.ragged(pd.Series(ROWS, index=[7, 8, 9, 9])).tolist() == ROWS
    assert fw.ragged(pd.Series([np.arange(2), np.arange(3)])).tolist() == [[0, 1], [0, 1, 2]]
    assert fw.ragged(pd.DataFrame({"rows": ROWS})["rows"]).tolist() == ROWS
    for missing in (None, np.nan):
        with pytest.raises(fw.ArgumentError, match="row 1 of ragged is"):
            fw.ragged(pd.Series([[1], missing]))
    pa = pytest.importorskip("pyarrow")
    column = pd.Series(ROWS, dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    assert fw.ragged(column).tolist() == ROWS


class Compressed:
    """A sparse matrix as SciPy has it, in compressed rows, columns or rows of blocks."""

    def __init__(self, data, indices, indptr):
        self.data, self.indices, self.indptr = map(np.asarray, (data, indices, indptr))


class Coordinates:
    """A sparse matrix in another form."""

    nnz = 1

    def tocsr(self):
        raise NotImplementedError


def test_sparse_matrices():
    """Rows of pairs, a number and its column; blocks are elements of a higher rank."""
    matrix = Compressed([5.0, 6.0, 7.0], [2, 0, 1], [0, 1, 1, 3])
    rows = fw.ragged(matrix)
    assert rows.tolist() == [[(5.0, 2)], [], [(6.0, 0), (7.0, 1)]]
    assert is_shared(rows.values[0], matrix.data)
    assert is_shared(rows.values[1], matrix.indices)
    blocks = fw.ragged(Compressed(np.ones((2, 1, 3)), [0, 1], [0, 2]))
    assert blocks.values[0].shape == (2, 1, 3)
    for call in (fw.ragged, fw.sum, fw.asarray, fw.jit(lambda a: a)):
        with pytest.raises(fw.ArgumentError, match=r"\(a.data, a.row, a.col\)"):
            call(Coordinates())
    with pytest.raises(fw.ArgumentError, match=r"fw\.ragged\(a\)"):
        fw.jit(lambda a: a)(matrix)


class Exporter:
    """Lists of f64 as another library exports them, which counts how often it is released."""

    def __init__(self, rows, valid=None):
        self.released = 0
        values = np.concatenate([np.asarray(row, np.float64) for row in rows])
        offsets = np.cumsum([0, *map(len, rows)]).astype(np.int32)
        bits = None if valid is None else np.packbits(valid, bitorder="little")
        self.memory = [values, offsets, bits]
        self.release = arrow_interface.RELEASE(self.let_go)
        child = self.array(len(values), 0, [None, values], [])
        nulls = 0 if valid is None else -1
        self.struct = self.array(len(rows), nulls, [bits, offsets], [child])
        self.schema = arrow_interface.CSchema(format=b"+l", name=b"", n_children=1)
        inner = (ctypes.POINTER(arrow_interface.CSchema) * 1)(
            ctypes.pointer(arrow_interface.CSchema(format=b"g", name=b"item"))
        )
        self.memory.append(inner)
        self.schema.children = inner

    def array(self, length, null_count, buffers, children):
        """A struct ArrowArray over NumPy arrays."""
        addresses = (ctypes.c_void_p * len(buffers))(
            *[None if buffer is None else buffer.ctypes.data for buffer in buffers]
        )
        pointer = ctypes.POINTER(arrow_interface.CArray)
        inner = (pointer * len(children))(*map(ctypes.pointer, children))
        self.memory += [addresses, inner, *children]
        return arrow_interface.CArray(
            length=length, null_count=null_count, n_buffers=len(buffers), buffers=addresses,
            n_children=len(children), children=inner,
        )  # fmt: skip

    def let_go(self, address):
        """What a consumer calls when it is done."""
        arrow_interface.CArray.from_address(address).release = None
        self.released += 1

    def __arrow_c_stream__(self, requested_schema=None):
        given = []

        def get_schema(stream, out):
            ctypes.memmove(out, ctypes.addressof(self.schema), ctypes.sizeof(self.schema))
            return 0

        def get_next(stream, out):
            struct = arrow_interface.CArray() if given else self.struct
            ctypes.memmove(out, ctypes.addressof(struct), ctypes.sizeof(struct))
            if not given:
                release = ctypes.cast(self.release, ctypes.c_void_p)
                arrow_interface.CArray.from_address(out).release = release
            given.append(out)
            return 0

        self.calls = [arrow_interface.GET(get_schema), arrow_interface.GET(get_next)]
        pointers = [ctypes.cast(call, ctypes.c_void_p) for call in self.calls]
        self.stream = arrow_interface.CStream(get_schema=pointers[0], get_next=pointers[1])
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.stream), b"arrow_array_stream", None)


def test_memory_is_released_with_the_last_reader():
    """Once, and not while an array made of it is alive."""
    column = Exporter([[1.0, 2.0], [], [3.0]])
    rows = fw.ragged(column)
    assert rows.tolist() == [[1.0, 2.0], [], [3.0]]
    assert is_shared(rows.values, column.memory[0])

    view = np.asarray(rows[0])
    del rows
    gc.collect()
    assert column.released == 0
    assert view.tolist() == [1.0, 2.0]
    del view
    gc.collect()
    assert column.released == 1


def test_nulls_that_were_not_counted():
    """A column may leave them to be counted; those that are there are refused."""
    rows = [[1.0], [], [2.0, 3.0]]

    assert fw.ragged(Exporter(rows, [True] * 3)).tolist() == rows
    column = Exporter(rows, [True, False, True])
    with pytest.raises(fw.ArgumentError, match="a null among its rows, the first at 1"):
        fw.ragged(column)
    gc.collect()
    assert column.released == 1


def test_offsets_outside_of_the_values():
    """A damaged column is refused before anything outside is read."""
    for place, offset in ((0, -1), (3, 10**9)):
        column = Exporter([[1.0], [], [2.0, 3.0]])
        column.memory[1][place] = offset
        with pytest.raises(fw.ArgumentError, match="damaged"):
            fw.ragged(column)
    column = Exporter([[1.0], [], [2.0, 3.0]])
    column.memory[1][1] = 3
    with pytest.raises(fw.ShapeError, match="must not decrease"):
        fw.ragged(column)


def test_none_of_them_is_imported_for_nothing():
    """Flatweave alone, and lists and arrays made Ragged, load no other library."""
    program = (
        "import sys, flatweave as fw; fw.ragged([[1], []]).tolist();"
        f"print([name for name in {LIBRARIES} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_libraries_that_are_missing(monkeypatch):
    """Say how they are installed; in a trace there is nothing to convert."""
    rows = fw.ragged(ROWS)
    for name in ("awkward", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(fw.Unsupported) as caught:
        rows.to_awkward()
    assert "pip install awkward" in str(caught.value)
    with pytest.raises(fw.Unsupported) as caught:
        rows.to_arrow()
    assert "pip install pyarrow" in str(caught.value)
    with pytest.raises(fw.NotTraceableError):
        fw.jit(lambda r: r.to_arrow())(rows)
