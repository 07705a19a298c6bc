"""Where rows of varying lengths begin and end, of arrays that are in chunks or whole.

An array of ends has one element for each row; one of offsets begins with one more, a 0.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from flatweave.cluster.known import Known
from flatweave.cluster.place import Place
from flatweave.frontend.values.chunked import Chunked
from flatweave.terms.build import index
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Op

MOST_ROWS = 1 << 24
"""Elements of an expansion that one chunk computes."""


class Ends:
    """What the client knows of them, asked for once."""

    def __init__(self, place: Place, known: Known) -> None:
        self._place = place
        self._known = known

    def lasts(self, array: Chunked) -> list[int]:
        """The last element of each chunk of ends, which do not decrease."""

        def found() -> list[int]:
            wanted = [(piece, piece.rows - 1, piece.rows) for piece in array.pieces if piece.rows]
            last = iter(self._place.rows(wanted))
            each = (int(next(last)[0]) if piece.rows else 0 for piece in array.pieces)
            return list(accumulate(each, max))

        return self._known.of("lasts", array, found)

    def entry(self, array: Any, number: int) -> int:
        """One element."""
        if not isinstance(array, Chunked):
            return int(array[number])
        if number + 1 in array.bounds:
            return self.lasts(array)[array.bounds.index(number + 1) - 1]
        return int(self._place.rows(array.between(number, number + 1))[0][0])

    def around(self, array: Chunked, least: int, most: int) -> tuple[int, int]:
        """An element that is no more than one, and one that is no less than another, of elements
        that do not decrease."""
        lasts, bounds = self.lasts(array), array.bounds
        first = bisect_right(bounds, least) - 1  # the chunk that has it
        if least + 1 == bounds[first + 1]:
            low = lasts[first]
        else:
            low = lasts[first - 1] if first else min(lasts[0], 0)
        return low, lasts[min(bisect_right(bounds, most), len(lasts)) - 1]

    def begin(self, array: Any, number: int) -> int:
        """Where what an element ends begins: where the one before it ends."""
        return self.entry(array, number - 1) if number else 0

    def cuts(self, array: Chunked, extent: int) -> tuple[int, ...]:
        """The places where elements of rows are cut: as the array of ends is, and again where the
        rows of one chunk have too many."""
        cuts = [0]
        for begin, end in pairwise([0, *self.lasts(array)]):
            parts = max(-(-(end - begin) // MOST_ROWS), 1)
            cuts += [begin + (end - begin) * (k + 1) // parts for k in range(parts)]
        return (*cuts[:-1], extent) if len(cuts) > 1 else (0, extent)

    def rows(self, array: Chunked, skip: int, begin: int, end: int) -> tuple[int, int]:
        """The first and the last row of the chunks in which some positions are located, where row i
        ends at element `skip + i`."""
        lasts, bounds = self.lasts(array), array.bounds
        first = bisect_right(lasts, begin)
        last = min(bisect_right(lasts, end - 1), len(lasts) - 1)
        return max(bounds[first] - skip, 0), bounds[last + 1] - 1 - skip


def cuts_of_rows(offsets: Any, elements: tuple[int, ...]) -> tuple[int, ...]:
    """Where rows are cut: where their offsets are; of offsets that are whole, where the elements
    are, rows staying whole."""
    if isinstance(offsets, Chunked):
        return one_less(offsets.bounds)
    rows = len(offsets) - 1
    cuts = {int(np.searchsorted(offsets, cut)) for cut in elements}
    return (0, *sorted(cut for cut in cuts if 0 < cut < rows), rows)


def one_less(bounds: Sequence[int]) -> tuple[int, ...]:
    """Where rows are cut whose offsets are cut so, of which there is one more."""
    rows = max(bounds[-1] - 1, 0)
    return (0, *sorted({cut - 1 for cut in bounds if 1 < cut <= rows}), rows)


def shorter_by_one(op: Op) -> Atom | None:
    """The extent than which this one is smaller by one."""
    is_one = isinstance(op, Apply) and op.fn == "sub" and op.args[1] == index(1)
    return op.args[0] if is_one else None  # type: ignore[attr-defined]
