"""What arrays of Awkward and of Arrow have in common on their way to a Ragged and from one.

    record_of([xs, ys], ["x", "y"])       {"x": xs, "y": ys}
    vectors(np.arange(6), 3, 2)           [[0, 1, 2], [3, 4, 5]], an array of rank 2
    fields_of({"x": xs, "y": ys})         [xs, ys], ["x", "y"]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import ArgumentError, Unsupported, UserError
from flatweave.base.source import user_location
from flatweave.frontend.ragged.host import on_host
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.tree import map_leaves


def record_of(parts: Sequence[Any], fields: Sequence[str] | None) -> Any:
    """Arrays as the dict of their fields, as a tuple where these have no names."""
    if any(isinstance(part, Ragged) for part in parts):
        raise Unsupported(
            "ragged got rows whose elements are records that hold lists.",
            where=user_location(),
            remedy="Make one Ragged of each field, fw.ragged(xs.field), with the same lengths.",
        )
    return tuple(parts) if fields is None else dict(zip(fields, parts, strict=True))


def vectors(values: Any, size: int, count: int) -> Any:
    """`count` elements of `size` values each, as elements of a higher rank."""
    if isinstance(values, Ragged):
        return equal_rows(values, size, count)
    return map_leaves(lambda x: x[: count * size].reshape(count, size, *x.shape[1:]), values)


def equal_rows(values: Any, size: int, count: int) -> Ragged:
    """`count` rows of `size` values each."""
    return on_host(values, lengths=np.full(count, size, np.int64))


def null_error(what: str, whose: str, place: int, count: int, functions: str) -> UserError:
    """What is missing in another library's array."""
    holds = "a null" if count == 1 else f"{count} nulls"
    return ArgumentError(
        f"ragged got {what} with {holds} among {whose}, the first at {place}; no number stands for"
        " that.",
        where=user_location(),
        remedy=f"Fill them with a value or drop them first, for instance with {functions}.",
    )


def fields_of(values: Any) -> tuple[list[Any] | None, list[str] | None]:
    """The parts of a record and their names, None for those of a tuple; None, None for an array."""
    if hasattr(values, "_fields"):
        return list(values), list(values._fields)
    if isinstance(values, tuple | list):
        return list(values), None
    if isinstance(values, dict):
        return list(values.values()), [str(name) for name in values]
    if hasattr(type(values), "__dataclass_fields__"):
        names = list(type(values).__dataclass_fields__)
        return [getattr(values, name) for name in names], names
    return None, None
