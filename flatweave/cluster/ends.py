"""Rows of varying lengths, by the places where they end: an array in chunks, in order."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, pairwise

from flatweave.cluster.known import Known
from flatweave.cluster.place import Place
from flatweave.frontend.values.chunked import Chunked

MOST_ROWS = 1 << 24
"""Elements of an expansion that one chunk computes."""


class Ends:
    """The ends of rows: where the elements of all rows are cut, and whose an element is."""

    def __init__(self, array: Chunked, place: Place, known: Known) -> None:
        self._array = array
        self._place = place
        self._known = known

    def cuts(self, extent: int) -> tuple[int, ...]:
        """Where elements are cut: as the array of ends is, and again where the rows of one chunk
        have too many."""
        lasts = [0, *self._lasts()]
        cuts = [0]
        for begin, end in pairwise(lasts):
            parts = max(-(-(end - begin) // MOST_ROWS), 1)
            cuts += [begin + (end - begin) * (k + 1) // parts for k in range(parts)]
        return (*cuts[:-1], extent) if len(cuts) > 1 else (0, extent)

    def rows_of(self, begin: int, end: int) -> tuple[int, int]:
        """The first and the last row of the chunks in which some elements are."""
        lasts, bounds = self._lasts(), self._array.bounds
        first = bisect_right(lasts, begin)
        last = min(bisect_right(lasts, end - 1), len(lasts) - 1)
        return bounds[first], bounds[last + 1] - 1

    def begin_of(self, row: int) -> int:
        """Where a row begins: where the one before it ends."""
        bounds = self._array.bounds
        if not row:
            return 0
        if row in bounds:
            return self._lasts()[bounds.index(row) - 1]
        return int(self._place.rows(self._array.between(row - 1, row))[0][0])

    def _lasts(self) -> list[int]:
        """The last element of each chunk."""
        pieces = self._array.pieces

        def found() -> list[int]:
            wanted = [(piece, piece.rows - 1, piece.rows) for piece in pieces if piece.rows]
            last = iter(self._place.rows(wanted))
            return list(accumulate((int(next(last)[0]) if p.rows else 0 for p in pieces), max))

        return self._known.of("lasts", self._array, found)
