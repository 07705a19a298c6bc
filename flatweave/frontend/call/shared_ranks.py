"""Calls outside a trace whose meaning does not depend on the rank: one program serves all ranks.

    a + b               arrays of one shape [3, 4], or with numbers       as of [12]
    fw.sum(xs)          over all elements                                 as of [12]
    xs.sum(axis=-1)     along the last axis of [2, 3, 4]                  as of [6, 4]

An array is C-contiguous when such a program gets it, so that fewer axes are a view of it. Other
programs, of the rank of their arguments, read views in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.config import config
from flatweave.base.dtypes import DType
from flatweave.base.errors import UserError
from flatweave.frontend.call.compiled import Entry
from flatweave.frontend.call.direct import Direct, in_place, values_of
from flatweave.frontend.call.operation import Operation
from flatweave.frontend.values.array import HostArray
from flatweave.frontend.values.elsewhere import DeviceArray, shaped
from flatweave.runtime.calls import AS_THEY_ARE, ROWS, ROWS_SHAPED, Argument
from flatweave.runtime.devices.arrays import ARRAYS

Values = np.ndarray[Any, np.dtype[Any]]
Run = Callable[[list[Any]], Any]
_NO_ARRAYS = (int, float, np.generic, np.dtype, DType, type)


class Fewer(NamedTuple):
    """A call with arrays of fewer axes; `shape` is that of its result, None for what it is. `rows`
    says how machine code gives arrays to its program, None where it cannot."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shape: tuple[int, ...] | None
    rows: int | None = None

    def shaped(self, result: HostArray) -> HostArray:
        """The result of the call as it was written: a view, which is read-only as well."""
        return result if self.shape is None else shaped(result, self.shape)


def of_fewer_axes(
    known: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Fewer | None:
    """The same call with arrays of fewer axes, if there is one."""
    if known.is_elementwise:
        return _elementwise(args) if not kwargs else None
    if known.is_reduction and args:
        named = {**dict(zip(known.positional[1:], args[1:], strict=False)), **kwargs}
        return _reduction(args[0], named)
    return None


def _elementwise(args: tuple[Any, ...]) -> Fewer | None:
    values = [_array(arg) for arg in args]
    shapes = {array.shape for array in values if array is not None and array.ndim}
    if len(shapes) != 1:
        return None
    (shape,) = shapes
    others = (arg for arg, array in zip(args, values, strict=True) if array is None)
    if len(shape) < 2 or not all(isinstance(arg, _NO_ARRAYS) for arg in others):
        return None
    flat = (
        arg if array is None or not array.ndim else array.reshape(-1)
        for arg, array in zip(args, values, strict=True)
    )
    return Fewer(tuple(flat), {}, shape)


def _reduction(xs: Any, named: dict[str, Any]) -> Fewer | None:
    values = _array(xs)
    if values is None or values.ndim < 2:
        return None
    axis = named.pop("axis", None)
    defaults = {name: False if name == "keepdims" else None for name in named}
    if any(value is not defaults[name] for name, value in named.items()):
        return None
    if axis is None:
        return Fewer((values.reshape(-1),), {}, None, ROWS)
    if type(axis) is not int or not values.size:
        return None
    if axis not in (-1, values.ndim - 1) or (axis == -1 and values.ndim == 2):
        return None
    rows = values.reshape(-1, values.shape[-1])
    as_they_are = AS_THEY_ARE if values.ndim == 2 else None
    return Fewer((rows,), {"axis": -1}, values.shape[:-1], as_they_are)


def _array(value: Any) -> Values | DeviceArray | None:
    """An argument's array, if it is one of NumPy or of ours that is not read as a view."""
    if type(value) is DeviceArray:
        return value
    value = values_of(value)
    if type(value) is not np.ndarray or value.dtype.kind == "c":
        return None
    return value if in_place(value, config.target) is None else None


class InRows(NamedTuple):
    """What machine code calls for arrays of more axes."""

    entry: Run
    rows: int

    def direct(self, arguments: Sequence[Argument]) -> Direct | None:
        """A program that is given arrays as rows."""
        found = self.entry.direct(arguments) if isinstance(self.entry, Entry) else None
        if found is None or (self.rows and found.ones):
            return None
        return found._replace(rows=self.rows)


class AnyRank:
    """The program for one axis, called with arrays of more, found by their dtypes and ranks.

    `general` gives what runs a call with arrays as they are: where they have several shapes, to be
    broadcast, and when an error is reported.
    """

    __slots__ = ("_general", "_is_elementwise", "_one_axis", "_others")
    is_refused = False

    def __init__(
        self, known: Operation, one_axis: Run, general: Callable[[tuple[Any, ...]], Run]
    ) -> None:
        self._is_elementwise = known.is_elementwise
        self._one_axis = one_axis
        self._general = general
        self._others: Run | None = None

    def direct(self, arguments: Sequence[Argument]) -> Direct | None:
        """What machine code calls for arrays of one shape, or of several."""
        shapes = [values_of(each.value).shape for each in arguments if hasattr(each.value, "shape")]
        if len({shape for shape in shapes if shape}) > 1:
            return self._others.direct(arguments) if isinstance(self._others, Entry) else None
        rows = ROWS_SHAPED if self._is_elementwise else ROWS
        return InRows(self._one_axis, rows).direct(arguments)

    def __call__(self, flat: list[Any]) -> HostArray:
        """The result for flat arguments: extents, arrays and scalars in order."""
        shape: tuple[int, ...] = ()
        given: list[Any] = []
        for value in flat:
            if type(value) in ARRAYS:
                if not shape:
                    shape = value.shape
                elif value.shape != shape:
                    return self._as_they_are(flat)
                given[-len(shape) :] = (value.size, value.reshape(-1))
            else:
                given.append(value)
        try:
            result = self._one_axis(given)
        except UserError:
            return self._as_they_are(flat)
        return shaped(result, shape) if self._is_elementwise else result

    def _as_they_are(self, flat: list[Any]) -> HostArray:
        if self._others is None:
            args: list[Any] = []
            for value in flat:
                if type(value) in ARRAYS:
                    del args[-value.ndim :]  # its extents
                args.append(value)
            self._others = self._general(tuple(args))
        return self._others(flat)
