"""Values of which some are missing: an array of values, and one of bools that says which are there.

    x = fw.Nullable([1, 2, 3], [True, False, True])      [1, None, 3]
    x + 1, fw.sum(x), x.fill_none(0)                     [2, None, 4], 4, [1, 0, 3]

`missing.py` defines how functions of fw treat them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import numpy as np

import flatweave as fw

RULES: dict[str, Callable[..., Any]] = {}
"""What functions of fw do with values of which some are missing, by name."""
WITHOUT_RULE = ContextVar("WITHOUT_RULE", default="this function")
"""The function that was last called with such values, as messages name it."""


def with_offsets(values: Any, offsets: Any) -> Any:
    """A Ragged of values and offsets that are known to fit."""
    return fw.ragged(values, offsets=offsets, check=False)


def _left(function: Callable[..., Any]) -> Any:
    return lambda self, other: function(self, other)


def _right(function: Callable[..., Any]) -> Any:
    return lambda self, other: function(other, self)


def _method(name: str) -> Any:
    def method(self: Nullable, axis: Any = None, **options: Any) -> Any:
        return getattr(fw, name)(self, axis=axis, **options)

    method.__doc__ = f"`fw.{name}` of the values that are there."
    return method


@dataclasses.dataclass(frozen=True, init=False, eq=False, repr=False)
class Nullable(fw.Overriding):
    """Values of which some are missing: `.values`, and `.valid`, bools of the same shape.

    Operators and functions of single elements give a missing element where one of theirs is; `&`
    and `|` of bools follow Kleene's logic. `fw.where` and `fw.filter` take a missing condition as
    False. Reductions skip missing elements, with `skip_missing=False` the result is missing; the
    least, greatest and mean of none are missing, too. Sorts put missing elements last. `fw.map`
    gives its function a Nullable of one element. Of text it has the methods of Strings, too, each
    result missing where the text is. `Nullable(x)` takes lists with None, and columns
    of Arrow, polars, pandas and Awkward with nulls, whose values are not copied.

    Types: `values: t[..], valid: bool[..] ->` of their shape. Raises ShapeError where the shapes
    differ, DTypeError unless `valid` is bool. Source: `pandas.array`; Kleene's logic.

        >>> x = fw.Nullable([1, 2, 3], [True, False, True])
        >>> (x * 2).tolist(), fw.sum(x).tolist(), fw.is_none(x).tolist()
        ([2, None, 6], 4, [False, True, False])
    """

    values: Any
    valid: Any

    __array_ufunc__ = None  # NumPy leaves `array + nullable` to us
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Any, valid: Any = None) -> None:
        if valid is None:
            values, valid = _parted(values)
        if not is_kept(values):
            values = fw.asarray(values)
        if not isinstance(valid, fw.Chunked):
            valid = fw.asarray(valid)
        if valid.dtype != fw.bool_:
            raise fw.DTypeError.here(
                f"valid of Nullable must be bool, got {valid.dtype}.",
                remedy="Compare first, for instance with xs >= 0.",
            )
        _must_fit(values, valid)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "valid", valid)

    @classmethod
    def __flatweave_function__(cls, function: Any, args: Any, kwargs: Any) -> Any:
        """What `missing.py` says; other functions treat a Nullable as a structure of two arrays."""
        rule = RULES.get(function.__name__)
        WITHOUT_RULE.set("this function")
        found = NotImplemented if rule is None else rule(function, *args, **kwargs)
        if found is NotImplemented:
            WITHOUT_RULE.set(function.__name__.lstrip("_"))
        return found

    @property
    def shape(self) -> tuple[Any, ...]:
        """The extents."""
        return tuple(self.valid.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self.valid.ndim)

    @property
    def size(self) -> Any:
        """The number of elements, missing ones, too."""
        return self.valid.size

    @property
    def dtype(self) -> Any:
        """The dtype of the values; of a dict of arrays a dict."""
        if isinstance(self.values, dict):
            return {name: part.dtype for name, part in self.values.items()}
        return self.values.dtype

    def __getattr__(self, name: str) -> Any:
        """A method of text, missing where the text is; see `missing.py`."""
        return RULES["attribute"](self, name)

    def fill_none(self, value: Any) -> Any:
        """The values, with `value` where they are missing."""
        return fw.where(self.valid, self.values, value)

    def drop_none(self) -> Any:
        """The values that are there."""
        if isinstance(self.values, fw.Ragged) or is_text(self.values):
            return self.values[self.valid]
        return dropped(self.values, self.valid)

    def singletons(self) -> Any:
        """Rows of one value, or of none where it is missing: the reverse of `rows.firsts()`."""
        return one_each(self.values, self.valid)

    @property
    def T(self) -> Any:
        """The axes reversed."""
        return fw.transpose(self)

    def reshape(self, *shape: Any) -> Any:
        """The same elements in another shape."""
        return fw.reshape(self, shape[0] if len(shape) == 1 else shape)

    def astype(self, dtype: Any) -> Any:
        """The same in another dtype."""
        return Nullable(self.values.astype(dtype), self.valid)

    def __getitem__(self, key: Any) -> Any:
        return fw.getitem(self, key)

    def __len__(self) -> int:
        return len(self.valid)

    def tolist(self) -> Any:
        """The elements as lists of Python values, None where they are missing."""
        if isinstance(self.values, dict):
            parts = zip(*(part.tolist() for part in self.values.values()), strict=True)
            rows = [dict(zip(self.values, part, strict=True)) for part in parts]
            return _listed(rows, self.valid.tolist())
        if isinstance(self.values, tuple):
            rows = fw.ragged(self.values, lengths=[self.size]).tolist()
            return _listed(rows[0], self.valid.tolist())
        return _listed(self.values.tolist(), self.valid.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self._all().__array__(dtype, copy=copy)

    def to_numpy(self) -> Any:
        """The values as an array of NumPy; ArgumentError where one is missing."""
        return self._all().to_numpy()

    def _all(self) -> Any:
        """The values, of which none is missing."""
        try:
            missing = self.size - int(fw.sum(self.valid))
        except fw.NotTraceableError:
            raise fw.Unsupported.here(
                f"{WITHOUT_RULE.get()} has no meaning for missing values.",
                "Fill or drop them first: x.fill_none(0), x.drop_none().",
            ) from None
        if missing:
            raise fw.ArgumentError.here(
                f"{missing} of {self.size} elements are missing, for which NumPy has no number.",
                remedy="Fill or drop them first: x.fill_none(0), x.drop_none().",
            )
        return self.values

    def item(self) -> Any:
        """The only element; None if it is missing."""
        return self.values.item() if self.valid.item() else None

    def __bool__(self) -> bool:
        return bool(self._all())

    def __int__(self) -> int:
        return int(self._all())

    def __float__(self) -> float:
        return float(self._all())

    def __index__(self) -> int:
        return int(self._all().__index__())

    def __repr__(self) -> str:
        try:
            shown = self.tolist() if self.size <= 100 else f"{self.size} elements"
        except fw.UserError:
            return f"Nullable({self.values!r}, {self.valid!r})"
        return f"Nullable({shown}, dtype={self.dtype})"

    __add__, __radd__ = _left(fw.add), _right(fw.add)
    __sub__, __rsub__ = _left(fw.sub), _right(fw.sub)
    __mul__, __rmul__ = _left(fw.mul), _right(fw.mul)
    __truediv__, __rtruediv__ = _left(fw.truediv), _right(fw.truediv)
    __floordiv__, __rfloordiv__ = _left(fw.floordiv), _right(fw.floordiv)
    __mod__, __rmod__ = _left(fw.mod), _right(fw.mod)
    __pow__, __rpow__ = _left(fw.power), _right(fw.power)
    __and__, __rand__ = _left(fw.bitwise_and), _right(fw.bitwise_and)
    __or__, __ror__ = _left(fw.bitwise_or), _right(fw.bitwise_or)
    __xor__, __rxor__ = _left(fw.bitwise_xor), _right(fw.bitwise_xor)
    __lt__, __le__ = _left(fw.less), _left(fw.less_equal)
    __gt__, __ge__ = _left(fw.greater), _left(fw.greater_equal)
    __eq__, __ne__ = _left(fw.equal), _left(fw.not_equal)

    def __neg__(self) -> Any:
        return fw.neg(self)

    def __invert__(self) -> Any:
        return fw.bitwise_not(self)

    def __abs__(self) -> Any:
        return fw.abs(self)

    sum, prod, mean = _method("sum"), _method("prod"), _method("mean")
    min, max = _method("min"), _method("max")
    any, all = _method("any"), _method("all")
    argmin, argmax = _method("argmin"), _method("argmax")
    cumsum, cumprod = _method("cumsum"), _method("cumprod")
    median, std, var = _method("median"), _method("std"), _method("var")


def _parted(values: Any) -> tuple[Any, Any]:
    """What another library holds as values, and where they are there."""
    if isinstance(values, Nullable):
        return values.values, values.valid
    if has_text(values):
        found = fw.Strings(values)
        if isinstance(found, Nullable):
            return found.values, found.valid
        return found, np.ones(len(found), np.bool_)
    times = times_in(values)
    if times is not None:
        valid = ~np.isnat(times)
        return np.where(valid, times, np.zeros(1, times.dtype)), valid
    if _has_none(values):
        values = np.array(values, dtype=object)
        valid = np.array(np.frompyfunc(lambda value: value is not None, 1, 1)(values), np.bool_)
        known = values[valid].tolist()
        filler = known[0] if known else 0.0
        return fw.asarray(np.where(valid, values, filler).tolist()), valid
    found, missing = fw.asarray(values, nulls="mask")
    return found, ~np.asarray(missing)


def _has_none(values: Any) -> bool:
    """Whether None is in a list, in a list of lists or in an array of objects."""
    if isinstance(values, np.ndarray):
        return bool(values.dtype == object)
    if not isinstance(values, list):
        return False
    return any(value is None or _has_none(value) for value in values)


def is_kept(values: Any) -> bool:
    """Whether values stay what they are: rows, times, chunks, and structures of arrays."""
    kind = getattr(getattr(values, "dtype", None), "kind", "")
    is_structure = dataclasses.is_dataclass(values) or isinstance(values, tuple | dict)
    return is_structure or isinstance(values, fw.Ragged | fw.Chunked) or kind in ("m", "M")


def times_in(column: Any) -> Any:
    """The times of a column of any library, of a zone in UTC, NaT where one is missing; None for
    other values."""
    kind = getattr(column, "dtype", getattr(column, "type", ""))
    if not str(kind).lower().startswith(TIMES):
        return None
    if hasattr(kind, "pyarrow_dtype"):  # a Series of pandas over an Arrow column
        column = getattr(column, "array", column).__arrow_array__()
    found = np.asarray(column, getattr(kind, "base", None))  # without its zone, in pandas
    return found if found.dtype.kind in "mM" else None


TIMES = ("date", "timedelta", "timestamp", "duration")
TEXTS = ("str", "string", "large_string", "string_view")


def has_text(column: Any) -> bool:
    """Whether a list, an array or a column of any library is one of text."""
    values = column.values if isinstance(column, Nullable) else column
    kind = str(getattr(column, "dtype", getattr(column, "type", ""))).partition("[")[0].lower()
    return kind in TEXTS or is_text(values) or _is_text(column)


def _is_text(key: Any) -> bool:
    """Whether a list, an array or a column of objects has texts, or nothing but None."""
    if isinstance(key, list):
        return any(isinstance(text, str) for text in key)
    kind = getattr(getattr(key, "dtype", None), "kind", "")
    if kind != "O":
        return bool(kind == "U")
    has_text = any(isinstance(text, str) for text in key)
    return has_text or (len(key) > 0 and all(text is None for text in key))


def is_text(values: Any) -> bool:
    """Whether values are Strings, whose dtype is no number's."""
    return isinstance(getattr(values, "dtype", None), str)


def _must_fit(values: Any, valid: Any) -> None:
    """Each value is there or is not."""
    if isinstance(values, fw.Ragged):
        given: Any = (values.offsets.shape[0] - 1,)
    else:
        given = getattr(values, "shape", None)
    if given is None:
        return
    remedy = "Give one bool for each value."
    if len(given) != valid.ndim:
        raise fw.ShapeError.here(
            f"Nullable got values of {len(given)} axes and bools of {valid.ndim}.", remedy=remedy
        )
    for own, other in zip(given, valid.shape, strict=True):
        if own is other:
            continue
        text = f"Nullable got {own} values and {other} bools."
        if type(own) is int and type(other) is int:
            if own != other:
                raise fw.ShapeError.here(text, remedy=remedy)
        else:
            fw.check(own == other, "Nullable got {0} values and {1} bools.", own, other,
                     error=fw.ShapeError, remedy=remedy)  # fmt: skip


def _listed(values: Any, valid: Any) -> Any:
    if isinstance(valid, list):
        return [_listed(*pair) for pair in zip(values, valid, strict=True)]
    return values if valid else None


@fw.operation(any_dtype=True)
def dropped(values: Any, valid: Any) -> Any:
    """The values that are there."""
    return fw.map(lambda e: e[0], fw.filter(lambda e: e[1], (values, valid)))


@fw.operation(any_dtype=True)
def one_each(values: Any, valid: Any) -> Any:
    """Rows of one value, or of none."""
    return fw.ragged(dropped(values, valid), lengths=valid.astype(fw.i64))


@fw.operation()
def is_none(x: Any) -> Any:
    """Where elements of a Nullable are missing; of other arrays, nowhere.

    Types: `x: t[..] -> bool[..]`, of a Ragged a Ragged. Raises ArgumentError for what is no array.
    Source: Awkward's `ak.is_none`.

        >>> fw.is_none(fw.Nullable([1, None, 3]))
        Array([False,  True, False], dtype=bool)
    """
    if isinstance(x, fw.Ragged):
        return with_offsets(is_none(x.values), x.offsets)
    if isinstance(x, Nullable):
        return fw.logical_not(x.valid)
    return fw.zeros_like(fw.asarray(x), dtype=fw.bool_)
