"""empty dtype shape:   an array whose elements are not set"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import DType
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import index_misfits
from flatweave.terms.syntax import ArrayType, Atom, Op, Type, op


@op
class Empty(Op):
    """Memory for an array that the program writes before it reads it."""

    dtype: DType
    shape: tuple[Atom, ...]
    traced: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return (ArrayType(self.dtype, self.shape),)

    def misfits(self) -> Iterator[str]:
        return index_misfits("the shape", self.shape)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        """Filled with the greatest value, which is not easily taken for a result."""
        return (np.full(interp.shape(env, self.shape), self.dtype.high, self.dtype.numpy),)
