"""Arrays of ours next to other libraries: how these take them, and whose an operand is."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from flatweave.base.dtypes import brain_float
from flatweave.base.errors import ArgumentError, EscapedArrayError, Unsupported
from flatweave.base.source import is_in_package
from flatweave.frontend.values import arrow_interface

# -- exchange -------------------------------------------------------------------------------------
#
# How other libraries take an array with values: NumPy, DLPack, buffers, Arrow.
#
#   np.asarray(xs), memoryview(xs)     the memory itself, read-only (memoryview from Python 3.12 on)
#   torch.from_dlpack(xs)              the same; a copy for who knows no DLPack 1.0
#   pyarrow.array(xs)                  the same; bools become bits
#   given(values, max_version=(1, 0))  bfloat16, which NumPy does not know: a capsule of its words,
#                                      whose type says bfloat16
#   taken(jax_array)                   the array over the same memory; None for other elements
#
# Arrays are in the memory of the host, whatever target computes with them: `on_device` accepts no
# other device.


HOST = "cpu"
DEVICES = (HOST,)


def must_be_row_major(order: Any) -> None:
    """Refuse an order of elements in memory that arrays of ours do not have."""
    if order in (None, "C", "K", "A"):
        return
    if order == "F":
        raise Unsupported.here(
            "arrays are stored in row-major order, and asarray got order='F'.",
            "Leave order out, or give the transpose; np.asfortranarray(xs) orders NumPy's memory.",
        )
    raise ArgumentError.here(f"{order!r} is no order of elements.", 'Use "C".')


def on_device(device: Any, who: str) -> None:
    """Refuse every device but that which arrays are on; None is any."""
    if device is not None and device != HOST:
        raise ArgumentError.here(
            f"{who} on the device {device!r}: arrays are in the memory of the host, {HOST!r}.",
            "Leave it out; a target computes elsewhere: with fw.target(\"cuda\"): ..",
        )


Values = np.ndarray[Any, np.dtype[Any]]
UNSIGNED, BRAIN = 1, 4  # DLPack's numbers for kinds of elements
BITS = 16
TENSOR = {b"dltensor": 0, b"dltensor_versioned": 32}  # by the capsule's name, where DLTensor begins
TYPE = 20  # where in it the kind of its elements is, and behind that their bits

_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_is_named = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)


def given(values: Values, **options: Any) -> object:
    """A capsule with an array of bf16."""
    capsule = values.view(np.uint16).__dlpack__(**options)
    _type_in(capsule)[0] = BRAIN
    return capsule


def taken(value: Any, copy: bool | None = None) -> Values | None:
    """An array of bf16 that has `__dlpack__`, not copied unless that is asked for."""
    try:
        found: Values = np.from_dlpack(_InWords(value), copy=copy)
    except (BufferError, TypeError, RuntimeError, AttributeError):
        return None
    return found.view(brain_float())


class _InWords:
    """Another library's array as one of words."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __dlpack_device__(self) -> tuple[int, int]:
        kind, number = self.value.__dlpack_device__()
        return kind, number

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.value.__dlpack__(**options)
        kind = _type_in(capsule)
        if (kind[0], kind[1]) != (BRAIN, BITS):
            raise BufferError("no bfloat16")
        kind[0] = UNSIGNED
        return capsule


def _type_in(capsule: object) -> ctypes.Array[ctypes.c_uint8]:
    """The kind of the elements in a capsule and their bits, to be read and written."""
    name = next(name for name in TENSOR if _is_named(capsule, name))
    return (ctypes.c_uint8 * 2).from_address(_pointer_in(capsule, name) + TENSOR[name] + TYPE)


class Captured:
    """The values of an array from outside of a function; the array of ours that has them, if one
    has, and what reads them of it."""

    def __init__(self, values: Any, source: Any, read: Callable[[Any], Any] | None) -> None:
        self.values, self.source, self.read = values, source, read

    def now(self) -> Any:
        """The values that the array has now; those that it had where it has been donated since."""
        if self.read is not None:
            with contextlib.suppress(EscapedArrayError):
                self.values = self.read(self.source)
        return self.values


CPU = 1  # DLPack's number for host memory


class Exchange:
    """The protocols of an array whose values are a read-only NumPy array."""

    __slots__ = ()
    _values: Values

    def _only(self, refused: Callable[[str], ArgumentError]) -> Values:
        """The values where they are one element."""
        if self._values.size != 1:
            raise refused(f"an array of type {self._values.dtype}{list(self._values.shape)}")
        return self._values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Values:
        if dtype is not None and self._values.dtype != dtype:
            if copy is False:
                raise ValueError(f"{self._values.dtype} becomes {dtype} only with a copy")
            return self._values.astype(dtype)
        return self._values.copy() if copy else self._values

    def __dlpack__(
        self, *, stream: None = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> object:
        values = self._values
        if max_version is None or max_version < (1, 0):
            # such consumers cannot be told that the memory is read-only
            if copy is False:
                raise BufferError("only DLPack 1.0 and later can share read-only memory")
            values, copy = values.copy(), None
        give = given if values.dtype.kind == "V" else np.ndarray.__dlpack__
        return give(
            values, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return (CPU, 0)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]:
        """The elements as Arrow has them."""
        return arrow_interface.capsules(arrow_interface.numbers(self._values))

    def __buffer__(self, flags: int) -> memoryview:
        values = self._values
        return (values.view(np.uint16) if values.dtype.kind == "V" else values).data


# -- operand owners -------------------------------------------------------------------------------
#
# Operands that belong to other libraries: quantities with units, labelled or lazy arrays.
#
#     xs * [1, 2]            ours: numbers, NumPy's arrays, and what only gives its elements
#     xs * quantity          the unit's library computes, with the elements as a NumPy array
#     xs * series            pandas computes, and keeps the index
#     xs * vector            a class with `__rmul__` is asked as Python asks it
#
# Taking the elements of such an operand would silently lose its unit, labels, mask or laziness.


PRIORITY = 1000  # ours; SciPy's sparse matrices and CuPy leave mixed operations to it
PLAIN = (
    "__array__", "__array_interface__", "__array_struct__", "__cuda_array_interface__",
    "__dlpack__", "__arrow_c_array__", "__arrow_c_stream__",
)  # fmt: skip


@functools.lru_cache(maxsize=4096)
def is_foreign(cls: Any, method: str) -> bool:
    """Whether an operation belongs to an operand's class; `method` is what Python asks: `__rmul__`.

    It does where the class implements `__array_ufunc__`, or sets it to None; where its
    `__array_priority__` is higher; and where it has the method and gives no elements otherwise.
    """
    return _has_protocol(cls) or _has_method(cls, method)


def has_protocol(value: Any) -> bool:
    """Whether a value's class says by NumPy's protocols that operations belong to it."""
    cls: Any = type(value)
    return _has_protocol(cls)


def _has_method(cls: type, method: str) -> bool:
    definer = next((base for base in cls.__mro__ if method in vars(base)), None)
    if definer is None or definer in (np.ndarray, np.generic) or _is_known(definer):
        return False
    return issubclass(cls, np.ndarray) or not any(hasattr(cls, name) for name in PLAIN)


@functools.lru_cache(maxsize=4096)
def _has_protocol(cls: type) -> bool:
    if issubclass(cls, np.generic) or any(is_in_package(base.__module__) for base in cls.__mro__):
        return False
    if issubclass(cls, np.ndarray):
        return cls.__array_ufunc__ is not np.ndarray.__array_ufunc__
    if hasattr(cls, "__dlpack__"):  # plain elements, as those of JAX, PyTorch and CuPy
        return False
    return hasattr(cls, "__array_ufunc__") or getattr(cls, "__array_priority__", 0) > PRIORITY


def has_functions(cls: type) -> bool:
    """Whether a class implements `__array_function__`, unlike NumPy's arrays and ours."""
    if any(is_in_package(base.__module__) for base in cls.__mro__):
        return False
    return getattr(cls, "__array_function__", None) is not np.ndarray.__array_function__


def computed_right(
    array: Any, elements: Any, operator: Callable[[Any, Any], Any], other: Any, method: str
) -> Any:
    """`array op other` by the other's library, which is given `elements` where it does not know
    our type; NotImplemented where there are none.
    """
    if elements is None:
        return NotImplemented
    if not (has_protocol(other) or isinstance(other, np.ndarray)):
        found = getattr(type(other), method)(other, array)
        if found is not NotImplemented:
            return found
    return operator(elements, other)


def _is_known(cls: type) -> bool:
    """Whether a class is of Python's library or of this one, whose errors say more."""
    home = cls.__module__
    return is_in_package(home) or home.partition(".")[0] in sys.stdlib_module_names
