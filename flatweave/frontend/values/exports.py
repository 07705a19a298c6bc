"""Arrow's C data interface, given: arrays of ours as capsules that any library of Arrow takes.

    numbers(np.arange(3))                    Column("l", 3, (None, [0, 1, 2]))
    capsules(numbers(np.arange(3)))          (schema, array), what `__arrow_c_array__` returns

Nothing is copied but bools, which Arrow keeps as bits. Each array and each array inside it holds
its memory until it is released, wherever its structure has been moved to; what knows it is a
number in its private data.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.errors import ArgumentError, DTypeError
from flatweave.base.source import user_location
from flatweave.frontend.values.capsules import NUMBERS, RELEASE, CArray, CSchema

Values = np.ndarray[Any, np.dtype[Any]]
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
    """An array of numbers; what stands at each place of axis 0 is a list of a fixed size."""
    if not values.ndim:
        raise ArgumentError(
            "a single number is no Arrow array.",
            where=user_location(), remedy="Give it an axis: fw.reshape(x, (1,)).",
        )  # fmt: skip
    flat = values.reshape(-1)
    if values.dtype == np.bool_:
        found = Column("b", len(flat), (None, np.packbits(flat, bitorder="little")))
    elif values.dtype in FORMATS:
        found = Column(FORMATS[values.dtype], len(flat), (None, flat))
    else:
        is_complex = values.dtype.kind == "c"
        raise DTypeError(
            f"Arrow has no arrays of {values.dtype}.", where=user_location(),
            remedy="Give two arrays: fw.real(z) and fw.imag(z)." if is_complex
            else "Convert them: xs.astype(fw.f32), or fw.f16.",
        )  # fmt: skip
    for axis in range(values.ndim - 1, 0, -1):
        length = int(np.prod(values.shape[:axis], dtype=np.int64))
        found = Column(f"+w:{values.shape[axis]}", length, (None,), (found._replace(name="item"),))
    return found


def with_missing(column: Column, valid: Values) -> Column:
    """A column of which the elements are missing where a bool is False."""
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


def _hold(struct: Any, release: Any, *memory: Any) -> Any:
    """The structure, which is released by its own means."""
    struct.private_data = next(_numbers)
    struct.release = ctypes.cast(release, ctypes.c_void_p)
    _held[struct.private_data] = memory
    return struct


def _schema(column: Column) -> Any:
    children, inside = _pointers(CSchema, [_schema(child) for child in column.children])
    form, name = column.format.encode(), column.name.encode()
    made = CSchema(
        format=form, name=name, flags=NULLABLE, n_children=len(column.children), children=children
    )
    return _hold(made, _RELEASE_SCHEMA, form, name, inside)


def _array(column: Column) -> Any:
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


def _release(kind: Any) -> Any:
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


def _capsule(struct: Any, name: bytes) -> Any:
    address = ctypes.addressof(struct)
    _given[address] = struct
    return _new_capsule(address, _NAMES[name], _DESTROY[name])


def _destructor(name: bytes) -> Any:
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
_CALLS = {name: _destructor(name) for name in _NAMES}
_DESTROY = {name: ctypes.cast(call, ctypes.c_void_p).value for name, call in _CALLS.items()}
