"""Arrays through Arrow's C data interface, without a library of Arrow: both ways, and nulls."""

import ctypes
import gc

import numpy as np
import pytest

import flatweave as fw
from flatweave.frontend.values import arrow_interface
from flatweave.frontend.values.arrow_interface import (
    NUMBERS,
    RELEASE,
    CArray,
    Column,
    capsules,
    chunks_of,
    lists,
    numbers,
)
from flatweave.library_columns import taken
from tests.language.agreement import same

pytestmark = pytest.mark.usefixtures("little_to_collect")

SHAPES = [(0,), (1,), (127,), (129,), (3, 5), (2, 0, 3), (2, 1, 3)]
DTYPES = [np.bool_, *sorted({np.dtype(code) for code in NUMBERS.values()}, key=str)]


class Exported:
    """Another library's column: it has Arrow's interface and no other."""

    def __init__(self, column):
        self.column = column

    def __arrow_c_array__(self, requested_schema=None):
        return capsules(self.column)


def with_nulls(values, valid):
    """A column in which some elements are missing."""
    bits = np.packbits(np.array(valid), bitorder="little")
    found = numbers(np.asarray(values))
    return found._replace(buffers=(bits, found.buffers[1]))


def is_shared(a, b):
    """Whether two arrays are the same memory."""
    return np.shares_memory(np.asarray(a), np.asarray(b))


def held():
    """How many structures somebody else has, or has given back half."""
    gc.collect()
    return len(arrow_interface._held) + len(arrow_interface._given)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_there_and_back(dtype):
    """Arrays of every shape; only bools, which become bits, are copied."""
    for shape in SHAPES:
        xs = fw.asarray(np.arange(np.prod(shape)).reshape(shape).astype(dtype))
        back = fw.asarray(Exported(numbers(np.asarray(xs))))

        same(back, np.asarray(xs))
        assert is_shared(back, xs) == bool(xs.size and dtype != np.bool_)
        assert not np.asarray(back).flags.writeable


def test_what_arrow_has_no_array_of():
    """A single number, and complex numbers."""
    with pytest.raises(fw.ArgumentError, match="single number"):
        fw.asarray(1.5).__arrow_c_array__()
    with pytest.raises(fw.DTypeError, match="complex128"):
        fw.asarray([1j]).__arrow_c_array__()
    with pytest.raises(fw.NotTraceableError):
        fw.jit(lambda xs: xs.__arrow_c_array__())(np.arange(3))


@pytest.mark.parametrize(
    "rows",
    [
        [[3, 1], [], [4]], [[[1], []], [], [[2, 3]]], [[{"x": 1, "y": 2.5}], []], [[True], []],
        [[(1, 2.0)], [(3, 4.0), (5, 6.0)]],
    ],
    ids=str,
)  # fmt: skip
def test_rows_there_and_back(rows):
    """Lists, lists of lists, records; a tuple comes back as a dict of numbered fields."""
    ragged = fw.ragged(rows)

    class Rows:
        def __arrow_c_array__(self, requested_schema=None):
            return ragged.__arrow_c_array__()

    expected = rows
    if isinstance(rows[0][0], tuple):
        expected = [[dict(zip("01", element, strict=True)) for element in row] for row in rows]
    assert fw.ragged(Rows()).tolist() == expected


def test_memory_lives_until_everybody_has_released_it():
    """The array, a part that was moved out of it, and capsules that nobody takes."""
    before = held()
    xs = fw.asarray(np.arange(5.0), copy=True)
    column = lists(np.array([0, 2, 5]), numbers(np.asarray(xs)))
    schema, array = capsules(column)
    chunk = next(chunks_of(Exported(column)))
    assert held() > before
    del xs, column, schema
    gc.collect()
    inner = chunk.children[0].buffer(1, "f8", 0, 5)
    assert inner.tolist() == [0, 1, 2, 3, 4]
    del inner, chunk

    # a consumer moves the child elsewhere, then releases the parent
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    address = ctypes.cast(pointer(ctypes.py_object(array), b"arrow_array"), ctypes.c_void_p).value
    parent, moved = CArray.from_address(address), CArray()
    child = parent.children[0].contents
    ctypes.memmove(ctypes.addressof(moved), ctypes.addressof(child), ctypes.sizeof(CArray))
    child.release = None
    RELEASE(parent.release)(address)
    del array
    gc.collect()
    values = (ctypes.c_double * 5).from_address(moved.buffers[1])
    assert list(values) == [0, 1, 2, 3, 4]
    assert held() > before
    RELEASE(moved.release)(ctypes.addressof(moved))
    assert held() == before

    fw.asarray([1.0]).__arrow_c_array__()
    assert held() == before


def test_nulls_are_refused_made_nan_or_taken_apart():
    """A mask is True where nothing is; the values are not copied for it."""
    values = np.array([5, 6, 7], np.int32)
    column = with_nulls(values, [True, False, True])
    for call in (fw.asarray, fw.sum, fw.jit(lambda x: x)):
        with pytest.raises(fw.ArgumentError, match="1 null"):
            call(Exported(column))

    same(fw.asarray(Exported(column), nulls="nan"), np.array([5, np.nan, 7]))
    found, missing = fw.asarray(Exported(column), nulls="mask")
    same(missing, np.array([False, True, False]))
    same(fw.where(missing, 0, found), np.array([5, 0, 7], np.int32))
    assert is_shared(found, values)


@pytest.mark.parametrize("nulls", ["raise", "nan", "mask"])
def test_a_column_without_nulls(nulls):
    """Is the same array in each way of taking them; where they may be, they are counted."""
    values = np.array([5.0, 6.0])
    for column in (numbers(values), with_nulls(values, [True, True])):
        found = fw.asarray(Exported(column), nulls=nulls)
        if nulls == "mask":
            found, missing = found
            same(missing, np.array([False, False]))
        same(found, values)
        assert is_shared(found, values)


def test_masked_arrays_of_numpy():
    """Their masks are NumPy's."""
    for mask in ([False, True], [False, False]):
        xs = np.ma.masked_array([1, 2], mask)
        with pytest.raises(fw.ArgumentError, match="masked array"):
            fw.asarray(xs)
        found, missing = fw.asarray(xs, nulls="mask")
        same(found, np.array([1, 2]))
        same(missing, np.array(mask))
        floats = np.where(mask, np.nan, [1.0, 2.0]) if any(mask) else np.array([1, 2])
        same(fw.asarray(xs, nulls="nan"), floats)


def test_columns_of_something_else():
    """Each is refused with what to do about it."""
    text = Column("u", 1, (None, np.array([0, 1], np.int32), np.array([97], np.uint8)))
    times = numbers(np.array([1]))._replace(format="tsn:")
    record = arrow_interface.structs([numbers(np.array([1]))], ["x"])
    inner = with_nulls([1, 2, 3, 4], [True, True, False, True])._replace(name="item")
    for column, error, message in (
        (text, fw.DTypeError, r"fw\.Strings\(xs\)"),
        (times, fw.DTypeError, "Cast it to integers"),
        (record, fw.DTypeError, "fields one by one"),
        (lists(np.array([0, 1]), numbers(np.array([1]))), fw.ArgumentError, r"fw\.ragged"),
        (Column("+w:2", 2, (None,), (inner,)), fw.ArgumentError, r"1 null[^$]*fw\.Nullable"),
    ):
        with pytest.raises(error) as caught:
            fw.asarray(Exported(column))
        assert caught.match(message)


def test_a_column_that_no_value_stands_for_is_named():
    """In a table it is one of many."""
    spans = Exported(Column("tin", 1, (None, np.zeros(2, np.int64))))

    with pytest.raises(fw.DTypeError, match=r"column 'span' is .* of intervals[^$]*epoch_us"):
        taken(spans, "column 'span'")
