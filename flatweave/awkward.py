"""Awkward arrays as values of Flatweave, and back: records, lists and options.

    of(ak.Array([{"x": 1, "y": [1, 2]}]))      {"x": Array([1]), "y": Ragged([[1, 2]])}
    of(ak.Array([[1, None], [2]]))             a Ragged whose values are a Nullable
    to({"x": xs, "y": rows})                   an ak.Array of records

Numbers share memory both ways; Awkward's options stored by index are copied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import awkward as ak

import flatweave as fw
from flatweave.library_columns import taken


def of(array: ak.Array) -> Any:
    """An Awkward array as an Array, Strings, a Nullable or a Ragged; records are the dict of their
    fields, tuples a tuple. Raises ArgumentError where lists or records are missing themselves."""
    fields = ak.fields(array)
    if fields and _is_record(array):
        found = {name: of(array[name]) for name in fields}
        return tuple(found.values()) if ak.is_tuple(array) else found
    try:
        return taken(array)
    except fw.UserError:
        if array.ndim < 2:
            raise
    lengths = ak.num(array)
    if ak.any(ak.is_none(lengths)):
        raise fw.ArgumentError.here(
            "of got an Awkward array some lists of which are missing.",
            "Fill them first: ak.fill_none(array, [], axis=0).",
        )
    values = of(ak.flatten(array))
    offsets = fw.concat([[0], fw.cumsum(fw.asarray(ak.to_numpy(lengths), fw.i64))])
    is_column = isinstance(values, fw.Strings | fw.Nullable)
    return fw.ragged(values, offsets=offsets, check=not is_column)


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
    import pyarrow  # optional dependency

    return ak.from_arrow(pyarrow.array(value))


def _is_record(array: ak.Array) -> bool:
    """Whether the elements are records, not lists of them."""
    return bool(getattr(array.layout, "is_record", False))
