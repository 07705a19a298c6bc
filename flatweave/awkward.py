"""Awkward arrays as values of Flatweave, and back: records, lists and options.

    of(ak.Array([{"x": 1, "y": [1, 2]}]))      {"x": Array([1]), "y": Ragged([[1, 2]])}
    of(ak.Array([[1, None], [2]]))             a Ragged whose values are a Nullable
    to({"x": xs, "y": rows})                   an ak.Array of records

Numbers share memory both ways; Awkward's options stored by index are copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import flatweave as fw
from flatweave.frontend.values.array import kind_of
from flatweave.library_columns import installed, of_arrow

with installed(__name__):
    import awkward as ak


def of(array: ak.Array) -> Any:
    """An Awkward array as an Array, Strings, Times, a Nullable or a Ragged; records are the dict of
    their fields, tuples a tuple. What no array or Ragged of numbers is goes through Arrow.

    Raises ArgumentError for what is no ak.Array, DTypeError for unions.
    """
    if not isinstance(array, ak.Array):
        raise fw.ArgumentError.here(
            f"of takes an ak.Array, got {kind_of(array)}.", "Make one of it: ak.Array([x])."
        )
    fields = ak.fields(array)
    if fields and array.layout.is_record:
        found = {name: of(array[name]) for name in fields}
        return tuple(found.values()) if ak.is_tuple(array) else found
    for take in (fw.asarray, fw.ragged):
        with suppress(fw.UserError):
            return take(array)
    return of_arrow(ak.to_arrow(array, extensionarray=False), "the array")


def to(value: Any) -> ak.Array:
    """An Awkward array of a value: an array, Strings, a Nullable, a Ragged; of a dict records, of a
    tuple tuples."""
    if isinstance(value, Mapping):
        return ak.zip({name: to(part) for name, part in value.items()}, depth_limit=1)
    if isinstance(value, tuple):
        return ak.zip(tuple(map(to, value)), depth_limit=1)
    if isinstance(value, fw.Ragged) and not isinstance(value.values, fw.Nullable | fw.Strings):
        return value.to_awkward()
    if isinstance(value, fw.Array):
        return ak.from_numpy(value.to_numpy())
    with installed(__name__):
        import pyarrow  # optional dependency

    return ak.from_arrow(pyarrow.array(value))
