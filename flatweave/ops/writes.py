"""Elements written at computed positions, and arrays interleaved: scatter, permute, weave."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from flatweave.array_ir import operators
from flatweave.base.dtypes import i64
from flatweave.ops.sweep import Sink, SinkOp, zeros
from flatweave.terms.build import index
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Lambda,
    Op,
    Type,
    Var,
    array_type,
    index_misfits,
    is_alike,
    op,
    operator_misfits,
    scalar_type,
    types_misfit,
    types_of,
)

if TYPE_CHECKING:
    from flatweave.array_ir.interp import Interp
    from flatweave.terms.batch import Env, Value, Values

# Sinks of a sweep:
#
#     scatter_store dest               j, x.. -> dest[j] = x        (scatter)
#     scatter_reduce fn neutral dest   j, x.. -> dest[j] fn= x      (permute, reduce_by_index)
#     insert dest offset               x -> dest[offset + i] = x    (concat)


def elements_in(dest: Sequence[Atom]) -> tuple[Type, ...]:
    """The types of what arrays hold."""
    return tuple(array_type(x).dtype for x in dest)


class AtComputedIndices(Sink):
    """A sink that writes into arrays at the index that it takes first."""

    __slots__ = ()
    dest: tuple[Atom, ...]
    alone: ClassVar[bool] = True
    deciding: ClassVar[int] = 1

    @property
    def updated(self) -> tuple[Atom, ...]:
        return self.dest

    @property
    def arity(self) -> int:
        return 1 + len(self.updated)

    def idle(self, taken: tuple[Atom, ...]) -> tuple[Atom, ...]:
        return index(-1), *zeros(taken[1:])

    def binders(self, shape: tuple[Atom, ...], taken: tuple[Atom, ...]) -> tuple[Var, ...]:
        return tuple(Var("t", atom.type) for atom in self.updated)


@op
class ScatterStore(AtComputedIndices):
    """Elements written to indices of `dest`; outside it they are dropped, the last one wins."""

    dest: tuple[Atom, ...]
    said: ClassVar[str] = "what a scatter writes to"

    def misfits(self, taken: tuple[Atom, ...]) -> Iterator[str]:
        yield from types_misfit("what is scattered", taken, (i64, *elements_in(self.dest)))

    def evaluate(
        self, interp: Interp, env: Env, shape: tuple[int, ...], order: Value, taken: Values
    ) -> Values:
        return operators.scatter_store(interp.atoms(env, self.dest), taken[0], taken[1:])


@op
class ScatterReduce(AtComputedIndices):
    """Elements combined into indices of `dest`, in the order of the sweep."""

    fn: Lambda
    neutral: tuple[Atom, ...]
    dest: tuple[Atom, ...]
    said: ClassVar[str] = "the destination of updates at computed indices"

    def in_any_order(self, commutes: Callable[[Lambda], bool]) -> bool:
        return commutes(self.fn)

    def misfits(self, taken: tuple[Atom, ...]) -> Iterator[str]:
        elements = elements_in(self.dest)
        yield from types_misfit("what is scattered", taken, (i64, *elements))
        yield from operator_misfits(self.fn, elements)
        if self.neutral:
            yield from types_misfit("the neutral element", self.neutral, elements)

    def evaluate(
        self, interp: Interp, env: Env, shape: tuple[int, ...], order: Value, taken: Values
    ) -> Values:
        dest = interp.atoms(env, self.dest)
        return operators.scatter_reduce(interp, env, self.fn, dest, taken[0], taken[1:])


@op
class Insert(Sink):
    """The elements written to `dest`, consecutively from a flat `offset`."""

    dest: Atom
    offset: Atom

    @property
    def arity(self) -> int:
        return 1

    @property
    def updated(self) -> tuple[Atom, ...]:
        return (self.dest,)

    def binders(self, shape: tuple[Atom, ...], taken: tuple[Atom, ...]) -> tuple[Var, ...]:
        return (Var("t", self.dest.type),)

    def misfits(self, taken: tuple[Atom, ...]) -> Iterator[str]:
        yield from types_misfit("what is inserted", taken, elements_in((self.dest,)))
        yield from index_misfits("the offset", (self.offset,))

    def evaluate(
        self, interp: Interp, env: Env, shape: tuple[int, ...], order: Value, taken: Values
    ) -> Values:
        dest = interp.atom(env, self.dest)
        result = dest.reshape(-1).copy()
        result[int(interp.atom(env, self.offset)) + order] = taken[0]
        return (result.reshape(dest.shape),)


# scatter dest indices values:   dest with dest[indices[i]] = values[i]


@op
class Scatter(SinkOp):
    """A copy of rank-1 `dest` with values written; an index outside it drops its element.

    For equal indices the last element wins, whole.
    """

    dest: tuple[Atom, ...]
    indices: Atom
    xs: tuple[Atom, ...]

    def fed(self) -> tuple[Atom, ...]:
        return (self.indices, *self.xs)

    def sink(self, atoms: Callable[[Sequence[Atom]], tuple[Atom, ...]]) -> Sink:
        return ScatterStore(atoms(self.dest))

    typed_as = "dest"

    def misfits(self) -> Iterator[str]:
        yield from types_misfit("the values", self.xs, types_of(self.dest))
        yield from types_misfit("the indices", (self.indices,), (ArrayType(i64, (self.indices,)),))

    def evaluate(self, interp: Interp, env: Env) -> Values:
        dest, xs = interp.atoms(env, self.dest), interp.atoms(env, self.xs)
        return operators.scatter_store(dest, interp.atom(env, self.indices), xs)


# permute fn dest indices values:   dest with dest[indices[i]] = dest[indices[i]] fn values[i]


@op
class Permute(Op):
    """Combines values with one index in rank-1 `dest` (Accelerate's permute).

    `fn` is associative and commutative; `neutral`, where given, allows private copies.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    dest: tuple[Atom, ...]
    indices: Atom
    xs: tuple[Atom, ...]
    traced: ClassVar[bool] = True
    typed_as = "dest"

    def misfits(self) -> Iterator[str]:
        elements = [array_type(x).dtype for x in self.dest]
        yield from types_misfit("the values", self.xs, types_of(self.dest))
        yield from types_misfit("the indices", (self.indices,), (ArrayType(i64, (self.indices,)),))
        yield from operator_misfits(self.fn, elements)
        if self.neutral:
            yield from types_misfit("the neutral element", self.neutral, elements)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        dest, xs = interp.atoms(env, self.dest), interp.atoms(env, self.xs)
        indices = interp.atom(env, self.indices)
        return operators.scatter_reduce(interp, env, self.fn, dest, indices, xs)


# weave shape xs ys:   x[0], y[0], x[1], y[1], ..: interleaved elements of several arrays


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
    """The interleaved elements of `xs`, arrays of one shape, under another shape."""

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
