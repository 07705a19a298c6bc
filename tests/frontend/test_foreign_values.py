"""What other libraries hold: whole arrays and chunks of them are the same numbers, or are refused.

Each value is given to `fw.asarray` in its three ways of taking nulls, to a function, and to
`fw.Chunked`: nothing becomes a number that its library does not say it is.
"""

import datetime as dt
import decimal
import warnings

import numpy as np
import pytest

import flatweave as fw
from tests.language.agreement import same

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NAN = np.nan
DAY = dt.date(2026, 1, 1)
TENSORS = np.arange(12).reshape(2, 2, 3)
RUNS = pa.RunEndEncodedArray.from_arrays([2, 4], [10, 20])
PERIODS = pd.period_range("2026-01", periods=2, freq="M")
MASKED = np.ma.masked_array([1, 2], [False, True])


def identity(value):
    """What a function is given."""
    with fw.target("interp"):
        return fw.jit(lambda xs: xs)(value)


def chunks(value):
    """The same as the only chunk of an array."""
    return fw.asarray(np.asarray(fw.Chunked([value])))


def cut(value):
    """The same in chunks of one row."""
    return fw.asarray(np.asarray(fw.Chunked.cut(value, 1)))


WAYS = (fw.asarray, identity, chunks, cut)


class Extension(pa.ExtensionType):
    """Numbers with another meaning."""

    def __init__(self):
        super().__init__(pa.int64(), "tests.extension")

    def __arrow_ext_serialize__(self):
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type, serialized):
        return cls()


WHOLE = {
    "pandas nullable": (pd.Series([1, 2], dtype="Int64"), [1, 2]),
    "pandas categories": (pd.Series([30, 20], dtype="category"), [30, 20]),
    "pandas sparse": (pd.Series(pd.arrays.SparseArray([0.0, NAN])), [0.0, NAN]),
    "pandas floats": (pd.Series([1.0, NAN]), [1.0, NAN]),
    "pandas table": (pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}), [[1, 0.5], [2, 1.5]]),
    "pandas arrow": (pd.Series([1, 2], dtype="int64[pyarrow]"), [1, 2]),
    "polars": (pl.Series([1, 2]), [1, 2]),
    "polars arrays": (pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2)), [[1, 2], [3, 4]]),
    "polars table": (pl.DataFrame({"a": [1, 2], "b": [0.5, 1.5]}), [[1, 0.5], [2, 1.5]]),
    "dictionary": (pa.array([30, 20, 30]).dictionary_encode()[1:], [20, 30]),
    "runs": (RUNS[1:], [10, 20, 20]),
    "several": (pa.chunked_array([[True], [False, True]]), [True, False, True]),
    "none of several": (pa.chunked_array([], pa.int32()), np.zeros(0, np.int32)),
    "table": (pa.table({"a": [1, 2], "b": [0.5, 1.5]}), [[1, 0.5], [2, 1.5]]),
    "tensors": (pa.FixedShapeTensorArray.from_numpy_ndarray(TENSORS), TENSORS),
    "bool8": (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([2, 0], pa.int8())),
              [True, False]),
    "matrix": (np.arange(4).reshape(2, 2).view(np.matrix), [[0, 1], [2, 3]]),
    "big-endian": (np.arange(3, dtype=">i4"), np.arange(3, dtype=np.int32)),
}  # fmt: skip
MISSING = {
    "pandas nullable": (pd.Series([1, None], dtype="Int32"), [1, NAN], np.int32),
    "pandas floats": (pd.Series([1, None], dtype="Float32"), np.float32([1, NAN]), np.float32),
    "pandas bools": (pd.Series([True, None], dtype="boolean"), [1, NAN], np.bool_),
    "pandas categories": (pd.Series([30, None], dtype="category"), [30, NAN], np.float64),
    "pandas arrow": (pd.Series([1, None], dtype="int8[pyarrow]"), [1, NAN], np.int8),
    "pandas table": (pd.DataFrame({"a": pd.array([1, None], "Int64"), "b": [0.5, 1.5]}),
                     [[1, 0.5], [NAN, 1.5]], np.float64),
    "polars": (pl.Series([1, None]), [1, NAN], np.int64),
    "polars bools": (pl.Series([True, None]), [1, NAN], np.bool_),
    "polars nulls": (pl.Series([None, None]), [NAN, NAN], np.float64),
    "polars in arrays": (pl.Series([[1, 2], [3, None]], dtype=pl.Array(pl.Int64, 2)),
                         [[1, 2], [3, NAN]], np.int64),
    "polars arrays": (pl.Series([[9, 9], [1, 2], None], dtype=pl.Array(pl.Int64, 2))[1:],
                      [[1, 2], [NAN, NAN]], np.int64),
    "polars table": (pl.DataFrame({"a": [1, None], "b": [0.5, 1.5]}), [[1, 0.5], [NAN, 1.5]],
                     np.float64),
    "dictionary": (pa.array([30, None, 30]).dictionary_encode()[:2], [30, NAN], np.int64),
    "dictionary of nulls": (pa.nulls(2, pa.int16()).dictionary_encode(), [NAN, NAN], np.int16),
    "nulls": (pa.nulls(2), [NAN, NAN], np.float64),
    "several": (pa.chunked_array([[1], [None]], pa.int64()), [1, NAN], np.int64),
    "batch": (pa.record_batch({"a": [1, None]}), [[1], [NAN]], np.int64),
}  # fmt: skip
REFUSED = {
    "masked": (MASKED, fw.ArgumentError, "masked array"),
    "objects": (np.array([1, None]), fw.ArgumentError, "dtype=np.float64"),
    "text": (np.array(["1"]), fw.DTypeError, r"xs\.astype\(np\.float64\)"),
    "text of any length": (np.array(["1"], np.dtypes.StringDType()), fw.DTypeError, "bytes"),
    "wide floats": (np.ones(1, np.longdouble), fw.DTypeError, "float64"),
    "pandas periods": (pd.Series(PERIODS), fw.DTypeError, r"period\[M\].*astype\(.int64.\)"),
    "pandas index of periods": (PERIODS, fw.DTypeError, r"period\[M\]"),
    "pandas intervals": (pd.Series(pd.interval_range(0, 2)), fw.DTypeError, "its ends"),
    "pandas text": (pd.Series(["a"], dtype="string"), fw.DTypeError, r"astype\(\"float64\"\)"),
    "pandas categories": (pd.Series(["a"], dtype="category"), fw.DTypeError, "cat.codes"),
    "pandas decimals": (pd.Series([decimal.Decimal(1)], dtype=pd.ArrowDtype(pa.decimal128(3, 1))),
                        fw.DTypeError, r"astype\(\"float64\"\)"),
    "pandas table": (pd.DataFrame({"a": [1], "s": ["x"]}), fw.DTypeError, "column 's' of"),
    "polars structs": (pl.Series([{"a": 1, "b": 2}]), fw.DTypeError, r"struct\.field\('a'\)"),
    "polars text": (pl.Series(["a"]), fw.DTypeError, r"polars\.Float64.*fw\.ragged\(xs\)"),
    "polars categories": (pl.Series(["a"], dtype=pl.Categorical), fw.DTypeError, "to_physical"),
    "polars names": (pl.Series(["a"], dtype=pl.Enum(["a"])), fw.DTypeError, "to_physical"),
    "polars decimals": (pl.Series([decimal.Decimal(1)]), fw.DTypeError, r"polars\.Float64"),
    "polars wide": (pl.Series([1], dtype=pl.Int128), fw.DTypeError, "functions of its library"),
    "polars objects": (pl.Series([object()], dtype=pl.Object), fw.DTypeError, "bytes"),
    "polars lists": (pl.Series([[1]]), fw.ArgumentError, r"fw\.ragged\(xs\)"),
    "polars table": (pl.DataFrame({"a": [1], "s": ["x"]}), fw.DTypeError, "column 's' of"),
    "text of views": (pa.array(["a"], pa.string_view()), fw.DTypeError, "its bytes as rows"),
    "dictionary": (pa.array(["a"]).dictionary_encode(), fw.DTypeError, r"xs\.indices"),
    "structs": (pa.array([{"a": 1}]), fw.DTypeError, r"xs\.field\('a'\)"),
    "maps": (pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int8())), fw.DTypeError, "maps"),
    "extension": (pa.ExtensionArray.from_storage(Extension(), pa.array([1])), fw.DTypeError,
                  r"tests\.extension.*xs\.storage"),
    "other tensors": (pa.FixedShapeTensorArray.from_numpy_ndarray(TENSORS.transpose(0, 2, 1)),
                      fw.DTypeError, "fixed_shape_tensor"),
    "no column": (pa.table({}), fw.ArgumentError, "without columns"),
}  # fmt: skip


OF_TIMES = {
    "pandas": (pd.Series(pd.date_range("2026", periods=1)), r"np\.asarray\(xs\)"),
    "pandas zone": (pd.Series(pd.date_range("2026", periods=1, tz="UTC")), "tz_convert"),
    "polars": (pl.Series([DAY]), r"np\.asarray\(xs\)"),
    "days": (pa.array([DAY]), r"pyarrow\.int32"),
    "instants": (pa.array([dt.datetime(2026, 1, 1)]), r"pyarrow\.int64"),
}


@pytest.mark.parametrize("name", OF_TIMES)
def test_times(name):
    """They are no numbers for an array, and times for a function."""
    value, message = OF_TIMES[name]
    for way in WAYS:
        if way is not identity:
            with pytest.raises(fw.DTypeError, match=rf"(?s).*{message}"):
                way(value)
    found = identity(value)
    assert found.dtype.kind == "M" and str(found.to_numpy()[0]).startswith("2026-")


@pytest.mark.parametrize("name", WHOLE)
def test_numbers(name):
    """They are the same in every way, and none is missing."""
    value, expected = WHOLE[name]
    expected = np.asarray(expected)
    for way in (*WAYS, lambda xs: fw.asarray(xs, nulls="nan")):
        same(way(value), expected)
    found, missing = fw.asarray(value, nulls="mask")
    same(found, expected)
    same(missing, np.zeros(expected.shape, np.bool_))


def test_a_missing_element_is_no_integer():
    """NaN is not cast to an integer silently; a column without nulls takes any dtype."""
    column, rows = pa.array([1, None, 3]), pa.array([[1, None], [3]])
    ways = (
        lambda: fw.asarray(column, fw.i32, nulls="nan"),
        lambda: fw.ragged(rows, dtype=fw.i32, nulls="nan"),
        lambda: fw.ragged(column, lengths=[2, 1], dtype=fw.bool_, nulls="nan"),
    )
    for way in ways:
        with pytest.raises(fw.DTypeError, match="has 1 missing element, and .* has no NaN"):
            way()
    same(fw.asarray(column, fw.f32, nulls="nan"), np.float32([1, np.nan, 3]))
    same(fw.asarray(pa.array([1, 2]), fw.i32, nulls="nan"), np.int32([1, 2]))
    assert fw.ragged(pa.array([[1], [3]]), dtype=fw.i32, nulls="nan").dtype == fw.i32


@pytest.mark.parametrize("name", MISSING)
def test_what_is_missing(name):
    """Nobody makes it a number unasked; a mask has the shape of the values."""
    value, floats, dtype = MISSING[name]
    floats = np.asarray(floats)
    floats = floats if floats.dtype == np.float32 else floats.astype(np.float64)
    count = np.isnan(floats).sum()
    for way in WAYS:
        with pytest.raises(fw.ArgumentError, match=rf"(?s){count} null.*nulls=\"nan"):
            way(value)
    same(fw.asarray(value, nulls="nan"), floats)
    found, missing = fw.asarray(value, nulls="mask")
    same(missing, np.isnan(floats))
    assert found.dtype == dtype and found.shape == floats.shape
    there = ~np.isnan(floats)
    assert np.array_equal(np.asarray(found)[there], floats[there])


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_number(name):
    """It is refused in every way, with what to do about it."""
    value, error, message = REFUSED[name]
    for way in WAYS:
        with pytest.raises(error, match=rf"(?s).*{message}"):
            way(value)


def test_options_of_awkward():
    """They are nulls as any others."""
    ak = pytest.importorskip("awkward")
    for rows in ([1, None], [[1, None], [2, 3]]):
        floats = np.array(rows, np.float64)
        value = ak.Array(rows)
        for way in WAYS:
            with pytest.raises(fw.ArgumentError, match="1 null"):
                way(value)
        same(fw.asarray(value, nulls="nan"), floats)
        same(fw.asarray(value, nulls="mask")[1], np.isnan(floats))


def test_text_is_rows_of_bytes():
    """In each layout of its library: short texts in views, long ones outside, parts of a column."""
    texts = ["", "short", "just twelve.", "one that is longer than a view", "é" * 9, "x"]
    rows = [list(text.encode()) for text in texts]
    for column in (
        pl.Series(texts), pd.Series(texts), pa.array(texts), pa.array(texts, pa.string_view()),
        pa.array(texts).dictionary_encode(), pl.Series(texts, dtype=pl.Categorical),
        pl.Series([text.encode() for text in texts]),
        pa.concat_arrays([pa.array(["out"], pa.string_view()), pa.array(texts, pa.string_view())])[
            1:
        ],
    ):  # fmt: skip
        assert fw.ragged(column).tolist() == rows
    assert fw.ragged(pl.Series([texts, [], texts[:2]])).tolist() == [rows, [], rows[:2]]
    with pytest.raises(fw.ArgumentError, match="null"):
        fw.ragged(pl.Series(["a", None]))


def test_a_wrapper_is_asked_for_its_elements():
    """A class that hands on attributes of its array, as pint's, says what is lost: its unit."""

    class Quantity:
        def __init__(self, values):
            self.values = values

        def __getattr__(self, name):
            if name.startswith("__array_"):
                raise AttributeError(name)
            return getattr(self.values, name)

        def __array__(self, dtype=None, copy=None):
            warnings.warn("the unit is lost", stacklevel=2)
            return self.values

    with fw.target("interp"):
        for call in (fw.asarray, fw.sum, fw.jit(lambda x: x + 1)):
            with pytest.warns(UserWarning, match="the unit is lost"):
                call(Quantity(np.arange(3.0)))


def test_views_of_lists():
    """Rows that may be anywhere in the values, in any order."""
    rows = [[1, 2], [3], [], [4, 5]]
    for kind in (pa.list_view, pa.large_list_view):
        column = pa.array(rows, kind(pa.int64()))
        assert fw.ragged(column[1:]).tolist() == rows[1:]
        assert fw.ragged(column.take(pa.array([3, 0, 0]))).tolist() == [[4, 5], [1, 2], [1, 2]]
    inner = pa.array([[[1], []]], pa.list_view(pa.list_(pa.int8())))
    assert fw.ragged(inner).tolist() == [[[1], []]]


def test_tensors_are_rows():
    """If the elements of a column are tensors, each is a row of rows."""
    column = pa.FixedShapeTensorArray.from_numpy_ndarray(TENSORS)
    assert fw.ragged(column).tolist() == TENSORS.tolist()


def test_damaged_dictionaries():
    """Codes that mean nothing are found before they are looked up."""
    codes = pa.array([0, 5], pa.int8())
    column = pa.DictionaryArray.from_arrays(codes, pa.array([10, 20]), safe=False)
    with pytest.raises(fw.ArgumentError, match="damaged: it has codes from 0 to 5, and 2 values"):
        fw.asarray(column)


def test_other_libraries():
    """What reads when it is asked: files, and arrays that are computed then."""
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):  # whatever a client of another test left
        read_other_libraries()


def read_other_libraries():
    xs = np.arange(6, dtype=np.int16)
    h5py, xarray = pytest.importorskip("h5py"), pytest.importorskip("xarray")
    zarr, arrays = pytest.importorskip("zarr"), pytest.importorskip("dask.array")
    with h5py.File("foreign.h5", "w", driver="core", backing_store=False) as file:
        for value in (
            file.create_dataset("xs", data=xs), file.create_dataset("big", data=xs.astype(">i2")),
            xarray.DataArray(xs), xarray.DataArray(arrays.from_array(xs, 4)), zarr.array(xs),
            arrays.from_array(xs, 4),
        ):  # fmt: skip
            for way in WAYS:
                same(way(value), xs)
    with pytest.raises(fw.ArgumentError, match="3 nulls"):
        fw.asarray(arrays.ma.masked_array(arrays.from_array(xs), xs > 2))


def test_a_library_that_fails():
    """Whatever it raises, the user's error says so."""

    class Broken:
        def __array__(self, dtype=None, copy=None):
            raise KeyError("no such file")

        def __arrow_c_stream__(self, requested_schema=None):
            raise KeyError("no such stream")

    for call in (fw.asarray, fw.ragged):
        with pytest.raises(fw.ArgumentError, match="cannot be read as .*no such"):
            call(Broken())
