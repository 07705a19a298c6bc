"""concat extent xs ys:   the elements of xs, then those of ys, along axis 0"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.ops.rows import array_type
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import index_misfits, is_alike
from flatweave.terms.syntax import ArrayType, Atom, Op, Type, op


@op
class Concat(Op):
    """Arrays one after the other; `extent` is the sum of their extents along axis 0."""

    extent: Atom
    xs: tuple[Atom, ...]
    traced: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        first = array_type(self.xs[0])
        return (ArrayType(first.dtype, (self.extent, *first.shape[1:])),)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the extent", (self.extent,))
        if not all(is_alike(x.type, self.xs[0].type) for x in self.xs):
            yield "its arrays are of different dtypes or ranks"

    def evaluate(self, interp: Interp, env: Env) -> Values:
        return (np.concatenate(interp.atoms(env, self.xs)),)
