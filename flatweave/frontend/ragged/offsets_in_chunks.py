"""Chunked.ragged: values and offsets, of which one at least is in chunks, checked before somebody
reads where they say: offsets that fall, or end elsewhere, would be reads outside of the values.

What Dask has not counted yet is looked at when a function is given it.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from flatweave.frontend.ragged.chunked import ChunkedRows, arrays_in
from flatweave.frontend.ragged.host import require
from flatweave.frontend.ragged.offsets import FALLING, FIRST, LAST, NO_OFFSET, SAME, check_cut
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.chunked import Chunked, Held
from flatweave.frontend.values.operators import METHODS
from flatweave.frontend.values.tree import flatten

LOW = -(2**63)


def ragged(values: Any, offsets: Any) -> Any:
    """The rows that these are; raises the user's error."""
    if not any(isinstance(each, Chunked) for each in (*flatten(values)[0], offsets)):
        return METHODS["ragged"](values, offsets=offsets)
    values = Chunked([values]) if isinstance(values, Ragged) else values
    cut = offsets if isinstance(offsets, Chunked) else Chunked([np.atleast_1d(offsets)])
    check_cut(np.broadcast_to(np.zeros((), cut.dtype), cut.shape), "offsets")
    if cut.dtype != np.int64:
        cut = METHODS["astype"](cut, np.int64)
    if _is_counted(cut):
        require(len(cut), NO_OFFSET)
        require(int(cut.load(0, 1)[0]) == 0, FIRST, cut.load(0, 1)[0])
        if not _rises(cut):
            require(False, FALLING, *_fall(cut))
        _check_totals(arrays_in(values), int(cut.load(len(cut) - 1, len(cut))[0]))
    return ChunkedRows.made(values, cut)


def _is_counted(array: Any) -> bool:
    """Whether it is known without computing anything how many rows there are."""
    own = array.offsets if isinstance(array, ChunkedRows) else array
    return all(getattr(piece, "is_counted", True) for piece in getattr(own, "pieces", ()))


def _check_totals(arrays: Any, last: int) -> None:
    totals = [len(each) for each in arrays if _is_counted(each)]
    for total in totals:
        require(total == totals[0], SAME, totals[0], total)
    if totals:
        require(last == totals[0], LAST, last, totals[0])


def _rises(cut: Chunked) -> bool:
    """Whether no offset is less than the one before it; where they are, if they are elsewhere."""
    if all(isinstance(piece, Held) for piece in cut.pieces):
        lasts = [LOW, *(int(each[-1]) for each in cut if len(each))]
        pairs = zip(lasts, (each for each in cut if len(each)), strict=False)
        return all(last <= each[0] and bool((each[1:] >= each[:-1]).all()) for last, each in pairs)
    both = METHODS["map"](lambda x: (x, x, True), cut)
    return bool(METHODS["reduce"](_joined, (LOW, LOW, True), both)[2])


def _joined(a: Any, b: Any) -> Any:
    """The first and the last of neighbouring offsets, and whether all of them rise."""
    return a[0], b[1], a[2] & b[2] & (a[1] <= b[0])


def _fall(cut: Chunked) -> tuple[int, int]:
    """The first row that would have fewer than no elements, and how many."""
    counts = (len(each) for each in cut)
    last = LOW
    for begin, each in zip(accumulate(counts, initial=0), cut, strict=False):
        falls = np.flatnonzero(np.diff(each, prepend=last if last != LOW else each[:1]) < 0)
        if len(falls):
            at = int(falls[0])
            return begin + at - 1, int(each[at]) - int(each[at - 1] if at else last)
        last = int(each[-1]) if len(each) else last
    return 0, 0
