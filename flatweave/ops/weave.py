"""weave shape xs ys:   x[0], y[0], x[1], y[1], ..: elements of several arrays in turn"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.ops.rows import array_type, scalar_type
from flatweave.ops.sweep import Sink, SinkOp
from flatweave.terms.batch import Env, Value, Values
from flatweave.terms.rules import index_misfits, is_alike, types_misfit
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Type, Var, op, types_of


@op
class InTurn(Sink):
    """The results of each element side by side, in row-major order: an array of `shape`, which
    has as many elements as there are, or fewer: then the last ones are left out."""

    count: int
    shape: tuple[Atom, ...]
    early: ClassVar[bool] = True

    @property
    def arity(self) -> int:
        return self.count

    def in_any_order(self, commutes: Callable[[Lambda], bool]) -> bool:
        return True

    def consecutive(self, taken: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return taken

    def binders(self, shape: tuple[Atom, ...], taken: tuple[Atom, ...]) -> tuple[Var, ...]:
        return (Var("t", ArrayType(scalar_type(taken[0]), self.shape)),)

    def misfits(self, taken: tuple[Atom, ...]) -> Iterator[str]:
        yield from index_misfits("the shape", self.shape)
        yield from types_misfit("what is woven", taken, types_of(taken[:1]) * len(taken))

    def evaluate(
        self, interp: Interp, env: Env, shape: tuple[int, ...], order: Value, taken: Values
    ) -> Values:
        result = np.empty((len(order), self.count), taken[0].dtype)
        result[order] = np.stack(taken, axis=-1)
        return (_cut(result, interp.shape(env, self.shape)),)


@op
class Weave(SinkOp):
    """The elements of `xs`, arrays of one shape, in turn, under another shape."""

    shape: tuple[Atom, ...]
    xs: tuple[Atom, ...]

    def fed(self) -> tuple[Atom, ...]:
        return self.xs

    def sink(self, atoms: Callable[[Sequence[Atom]], tuple[Atom, ...]]) -> Sink:
        return InTurn(len(self.xs), atoms(self.shape))

    def result_types(self) -> tuple[Type, ...]:
        return (ArrayType(array_type(self.xs[0]).dtype, self.shape),)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the shape", self.shape)
        if not all(is_alike(x.type, self.xs[0].type) for x in self.xs):
            yield "its arrays are of different dtypes or ranks"

    def evaluate(self, interp: Interp, env: Env) -> Values:
        return (_cut(np.stack(interp.atoms(env, self.xs), -1), interp.shape(env, self.shape)),)


def _cut(values: Value, shape: tuple[int, ...]) -> Value:
    """The first elements under a shape."""
    return values.reshape(-1)[: math.prod(shape)].reshape(shape)
