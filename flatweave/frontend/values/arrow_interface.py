"""Arrow's C data interface: arrays of any Arrow library read in place, and ours as capsules.

    chunks_of(pyarrow.array([[1, 2], []]))     [Chunk(format "+l", length 2, buffers, children)]
    chunks_of(polars.Series([[1, 2], []]))     the same, "+L"; one chunk for each of the column's
    numbers(np.arange(3))                      Column("l", 3, (None, [0, 1, 2]))
    capsules(numbers(np.arange(3)))            (schema, array), what `__arrow_c_array__` returns

The interface is https://arrow.apache.org/docs/format/CDataInterface.html, so that no library of
Arrow is needed here. A chunk's memory lives as long as what reads it. Of what is exported nothing
is copied but bools, which Arrow keeps as bits. Each exported array and each array inside it holds
its memory until it is released, wherever its structure has been moved to; a number in its private
data identifies it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeVar

import numpy as np

from flatweave.base.errors import ArgumentError, DTypeError, UserError
from flatweave.runtime.cpu import Memory

Values = np.ndarray[Any, np.dtype[Any]]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
NUMBERS = {
    "c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8",
    "e": "f2", "f": "f4", "g": "f8",
}  # fmt: skip
GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


class CSchema(ctypes.Structure):
    """struct ArrowSchema: the type of an array."""


CSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(CSchema))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class CArray(ctypes.Structure):
    """struct ArrowArray: the memory of an array."""


CArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(CArray))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class CStream(ctypes.Structure):
    """struct ArrowArrayStream: the arrays of a column, in order."""

    _fields_ = (
        ("get_schema", ctypes.c_void_p),
        ("get_next", ctypes.c_void_p),
        ("get_last_error", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    )


class Owned:
    """A struct that was filled for us: its memory is given back with the last reference to it."""

    def __init__(self, struct: Any) -> None:
        self.struct = struct

    def __del__(self) -> None:
        if self.struct.release:
            RELEASE(self.struct.release)(ctypes.addressof(self.struct))


class Chunk(NamedTuple):
    """An array, or one of the arrays inside it: its type and where its memory is."""

    format: str
    name: str
    dictionary: Chunk | None  # what codes mean; then the format is that of the codes
    metadata: dict[str, bytes]
    length: int
    offset: int
    null_count: int  # -1: not counted
    addresses: tuple[int, ...]  # of its buffers; 0 for one that is left out
    children: tuple[Chunk, ...]
    owner: Any

    @property
    def extension(self) -> str:
        """The name of the extension type of the elements, or ""."""
        return self.metadata.get("ARROW:extension:name", b"").decode(errors="replace")

    def buffer(self, number: int, dtype: Any, start: int, count: int) -> Values:
        """`count` elements of a buffer from `start`, not copied."""
        dtype = np.dtype(dtype)
        address = self.addresses[number]
        if not count or not address:
            return np.zeros(count, dtype)
        return np.asarray(Memory(address + start * dtype.itemsize, dtype, (count,), self.owner))

    def bits(self, number: int, start: int, count: int) -> Values:
        """The same for a buffer of single bits, as an array of bools."""
        first, last = start // 8, -(-(start + count) // 8)
        packed = self.buffer(number, np.uint8, first, last - first)
        unpacked = np.unpackbits(packed, bitorder="little")[start - 8 * first :][:count]
        return unpacked.astype(np.bool_)


def chunks_of(value: Any) -> Iterator[Chunk]:
    """The arrays that an object of an Arrow library consists of, one without elements if none."""
    if hasattr(value, "__arrow_c_array__"):
        schema, array = _asked(value, "__arrow_c_array__")
        owner = (schema, array)
        yield _chunk(
            CSchema.from_address(_capsule_pointer(schema, b"arrow_schema")),
            CArray.from_address(_capsule_pointer(array, b"arrow_array")), owner,
        )  # fmt: skip
        return
    capsule = _asked(value, "__arrow_c_stream__")
    stream = CStream.from_address(_capsule_pointer(capsule, b"arrow_array_stream"))
    type_ = Owned(CSchema())
    _filled(GET(stream.get_schema), stream, type_.struct)
    count = 0
    while True:
        found = Owned(CArray())
        _filled(GET(stream.get_next), stream, found.struct)
        if not found.struct.release:
            break
        yield _chunk(type_.struct, found.struct, found)
        count += 1
    if not count:
        yield _empty(type_.struct)


def _asked(value: Any, method: str) -> Any:
    """The capsules of an object, whose code may raise anything."""
    try:
        return getattr(value, method)()
    except UserError:
        raise
    except Exception as failure:
        raise ArgumentError.here(
            f"a {type(value).__name__} cannot be read as Arrow: {failure}.",
            "Convert it in its own library first.",
        ) from None  # fmt: skip


def _empty(schema: Any) -> Chunk:
    """An array of a type that has no elements."""
    children = tuple(_empty(schema.children[i].contents) for i in range(schema.n_children))
    dictionary = _empty(CSchema.from_address(schema.dictionary)) if schema.dictionary else None
    return Chunk(
        schema.format.decode(), (schema.name or b"").decode(), dictionary, _metadata(schema),
        0, 0, 0, (0, 0, 0), children, None,
    )  # fmt: skip


def _filled(get: Any, stream: CStream, struct: Any) -> None:
    failure = get(ctypes.addressof(stream), ctypes.addressof(struct))
    if failure:
        raise OSError(failure, "a stream of Arrow arrays cannot be read")


def _chunk(schema: Any, array: Any, owner: Any) -> Chunk:
    children = tuple(
        _chunk(schema.children[i].contents, array.children[i].contents, owner)
        for i in range(array.n_children)
    )
    addresses = tuple(array.buffers[i] or 0 for i in range(array.n_buffers))
    dictionary = None
    if schema.dictionary:
        meaning = CSchema.from_address(schema.dictionary), CArray.from_address(array.dictionary)
        dictionary = _chunk(*meaning, owner)
    return Chunk(
        schema.format.decode(), (schema.name or b"").decode(), dictionary, _metadata(schema),
        array.length, array.offset, array.null_count, addresses, children, owner,
    )  # fmt: skip


def _metadata(schema: Any) -> dict[str, bytes]:
    """The keys and values of a type's metadata: counts and lengths are i32, then the bytes."""
    address = schema.metadata
    if not address:
        return {}

    def number() -> int:
        nonlocal address
        address += 4
        return ctypes.c_int32.from_address(address - 4).value

    def text() -> bytes:
        nonlocal address
        length = number()
        address += length
        return ctypes.string_at(address - length, length)

    return {text().decode(errors="replace"): text() for _ in range(number())}


FORMATS = {np.dtype(code): form for form, code in NUMBERS.items()}
NULLABLE = 2


class Column(NamedTuple):
    """An array as Arrow sees it: its format, its buffers, and the arrays inside it."""

    format: str
    length: int
    buffers: tuple[Values | None, ...]
    children: tuple[Column, ...] = ()
    name: str = ""


def numbers(values: Values) -> Column:
    """An array of numbers; each slice along axis 0 is a list of a fixed size."""
    if not values.ndim:
        raise ArgumentError.here(
            "a single number is no Arrow array.", "Give it an axis: fw.reshape(x, (1,))."
        )
    flat = values.reshape(-1)
    if values.dtype == np.bool_:
        found = Column("b", len(flat), (None, np.packbits(flat, bitorder="little")))
    elif values.dtype in FORMATS:
        found = Column(FORMATS[values.dtype], len(flat), (None, flat))
    else:
        is_complex = values.dtype.kind == "c"
        raise DTypeError.here(
            f"Arrow has no arrays of {values.dtype}.",
            "Give two arrays: fw.real(z) and fw.imag(z)." if is_complex
            else "Convert them: xs.astype(fw.f32), or fw.f16.",
        )
    for axis in range(values.ndim - 1, 0, -1):
        length = int(np.prod(values.shape[:axis], dtype=np.int64))
        found = Column(f"+w:{values.shape[axis]}", length, (None,), (found._replace(name="item"),))
    return found


def with_missing(column: Column, valid: Values) -> Column:
    """A column of which the elements are missing where a bool is False; those of lists of a fixed
    size where there is a bool for each."""
    if valid.ndim > 1:
        inner = with_missing(column.children[0], valid.reshape(-1, *valid.shape[2:]))
        return column._replace(children=(inner,))
    return column._replace(buffers=(np.packbits(valid, bitorder="little"), *column.buffers[1:]))


def lists(offsets: Values, inner: Column) -> Column:
    """Rows of an array, where each begins and the last one ends."""
    return Column("+L", len(offsets) - 1, (None, offsets), (inner._replace(name="item"),))


def structs(fields: Sequence[Column], names: Sequence[str]) -> Column:
    """Arrays of one length as the fields of an array of records."""
    named = tuple(field._replace(name=name) for field, name in zip(fields, names, strict=True))
    return Column("+s", fields[0].length, (None,), named)


def capsules(column: Column) -> tuple[Any, Any]:
    """The type and the memory of an array, for who calls `__arrow_c_array__`."""
    return _capsule(_schema(column), b"arrow_schema"), _capsule(_array(column), b"arrow_array")


# -- structures, and who holds what they point at --------------------------------------------------

_held: dict[int, Any] = {}  # by the number in its private data, what a structure points at
_given: dict[int, Any] = {}  # by its address, a structure in a capsule
_numbers = count(1)


S = TypeVar("S", bound=ctypes.Structure)


def _hold(struct: S, release: Any, *memory: object) -> S:
    """The structure, which is released by its own means."""
    number = next(_numbers)
    struct.private_data, struct.release = number, ctypes.cast(release, ctypes.c_void_p)
    _held[number] = memory
    return struct


def _schema(column: Column) -> CSchema:
    children, inside = _pointers(CSchema, [_schema(child) for child in column.children])
    form, name = column.format.encode(), column.name.encode()
    made = CSchema(
        format=form, name=name, flags=NULLABLE, n_children=len(column.children), children=children
    )
    return _hold(made, _RELEASE_SCHEMA, form, name, inside)


def _array(column: Column) -> CArray:
    children, inside = _pointers(CArray, [_array(child) for child in column.children])
    addresses = (ctypes.c_void_p * len(column.buffers))(
        *(None if buffer is None else buffer.ctypes.data for buffer in column.buffers)
    )
    nulls = 0 if column.buffers[0] is None else -1  # not counted
    made = CArray(
        length=column.length, null_count=nulls, n_buffers=len(column.buffers), buffers=addresses,
        n_children=len(column.children), children=children,
    )  # fmt: skip
    return _hold(made, _RELEASE_ARRAY, addresses, inside, column.buffers)


def _pointers(kind: Any, structs: list[Any]) -> tuple[Any, Any]:
    """Pointers to structures, as C has them, and what must stay alive for them."""
    pointers = (ctypes.POINTER(kind) * len(structs))(*map(ctypes.pointer, structs))
    return pointers, (pointers, structs)


def _release(kind: Any) -> Callable[[int], None]:
    """What a consumer calls when it is done with a structure; also for those inside that nobody
    has moved away."""

    # the defaults are still there when the interpreter has emptied this module
    def released(address: int, kind: Any = kind, call: Any = RELEASE, held: Any = _held) -> None:
        struct = kind.from_address(address)
        for place in range(struct.n_children):
            child = struct.children[place]
            if child.contents.release:
                call(child.contents.release)(ctypes.addressof(child.contents))
        struct.release = None
        held.pop(struct.private_data, None)

    return RELEASE(released)


_RELEASE_SCHEMA, _RELEASE_ARRAY = _release(CSchema), _release(CArray)


def _capsule(struct: CSchema | CArray, name: bytes) -> object:
    address = ctypes.addressof(struct)
    _given[address] = struct
    return _new_capsule(address, _NAMES[name], _DESTROY[name])


def _destructor(name: bytes) -> Callable[[int], None]:
    """What Python calls for a capsule that goes away: who took the array has marked it released."""

    def destroyed(capsule: int, name: bytes = name, given: Any = _given) -> None:
        address = _pointer_in(capsule, name)
        struct = given.pop(address, None)
        if struct is not None and struct.release:
            RELEASE(struct.release)(address)

    return RELEASE(destroyed)


_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_new_capsule = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))
_NAMES = {name: ctypes.c_char_p(name) for name in (b"arrow_schema", b"arrow_array")}
_CALLS: dict[bytes, Any] = {name: _destructor(name) for name in _NAMES}
_DESTROY = {name: ctypes.cast(call, ctypes.c_void_p).value for name, call in _CALLS.items()}
