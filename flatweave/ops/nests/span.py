"""Where a row begins and how long it is:   start, length = span offsets i

    offsets = [0, 2, 2, 5], i = 2   ==>   start 2, length 3
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import i64
from flatweave.ops.rows import array_type
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import index_misfits
from flatweave.terms.syntax import Atom, Op, Type, op


@op
class Span(Op):
    """A row of the rows that `offsets` cut values into: they are checked, and `row` is one of
    them."""

    offsets: Atom
    row: Atom
    traced: ClassVar[bool] = True
    batched: ClassVar[bool] = True
    gives_lengths: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return (i64, i64)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the row", (self.row,))
        if array_type(self.offsets).dtype is not i64 or array_type(self.offsets).rank != 1:
            yield f"offsets are an i64 array of rank 1, not {self.offsets.type}"

    def evaluate(self, interp: Interp, env: Env) -> Values:
        offsets, row = interp.atom(env, self.offsets), interp.atom(env, self.row)
        start = np.asarray(offsets[row])
        return start, np.asarray(offsets[row + 1] - start)
