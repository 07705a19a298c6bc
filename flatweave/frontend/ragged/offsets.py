"""What can be wrong with the offsets, lengths or flags that cut values into rows, and what to say.

    FALLING     offsets must not decrease: the kind of its check, the message, what to do
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flatweave.base.dtypes import DType
from flatweave.base.errors import ArgumentError, DTypeError, ShapeError
from flatweave.base.source import user_location
from flatweave.frontend.trace import extents
from flatweave.frontend.values.array import describe

NO_OFFSET = ("shape", "the offsets of ragged need one entry more than rows, got none.",
             "Give [0] for no rows.")  # fmt: skip
FIRST = ("shape", "the offsets of ragged must start at 0, got {0}.",
         "Give where each row begins in values, and then where the last one ends.")  # fmt: skip
FALLING = ("shape", "the offsets of ragged must not decrease: row {0} would have {1} elements.",
           "Sort the rows as their values are stored.")  # fmt: skip
LAST = ("shape", "the offsets of ragged must end at the number of values, got {0} for {1} values.",
        "Add len(values) as the last offset, or cut the values.")  # fmt: skip
NARROW = ("overflow", "the offsets of ragged are {dtype}, which ends at {high}, for {{0}} values.",
          "Add up the lengths in i64, or give them as lengths=.")  # fmt: skip
BELOW = (extents.NEGATIVE, "the lengths of ragged must not be negative: row {0} has {1}.",
         "Use fw.maximum(lengths, 0) where empty rows are meant.")  # fmt: skip
SUM = ("shape", "the lengths of ragged add up to {0} for {1} values.",
       "Give one length for each row, 0 for an empty one.")  # fmt: skip
TOO_MANY = ("overflow", "the lengths of ragged add up to more than an i64 can count at row {0}.",
            "Check the lengths: one of them is far too large.")  # fmt: skip
SAME = ("shape", "ragged needs arrays of one length, got {0} and {1}.",
        "Cut both to the shorter one with xs[:n].")  # fmt: skip
FLAGS = ("shape", "ragged needs one flag for each value, got {0} for {1} values.",
         "Flag the first value of each row with True, all others with False.")  # fmt: skip
Fault = tuple[str, str, str]


def reach(dtype: DType) -> int:
    """The greatest offset of a dtype."""
    return min(int(dtype.high), 2**63 - 1)


def narrow(dtype: DType) -> Fault:
    """The fault of offsets whose dtype cannot hold the last one."""
    kind, message, remedy = NARROW
    return kind, message.format(dtype=dtype, high=dtype.high), remedy


def the_one(offsets: Any, lengths: Any, flags: Any) -> tuple[str, Any]:
    """The one keyword of three that was given, and its value."""
    named = [("offsets", offsets), ("lengths", lengths), ("flags", flags)]
    given = [(name, value) for name, value in named if value is not None]
    if len(given) != 1:
        names = " and ".join(name for name, _ in given) or "none"
        raise ArgumentError(
            f"ragged needs one of offsets, lengths and flags, got {names}.",
            where=user_location(), remedy="Say once where the rows are: offsets=[0, 2, 5].",
        )  # fmt: skip
    return given[0]


def check_values(leaves: Sequence[Any]) -> None:
    if not leaves or not all(leaf.ndim for leaf in leaves):
        raise ShapeError(
            "ragged needs values in arrays of rank 1 or more.",
            where=user_location(), remedy="Give the elements of all rows, one after the other.",
        )  # fmt: skip


def check_cut(cut: Any, name: str) -> None:
    """The array that says where rows are has one axis, and integers or bools."""
    if cut.ndim != 1:
        raise ShapeError(
            f"the {name} of ragged must be an array of rank 1, got {describe(cut)}.",
            where=user_location(), remedy="Give a flat array: one for each row or value.",
        )  # fmt: skip
    kind = cut.dtype.kind
    if kind == "b" if name == "flags" else kind in "iu":
        return
    wanted = "bool" if name == "flags" else "integers"
    raise DTypeError(
        f"the {name} of ragged must be {wanted}, got {describe(cut)}.",
        where=user_location(),
        remedy="Compare them first: flags != 0." if name == "flags" else "Use astype(fw.i64).",
    )
