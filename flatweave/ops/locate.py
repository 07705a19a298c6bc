"""Which row a position of a flat array belongs to:   s, start = locate ends skip=0 p

    ends = [2, 5, 6, 7], p = 3   ==>   row 1, which begins at 2
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
class Locate(Op):
    """The row of a position and where that row begins; row i ends at `ends[skip + i]`.

    Ends do not decrease, row 0 begins at 0, and the position is not negative and below the last
    end: its row is the first one to end behind it. A sweep that locates its own positions walks
    along the rows and searches once for each block.
    """

    ends: Atom
    skip: int
    position: Atom
    batched: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return (i64, i64)

    def below(self) -> tuple[Atom | None, ...]:
        return () if self.skip else (array_type(self.ends).shape[0],)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the position", (self.position,))
        if array_type(self.ends).dtype is not i64 or array_type(self.ends).rank != 1:
            yield f"ends are an i64 array of rank 1, not {self.ends.type}"

    def evaluate(self, interp: Interp, env: Env) -> Values:
        ends = interp.atom(env, self.ends)[self.skip :]
        position = np.asarray(interp.atom(env, self.position))
        row = np.searchsorted(ends, position, side="right")
        starts = np.concatenate(([0], ends))
        return np.asarray(row, np.int64), np.asarray(starts[row], np.int64)
