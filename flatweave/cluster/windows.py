"""Which rows of other arrays each chunk is given, with what the client knows of offsets."""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from flatweave.cluster.chunk_program import LocalProgram
from flatweave.cluster.executor import Executor, Rows
from flatweave.cluster.row_ranges import Interval, Needs, joined
from flatweave.cluster.steps import Divided, Local
from flatweave.frontend.values.chunked import Chunked
from flatweave.terms.build import index
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Op, Var

# Facts about arrays, kept as long as these exist: iterations of a loop need them again.


T = TypeVar("T")


class ArrayCache:
    """One answer for each question and array; arrays are compared by identity."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], tuple[weakref.ref[Any], Any]] = {}

    def of(self, question: str, array: Any, find: Callable[[], T]) -> T:
        """The answer, found when it is asked for first."""
        key = question, id(array)
        if key not in self._found:
            found = self._found

            def gone(_: Any) -> None:
                found.pop(key, None)

            found[key] = weakref.ref(array, gone), find()
        answer: T = self._found[key][1]
        return answer


# Where rows of varying lengths begin and end, of arrays that are in chunks or whole.
#
# An array of ends has one element for each row; one of offsets begins with one more, a 0.


MOST_ROWS = 1 << 24
"""Elements of an expansion that one chunk computes."""


class Ends:
    """What the client knows of them, asked for once."""

    def __init__(self, place: Executor, known: ArrayCache) -> None:
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
        """The cuts of elements of rows: those of the array of ends, and more where the
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


# Which rows of other arrays each chunk is given: from the least to the greatest that it reads.
#
# Where an index is read from data, the least and the greatest element of what it is read from
# bound it, and what would be sent to every chunk as a whole is a few rows: those kept of a
# Ragged, say.


LITTLE = 1 << 20
"""Bytes that are sent to every chunk without asking which of them it reads."""


class Seen(NamedTuple):
    """The rows that a chunk reads of arrays, from the first to the end; for cyclic reads,
    the row that is position zero."""

    rows: dict[Var, tuple[int, int]]
    zeros: dict[Var, dict[Atom, int]]


class Windows:
    """What the client knows of arrays for the windows of chunks."""

    def __init__(
        self, divided: Divided, chunks: Mapping[Var, Chunked], whole: Mapping[Var, Any],
        place: Executor, known: ArrayCache, ends: Ends,
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

        needs = Needs(self._interval, made.windows, located, entry, made.cyclic)
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


def joined_cyclic(
    rows: Interval | None, places: Mapping[Atom, Interval], extent: int
) -> tuple[Interval, dict[Atom, int]]:
    """The rows that cover others, which wrap at an extent, as near to each other as they can be;
    and for each window the row that is its zero."""
    turns = {}
    for place, (least, most) in places.items():
        if rows is None:
            turn = -(least // extent)
            rows = least + turn * extent, most + turn * extent
        else:
            turn = round((sum(rows) - least - most) / (2 * extent))
            moved = least + turn * extent, most + turn * extent
            rows = min(rows[0], moved[0]), max(rows[1], moved[1])
        turns[place] = turn
    assert rows is not None
    return rows, {place: rows[0] - turn * extent for place, turn in turns.items()}


def runs(begin: int, end: int, extent: int) -> Iterator[Interval]:
    """Rows that wrap at an extent, as runs of rows, each from its first to its end."""
    while begin < end:
        row = begin % extent
        count = min(extent - row, end - begin)
        yield row, row + count
        begin += count
