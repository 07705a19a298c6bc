"""Text of lists and libraries as Strings, and back."""

import pickle
import sys

import numpy as np
import pytest

import flatweave as fw

TEXTS = ["one", "", "três", "日本", "one"]


def test_lists_and_arrays_of_numpy_come_in_and_go_out():
    """Also none at all, and bytes."""
    for given in (TEXTS, tuple(TEXTS), np.array(TEXTS), np.array(TEXTS, object),
                  np.array(TEXTS, np.dtypes.StringDType()), [t.encode() for t in TEXTS],
                  fw.ragged([np.frombuffer(t.encode(), np.uint8) for t in TEXTS])):  # fmt: skip
        assert fw.Strings(given).tolist() == TEXTS
    strings = fw.Strings(TEXTS)

    assert fw.Strings([]).tolist() == []
    assert np.asarray(strings, "<U5").tolist() == TEXTS
    assert strings.to_numpy().dtype == np.dtypes.StringDType()
    assert pickle.loads(pickle.dumps(strings)).tolist() == TEXTS
    assert fw.Strings(strings) is strings
    assert (len(strings), strings.shape, list(strings)) == (5, (5,), TEXTS)
    assert repr(strings[:2]) == "Strings(['one', ''])"


def test_missing_text_gives_a_nullable_of_strings():
    """None in lists and objects, null of StringDType."""
    with_null = np.array(["a", None], np.dtypes.StringDType(na_object=None))

    for given in (["a", None], with_null, np.array(["a", None], object)):
        found = fw.Strings(given)
        assert isinstance(found, fw.Nullable)
        assert found.tolist() == ["a", None]
    assert fw.Strings([None]).tolist() == [None]


def test_columns_of_arrow_share_their_bytes():
    """Of string and large_string; views and dictionaries are copied, nulls are kept."""
    arrow = pytest.importorskip("pyarrow")
    for kind in (arrow.string(), arrow.large_string()):
        column = arrow.array(TEXTS, kind)
        strings = fw.Strings(column)
        assert strings.tolist() == TEXTS
        address = np.asarray(strings.bytes.values).ctypes.data
        assert address == column.buffers()[2].address
    for column in (arrow.array(TEXTS, arrow.string_view()), arrow.array(TEXTS).dictionary_encode(),
                   arrow.chunked_array([TEXTS[:2], TEXTS[2:]])):  # fmt: skip
        assert fw.Strings(column).tolist() == TEXTS
    assert fw.Strings(arrow.array(TEXTS)[1:3]).tolist() == TEXTS[1:3]
    assert fw.Strings(arrow.array(["é", None])).tolist() == ["é", None]
    assert fw.Strings(arrow.array([], arrow.string())).tolist() == []
    views = arrow.array(["é", None, "more than twelve bytes"], arrow.string_view())
    assert fw.Strings(views[1:]).tolist() == [None, "more than twelve bytes"]
    assert arrow.array(strings).to_pylist() == TEXTS
    assert strings.to_arrow().type == arrow.large_string()
    assert arrow.array(fw.Strings(["é", None])).to_pylist() == ["é", None]


def test_columns_of_polars_and_pandas_come_in_and_go_out():
    """Text, categories and objects, with and without nulls."""
    polars = pytest.importorskip("polars")
    pandas = pytest.importorskip("pandas")

    for series in (polars.Series(TEXTS), polars.Series(TEXTS, dtype=polars.Categorical),
                   pandas.Series(TEXTS), pandas.Series(TEXTS, dtype=object), pandas.Index(TEXTS),
                   pandas.Series(TEXTS, dtype="category"), pandas.array(TEXTS)):  # fmt: skip
        assert fw.Strings(series).tolist() == TEXTS
    for series in (polars.Series(["a", None]), pandas.Series(["a", None])):
        assert fw.Strings(series).tolist() == ["a", None]
    assert polars.Series(fw.Strings(TEXTS)).to_list() == TEXTS
    assert polars.Series(fw.Strings(["a", None])).to_list() == ["a", None]


def test_columns_of_pandas_come_in_without_pyarrow(monkeypatch):
    """pandas then keeps texts as objects of Python; a missing one is NaN, NA or None."""
    pandas = pytest.importorskip("pandas")
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # an import fails
    kinds = (pandas.StringDtype("python"), pandas.StringDtype("python", na_value=np.nan),
             object, "category")  # fmt: skip
    for kind in kinds:
        column = pandas.Series(["one", None, "très"], dtype=kind)
        for given in (column, column.array):
            assert fw.Strings(given).tolist() == ["one", None, "très"]
        assert fw.Strings(column[:1]).tolist() == ["one"]
    groups = fw.group_by(pandas.Series(["b", "a", "b"], dtype=kinds[1]), np.arange(3.0))
    assert list(groups.keys) == ["a", "b"]


@pytest.mark.parametrize("data", [
    b"\xff", b"\xc3", b"\xa9", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80",
    b"\xf0\x9f\x98", b"\xc3\xa9\xa9", b"\xf5\x80\x80\x80",
])  # fmt: skip
def test_bytes_that_are_no_utf8_raise_with_the_row(data):
    """Wherever they are; a code point that goes on in the next row is none."""
    good = [b"ok", "é".encode(), b"", "\U0001f600".encode()]
    for row in (0, 2, 4):
        with pytest.raises(fw.ArgumentError, match=f"row {row} is no UTF-8"):
            fw.Strings([*good[:row], data, *good[row:]])
    with pytest.raises(fw.ArgumentError, match="row 1 is no UTF-8"):
        fw.Strings([b"a", b"\xc3", b"", b"\xa9"])


def test_what_is_no_text_is_refused():
    """With what it is, and for a list with the row."""
    wrong = {
        "int in row 0": [1], "int in row 1": ["a", 2], "value of int": 5, "value of str": "abc",
        "array of int64": np.arange(2), "row 0 is no text": ["\ud800"],
        "Ragged of": fw.ragged([[1]]),
    }  # fmt: skip
    for said, given in wrong.items():
        with pytest.raises(fw.ArgumentError, match=said):
            fw.Strings(given)
