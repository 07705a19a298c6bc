"""reshape xs shape:   the same elements in row-major order under another shape (no copy)"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from flatweave.array_ir.interp import Interp
from flatweave.base.errors import CompilerBug
from flatweave.ops.rows import array_type
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import index_misfits
from flatweave.terms.syntax import ArrayType, Atom, Op, Type, op


@op
class Reshape(Op):
    """The elements of `xs` under a shape of the same size."""

    xs: Atom
    shape: tuple[Atom, ...]
    traced: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return (ArrayType(array_type(self.xs).dtype, self.shape),)

    def misfits(self) -> Iterator[str]:
        return index_misfits("the shape", self.shape)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        xs, shape = interp.atom(env, self.xs), interp.shape(env, self.shape)
        if xs.size != math.prod(shape):
            raise CompilerBug(f"reshape of {list(xs.shape)} to {list(shape)}.")
        return (xs.reshape(shape),)
