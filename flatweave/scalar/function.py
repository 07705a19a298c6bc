"""What one row of the scalar table states: types, meaning, C spelling, laws and cost.

A row is applied to operands of ONE dtype; bringing them there is the caller's part, and the row's
`promotion` says how.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from flatweave.base.dtypes import DType
from flatweave.base.records import record
from flatweave.scalar.c_text import CText

Values = np.ndarray[Any, np.dtype[Any]]
Meaning = Callable[..., Any]
# bits: the unsigned integer of the operand's width; float: the float of it, at least an f32;
# a dtype's name: that dtype
Result = Literal["same", "bool", "bits", "float", "f32", "u16"]

# common:  the NumPy common type of the operands (NEP 50)
# float:   as common, then bool, i8, u8, i16, u16 become f32 and wider integers f64
# number:  as common, then bools become i8
# truediv: as common, then bools and integers become f64
# none:    the last two operands are brought to their common type, the first stays (select)
Promotion = Literal["common", "float", "number", "truediv", "none"]


@record(eq=True)
class ScalarFn:
    """A scalar function: one row of the table."""

    name: str
    arity: int
    kinds: str  # the operand kinds accepted, out of "biuf"
    numpy: Meaning  # the meaning on NumPy arrays of one accepted dtype
    c: Callable[[DType], CText]
    result: Result = "same"
    promotion: Promotion = "common"
    commutative: bool = False
    associative: bool = False  # as in mathematics: rounding of floats aside
    ulps: int = 0  # how far targets may be from the exact value; 0: every target, the same bits
    cost: int = 1  # in additions, for one float or integer in a vector loop
