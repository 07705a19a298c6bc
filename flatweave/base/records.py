"""Records: classes of named fields, all with the same few methods.

    @record                          frozen, and equal to nothing but itself
    class Load(KernelOp):
        buffer: Var
        index: Atom
        masked: bool = False

    Load(xs, i), Load(xs, index=i)   replace(load, index=j)   fields(Load)

`eq=True` compares by fields, `frozen=False` lets them be assigned. Fields are slots. A dataclass is
more, and writes the source of each method of each class for Python to compile: 0.7 ms a class, with
which the import of the compiler took twice as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeVar, dataclass_transform, overload

__all__ = ["REQUIRED", "Field", "aside", "fields", "is_record", "record", "replace"]
T = TypeVar("T")
REQUIRED: Any = object()
"""The default of a field that has none."""
_ASIDE: Any = object()


class Field:
    """The name of a field, its annotation as it is written, and its default."""

    __slots__ = ("default", "name", "type")

    def __init__(self, name: str, type_: Any, default: Any) -> None:
        self.name = name
        self.type = type_
        self.default = default


def aside(*, init: Literal[False] = False) -> Any:
    """Declares what is no field, but kept with a record: None at first, and in each copy."""
    return _ASIDE


@overload
def record(cls: type[T]) -> type[T]: ...
@overload
def record(*, eq: bool = False, frozen: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(aside,))
def record(cls: type[T] | None = None, *, eq: bool = False, frozen: bool = True) -> Any:
    """Declare a class of fields: `eq`, compared by them; not `frozen`, they may change."""
    if cls is None:
        return lambda cls: _record(cls, eq, frozen)
    return _record(cls, eq, frozen)


def _record(cls: type[Any], eq: bool, frozen: bool) -> type[Any]:
    """The class again, with slots, which a class has from its first moment or never."""
    declared = {
        name: Field(name, annotation, cls.__dict__.get(name, REQUIRED))
        for name, annotation in cls.__annotations__.items()
        if "ClassVar" not in str(annotation)
    }
    beside = (
        *getattr(cls, "__beside__", ()),
        *(name for name, field in declared.items() if field.default is _ASIDE),
    )
    inherited = {field.name: field for field in getattr(cls, "__fields__", ())}
    every = {**inherited, **declared}
    all_fields = tuple(field for name, field in every.items() if name not in beside)
    given = {"__dict__", "__weakref__", *declared}
    content = {name: thing for name, thing in cls.__dict__.items() if name not in given}
    content["__slots__"] = tuple(name for name in declared if name not in inherited)
    content["__fields__"], content["__beside__"] = all_fields, beside
    content["__match_args__"] = names = tuple(field.name for field in all_fields)
    if frozen:
        content["__setattr__"] = content["__delattr__"] = _refuse
    values = _values(names)
    content["__values__"] = staticmethod(values)
    content.setdefault("__repr__", _repr)
    content.setdefault("__reduce__", lambda self: (type(self), values(self)))
    if eq:
        _compare(content, values, frozen)
    kind: Any = type(cls)
    made = kind(cls.__name__, cls.__bases__, content)
    made.__qualname__ = cls.__qualname__
    if "__init__" not in content:
        made.__init__ = _initialiser(made, all_fields, beside)
    return made  # type: ignore[no-any-return]


def _values(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """The function from a record to the values of its fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _initialiser(
    cls: type[Any], all_fields: tuple[Field, ...], beside: tuple[str, ...]
) -> Callable[..., None]:
    """The `__init__` of a record, which puts each value into its slot."""
    count = len(all_fields)
    defaults = {field.name: field.default for field in all_fields}
    optional = tuple(value for value in defaults.values() if value is not REQUIRED)
    least = count - len(optional)
    if tuple(defaults.values())[least:] != optional:
        raise TypeError(f"{cls.__name__}: a field without a default follows one that has one")
    puts = tuple(getattr(cls, name).__set__ for name in defaults)
    clears = tuple(getattr(cls, name).__set__ for name in beside)

    def complete(args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """A value for each field."""
        if not named and least <= len(args) < count:
            return args + optional[len(args) - least :]
        known = dict(zip(defaults, args, strict=False))
        values = tuple({**defaults, **known, **named}.values())
        missing = [name for name, value in zip(defaults, values, strict=False) if value is REQUIRED]
        if len(args) > count or len(values) > count or known.keys() & named or missing:
            raise TypeError(
                f"{cls.__name__} takes {', '.join(defaults) or 'nothing'};"
                f" given are {len(args)} by position and {', '.join(named) or 'none'} by name"
            )
        return values

    def fill(self: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        if named or len(args) != count:
            args = complete(args, named)
        for put, value in zip(puts, args):
            put(self, value)
        for put in clears:
            put(self, None)

    made = _OF_FEW[count] if count in _OF_FEW and not clears else _of_many
    return made(fill, tuple(defaults.values()), puts)


Fill = Callable[[Any, tuple[Any, ...], dict[str, Any]], None]
Put = Callable[[Any, Any], None]


def _of_many(fill: Fill, defaults: Sequence[Any], puts: Sequence[Put]) -> Callable[..., None]:
    def __init__(self: Any, *args: Any, **named: Any) -> None:
        fill(self, args, named)

    return __init__


# Nearly all records that are built have few fields, given by position: for them no tuple of the
# values is built, and no loop goes over it.


def _of_two(fill: Fill, defaults: Sequence[Any], puts: Sequence[Put]) -> Callable[..., None]:
    default_a, default_b = defaults
    put_a, put_b = puts

    def __init__(
        self: Any, a: Any = default_a, b: Any = default_b, /, *more: Any, **named: Any
    ) -> None:
        if named or more or a is REQUIRED or b is REQUIRED:
            return fill(self, _given((a, b, *more), defaults), named)
        put_a(self, a)
        put_b(self, b)

    return __init__


def _of_three(fill: Fill, defaults: Sequence[Any], puts: Sequence[Put]) -> Callable[..., None]:
    default_a, default_b, default_c = defaults
    put_a, put_b, put_c = puts

    def __init__(
        self: Any, a: Any = default_a, b: Any = default_b, c: Any = default_c, /,
        *more: Any, **named: Any,
    ) -> None:  # fmt: skip
        if named or more or a is REQUIRED or b is REQUIRED or c is REQUIRED:
            return fill(self, _given((a, b, c, *more), defaults), named)
        put_a(self, a)
        put_b(self, b)
        put_c(self, c)

    return __init__


def _of_four(fill: Fill, defaults: Sequence[Any], puts: Sequence[Put]) -> Callable[..., None]:
    default_a, default_b, default_c, default_d = defaults
    put_a, put_b, put_c, put_d = puts

    def __init__(
        self: Any, a: Any = default_a, b: Any = default_b, c: Any = default_c,
        d: Any = default_d, /, *more: Any, **named: Any,
    ) -> None:  # fmt: skip
        if named or more or a is REQUIRED or b is REQUIRED or c is REQUIRED or d is REQUIRED:
            return fill(self, _given((a, b, c, d, *more), defaults), named)
        put_a(self, a)
        put_b(self, b)
        put_c(self, c)
        put_d(self, d)

    return __init__


def _given(values: tuple[Any, ...], defaults: Sequence[Any]) -> tuple[Any, ...]:
    """The values without those at the end that are defaults; there may be too many."""
    count = len(values)
    if count > len(defaults):
        return values
    while count and values[count - 1] is defaults[count - 1]:
        count -= 1
    return values[:count]


_OF_FEW = {2: _of_two, 3: _of_three, 4: _of_four}


def _compare(
    content: dict[str, Any], values: Callable[[Any], tuple[Any, ...]], frozen: bool
) -> None:
    """Add what compares records by their fields, where the class itself does not say how."""

    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    def __hash__(self: Any) -> int:
        return hash(values(self))

    if "__eq__" not in content:
        content["__eq__"] = __eq__
        content["__hash__"] = __hash__ if frozen else None


def _repr(self: Any) -> str:
    parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
    return f"{type(self).__qualname__}({parts})"


def _refuse(self: Any, name: str, value: object = None) -> None:
    raise AttributeError(f"{name} of a {type(self).__name__} cannot be changed")


def is_record(thing: object) -> bool:
    """Whether this is an instance of a record."""
    return hasattr(type(thing), "__fields__")


def fields(thing: Any) -> tuple[Field, ...]:
    """The fields of a record, or of a class of records."""
    found: tuple[Field, ...] = thing.__fields__
    return found


if TYPE_CHECKING:
    from dataclasses import replace  # type checkers know which fields it takes
else:

    def replace(thing: T, /, **changes: Any) -> T:
        """A record like this one but for some fields."""
        values = [
            changes.pop(name) if name in changes else getattr(thing, name)
            for name in thing.__match_args__
        ]
        return type(thing)(*values, **changes)
