"""Elementwise functions of Ragged values: the function of the flat values, under the same offsets.

    rows + 1          Ragged(rows.values + 1, rows.offsets)
    rows + other      the same with other.values, once the rows are found to be equally long
    rows - means      value p of row i minus means[i]: one value for each row, also as means[i, 0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.errors import ShapeError
from flatweave.frontend.arrays.shapes import reshaped
from flatweave.frontend.elements.broadcasting import generated, met, place_along, read
from flatweave.frontend.elements.scalars import operand
from flatweave.frontend.ragged.cutting import first_place, none_at
from flatweave.frontend.ragged.ragged import Ragged, locate, rank_of, row_count, value_count
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO, add, sub
from flatweave.frontend.trace.trace import lifted
from flatweave.frontend.trace.tracers import as_tracer, lifted_short
from flatweave.frontend.values.array import METHODS, Tracer, describe
from flatweave.frontend.values.number_formats import Composed, is_short
from flatweave.frontend.values.scope import current
from flatweave.scalar.ops import SYMBOLS
from flatweave.terms.syntax import Atom


def on_rows(name: str, fn: Callable[..., Any], operands: dict[str, Any]) -> Ragged:
    """An elementwise function of operands of which one is a Ragged."""
    who = SYMBOLS.get(name, name)
    ragged = [value for value in operands.values() if isinstance(value, Ragged)]
    first = ragged[0]
    for other in ragged[1:]:
        check_rows(first, other, who)

    def flat(value: Any) -> object:
        if isinstance(value, Ragged):
            return value.values
        if value is None:
            return None
        whole = lifted_short(value) if is_short(value) else lifted(value)
        if isinstance(whole, Composed):
            return _composed_of_each_value(whole, first, who) if whole.ndim else whole
        array = as_tracer(value, operand(name))
        return _of_each_value(array, first, who) if array.ndim else array

    found = fn(**{key: flat(value) for key, value in operands.items()})
    return Ragged.made(found, first.offsets)


def check_rows(first: Ragged, second: Ragged, who: str) -> None:
    """Stop the program unless two Ragged values have rows of the same lengths."""
    a, b = as_tracer(first.offsets), as_tracer(second.offsets)
    if a.atom == b.atom:
        return
    _same_count(a, b, who)
    extents.same(
        value_count(first), value_count(second),
        f"{who} needs rows of the same lengths, got {{0}} and {{1}} elements in all.",
        remedy="Make one of them like the other, or give one value for each row.",
    )  # fmt: skip
    check_offsets(a, b, who)


def _same_count(a: Tracer, b: Tracer, who: str) -> Atom:
    return extents.same(
        row_count(a), row_count(b), f"{who} needs as many rows on both sides, got {{0}} and {{1}}.",
        remedy="Cut both to as many rows, for instance with rows[:n].",
    )  # fmt: skip


def check_offsets(a: Tracer, b: Tracer, who: str) -> None:
    """Stop the program unless offsets are those of rows of the same lengths."""
    if a.atom == b.atom:
        return
    count = _same_count(a, b, who)

    def differ(i: Atom) -> Atom:
        behind = add(i, ONE)
        return current().apply("ne", read(a, (behind,)).atom, read(b, (behind,)).atom)

    def by(i: Atom) -> Atom:
        behind = add(i, ONE)
        return current().apply("abs", sub(read(a, (behind,)).atom, read(b, (behind,)).atom))

    fault = (
        "shape", f"{who} needs rows of the same lengths, but those of row {{0}} differ by {{1}}.",
        "Make one of them like the other, or give one value for each row.",
    )  # fmt: skip
    none_at(first_place(count, differ), count, fault, by)


def _composed_of_each_value(array: Composed, rows: Ragged, who: str) -> object:
    parts = [getattr(array, name) for name in array.parts]
    return array.made(*(_of_each_value(part, rows, who) for part in parts))


def _of_each_value(array: Tracer, rows: Ragged, who: str) -> Tracer:
    """One value for each row as one for each element: of the row that the element is in."""
    offsets = as_tracer(rows.offsets)
    count = row_count(offsets)
    own, *rest = array.extents
    axes = array.ndim - rank_of(rows)
    if axes > 0:
        raise ShapeError.here(
            f"{who} got an array with more axes than a Ragged has, {describe(array)} for"
            f" {rank_of(rows)}.",
            "Give one value for each row, or for each element.",
        )
    if not axes:  # an axis for the elements of a row, too, as keepdims=True leaves it
        extents.same(
            rest.pop(0), ONE, f"{who} needs one value for each row of a Ragged, got {{0}}.",
            remedy="Make the array a Ragged as well, fw.ragged(xs), if its rows are as long.",
        )  # fmt: skip
    if own != ONE:
        met(
            (count, own), f"{who} needs one value for each row, got {{1}} for {{0}} rows.", [],
            "Give an array with a value for each row, a number, or a Ragged of such rows.",
            repeatable=(own,),
        )  # fmt: skip

    def one(p: Atom, *at: Atom) -> Tracer:
        row, _ = locate(offsets, 1, p)
        return read(array, (place_along(own, row), *([] if axes else [ZERO]), *at))

    length = value_count(rows)
    found = generated((length, *rest), one, "p")[0]
    missing = rank_of(rows.values) - 1 - len(rest)
    if missing <= 0 or isinstance(rows.values, Ragged):
        return found
    return reshaped(found, (length, *[ONE] * missing, *rest))


METHODS["on_rows"] = on_rows
