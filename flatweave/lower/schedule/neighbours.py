"""Reads of several rows around an element's own: those of a stencil.

    sweep [n, m] (i, j =>
        a = index xs [i - 1, j]
        b = index xs [min (i + 1) (n - 1), j]       the furthest row of xs, where a step asks for
        c = index ys [i, j])                        the row behind it; and of ys
"""

from __future__ import annotations

from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.ops import Index, Sweep
from flatweave.ops.rows import scalar_type
from flatweave.terms.control import Apply
from flatweave.terms.shifted import Makers, makers_of
from flatweave.terms.syntax import ArrayType, Atom, Const, Var

CHOICES = frozenset({"minimum", "maximum", "select", "abs", "mod"})
"""What keeps an index inside of its axis; inside, it is one of the arguments."""


@record(eq=True)
class Neighbours:
    """What a sweep reads of rows around an element's own: for each array the read of the furthest
    row, and the bytes that a column of all these rows has, those that are stored included."""

    furthest: tuple[Index, ...]
    column_bytes: int


def find_neighbours(op: Sweep) -> Neighbours | None:
    """Of a sweep that reads several rows of an array, all at the same place of the axes before."""
    if len(op.shape) < 2 or op.reverse:
        return None
    made = makers_of(op.body.lets)
    *before, row, column = op.body.params
    rows: dict[Var, dict[int, Index]] = {}
    for let in op.body.lets:
        if not isinstance(let.op, Index) or len(let.op.indices) != len(op.shape):
            continue
        distance = _distance(let.op.indices[-2], row, made)
        along = _distance(let.op.indices[-1], column, made) is not None
        if distance is None or not along or list(let.op.indices[:-2]) != before:
            return None
        assert isinstance(let.op.xs, Var)
        rows.setdefault(let.op.xs, {}).setdefault(distance, let.op)
    if all(len(reads) == 1 for reads in rows.values()):
        return None
    read = sum((max(at) - min(at) + 1) * _bytes(xs) for xs, at in rows.items())
    stored = sum(scalar_type(result).bytes for result in op.body.results)
    return Neighbours(tuple(at[max(at)] for at in rows.values()), read + stored)


def _bytes(xs: Var) -> int:
    assert isinstance(xs.type, ArrayType)
    return xs.type.dtype.bytes


def _distance(at: Atom, own: Var, made: Makers) -> int | None:
    """How far an index is from an element's own, where no end of the axis is near."""
    found = _place(at, own, made)
    return found.by if found is not None and found.sign == 1 and found.end is None else None


@record
class _Place:
    """sign * own + by, and counted from `end` if there is one: an index mirrored there."""

    sign: int
    by: int
    end: Atom | None = None


def _place(at: Atom, own: Var, made: Makers) -> _Place | None:
    if at is own:
        return _Place(1, 0)
    op = made.get(at) if isinstance(at, Var) else None
    if not isinstance(op, Apply) or at.type is not i64:
        return None
    if op.fn in CHOICES:
        found = (_place(arg, own, made) for arg in op.args)
        return next((place for place in found if place is not None), None)
    if op.fn not in ("add", "sub"):
        return None
    first, second = op.args
    place = _place(first, own, made)
    if place is None:
        return _mirrored(first, _place(second, own, made)) if op.fn == "sub" else None
    if not isinstance(second, Const):
        return None
    by = int(second.value)
    return replace(place, by=place.by + (by if op.fn == "add" else -by))


def _mirrored(end: Atom, place: _Place | None) -> _Place | None:
    """end - place"""
    if place is None or place.end not in (None, end):
        return None
    return _Place(-place.sign, -place.by, end if place.end is None else None)
