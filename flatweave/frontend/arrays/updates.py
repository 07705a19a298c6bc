"""xs.at[key].set(v): what JAX's users write for `xs[key] = v`.

    xs.at[key].set(v)          fw.replace(xs, key, v)
    xs.at[key].add(v)          each value is added to the element at its place, places may repeat
    xs.at[key].get()           xs[key]
"""

from __future__ import annotations

from typing import Any

from flatweave.frontend.arrays.replacing import in_slices, placed, wide_slices
from flatweave.frontend.arrays.shapes import raveled, reshaped
from flatweave.frontend.arrays.writing import permute
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.conversion import taken
from flatweave.frontend.trace.tracers import as_tracer
from flatweave.frontend.values.operators import METHODS

OPERATORS = {"add": "add", "multiply": "mul", "min": "minimum", "max": "maximum"}


class At:
    """The places of an array, to be chosen by a key: `xs.at[key]`."""

    __slots__ = ("_xs",)

    def __init__(self, xs: Any) -> None:
        self._xs = xs

    def __getitem__(self, key: Any) -> Chosen:
        return Chosen(self._xs, key)


class Chosen:
    """Some places of an array: each method gives a copy, or writes there if nobody needs it."""

    __slots__ = ("_key", "_xs")

    def __init__(self, xs: Any, key: Any) -> None:
        self._xs = xs
        self._key = key

    def get(self) -> Any:
        """The elements."""
        return self._xs[self._key]

    def set(self, values: Any) -> Any:
        """The array with these values there."""
        return METHODS["replace"](self._xs, self._key, values)

    def add(self, values: Any) -> Any:
        """The array with these values added there."""
        return update(self._xs, self._key, values, "add")

    def multiply(self, values: Any) -> Any:
        """The array with its elements there multiplied by these values."""
        return update(self._xs, self._key, values, "multiply")

    def min(self, values: Any) -> Any:
        """The array with the lesser of its elements there and these values."""
        return update(self._xs, self._key, values, "min")

    def max(self, values: Any) -> Any:
        """The array with the greater of its elements there and these values."""
        return update(self._xs, self._key, values, "max")


@operation()
def update(xs: Any, key: Any, values: Any, how: str) -> Any:
    """A copy of `xs` in which `values` are combined with what is at the places of a key."""
    array = as_tracer(xs, f"the array of at[..].{how}")
    what = f"the values of at[..].{how}"
    value = taken(as_tracer(values, what), array.element, what)
    slices = wide_slices(array, key)
    if slices is not None:
        return in_slices(array, slices, value, METHODS[OPERATORS[how]])
    places, value = placed(array, key, value)
    combined: Any = permute(METHODS[OPERATORS[how]], raveled(array), places, value)
    return reshaped(combined, array.extents)


METHODS["at"] = At
