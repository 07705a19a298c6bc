"""Arrow's C data interface, taken: what an array of any Arrow library consists of, read in place.

    chunks_of(pyarrow.array([[1, 2], []]))     [Chunk(format "+l", length 2, buffers, children)]
    chunks_of(polars.Series([[1, 2], []]))     the same, "+L"; one chunk for each of the column's

Arrays are exported as capsules, https://arrow.apache.org/docs/format/CDataInterface.html, so that
no library of Arrow is needed here. A chunk's memory lives as long as what reads it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.errors import ArgumentError, UserError
from flatweave.base.source import user_location

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
    """struct ArrowArrayStream: the arrays of a column, one after the other."""

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


class Memory:
    """So many elements at an address, as NumPy reads them; keeps the owner of the memory."""

    def __init__(self, address: int, dtype: np.dtype[Any], count: int, owner: Any) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (address, True), "shape": (count,), "typestr": dtype.str, "version": 3,
        }  # fmt: skip


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
        """The name of the extension type that gives the elements a meaning of their own, or ""."""
        return self.metadata.get("ARROW:extension:name", b"").decode(errors="replace")

    def buffer(self, number: int, dtype: Any, start: int, count: int) -> Values:
        """`count` elements of a buffer from `start`, not copied."""
        dtype = np.dtype(dtype)
        address = self.addresses[number]
        if not count or not address:
            return np.zeros(count, dtype)
        return np.asarray(Memory(address + start * dtype.itemsize, dtype, count, self.owner))

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
        raise ArgumentError(
            f"a {type(value).__name__} cannot be read as Arrow: {failure}.",
            where=user_location(), remedy="Convert it in its own library first.",
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
