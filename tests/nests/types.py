"""Types of what a nest computes: scalars, rows of anything, tuples.

    "int64"                     a scalar
    Row("int64")                an array, or a row of a Ragged
    Row(Row("int64"))           a matrix, or a Ragged
    ("int64", Row("uint8"))     a tuple of two
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """An array along axis 0; `regular` where its rows are sure to be equally long."""

    of: Type
    regular: bool = field(default=False, compare=False)


Type = str | Row | tuple["Type", ...]

INTEGERS = ("int64", "int32", "uint8")
NUMBERS = (*INTEGERS, "float64")


def rank_of(type_: Type) -> int:
    """How many axes an array has."""
    return 1 + rank_of(type_.of) if isinstance(type_, Row) else 0


def scalar_of(type_: Type) -> str:
    """The dtype of an array's scalars."""
    if isinstance(type_, Row):
        return scalar_of(type_.of)
    assert isinstance(type_, str), type_
    return type_
