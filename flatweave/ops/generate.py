"""generate shape fn:   zs[i, j] = fn(i, j)"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import i64
from flatweave.ops.rows import under
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import function_misfits, index_misfits
from flatweave.terms.syntax import Atom, Lambda, Op, Type, op


@op
class Generate(Op):
    """An array from a function of its indices, one i64 for each axis of `shape`."""

    shape: tuple[Atom, ...]
    fn: Lambda
    traced: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return tuple(under(self.shape, result) for result in self.fn.result_types())

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the shape", self.shape)
        yield from function_misfits("the function", self.fn, (i64,) * len(self.shape))

    def evaluate(self, interp: Interp, env: Env) -> Values:
        shape = interp.shape(env, self.shape)
        indices = [axis.reshape(-1) for axis in np.indices(shape)]
        rows = interp.each(env, self.fn, indices, math.prod(shape))
        return tuple(row.reshape(*shape, *row.shape[1:]) for row in rows)
