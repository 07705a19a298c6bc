"""What users may hand over: buffers, other libraries' columns, any layout and byte order."""

import array
import enum
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest

import flatweave as fw
from flatweave.base.config import config
from tests.language.agreement import same

X = np.arange(6.0)
NAN = np.array([1, np.nan])


class Column:
    """A column as polars and Arrow have it: a count of nulls, which NumPy is given as NaN."""

    def __init__(self, *values, null_count):
        self.values = values
        self.null_count = null_count

    def __array__(self, dtype=None, copy=None):
        return np.array([np.nan if v is None else v for v in self.values], dtype)


class Nullable:
    """A dtype as pandas has it for elements that may be missing."""

    def __init__(self, numpy_dtype):
        self.numpy_dtype = np.dtype(numpy_dtype)


class MaskedColumn:
    """A column as pandas has it, whose nulls NumPy is given as objects."""

    def __init__(self, *values, dtype=None):
        self.values = values
        self.dtype = dtype

    def isna(self):
        return np.array([value is None for value in self.values])

    def to_numpy(self, dtype=object, na_value=None):
        return np.array([na_value if v is None else v for v in self.values], dtype)

    def __array__(self, dtype=None, copy=None):
        return self.to_numpy() if None in self.values else np.array(self.values, dtype)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (b"abc", np.frombuffer(b"abc", np.uint8)),
        (bytearray(b"abc"), np.frombuffer(b"abc", np.uint8)),
        (memoryview(X)[::2], X[::2]),
        (memoryview(b""), np.zeros(0, np.uint8)),
        (array.array("h", [1, -2]), np.array([1, -2], np.int16)),
        (range(3, 9, 2), np.array([3, 5, 7])),
        (range(0), np.zeros(0, np.int64)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_buffers_and_ranges_are_arrays(target, given, expected):
    """For functions, for compiled ones, and for asarray."""
    same(fw.map(lambda x: x + x, given), expected + expected)
    same(fw.jit(lambda x: x + x)(given), expected + expected)
    same(fw.asarray(given), expected)


@pytest.mark.parametrize("dtype", [">f8", ">i2", ">u4", ">f4"])
def test_another_byte_order_is_swapped(target, dtype):
    """On every call, the second of a signature as the first."""
    f = fw.jit(lambda x: x + x)
    x = np.arange(5).astype(dtype)
    native = x.astype(x.dtype.newbyteorder("="))

    for _ in range(2):
        same(f(x), native + native)
        same(f(native), native + native)
    same(fw.asarray(x), native)


def test_arrays_at_odd_addresses_are_copied(target):
    """A field of packed records, or a file read from its second byte on."""
    x = np.ndarray(3, np.float64, buffer=bytearray(25), offset=1)
    x[:] = [1, 2, 3]

    same(fw.jit(lambda x: x + 1)(x), np.array([2.0, 3, 4]))


def test_members_of_enums_are_numbers(target):
    """As in NumPy."""
    color = enum.IntEnum("color", "RED GREEN")

    same(fw.jit(lambda x, c: x + c)(X, color.GREEN), X + 2)


@pytest.mark.parametrize(
    "column",
    [
        Column(1, None, 3, null_count=1),
        MaskedColumn(1, None, 3, dtype=Nullable(np.int32)),
        MaskedColumn(True, None, 3, dtype=Nullable(np.float32)),
    ],
    ids=["counted", "masked", "masked-floats"],
)
def test_nulls_are_refused_or_made_nan(column):
    """They never become a number that nobody asked for."""
    for call in (fw.sum, fw.asarray, fw.jit(lambda x: x), lambda x: fw.scatter(X, [0, 1, 2], x)):
        with pytest.raises(fw.ArgumentError, match="1 null"):
            call(column)
    found = fw.asarray(column, nulls="nan")
    same(found.astype(fw.f64), np.array([1.0, np.nan, 3.0]))


def test_columns_without_nulls_are_arrays(target):
    """A NaN of NumPy's own floats is a number, whatever pandas calls it."""
    whole = np.array([1, 2])
    with_nan = MaskedColumn(1.0, np.nan, dtype=np.dtype(np.float64))

    for column in (Column(1, 2, null_count=0), Column(1, 2, null_count=lambda: 0)):
        same(fw.map(lambda x: x + 1, column), whole + 1)
    same(fw.jit(lambda x: x)(with_nan), np.array([1.0, np.nan]))
    same(fw.asarray(whole, nulls="nan"), whole)


def test_columns_of_pandas():
    """The library itself, where it is installed."""
    pandas = pytest.importorskip("pandas")
    column = pandas.Series([1, None], dtype="Int64")

    for value in (column, column.array, pandas.Index(column), pandas.DataFrame({"a": column})):
        with pytest.raises(fw.ArgumentError, match="1 null"):
            fw.sum(value)
    same(fw.asarray(column, nulls="nan"), NAN)
    same(fw.asarray(pandas.Series([True, None], dtype="boolean"), nulls="nan"), NAN)
    same(fw.asarray(pandas.Series([1.0, None])), NAN)


def test_columns_of_polars():
    """The library itself, where it is installed."""
    polars = pytest.importorskip("polars")
    column = polars.Series([1, None])

    for value in (column, polars.DataFrame({"a": column, "b": [1, 2]})):
        with pytest.raises(fw.ArgumentError, match="1 null"):
            fw.sum(value)
    same(fw.asarray(column, nulls="nan"), NAN)
    same(fw.asarray(polars.Series([True, None]), nulls="nan"), NAN)


def test_columns_of_arrow():
    """The library itself, where it is installed."""
    arrow = pytest.importorskip("pyarrow")
    column = arrow.array([1, None])

    for value in (column, arrow.chunked_array([[1], [None]]), arrow.table({"a": column})):
        with pytest.raises(fw.ArgumentError, match="1 null"):
            fw.sum(value)
    same(fw.asarray(column, nulls="nan"), NAN)
    with pytest.raises(fw.ArgumentError, match="Int64Scalar, which is not an array"):
        fw.sum(arrow.scalar(1))


def test_asarray_takes_what_numpy_takes():
    """Numbers, lists and tuples, in a dtype of the user's."""
    same(fw.asarray([[1, 2], [3, 4]], fw.f32), np.array([[1, 2], [3, 4]], np.float32))
    same(fw.asarray(((1, 2), (3, 4))), np.array([[1, 2], [3, 4]]))
    same(fw.asarray([]), np.array([]))
    same(fw.asarray(2.5), np.array(2.5))
    same(fw.asarray([1j, 2]), np.array([1j, 2]))
    for wrong, error in [([1, [2]], fw.ShapeError), ("text", fw.ArgumentError),
                         (None, fw.ArgumentError)]:
        with pytest.raises(error):
            fw.asarray(wrong)
    with pytest.raises(OverflowError):
        fw.asarray([300], fw.u8)
    with pytest.raises(fw.DTypeError):
        fw.asarray([1], "no dtype")
    with pytest.raises(fw.ArgumentError):
        fw.asarray([1], nulls="zero")


def test_dataclasses_are_made_once(target):
    """What `__post_init__` did to the fields is not done again, to arguments or to elements."""

    @dataclass
    class Scaled:
        values: object
        factor: object = 2

        def __post_init__(self):
            self.values = self.values * self.factor

    f = fw.jit(lambda s: Scaled(s.values + 1, 3))

    same(f(Scaled(X)).values, (X * 2 + 1) * 3)
    same(fw.map(lambda s: s, Scaled(X, X)).values, X * X)


def test_mappings_are_dicts(target):
    """An OrderedDict and a defaultdict stay what they are."""
    ordered = OrderedDict(b=X, a=X + 1)
    counts = defaultdict(list, a=X)
    f = fw.jit(lambda tree: tree)

    assert list(f(ordered)) == ["b", "a"]
    assert type(f(ordered)) is OrderedDict
    assert f(counts)["missing"] == []
    same(f(MappingProxyType({"a": X})), {"a": X})
    same(f(tuple.__new__(type("Size", (tuple,), {}), (1, X))), (np.array(1), X))


def test_the_order_of_a_dict_is_part_of_the_signature(target):
    """Who goes through its values sees it."""
    first = fw.jit(lambda d: next(iter(d.values())))

    same(first({"a": 1, "b": 2}), np.array(1))
    same(first({"b": 2, "a": 1}), np.array(2))


@dataclass(frozen=True)
class Options:
    value: object


@pytest.mark.parametrize(
    "around", [lambda v: v, lambda v: (1, v), Options], ids=["bare", "in a tuple", "in a dataclass"]
)
def test_static_values_are_told_apart(target, around):
    """1, True and 1.0 are equal for Python, and 0.0 and -0.0; a NaN is no other."""
    seen = []
    f = fw.jit(lambda x, c: seen.append(c) or x, static_argnames="c")
    values = [1, True, 1.0, np.float64(1.0), 0.0, -0.0, np.nan, -np.nan]

    for value in values + values:
        f(X, around(value))
    assert [repr(s) for s in seen] == [repr(around(value)) for value in values[:-1]]


def test_a_structure_that_holds_itself(target):
    """Is refused, and the stack is whole."""
    endless = []
    endless.append(endless)

    with pytest.raises(fw.ArgumentError, match="nested without end"):
        fw.jit(lambda x: x)(endless)


def test_an_empty_list_is_an_empty_array(target):
    """Of floats, as NumPy's."""
    same(fw.sum([]), np.sum([]))
    same(fw.map(lambda x: x + 1, []), np.zeros(0))
    same(fw.sort([]), np.zeros(0))
    same(fw.asarray([[]]), np.zeros((1, 0)))
    with pytest.raises(fw.ShapeError, match="one length"):
        fw.sum([[1], []])


@pytest.mark.parametrize("call", [
    fw.sum, fw.sort, fw.reverse, fw.transpose, lambda x: fw.reshape(x, 1), lambda x: fw.full(2, x),
    lambda x: fw.map(abs, x), lambda x: fw.concat([x, x]), lambda x: fw.gather(x, 0),
    lambda x: fw.scatter(x, 0, 1), lambda x: fw.stencil(lambda n: n[0], x, 3),
])  # fmt: skip
@pytest.mark.parametrize("nothing", [None, (), {}, (None, {})], ids=repr)
def test_what_holds_no_array_is_refused(call, nothing):
    """A function without a return gives None, which nothing goes through in silence."""
    with pytest.raises(fw.ArgumentError):
        call(nothing)


@pytest.mark.parametrize("function", [fw.sqrt, fw.sum, fw.argwhere, fw.atleast_1d])
def test_a_list_with_none_in_it_is_told(function):
    """Whatever else is in the list."""
    for values in ([None, 1.0], [1.0, None]):
        with pytest.raises(fw.ArgumentError, match=r"list with None in it(?s:.*)fw.Nullable"):
            function(values)


def test_extents_that_are_found(target):
    """-1 in a shape, on NumPy's arrays as on ours, in a separate call as in a compiled one."""
    x = np.arange(6)

    for shape in [(-1, 2), (3, -1), -1, (np.int64(-1), 3)]:
        expected = x.reshape(shape)
        same(fw.reshape(x, shape), expected)
        same(fw.reshape(fw.asarray(x), shape), expected)
        same(fw.jit(lambda x, s=shape: fw.reshape(x, s))(x), expected)


def test_slices_end_where_the_array_does(target):
    """However far away their bounds are."""
    x = np.arange(5)

    for cut in [slice(None, 2**63), slice(-(2**70), 2**70), slice(2**64, None), slice(2**63, 0, -1),
                slice(None, np.uint64(2**63))]:  # fmt: skip
        wanted = x[:: -1][:4] if cut.step else x[: 0 if cut.start == 2**64 else 5]
        same(fw.asarray(x)[cut], wanted)
        same(fw.jit(lambda x, cut=cut: x[cut])(x), wanted)


def test_writes_beyond_an_i64_are_dropped(target):
    """Like every index outside."""
    x = np.arange(3)

    same(fw.scatter(x, np.array([0, 2**64 - 1], np.uint64), np.array([7, 8])), np.array([7, 1, 2]))
    same(fw.scatter(x, 2**65, 7), x)


def test_memory_errors_name_the_line_of_their_own_program(target):
    """Programs that are equal share their code, not their lines."""
    fw.iota(3)
    with pytest.raises(fw.OutOfMemory) as first:
        fw.iota(10**15)
    with pytest.raises(MemoryError) as second:
        fw.iota(10**15)

    assert first.value.where.line + 2 == second.value.where.line
    assert "i64[1000000000000000]" in first.value.message
    assert "7.1 PiB" in first.value.message


def test_escaped_arrays_say_so(target):
    """Whatever Python or NumPy asks of them."""
    kept = []
    fw.jit(lambda x: kept.append(x))(X)
    (gone,) = kept

    for ask in (np.asarray, bool, int, float, len, list, hash, fw.asarray, np.sum, fw.sum,
                np.from_dlpack, lambda x: np.heaviside(x, 1), lambda x: x + 1, lambda x: x[0]):
        with pytest.raises(fw.EscapedArrayError, match="after the trace of <lambda> has ended"):
            ask(gone)


def test_asarray_of_a_traced_array(target):
    """Is that array."""
    same(fw.jit(lambda x: fw.asarray(x) + fw.asarray(x, fw.f32))(X), X + X.astype(np.float32))


@pytest.mark.parametrize("wanted", [*"?bhilBHILefdFD", float, np.float64, "float64", fw.f64])
def test_asarray_has_the_dtype_asked_for(wanted):
    """From any other dtype, also f64, which NumPy finds equal to None; copied or not."""
    dtype = fw.asarray([], wanted).dtype
    integers = np.array([0, 1, 1])
    sources = [
        integers, integers.astype(">i4"), integers.tolist(), range(2), memoryview(integers),
        np.int8(1), fw.asarray(integers), integers.astype("f8")[::2], fw.asarray(True),
    ]  # fmt: skip

    for given in sources:
        for copy in (None, True):
            found = fw.asarray(given, wanted, copy=copy)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, np.array(given, dtype))
        assert fw.array(given, wanted).dtype == dtype
    assert fw.jit(lambda x: fw.asarray(x, wanted))(integers).dtype == dtype


@pytest.mark.parametrize("name", ["linalg.cross", "fft.rfft", "random.normal"])
def test_names_of_the_modules_of_fw(name):
    """An error tells the module that has the name."""
    alone = name.partition(".")[2]
    with pytest.raises(AttributeError, match=f"no attribute '{alone}'. Is fw.{name} meant"):
        getattr(fw, alone)
    with pytest.raises(AttributeError, match="no attribute 'nothing'$"):
        fw.nothing


def test_variants_of_a_schedule_by_name():
    """In one text, as in the variable of the environment."""
    with fw.schedule("permute=owner,store=plain"), fw.schedule(expand="balanced"):
        now = config.schedule
    assert (now.permute, now.store, now.expand) == ("owner", "plain", "balanced")
    with pytest.raises(fw.ArgumentError, match="Is permute meant"):
        fw.schedule("permut=owner")
