"""Elements that are missing in another library's rows: refused, made NaN, or given as a mask.

    ragged(ak.Array([[1, None], [2]]), nulls="nan")     [[1.0, nan], [2.0]]
    ragged(ak.Array([[1, None], [2]]), nulls="mask")    [[1, ?], [2]], [[False, True], [False]]

While a column is read, an array of elements that may be missing is a record of two, `Masked`, which
is cut, gathered and joined as any record is; `without_nulls` takes these records apart. A row that
is missing has no elements, and raises whatever `nulls` is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from flatweave.base.errors import ArgumentError, UserError
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.array import METHODS, Array, Tracer, host_array
from flatweave.frontend.values.asarray import contents
from flatweave.frontend.values.exchange import Values
from flatweave.frontend.values.foreign_arrays import filled
from flatweave.frontend.values.tree import is_node, map_leaves
from flatweave.runtime.cpu import shared

APART = (
    ' Or take them as NaN, fw.ragged(xs, nulls="nan"), or apart: rows, missing = fw.ragged(xs,'
    ' nulls="mask").'
)


class Masked(NamedTuple):
    """Elements, and True where one is missing and means nothing."""

    values: Any
    missing: Any


def null_error(
    what: str, whose: str, missing: Values, functions: str, are_rows: bool = False
) -> UserError:
    """What is missing in another library's array."""
    places = np.flatnonzero(missing)
    holds = "a null" if len(places) == 1 else f"{len(places)} nulls"
    remedy = f"Fill them with a value or drop them first, for instance with {functions}."
    return ArgumentError.here(
        f"ragged got {what} with {holds} among {whose}, the first at {places[0]}; no number stands"
        " for that.",
        remedy if are_rows else remedy + APART,
    )


def may_miss(values: object, missing: Values | None = None) -> object:
    """The arrays of a tree as Masked, with these elements missing in addition to others."""

    def leaf(x: Any) -> Masked:
        held, own = x if isinstance(x, Masked) else (x, np.zeros(x.shape, np.bool_))
        if missing is not None:
            own = own | missing.reshape(-1, *[1] * (own.ndim - 1))
        return Masked(held, own)

    return map_leaves(leaf, values, lambda x: isinstance(x, Masked | np.ndarray))


def taken(values: Any, nulls: str) -> object:
    """Another library's array as one of NumPy, where elements may be missing: with NaN for these,
    or as Masked; any other value as it is."""
    if nulls == "raise" or isinstance(values, Array) or is_node(values):
        return values
    found = contents(values, "the values of ragged")
    if found is None or found[1] is None:
        return values if found is None else found[0]
    masked = Masked(*found)
    return filled(masked.values, masked.missing) if nulls == "nan" else masked


def joined(parts: Sequence[Any]) -> Array | Masked:
    """Arrays one after the other, as Masked where one of them is."""
    concat = METHODS["concat"]
    if not any(isinstance(part, Masked) for part in parts):
        return concat(parts)
    pairs = [x if isinstance(x, Masked) else Masked(x, _no_mask(x)) for x in parts]
    return Masked(concat([x.values for x in pairs]), concat([x.missing for x in pairs]))


def without_nulls(values: Ragged, nulls: str) -> tuple[Ragged, Ragged | None]:
    """Rows with Masked elements as `nulls` says: with NaN for what is missing, or the elements
    and masks."""
    if nulls == "mask":
        return _each(values, lambda m: m.values), _each(values, lambda m: m.missing, _no_mask)
    found = _each(values, lambda m: filled(np.asarray(m.values), np.asarray(m.missing)))
    return found, None


def _each(
    values: Ragged, of: Callable[[Masked], Any], otherwise: Callable[[Any], Array] | None = None
) -> Ragged:
    """A part of each Masked in a Ragged; other arrays stay what they are."""
    if isinstance(values.values, Ragged):
        return Ragged.made(_each(values.values, of, otherwise), values.offsets)

    def leaf(x: Any) -> Array:
        if isinstance(x, Masked):
            found = of(x)
            return found if isinstance(found, Array) else host_array(shared(found))
        return x if otherwise is None else otherwise(x)

    part = map_leaves(leaf, values.values, lambda x: isinstance(x, Masked) or is_node(x))
    return Ragged.made(part, values.offsets)


def _no_mask(x: Any) -> Array:
    """Bools of an array's shape that say that nothing is missing."""
    if isinstance(x, Tracer):
        return METHODS["full"](x.shape, False)
    return host_array(np.zeros(np.shape(x), np.bool_))
