"""Arguments of a call: what decides which program runs, and what that program is given.

    xs: f32[3, 4], 2.5       key (float32, 2, float)      flat [3, 4, xs, 2.5]

A trace knows no sizes, so it takes axes that meet for equally long. Where a call brings an axis of
extent 1 to be broadcast, that check fails; then the function is traced once more, those extents
constants, and such calls take that specialisation from then on. Where an extent that the program
computes is 1, a specialisation that compares such extents with 1 runs instead.

`fingerprint` is the structure of a program as a key: equal programs share what was compiled.

    xs: f64[n] -> ys = map f xs in ys    ==>    (params, ((("ys",), "map", fields, ""),), ("ys",))
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from flatweave.array_ir.syntax import SAME, Fault
from flatweave.base.dtypes import DType, as_dtype, bool_, c128, f64, i64
from flatweave.base.errors import UserError
from flatweave.base.locks import Lock
from flatweave.base.records import replace
from flatweave.frontend.call.direct import in_place
from flatweave.frontend.call.options import PLACE
from flatweave.frontend.trace.trace import Leaf, View
from flatweave.frontend.values.arguments import literal_dtype
from flatweave.frontend.values.array import HostArray, Tracer
from flatweave.frontend.values.asarray import no_array, values_of
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.elsewhere import DeviceArray, HostView, in_memory
from flatweave.frontend.values.foreign_arrays import is_lazy, is_masked, on_gpu
from flatweave.frontend.values.number_formats import is_complex, is_short, pairs_of, words_of
from flatweave.frontend.values.tree import Tree
from flatweave.ops import Callback
from flatweave.runtime.devices.arrays import ARRAYS
from flatweave.runtime.lazy_import import opened
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Part, Type, Var

UnitAxes = frozenset[tuple[int, int]]  # of extent 1: (number of the array argument, axis)
TAKEN = (*ARRAYS, Chunked)
"""What a program takes as an array."""


class Specialisation(NamedTuple):
    """What a trace takes for granted: which extents are 1, whether computed ones may be, and
    whether the program is for arrays in chunks."""

    unit_axes: UnitAxes = frozenset()
    stretches: bool = False
    in_chunks: bool = False


class Made(Protocol):
    """What is made of a trace."""

    @property
    def tree(self) -> Tree:
        """The tree of the results."""


T = TypeVar("T", bound=Made)


class Specialised(Generic[T]):
    """What is made of one signature of a function: of its trace, and of specialisations."""

    __slots__ = ("_lock", "_make", "plain", "specialisations")

    def __init__(self, make: Callable[[Specialisation], T]) -> None:
        self._make = make
        self._lock = Lock()
        self.plain = make(Specialisation())
        self.specialisations: dict[Specialisation, T] = {}

    def chosen(self, flat: list[Any]) -> tuple[T, list[Any]]:
        """What is made for these extents, and the arguments it takes."""
        unit_axes = unit_axes_of(flat)
        found = self.specialisations.get(Specialisation(unit_axes))
        if found is None:
            return self.plain, flat
        return found, without_unit_extents(flat, unit_axes)

    def after(self, tried: T, fault: Fault, flat: list[Any]) -> tuple[T, list[Any]] | None:
        """A trace that may broadcast where the last one met an extent of 1, and its arguments;
        None if that is not the fault, or no trace is left."""
        unit_axes = unit_axes_of(flat)
        specials = [Specialisation(unit_axes), Specialisation(unit_axes, True)]
        known = [self.specialisations.get(special) for special in specials]
        left = specials[known.index(tried) + 1 :] if tried in known else specials
        for special in left:
            if fault.code != SAME or (special.stretches and 1 not in fault.values):
                return None
            made = self._specialised(special)
            if made is not None:
                return made, without_unit_extents(flat, unit_axes)
        return None

    def _specialised(self, special: Specialisation) -> T | None:
        """A specialisation, made when first needed; None if the function has no such one."""
        found = self.specialisations.get(special)
        if found is not None or special == Specialisation():
            return found
        try:
            found = self._make(special)
        except UserError:
            return None
        if found.tree != self.plain.tree:
            return None  # rows repeated to one length are an array, where others are a Ragged
        with self._lock:
            self.specialisations = {**self.specialisations, special: found}
        return found


def arrays_of(flat: Sequence[Any]) -> list[Any]:
    """The arrays among flat arguments."""
    return [value for value in flat if isinstance(value, TAKEN) and value.ndim]


def unit_axes_of(flat: Sequence[Any]) -> UnitAxes:
    """Every axis of extent 1 among the arguments."""
    return frozenset(
        (number, axis)
        for number, values in enumerate(arrays_of(flat))
        for axis, extent in enumerate(values.shape)
        if extent == 1
    )


def without_unit_extents(flat: Sequence[Any], unit_axes: UnitAxes) -> list[Any]:
    """The flat arguments without the extents of unit axes, which are constants of the trace."""
    kept: list[Any] = []
    number = -1
    for value in flat:
        if isinstance(value, TAKEN) and value.ndim:
            number += 1
            del kept[len(kept) - value.ndim :]
            kept.extend(e for a, e in enumerate(value.shape) if (number, a) not in unit_axes)
        kept.append(value)
    return kept


NUMBERS = {bool: bool_, int: i64, float: f64}


def plain(value: Any, name: str, otherwise: str = "", target: str = "") -> Any:
    """An argument's leaf as a C-contiguous array, of NumPy or on a device, as a view that calls on
    the target read where it is, or as a Python number.

    Raises ArgumentError for what is neither, `otherwise` being what to do about it;
    EscapedArrayError for a traced array.
    """
    if isinstance(value, Tracer):
        raise value.escaped()
    if isinstance(value, DeviceArray) and value.ndim:
        return value.resident
    if type(value) is Chunked:
        return value
    if type(value) in NUMBERS:
        literal_dtype(value)
        return value
    if type(value) is complex:
        return value
    if isinstance(value, int | float) and not isinstance(value, np.generic):  # an IntEnum's member
        return plain(int(value) if isinstance(value, int) else float(value), name)
    if not isinstance(value, np.ndarray | HostArray):
        if PLACE.get() is not None and is_lazy(value) and value.ndim:
            return opened("collections").from_dask(value)  # computed where its blocks are
        on_device = on_gpu(value, name)
        if on_device is not None:
            return on_device if on_device.ndim else on_device.values()
    elif type(value) is HostView or (isinstance(value, np.ndarray) and not is_masked(value)):
        there = in_memory(value) if type(value) is HostView else np.asarray(value)
        view = in_place(there, target)
        if view is not None:
            return view
    values = values_of(value, name)
    if values is None:
        raise no_array(value, name, otherwise)
    return values


def key_of(value: Any) -> tuple[Any, ...]:
    """What a leaf adds to the key of its signature."""
    if isinstance(value, TAKEN):
        return (value.dtype, value.ndim, *[Chunked] * isinstance(value, Chunked))
    if type(value) is View:
        return (value.dtype, value.layout)
    if type(value) is complex:
        return (complex,)
    return (type(value) if literal_dtype(value) is not as_dtype(np.uint64) else np.uint64,)


def identity(value: Any) -> object:
    """A static value as a key: equal for values that no program can tell apart, and only for those.

    Python holds 1, True and 1.0 for equal, and 0.0 and -0.0, alone and inside of tuples, frozen
    sets and frozen dataclasses; and a NaN for unequal to itself.
    """
    cls = type(value)
    if isinstance(value, float):  # also np.float64
        return cls, float(value).hex()
    if isinstance(value, complex):
        return cls, value.real.hex(), value.imag.hex()
    if isinstance(value, np.generic):
        return cls, value.dtype, value.tobytes()
    if isinstance(value, slice):
        return cls, identity((value.start, value.stop, value.step))
    if isinstance(value, tuple):
        return cls, tuple(identity(part) for part in value)
    if isinstance(value, frozenset):
        return cls, frozenset(identity(part) for part in value)
    if _is_frozen(cls):
        fields = [f for f in dataclasses.fields(value) if (f.compare if f.hash is None else f.hash)]
        return cls, tuple(identity(getattr(value, field.name)) for field in fields)
    return cls, value


def _is_frozen(cls: type) -> bool:
    """Whether a class is a dataclass whose values are compared by their fields and never change."""
    made = getattr(cls, "__dataclass_params__", None)
    return made is not None and made.frozen and made.eq


def flat_of(values: Sequence[Any]) -> list[Any]:
    """The program's arguments for leaves: each array after its extents, scalars unchanged."""
    flat: list[Any] = []
    for value in values:
        if type(value) is View:
            flat += value.flat
            continue
        if is_complex(value):
            value = pairs_of(value)
        elif is_short(value):
            value = words_of(value)
        if isinstance(value, TAKEN):
            flat.extend(value.shape)
            flat.append(value if isinstance(value, Chunked) or value.ndim else value[()])
        else:
            flat.append(value)
    return flat


def leaves_of(
    values: Sequence[Any], names: Sequence[tuple[str, str]], unit_axes: UnitAxes
) -> list[Leaf]:
    """The leaves as the trace sees them; `names` are each one's name and origin."""
    leaves: list[Leaf] = []
    number = -1
    for value, (name, origin) in zip(values, names, strict=True):
        if type(value) is complex:
            number += 1
            leaves.append(Leaf(c128, name, origin, weak=True))
            continue
        if type(value) is View:
            number += 1
            leaves.append(Leaf(as_dtype(value.dtype), name, origin, value.shape, view=value))
            continue
        if not isinstance(value, TAKEN):
            dtype = literal_dtype(value)
            leaves.append(Leaf(dtype, name, origin, weak=dtype is not bool_))
            continue
        dtype = as_dtype(value.dtype)
        if value.ndim or dtype.is_complex:
            number += 1
        ones = frozenset(axis for n, axis in unit_axes if n == number and value.ndim)
        leaves.append(Leaf(dtype, name, origin, value.shape, ones=ones))
    return leaves


def stand_in(value: Any) -> object:
    """A placeholder of the same dtype and shape that takes no memory."""
    if type(value) is View:
        return replace(value, memory=np.broadcast_to(np.zeros((), value.dtype), value.memory.shape))
    if isinstance(value, TAKEN):
        return np.broadcast_to(np.zeros((), value.dtype), value.shape)
    return value


def fingerprint(fn: Lambda) -> tuple[Any, ...]:
    """The structure of a lambda as nested tuples: equal for programs that mean the same.

    Names come from one counter for each trace, so that traces of equal functions have equal names.
    """
    params = tuple((param.name, _type_key(param.type)) for param in fn.params)
    lets = tuple(
        (tuple(var.name for var in let.vars), let.op.name, _field_key(let.op), _line_of(let))
        for let in fn.lets
    )
    return params, lets, tuple(_field_key(atom) for atom in fn.results)


def _line_of(let: Let) -> str:
    """The line of a call of a Python function, which what it raises tells."""
    return str(let.where) if isinstance(let.op, Callback) else ""


def _field_key(field: Any) -> object:
    if isinstance(field, Var):
        return field.name
    if isinstance(field, Const):
        return field.key()
    if isinstance(field, Lambda):
        return fingerprint(field)
    if isinstance(field, tuple):
        return tuple(_field_key(item) for item in field)
    if isinstance(field, Op | Part):
        return tuple(_field_key(value) for value in field.values())
    return field.name if isinstance(field, DType) else ("is", field)


def _type_key(type_: Type) -> str | tuple[str, tuple[float | int | str, ...]]:
    if isinstance(type_, ArrayType):
        return (type_.dtype.name, tuple(_extent_key(extent) for extent in type_.shape))
    return type_.name if isinstance(type_, DType) else repr(type_)


def _extent_key(extent: Atom) -> float | int | str:
    return extent.name if isinstance(extent, Var) else extent.value
