"""bfloat16 through DLPack, which NumPy does not know: as words of 16 bits under another name.

    given(values, max_version=(1, 0))     the capsule of the words, whose type says bfloat16
    taken(jax_array)                      the array over the same memory; None for other elements
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from flatweave.base.dtypes import brain_float

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


def given(values: Values, **options: Any) -> Any:
    """A capsule with an array of bf16."""
    capsule = values.view(np.uint16).__dlpack__(**options)
    _type_in(capsule)[0] = BRAIN
    return capsule


def taken(value: Any, copy: bool | None = None) -> Values | None:
    """An array of bf16 that has `__dlpack__`, not copied unless that is asked for."""
    try:
        found = np.from_dlpack(_InWords(value), copy=copy)
    except (BufferError, TypeError, RuntimeError, AttributeError):
        return None
    return found.view(brain_float())


class _InWords:
    """Another library's array as one of words."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __dlpack_device__(self) -> Any:
        return self.value.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.value.__dlpack__(**options)
        kind = _type_in(capsule)
        if (kind[0], kind[1]) != (BRAIN, BITS):
            raise BufferError("no bfloat16")
        kind[0] = UNSIGNED
        return capsule


def _type_in(capsule: Any) -> Any:
    """The kind of the elements in a capsule and their bits, to be read and written."""
    name = next(name for name in TENSOR if _is_named(capsule, name))
    return (ctypes.c_uint8 * 2).from_address(_pointer_in(capsule, name) + TENSOR[name] + TYPE)
