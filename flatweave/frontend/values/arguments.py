"""Arguments of public functions: what they may be, and the dtype of mixed ones (NEP 50)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from flatweave.base.dtypes import DTYPES, DType, as_dtype, bool_, f64, i64, u64
from flatweave.base.errors import ArgumentError, DTypeError, Unsupported
from flatweave.frontend.values import arrow_interface
from flatweave.frontend.values.array import METHODS, HostArray, Tracer
from flatweave.frontend.values.tree import flat_values
from flatweave.scalar import ops as scalar
from flatweave.terms.syntax import Const

# -- argument values ------------------------------------------------------------------------------
#
# What arguments of public functions are, before anything is traced.
#
#   class Money(fw.Overriding): ..         a dataclass of arrays, that says itself what functions do
#   fw.add(price, 1)                       Money.__flatweave_function__(fw.add, (price, 1), {})
#   python_value(np.int64(1))              1
#   python_value([0, np.array([1, 2])])    (0, (1, 2))
#   python_numbers(np.array([[1, 2]]))     ((1, 2),)
#   fw.reshape(xs, (n, -1))                the -1 is no extent: the trace must see it (`is_telling`)
#
# `Overriding` works as `__array_function__` of NumPy. Functions look for such values only once a
# class has been declared, so that programs without one pay nothing.


CLASSES: list[type] = []


class Overriding:
    """The base of classes that say what functions of `fw` do with their values.

    A function of `fw` that gets such a value, alone, in a tuple or list or as the values of a
    Ragged, first calls the classmethod `__flatweave_function__(function, args, kwargs)`, inside
    the trace. Its result is the function's, unless it is NotImplemented: then the function treats
    the value as any other. A value that is a dataclass of arrays can be an argument of jitted
    functions, and `fw.map` goes through its elements.

    Source: `numpy.ndarray.__array_function__`.

        >>> import dataclasses
        >>> @dataclasses.dataclass
        ... class Meters(fw.Overriding):
        ...     values: object
        ...     @classmethod
        ...     def __flatweave_function__(cls, function, args, kwargs):
        ...         return cls(function(*(getattr(a, "values", a) for a in args), **kwargs))
        >>> fw.maximum(Meters(fw.iota(3)), 1).values
        Array([1, 1, 2], dtype=int64)
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        CLASSES.append(cls)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]:
        """The elements as any library of Arrow takes them, nothing copied but bools and days: those
        of Strings and of a Nullable, or a struct of a dataclass's fields."""
        return arrow_interface.capsules(METHODS["column_of"](self))

    def to_arrow(self) -> Any:
        """The same as an array of pyarrow."""
        return METHODS["to_arrow"](self)

    @classmethod
    def __flatweave_function__(
        cls, function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Any:
        """What a function of `fw` gives for these arguments; NotImplemented: what it always does.
        """
        return NotImplemented


def overridden(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Any:
    """What a class among the arguments makes of the call, the first that does; NotImplemented where
    none does."""
    for owner in dict.fromkeys(owners((*args, *kwargs.values()))):
        found = owner.__flatweave_function__(function, args, kwargs)
        if found is not NotImplemented:
            return found
    return NotImplemented


def owners(values: Iterable[Any]) -> Iterator[type[Overriding]]:
    """The classes of arguments that say what functions do."""
    for value in map(flat_values, values):
        if isinstance(value, Overriding):
            yield type(value)
        elif isinstance(value, list | tuple):
            yield from owners(value)


FEW = 128
"""Numbers that an array may hold: two for each of 64 axes."""


_PLAIN = frozenset({bool, int, float, str, DType, type(None)})


def python_value(value: Any) -> object:
    """The value of a static parameter: lists, ranges and rows of integers as tuples, numbers as
    Python's.

    Whatever has `__index__` is an integer, also a traced one that is known. All else stays.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Tracer):
        return value.atom.value if isinstance(value.atom, Const) else value
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.ndarray | HostArray):
        is_few = not value.ndim or (value.ndim == 1 and value.dtype.kind in "iu")
        return python_value(np.asarray(value).tolist()) if is_few else value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, range) or type(value) in (list, tuple):
        return tuple(map(python_value, value))
    return operator.index(value) if hasattr(type(value), "__index__") else value


def python_numbers(value: Any) -> object:
    """A parameter that holds a few numbers, each an argument of the program: arrays as tuples."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, range):
        return tuple(value)
    if isinstance(value, np.ndarray | HostArray) and value.ndim and value.size <= FEW:
        return python_numbers(np.asarray(value).tolist())
    if type(value) in (list, tuple):
        return type(value)(map(python_numbers, value))
    return value


_OFTEN_NEUTRAL = frozenset({0, 1, -1, *(d.low for d in DTYPES), *(d.high for d in DTYPES)})


def _is_open(leaf: Any) -> bool:
    """Whether this is the -1 of a shape."""
    return isinstance(leaf, int | np.integer) and leaf == -1


def _is_often_neutral(leaf: Any) -> bool:
    """Whether a number is often a neutral element."""
    if type(leaf) is float:
        return leaf in (0.0, 1.0, math.inf, -math.inf)
    return type(leaf) is bool or (type(leaf) is int and leaf in _OFTEN_NEUTRAL)


TELLING: Mapping[str, Callable[[Any], bool]] = {
    "shape": _is_open,
    "initial": _is_often_neutral,
    "identity": _is_often_neutral,
}
"""Their names, and which of their values tell."""


def is_telling(name: str, leaf: Any) -> bool:
    """Whether the program depends on this value of a parameter."""
    return name in TELLING and TELLING[name](leaf)


def in_numpys_order(
    name: str, order: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call by position in NumPy's order: all but the first by name."""
    names = order.split()
    given = dict(zip(names, args[1:], strict=False))
    if len(args) > len(names) + 1 or given.keys() & kwargs.keys():
        return args, kwargs  # which are refused
    if given.pop("out", None) is not None:
        raise ArgumentError.here(
            f"{name} cannot write into `out`: arrays never change.", "Take the result instead."
        )
    return args[:1], {**{n: v for n, v in given.items() if v is not None}, **kwargs}


# -- promotion ------------------------------------------------------------------------------------
#
# Dtypes of mixed operands, as NumPy 2 has them (NEP 50).
#
#     f32 array + 1.5      f32: a Python number takes the dtype of what it meets
#     i32 array + 1.5      f64: but not its kind
#     i32 array + f32      f64


class ScalarOverflowError(DTypeError, OverflowError):
    """A Python integer does not fit the dtype of the array it meets: `u8 array + 300`."""


def common(values: Sequence[Tracer]) -> tuple[DType, bool]:
    """The dtype that operands are brought to, and whether it is weak: all come from Python."""
    return _common(tuple((value.element, value.weak) for value in values))


@lru_cache(maxsize=4096)
def _common(operands: tuple[tuple[DType, bool], ...]) -> tuple[DType, bool]:
    weak = all(is_weak for _, is_weak in operands)
    if weak:
        wide = next((dtype for dtype, _ in operands if dtype.is_float), None)
        return wide or (u64 if any(dtype is u64 for dtype, _ in operands) else i64), True
    parts = [
        (0.0 if dtype.is_float else 0) if is_weak else dtype.numpy for dtype, is_weak in operands
    ]
    return as_dtype(np.result_type(*parts)), False


def bounds(dtype: DType) -> tuple[int, int]:
    """The least and the greatest value of integers or bools."""
    return int(dtype.low), int(dtype.high)


def fits(value: int | float | bool, dtype: DType) -> bool:
    """Whether a Python integer is a value of a dtype of integers, or 0 or 1 among bools."""
    if not isinstance(value, int) or dtype.is_float:
        return True
    low, high = bounds(dtype)
    return low <= value <= high


def operand_dtype(fn: str, values: Sequence[Tracer]) -> DType:
    """The dtype that a scalar function's operands are converted to."""
    dtype, weak = common(values)
    if weak or dtype.is_float or scalar.TABLE[fn].promotion != "float":
        return scalar.operand_dtype(fn, dtype)
    # each operand separately: an i8 and a u16 give f32, though an i32 holds both
    weaks = [v for v in values if v.weak]
    alone = [common((v, *weaks))[0] for v in values if not v.weak]
    return max((scalar.operand_dtype(fn, d) for d in alone), key=lambda d: d.bits)


COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
PYTHON = "the Python integer"


def misfit(value: object, dtype: DType, what: str = PYTHON) -> str:
    """What is said of an integer that does not fit."""
    return f"{what} {value} does not fit {dtype}, the dtype of the array it meets."


def wider(dtype: DType) -> str:
    """What to do about an integer that does not fit."""
    if dtype is i64:
        return "Convert the array first, for instance with xs.astype(fw.u64), or write a float."
    return "Convert the array first, for instance with xs.astype(fw.i64)."


def too_big(value: object, dtype: DType, what: str = PYTHON) -> ScalarOverflowError:
    """The error for an integer that does not fit."""
    message = misfit(value, dtype, what)
    return ScalarOverflowError.here(message, wider(dtype))


def literal_dtype(value: bool | int | float) -> DType:
    """The dtype of a Python scalar alone."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, float):
        return f64
    if fits(value, i64):
        return i64
    if fits(value, u64):
        return u64
    raise ScalarOverflowError.here(
        f"the Python integer {value} does not fit an i64.",
        "Write it as a float, or split it into two integers.",
    )


def dtype_of(spelling: Any) -> DType:
    """A user's dtype; DTypeError at the user's line for other values, Unsupported for complex and
    for floats of 16 bits."""
    found = number_dtype(spelling)
    if found.is_short:
        raise Unsupported.here(
            f"elements of {found} here.",
            f"Compute in f32, and store the result: xs.astype(fw.{found}).",
        )
    return found


def number_dtype(spelling: Any) -> DType:
    """A user's dtype, also of floats of 16 bits; Unsupported for complex numbers."""
    found = any_dtype_of(spelling)
    if found.is_complex:
        raise Unsupported.here(
            f"elements of {found} here.",
            "Do it with the real and the imaginary part: fw.real(x), fw.imag(x).",
        )
    return found


def any_dtype_of(spelling: Any) -> DType:
    """A user's dtype, also of complex numbers; DTypeError at the user's line for other values."""
    try:
        return as_dtype(spelling)
    except DTypeError as failure:
        is_extent = isinstance(spelling, int)
        raise DTypeError.here(
            failure.message,
            "A shape of several axes is a tuple: (2, 3)." if is_extent else failure.remedy,
        ) from None  # fmt: skip


def wide_dtype(dtype: DType) -> DType:
    """The dtype in which NumPy sums: i64 for bools and signed integers, u64 for unsigned ones."""
    if dtype.is_float:
        return dtype
    return u64 if dtype.kind == "u" else i64
