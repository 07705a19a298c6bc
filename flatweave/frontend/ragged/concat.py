"""concat of Ragged values: the rows of one after those of the other.

    concat([a, b])      values concat([a.values, b.values]), a's offsets and b's behind them
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flatweave.base.errors import ArgumentError, Unsupported
from flatweave.base.source import user_location
from flatweave.frontend.arrays.shapes import axis_below, concat
from flatweave.frontend.elements.broadcast import generated, read
from flatweave.frontend.ragged.ragged import Ragged, rank_of, row_count
from flatweave.frontend.trace.extents import ONE, add
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.array import Tracer
from flatweave.terms.syntax import Atom


def concat_rows(parts: Sequence[Any], axis: Any) -> Ragged:
    """The rows of several Ragged values, one after the other."""
    if not all(isinstance(part, Ragged) for part in parts):
        raise ArgumentError(
            "concat got a Ragged beside an array.",
            where=user_location(), remedy="Make rows of the array first: fw.ragged([xs]).",
        )  # fmt: skip
    if axis_below(rank_of(parts[0]), axis, "concat", "a Ragged"):
        raise Unsupported(
            f"concat of Ragged values along axis {axis}.",
            where=user_location(), remedy="Along axis 0 it puts rows behind rows.",
        )  # fmt: skip
    return Ragged.made(_values([part.values for part in parts]), _offsets(parts))


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
