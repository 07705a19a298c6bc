"""concat of Ragged values: the rows of one after those of the other, or each row after a row.

    concat([a, b])            values concat([a.values, b.values]), a's offsets and b's behind them
    concat([a, b], axis=1)    rows a[0], b[0], a[1], b[1], .. of these, and every other offset
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.arrays.joining import concat
from flatweave.frontend.arrays.shapes import axis_below
from flatweave.frontend.elements.broadcast import generated, read
from flatweave.frontend.ragged.elementwise import check_rows
from flatweave.frontend.ragged.ragged import Ragged, rank_of, row_count
from flatweave.frontend.ragged.selection import gathered
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, add, mul
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.operators import METHODS
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom


def concat_rows(parts: Sequence[Any], axis: Any) -> Ragged:
    """The rows of several Ragged values, one after the other."""
    if not all(isinstance(part, Ragged) for part in parts):
        raise ArgumentError(
            "concat got a Ragged beside an array.",
            where=user_location(), remedy="Make rows of the array first: fw.ragged([xs]).",
        )  # fmt: skip
    number = axis_below(rank_of(parts[0]), axis, "concat", "a Ragged")
    if number == 1:
        return _side_by_side(parts)
    if number:
        return _inside(parts, number - 1)
    return Ragged.made(_values([part.values for part in parts]), _offsets(parts))


def _side_by_side(parts: Sequence[Ragged]) -> Ragged:
    """Each row of the first, behind it that of the second, and so on."""
    count = row_count(as_tracer(parts[0].offsets))
    for other in parts[1:]:
        count = extents.same(
            count, row_count(as_tracer(other.offsets)),
            "concat within rows needs as many rows everywhere, got {0} and {1}.",
            remedy="Cut all to as many rows, for instance with rows[:n].",
        )  # fmt: skip
    width = index(len(parts))

    def number(p: Atom) -> Tracer:
        found = add(mul(extents.mod(p, width), count), extents.floordiv(p, width))
        extents.known_natural(found)
        return tracer_of(found)

    total = mul(count, width)
    extents.known_extent(total)
    turned = gathered(concat_rows(parts, 0), generated((total,), number)[0])
    ends = as_tracer(turned.offsets)
    offsets = generated((add(count, ONE),), lambda i: read(ends, (mul(i, width),)))[0]
    return Ragged.made(turned.values, offsets)


def _inside(parts: Sequence[Ragged], axis: int) -> Ragged:
    """Values end to end along an axis of theirs, under offsets that are the same."""
    for other in parts[1:]:
        check_rows(parts[0], other, "concat")
    values = [part.values for part in parts]
    return Ragged.made(METHODS["concat"](values, axis), parts[0].offsets)


def _values(parts: Sequence[Any]) -> Any:
    """The values of all, which have one structure."""
    if any(isinstance(part, Ragged) for part in parts):
        return concat_rows(parts, 0)
    return concat(list(parts))


def _offsets(parts: Sequence[Ragged]) -> Any:
    """Those of the first, and of each other one what is behind its 0, moved."""
    found = [as_tracer(parts[0].offsets)]
    before: Atom = read(found[0], (row_count(found[0]),)).atom
    for part in parts[1:]:
        own = as_tracer(part.offsets)

        def moved(i: Atom, own: Tracer = own, before: Atom = before) -> Tracer:
            return tracer_of(add(read(own, (add(i, ONE),)).atom, before))

        found.append(generated((row_count(own),), moved)[0])
        before = add(before, read(own, (row_count(own),)).atom)
    return concat(found)
