"""Assignment: `x[key] = v` and `x += v` let the object `x` stand for the updated value.

    x[key] = v       x becomes replace(x, key, v): no other array changes
    y = x; y[0] = 1  one object of two names, as in Python
    x += v           x becomes x + v, in the dtype and the shape of x
    part = x[2:5]; part += 1      x stays as it is, which a CopyWarning says

On the host memory is written in place where `x` alone holds it, else copied first. In a trace the
tracer is given the atom of the updated value; one of another body raises an error, for that body
would have to return it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dis import opmap
from typing import Any

import numpy as np

from flatweave.base.config import config
from flatweave.base.errors import ArgumentError, CopyWarning, DTypeError, ShapeError
from flatweave.base.source import Location, user_location
from flatweave.frontend.call.direct import forget_captured
from flatweave.frontend.call.options import is_alone
from flatweave.frontend.values import untraceable
from flatweave.frontend.values.array import METHODS, Array, HostArray, Tracer, describe, kind_of
from flatweave.frontend.values.elsewhere import DeviceArray
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.scope import current, innermost
from flatweave.frontend.values.tree import flatten, is_irregular
from flatweave.scalar.ops import SYMBOLS

NUMBERS = {bool: "biufc", int: "iufc", float: "fc", complex: "c"}  # kinds that hold them
KEYS = (int, slice, type(None), type(Ellipsis))
_shown: dict[str, dict[Any, Any]] = {}  # by file, the lines that have been warned of


def assign(x: Any, key: Any, value: Any) -> None:
    """`x[key] = value` for an array or a Ragged."""
    if not (isinstance(x, Array) or is_irregular(x)):
        raise ArgumentError.here(
            "an array in chunks is assigned to, whose chunks are only read.",
            "Use ys = fw.replace(xs, key, v), which gives another array in chunks.",
        )
    _must_belong(x)
    if type(x) is Tracer or not isinstance(x, HostArray):
        x._become(METHODS["replace"](x, key, value))
    elif isinstance(x, DeviceArray):
        with config.scoped(target=x.device):
            x._become(METHODS["replace"](x, key, value))
    elif not _written(x, key, value):
        _take(x, METHODS["replace"](x, key, value))


def augmented(x: Any, python: Callable[[Any, Any], Any], other: Any) -> Any:
    """`x op= other`. A scalar, and one whose result is no array of ours, gets another object, as a
    number of Python does."""
    if isinstance(x, DeviceArray):
        with config.scoped(target=x.device):
            result = python(x, other)
    else:
        result = python(x, other)
    if not x.ndim or not (isinstance(result, Array) or is_irregular(result)):
        return result
    _must_belong(x)
    if isinstance(x.dtype, np.dtype) and not np.can_cast(result.dtype, x.dtype, "same_kind"):
        raise DTypeError.here(
            f"an augmented assignment gives {result.dtype}, which an array of {x.dtype} cannot hold"
            ' with the casting rule "same_kind".',
            f"Make another array, ys = xs {_sign(python)} v, or convert v to {x.dtype} first.",
        )
    if is_irregular(x):
        result = result.astype(x.dtype)
    elif result.ndim != x.ndim or (isinstance(x, HostArray) and result.shape != x.shape):
        raise ShapeError.here(
            f"an augmented assignment gives {describe(result)}, for {describe(x)}.",
            f"Make another array, ys = xs {_sign(python)} v.",
        )
    elif not isinstance(x, HostArray):
        result = METHODS["replace"](x, Ellipsis, result)
    elif result.dtype != x.dtype:
        with config.scoped(target=x.device):
            result = result.astype(x.dtype)
    if isinstance(x, HostArray) and not isinstance(x, DeviceArray):
        _take(x, result)
    else:
        x._become(result)
    return x


def _sign(python: Callable[[Any, Any], Any]) -> str:
    name = python.__name__.strip("_")
    return {"lshift": "<<", "rshift": ">>", "matmul": "@"}.get(name) or SYMBOLS[name]


def _must_belong(x: Any) -> None:
    """NotTraceableError where a traced function assigns to what it did not make."""
    scope = innermost()
    if scope is None and isinstance(x, HostArray):
        return
    for part in flatten(x)[0]:
        if isinstance(part, Tracer) and part.is_gone:
            raise part.escaped()
        if scope is not None and getattr(part, "scope", None) is not scope and part.ndim:
            raise untraceable.assignment(describe(part))


def separated(value: Any) -> Any:
    """Arguments of a function that may assign to them: other objects, which belong to the body that
    is being traced, in lists, tuples and dicts, too."""
    if isinstance(value, Tracer):
        return Tracer(value.atom, current(), value.weak)
    if isinstance(value, Array) or is_irregular(value):
        return copy(value)
    if type(value) in (list, tuple):
        return type(value)(map(separated, value))
    if type(value) is dict:
        return {key: separated(item) for key, item in value.items()}
    return value


# -- on the host ----------------------------------------------------------------------------------


def _take(x: HostArray, other: Array) -> None:
    """Let an array of the host stand for the value of another one."""
    _warn_of_parts(x)
    forget_captured(x)
    x._values = other.to_numpy()


def _written(x: HostArray, key: Any, value: Any) -> bool:
    """Whether NumPy wrote the values, which casts as `replace` does: others are its concern."""
    parts = [_plain(part) for part in (key if type(key) is tuple else (key,))]
    if not all(type(part) in KEYS or _is_index(part) for part in parts):
        return False
    given = value.to_numpy() if isinstance(value, HostArray) else value
    if not _fits(given, x.dtype):
        return False
    held = [x._values]
    if is_alone(held, 1):
        values = _writable(held[0])
    else:
        values = held[0].copy()
    try:
        with np.errstate(all="ignore"):
            values[tuple(parts)] = given
    except (IndexError, OverflowError, TypeError, ValueError):
        return False  # our message says more
    if not np.may_share_memory(values, held[0]):
        values.setflags(write=False)
        _take(x, HostArray(values))
    return True


def _plain(part: Any) -> Any:
    return part.to_numpy() if isinstance(part, HostArray) else part


def _is_index(part: Any) -> bool:
    return isinstance(part, np.ndarray) and part.dtype.kind in "iub"


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether NumPy gives a value a dtype without loss; integers of Python that do not fit raise
    an error there."""
    if type(value) in NUMBERS:
        return dtype.kind in NUMBERS[type(value)]
    return isinstance(value, np.ndarray | np.generic) and np.can_cast(value.dtype, dtype, "safe")


class _Memory:
    """The memory of an array, which NumPy may write to."""

    def __init__(self, values: Values) -> None:
        known = values.__array_interface__
        self.__array_interface__ = {**known, "data": (known["data"][0], False)}


def _writable(values: Values) -> Values:
    """A view that can be written to, of an array that cannot."""
    return np.asarray(_Memory(values)).view(values.dtype)


def _warn_of_parts(x: HostArray) -> None:
    """CopyWarning where an array is a view of another one that still exists, once for each line."""
    held = [x._values]
    if type(held[0].base) is not np.ndarray or is_alone(held, 1):
        return
    where = user_location()
    if _is_stored_back(where):
        return
    warnings.warn_explicit(
        f"{kind_of(x)} is assigned to that was taken from another one, which stays as it is. To"
        " change that one, write x[2:5] += 1; for a separate array, part = x[2:5].copy().",
        CopyWarning, where.file, where.line, registry=_shown.setdefault(where.file, {}),
    )  # fmt: skip


def _is_stored_back(where: Location) -> bool:
    """Whether a line is `x[key] += v`. Python computes `part = x[key]; part += v; x[key] = part`
    on its stack, and the instruction after the addition is a SWAP of three values or more."""
    code, at = where.bytecode
    at += 2
    while code[at : at + 1] == CACHE:
        at += 2
    return code[at : at + 1] == SWAP and code[at + 1] >= 3


CACHE, SWAP = bytes([opmap.get("CACHE", 0)]), bytes([opmap["SWAP"]])
METHODS["assign"], METHODS["augmented"] = assign, augmented
