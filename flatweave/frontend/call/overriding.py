"""Classes that say themselves what functions of fw do with their values.

    class Money(fw.Overriding): ..         a dataclass of arrays
    fw.add(price, 1)                       Money.__flatweave_function__(fw.add, (price, 1), {})

As `__array_function__` of NumPy. Functions look for such values only once a class has been
declared, so that programs without one pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flatweave.frontend.values.tree import is_irregular

CLASSES: list[type] = []


class Overriding:
    """The base of classes that say what functions of `fw` do with their values.

    A function of `fw` that gets such a value, alone, in a tuple or list or as the values of a
    Ragged, first calls the classmethod `__flatweave_function__(function, args, kwargs)`, inside
    the trace. Its result is the function's, unless it is NotImplemented: then the function treats
    the value as any other. A value that is a dataclass of arrays can be an argument of jitted
    functions, and `fw.map` goes through its elements.

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
    """What a class among the arguments makes of the call; NotImplemented where none does."""
    owner = _owner(args) or _owner(kwargs.values())
    if owner is None:
        return NotImplemented
    return owner.__flatweave_function__(function, args, kwargs)


def _owner(values: Iterable[Any]) -> type[Overriding] | None:
    for value in values:
        while is_irregular(value):
            value = value.values
        if isinstance(value, Overriding):
            return type(value)
        if isinstance(value, list | tuple) and (found := _owner(value)):
            return found
    return None
