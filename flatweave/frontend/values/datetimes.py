"""Points in time and spans of it: integers for a program, with their unit for the user.

    departures: datetime64[s] of NumPy     in a function Times, whose `.ticks` is an i64[n]
    departures - departures[0]             Times of timedelta64[s]
    np.asarray(result)                     timedelta64[s] over the same memory

Functions of `fw` get the integers, and give times again where `RULES` says so (`fw.max(t)`,
`fw.diff(t)`). The unit belongs to the class, so that it decides what is compiled and costs nothing
at run time.
A time that is not set (NaT) is refused where it comes in: as an integer it would be a number like
any other.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np

from flatweave.base.errors import ArgumentError, DTypeError
from flatweave.base.pretty import counted
from flatweave.base.records import record
from flatweave.frontend.values.arguments import Overriding, owners
from flatweave.frontend.values.array import METHODS, Array, HostArray
from flatweave.frontend.values.arrow_interface import capsules
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.tree import Elements, flat_values, is_irregular

POINT, SPAN = "M", "m"  # NumPy's kinds: datetime64, timedelta64


def _left(name: str) -> Any:
    return lambda self, other: METHODS[name](self, other)


def _right(name: str) -> Any:
    return lambda self, other: METHODS[name](other, self)


class Times(Elements, Overriding):
    """Times of one unit: `.ticks` are integers, which `like` makes times of this unit again."""

    __slots__ = ("ticks",)
    parts: ClassVar[tuple[str, ...]] = ("ticks",)
    dtype: ClassVar[np.dtype[Any]]
    __array_ufunc__ = None  # NumPy leaves `array - times` to us

    def __init__(self, ticks: Any) -> None:
        self.ticks = ticks

    @classmethod
    def like(cls, ticks: Any) -> Times:
        """Integers as times of this unit: `t.like(fw.sort(t.ticks))`."""
        return cls(ticks)

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents."""
        return tuple(self.ticks.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self.ticks.ndim)

    def __len__(self) -> int:
        return len(self.ticks)

    def __getitem__(self, key: Any) -> Times:
        return self.like(METHODS["getitem"](self.ticks, key))

    def to_numpy(self) -> Values:
        """The times as NumPy has them, not copied."""
        return np.asarray(self.ticks).view(self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Values:
        return np.asarray(self.to_numpy(), dtype, copy=copy)

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]:
        """The times as any library of Arrow takes them, of their unit; only days are copied."""
        return capsules(METHODS["column_of"](self))

    def tolist(self) -> Any:
        """The times as Python has them."""
        return self.to_numpy().tolist()

    def astype(self, dtype: Any) -> Any:
        """The same in another unit, rounded down; in a dtype of numbers the integers."""
        if np.dtype(dtype).kind not in (POINT, SPAN):
            return METHODS["astype"](self.ticks, dtype)
        wanted = np.dtype(f"{self.dtype.kind}8[{_unit(np.dtype(dtype))}]")
        one = [np.ones(1, f"m8[{_unit(each)}]") for each in (self.dtype, wanted)]
        try:
            own, other = (int(x.astype(np.result_type(*one)).view(np.int64)[0]) for x in one)
        except TypeError:
            raise DTypeError.here(
                f"{self.dtype} has no number of {wanted}, as months differ in length.",
                "Convert the array of NumPy: xs.astype(..).",
            ) from None
        ticks = METHODS["mul"](self.ticks, own)
        return times(wanted)(METHODS["floordiv"](ticks, other) if other > 1 else ticks)

    def __repr__(self) -> str:
        if not isinstance(self.ticks, HostArray | np.ndarray | np.generic):
            return f"Times({self.ticks!r}, dtype={self.dtype})"
        shown = np.array2string(self.to_numpy(), separator=", ", prefix="Times(")
        return f"Times({shown}, dtype={self.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.dtype, self.ticks)

    @classmethod
    def __flatweave_function__(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """What `RULES` says; other functions treat times as a structure of one array, and other
        classes say what they do with times among their values."""
        rule = RULES.get(function.__name__)
        if rule is None or not all(issubclass(c, Times) for c in owners((*args, *kwargs.values()))):
            return NotImplemented
        return rule(function, args, kwargs)

    __add__, __radd__ = _left("add"), _right("add")
    __sub__, __rsub__ = _left("sub"), _right("sub")
    __mul__, __rmul__ = _left("mul"), _right("mul")
    __floordiv__, __rfloordiv__ = _left("floordiv"), _right("floordiv")
    __truediv__, __rtruediv__ = _left("truediv"), _right("truediv")
    __mod__, __rmod__ = _left("mod"), _right("mod")
    __lt__, __le__ = _left("less"), _left("less_equal")
    __gt__, __ge__ = _left("greater"), _left("greater_equal")
    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Any:
        return METHODS["neg"](self)

    def __abs__(self) -> Any:
        return METHODS["abs"](self)

    def __eq__(self, other: object) -> Array:  # type: ignore[override]
        return METHODS["equal"](self, other) if is_time(other) else NotImplemented

    def __ne__(self, other: object) -> Array:  # type: ignore[override]
        return METHODS["not_equal"](self, other) if is_time(other) else NotImplemented


def is_times(value: Any) -> bool:
    """Whether a value is an array of NumPy of times, or one of them."""
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "Mm"


def times_of(value: Any) -> Times:
    """An array of NumPy of times, or one of them: its integers, not copied, and their unit."""
    if isinstance(value, Times):
        return value
    array = np.asarray(value)
    dtype = array.dtype.newbyteorder("=")
    if np.datetime_data(dtype)[0] == "generic":
        raise DTypeError.here(
            f"times of dtype {dtype} have no unit.", 'Give them one: xs.astype("datetime64[s]").'
        )
    missing = int(np.count_nonzero(np.isnat(array)))
    if missing:
        raise ArgumentError.here(
            f"an array of dtype {dtype} holds {counted(missing, 'time')} not set (NaT), for which"
            " no integer stands.",
            "Pass fw.Nullable(xs), which keeps them; leave them out, xs[~np.isnat(xs)]; or pass the"
            " integers, xs.view(np.int64).",
        )
    ticks = array.astype(dtype, copy=False).view(np.int64)
    return times(dtype)(ticks if array.ndim else ticks[()])


@functools.cache
def times(dtype: np.dtype[Any]) -> type[Times]:
    """The class of times of a dtype; there is one for each."""
    return type("Times", (Times,), {"__slots__": (), "dtype": dtype})


def _restored(dtype: np.dtype[Any], ticks: Any) -> Times:
    """What was pickled."""
    return times(dtype)(ticks)


def _unit(dtype: np.dtype[Any]) -> str:
    """`ns`, `25s`"""
    name, count = np.datetime_data(dtype)
    return name if count == 1 else f"{count}{name}"


def is_time(value: Any) -> bool:
    """Whether a value is times, of NumPy or in a function."""
    return isinstance(value, Times) or is_times(value)


def _operand(value: Any, other: Times) -> Times:
    """A value that meets times, as times of the same unit."""
    if not is_time(value):
        raise DTypeError.here(
            f"{type(value).__name__} meets times of dtype {other.dtype}.",
            "Say what it counts: np.timedelta64(1, 's'); or work on the integers, t.ticks.",
        )
    if isinstance(value, np.generic):  # a constant: in whatever unit it was written
        wanted = np.dtype(f"{value.dtype.kind}8[{_unit(other.dtype)}]")
        if value.astype(wanted) == value:
            value = value.astype(wanted)
    found = times_of(value)
    if _unit(found.dtype) != _unit(other.dtype):
        one, two = (np.dtype(f"m8[{_unit(x.dtype)}]") for x in (found, other))
        kept, changed = (other, found) if np.can_cast(one, two, "safe") else (found, other)
        wanted = np.dtype(f"{changed.dtype.kind}8[{_unit(kept.dtype)}]")
        raise DTypeError.here(
            f"times of {found.dtype} meet times of {other.dtype}.",
            f'Bring them to one unit first: xs.astype("{wanted}").',
        )
    return found


def _no_meaning(what: str) -> DTypeError:
    return DTypeError.here(
        f"{what} means nothing.", "Work on the integers: t.ticks, and t.like(..) back."
    )


def _first(values: Iterable[Any]) -> Times | None:
    """The first times among arguments."""
    for value in map(flat_values, values):
        if is_time(value):
            return times_of(value)
        found = _first(value) if isinstance(value, list | tuple) else None
        if found is not None:
            return found
    return None


def _rows(rows: Any, values: Any) -> Any:
    """Rows of other values."""
    return METHODS["ragged"](values, offsets=rows.offsets, check=False)


def _ticks(value: Any, like: Times, needed: bool) -> Any:
    """An argument with integers in place of times, which are of the kind and unit of others."""
    if is_irregular(value):
        return _rows(value, _ticks(value.values, like, needed))
    if isinstance(value, list | tuple):
        return type(value)(_ticks(each, like, needed) for each in value)
    if value is None or not (needed or is_time(value)):
        return value
    found = _operand(value, like)
    if found.dtype.kind != like.dtype.kind:
        raise _no_meaning("a point in time compared with a span")
    return found.ticks


def _timed(kind: str, found: Any, like: Times) -> Any:
    """A result as points or spans in the unit of other times; a number as it is."""
    if not kind:
        return found
    if is_irregular(found):
        return _rows(found, _timed(kind, found.values, like))
    return times(np.dtype(f"{kind}8[{_unit(like.dtype)}]"))(found)


@record
class Rule:
    """What a function makes of times: it gets integers, and its results are times or not."""

    times: slice  # the arguments by position that must be times; others may be
    gives: str = "times"  # or "spans", "numbers", or "first": of several results the first one
    of_spans: bool = False

    def __call__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The result of a call, of whose arguments some are times."""
        like = _first((*args, *kwargs.values()))
        assert like is not None
        if self.of_spans and like.dtype.kind == POINT:
            raise _no_meaning(f"{function.__name__} of points in time")
        needed = range(len(args))[self.times]
        found = function(
            *(_ticks(arg, like, k in needed) for k, arg in enumerate(args)),
            **{name: _ticks(arg, like, needed=False) for name, arg in kwargs.items()},
        )
        kind = {"spans": SPAN, "numbers": ""}.get(self.gives, like.dtype.kind)
        if self.gives != "first" or not isinstance(found, tuple):
            return _timed(kind, found, like)
        parts = (_timed(kind, found[0], like), *found[1:])
        return type(found)(*parts) if hasattr(found, "_fields") else parts


ARITHMETIC: dict[tuple[str, ...], str] = {
    ("add", POINT, SPAN): POINT, ("add", SPAN, POINT): POINT, ("add", SPAN, SPAN): SPAN,
    ("sub", POINT, SPAN): POINT, ("sub", POINT, POINT): SPAN, ("sub", SPAN, SPAN): SPAN,
    ("mul", SPAN, ""): SPAN, ("mul", "", SPAN): SPAN, ("floordiv", SPAN, ""): SPAN,
    ("floordiv", SPAN, SPAN): "", ("truediv", SPAN, SPAN): "", ("mod", SPAN, SPAN): SPAN,
}  # fmt: skip
"""What arithmetic gives: points in time, spans or numbers."""


def _arithmetic(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """An operation of times and spans, or of spans and integers."""
    name, like = function.__name__, _first(args)
    assert like is not None
    operands = [_operand(flat_values(x), like) if _first([x]) is not None else x for x in args]
    kinds = [x.dtype.kind if isinstance(x, Times) else "" for x in operands]
    if (name, *kinds) not in ARITHMETIC:
        if "" in kinds and name in ("add", "sub"):
            _operand(operands[kinds.index("")], like)
        raise _no_meaning(f"{name} of {' and '.join(NAMED[kind] for kind in kinds)}")
    for x, kind in zip(operands, kinds, strict=True):
        if not kind and np.dtype(getattr(x, "dtype", type(x))).kind not in "iub":
            raise _no_meaning(f"{name} of spans of time and anything but integers")
    plain = [
        _ticks(x, held, needed=True) if kind else x
        for x, held, kind in zip(args, operands, kinds, strict=True)
    ]
    return _timed(ARITHMETIC[name, *kinds], function(*plain, **kwargs), like)


NAMED = {POINT: "points in time", SPAN: "spans of time", "": "numbers"}
RULES: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("add", "sub", "mul", "floordiv", "truediv", "mod"), _arithmetic),
    **dict.fromkeys(("abs", "cumsum", "neg", "sum"), Rule(slice(1), of_spans=True)),
    **dict.fromkeys(("clip", "fmax", "fmin", "maximum", "minimum"), Rule(slice(None))),
    **dict.fromkeys(
        ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal"),
        Rule(slice(None), "numbers"),
    ),
    **dict.fromkeys(
        ("array_equal", "digitize", "isin", "searchsorted"), Rule(slice(2), "numbers")
    ),
    **dict.fromkeys(
        ("argmax", "argmin", "changed", "n_unique", "rank"), Rule(slice(1), "numbers")
    ),
    **dict.fromkeys(
        ("run_lengths", "top_k", "unique", "unique_all", "unique_counts", "unique_inverse",
         "value_counts"), Rule(slice(1), "first"),
    ),
    **dict.fromkeys(
        ("broadcast_to", "cummax", "cummin", "expand_dims", "flip", "gather", "getitem", "hstack",
         "max", "min", "moveaxis", "permute_dims", "ravel", "repeat", "roll", "rolling", "slices",
         "squeeze", "stack", "swapaxes", "take", "tile", "transpose", "unique_values", "vstack",
         "zeros_like"), Rule(slice(1)),
    ),
    "append": Rule(slice(2)),
    "diff": Rule(slice(1), "spans"),
    "replace": Rule(slice(0, 3, 2)),
    "ptp": Rule(slice(1), "spans"),
    "where": Rule(slice(1, None)),
}  # fmt: skip
"""What functions do with times, by name."""
