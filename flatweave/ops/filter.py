"""filter mask xs:   the xs[i] where mask[i], in order, and how many they are"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import bool_, i64
from flatweave.ops.rows import array_type
from flatweave.ops.sweep import Compact, Sink, SinkOp
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import types_misfit
from flatweave.terms.syntax import ArrayType, Atom, Type, Var, op


@op
class Filter(SinkOp):
    """Binds the number of elements kept (i64), then one array of that extent for each of `xs`."""

    mask: Atom
    xs: tuple[Atom, ...]

    def fed(self) -> tuple[Atom, ...]:
        return (self.mask, *self.xs)

    def sink(self, atoms: Callable[[Sequence[Atom]], tuple[Atom, ...]]) -> Sink:
        return Compact(len(self.xs))

    def binders(self) -> tuple[Var, ...]:
        count = Var("n", i64)
        return count, *(Var("t", ArrayType(array_type(x).dtype, (count,))) for x in self.xs)

    def result_types(self) -> tuple[Type, ...]:
        return tuple(var.type for var in self.binders())

    def misfits(self) -> Iterator[str]:
        yield from types_misfit("the mask", (self.mask,), (ArrayType(bool_, (self.mask,)),))

    def evaluate(self, interp: Interp, env: Env) -> Values:
        kept = np.flatnonzero(interp.atom(env, self.mask))
        return np.asarray(len(kept)), *(x[kept] for x in interp.atoms(env, self.xs))
