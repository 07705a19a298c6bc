"""Which rows of other arrays each chunk is given: from the least to the greatest that it reads.

Where an index is read from data, the least and the greatest element of what it is read from bound
it, and what would be sent to every chunk as a whole is a few rows: those kept of a Ragged, say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from flatweave.cluster.ends import Ends
from flatweave.cluster.known import Known
from flatweave.cluster.local import LocalProgram
from flatweave.cluster.needs import Interval, Needs, joined
from flatweave.cluster.place import Place, Rows
from flatweave.cluster.steps import Divided, Local
from flatweave.cluster.wraps import joined_cyclic
from flatweave.frontend.values.chunked import Chunked
from flatweave.terms.syntax import Atom, Var

LITTLE = 1 << 20
"""Bytes that are sent to every chunk without asking which of them it reads."""


class Seen(NamedTuple):
    """The rows that a chunk reads of arrays, from the first to behind the last; of reads that wrap,
    which row is the place zero."""

    rows: dict[Var, tuple[int, int]]
    zeros: dict[Var, dict[Atom, int]]


class Windows:
    """What the client knows of arrays for the windows of chunks."""

    def __init__(
        self, divided: Divided, chunks: Mapping[Var, Chunked], whole: Mapping[Var, Any],
        place: Place, known: Known, ends: Ends,
    ) -> None:  # fmt: skip
        self._rises = divided.rises
        self._chunks = chunks
        self._whole = whole
        self._place = place
        self._known = known
        self._ends = ends

    def of(
        self, step: Local, made: LocalProgram, begin: int, end: int
    ) -> Seen:
        """What a chunk reads of arrays."""
        if not made.windows:
            return Seen({}, {})
        needs = self._needs(step, made, begin, end)
        unknown = [
            var for var in made.windows
            if needs.rows.get(var) is None and var not in needs.places and self._is_much(var)
        ]  # fmt: skip
        if unknown:
            asked = self._needs(step, made, begin, end, unknown)
            for var in unknown:
                rows = asked.rows.get(var)
                if rows and 2 * (rows[1] - rows[0]) < len(self._chunks[var]):
                    needs.rows[var] = rows
        found = Seen({}, {})
        for var in made.windows:
            n, rows = len(self._chunks[var]), needs.rows.get(var)
            least, most = (0, n) if rows is None else (max(rows[0], 0), min(rows[1] + 1, n))
            found.rows[var] = (min(least, n), max(least, most) if least < n else n)
            if n == 0:
                found.zeros[var] = dict.fromkeys(needs.places.get(var, ()), 0)
            elif var in needs.places:
                own = (least, most - 1) if rows and least < most else None
                (least, last), found.zeros[var] = joined_cyclic(own, needs.places[var], n)
                found.rows[var] = (least, last + 1)
        return found

    def _is_much(self, var: Var) -> bool:
        array = self._chunks[var]
        return array.nbytes > LITTLE and len(array.pieces) > 1

    def _needs(
        self, step: Local, made: LocalProgram, begin: int, end: int, unknown: Sequence[Var] = ()
    ) -> Needs:
        def located(ends: Var, skip: int) -> Interval:
            return self._ends.rows(self._chunks[ends], skip, begin, end)

        def entry(offsets: Var, k: int) -> int:
            return self._ends.entry(self._value(offsets), k)

        needs = Needs(self._interval, made.windows, located, entry, made.wraps)
        lets = [*step.lets, *step.folds]
        if unknown:
            needs.ask(lets, unknown, self._elements)
        needs.step(lets, (begin, end - 1))
        return needs

    def _value(self, var: Var) -> Any:
        return self._chunks[var] if var in self._chunks else self._whole[var]

    def _interval(self, var: Var) -> Interval | None:
        value = self._whole.get(var)
        if isinstance(value, int | bool | np.integer | np.bool_):
            return int(value), int(value)
        return None

    def _elements(self, var: Var, least: int, most: int) -> Interval | None:
        """The least and the greatest of some elements, or less and more than these."""
        array = self._chunks[var] if var in self._chunks else self._whole.get(var)
        if array is None:  # computed by the chunks themselves
            return None
        least, most = max(least, 0), min(most, len(array) - 1)
        if least > most:
            return None
        if not isinstance(array, Chunked):
            return int(array[least : most + 1].min()), int(array[least : most + 1].max())
        if var in self._rises or array.rises:
            return self._ends.around(array, least, most)
        found = None
        extremes = self._known.of("extremes", array, lambda: self._extremes(array))
        for (first, last), each in zip(pairwise(array.bounds), extremes, strict=True):
            if first <= most and least < last and each is not None:
                found = joined(found, each) if found else each
        return found

    def _extremes(self, array: Chunked) -> list[Interval | None]:
        """The least and the greatest element of each chunk."""
        pairs = [Rows.of(array, cut) for cut in pairwise(array.bounds) if cut[0] < cut[1]]
        found = iter(self._place.extremes(pairs))
        return [next(found) if a < b else None for a, b in pairwise(array.bounds)]
