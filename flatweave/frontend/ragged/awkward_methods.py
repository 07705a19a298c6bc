"""The verbs of ragged data as methods of Ragged: what Awkward Array has, by its names.

    rows.combinations(2)        the pairs of each row: (left, right)
    rows.pad_none(3)            rows of 3 elements or more

They are defined in `flatweave/tables`, which is imported when the first of them is called.
"""

from __future__ import annotations

from typing import Any, Self

from flatweave.frontend.values.array import Array
from flatweave.runtime.lazy_import import opened


def _verb(name: str) -> Any:
    return getattr(opened("tables").verbs, name)


class Verbs:
    """Methods along axis 1: on each row separately. Several results are a tuple of Ragged values
    that share offsets."""

    __slots__ = ()

    def num(self) -> Array:
        """The number of elements in each row: i64[rows]."""
        return _verb("num")(self)

    def flatten(self) -> Array | Self:
        """The elements of all rows, one row after the other."""
        return _verb("flatten")(self)

    def local_index(self) -> Self:
        """The index of each element in its row."""
        return _verb("local_index")(self)

    def combinations(self, n: int, replacement: bool = False) -> tuple[Self, ...]:
        """Every choice of `n` elements of each row, in order: `n` Ragged values, or with
        `replacement` also those that take an element again."""
        return _verb("combinations")(self, n, replacement)

    def argcombinations(self, n: int, replacement: bool = False) -> tuple[Self, ...]:
        """As `combinations`, the indices of the elements in their row."""
        return _verb("argcombinations")(self, n, replacement)

    def cartesian(self, other: Any) -> tuple[Self, Self]:
        """Every element of a row with every one of the same row of another Ragged."""
        return _verb("cartesian")(self, other)

    def argcartesian(self, other: Any) -> tuple[Self, Self]:
        """As `cartesian`, the indices of the elements in their rows."""
        return _verb("argcartesian")(self, other)

    def pad_none(self, n: Any, clip: bool = False) -> Self:
        """Rows with missing elements up to `n` of them; `clip` cuts longer rows to `n`."""
        return _verb("pad_none")(self, n, clip)

    def fill_none(self, value: Any) -> Self:
        """The rows with `value` where an element is missing."""
        return _verb("fill_none")(self, value)

    def drop_none(self) -> Self:
        """The rows without elements that are missing."""
        return _verb("drop_none")(self)

    def firsts(self) -> Array | Self:
        """The first element of each row, a Nullable: missing for an empty row."""
        return _verb("firsts")(self)

    def singletons(self) -> Self:
        """A row for each element; an empty one where it is missing."""
        return _verb("singletons")(self)

    def mask(self, m: Any) -> Array | Self:
        """Elements missing where the Ragged of bools `m` is False; a flat `m` is one for each row.
        """
        return _verb("mask")(self, m)

    def run_lengths(self) -> tuple[Self, Self]:
        """The runs of equal elements of each row, as `fw.run_lengths`: (values, lengths)."""
        return _verb("run_lengths")(self)

    def rank(self, method: str = "average") -> Self:
        """The rank of each element in its row, as `fw.rank`."""
        return _verb("rank")(self, method=method)

    def softmax(self) -> Self:
        """Exponentials that add up to 1 in each row."""
        return _verb("softmax")(self, 1)

    def top_k(self, k: Any, largest: bool = True) -> tuple[Self, Self]:
        """The at most `k` greatest elements of each row, best first: (values, indices)."""
        return _verb("top_k")(self, k, largest=largest)

    def argmin(
        self, axis: Any = None, out: None = None, *, keepdims: bool = False, initial: Any = None
    ) -> Array | Self:
        """Where the least element is first found, of all values; with `axis=1` of each row a
        Nullable, missing for an empty one, or numbers, where `initial` is given for those."""
        return _verb("argmin")(self, axis, keepdims, initial)

    def argmax(
        self, axis: Any = None, out: None = None, *, keepdims: bool = False, initial: Any = None
    ) -> Array | Self:
        """Where the greatest element is first found; everything else is as for `argmin`."""
        return _verb("argmax")(self, axis, keepdims, initial)

    def corr(self, other: Any) -> Array:
        """The correlation of the elements of each row with those of another Ragged."""
        return _verb("corr")(self, other)

    def linear_fit(self, other: Any) -> dict[str, Array]:
        """The line through the points of each row, x and y: a dict of `intercept`, `slope`,
        `intercept_error` and `slope_error`."""
        return _verb("linear_fit")(self, other)

    def concat(self, other: Any) -> Self:
        """Each row, then the same row of another Ragged."""
        return _verb("concat")(self, other)

    def cut(self, counts: Any) -> Self:
        """Rows cut into rows of the lengths that a Ragged of integers has for each."""
        return _verb("cut")(self, counts)
