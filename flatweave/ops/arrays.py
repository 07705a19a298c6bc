"""Arrays by element, and arrays rearranged: map, generate, empty, concat, reshape,
index, weave.

Flags are stored as bits, as `numpy.packbits(.., bitorder="little")` stores them.

Bit k of word w is the flag of element 32 w + k. With the counts of all words before, one read of a
word says how many flags hold before any position: the rank in a bit vector (Jacobson 1989, 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from flatweave.array_ir.syntax import Fault, index_fault
from flatweave.base.dtypes import DType, i64, u32
from flatweave.base.errors import CompilerBug
from flatweave.ops.sweep import Sink, SinkOp
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Lambda,
    Op,
    Type,
    Var,
    array_type,
    condition_misfits,
    function_misfits,
    index_misfits,
    is_alike,
    op,
    row_type,
    scalar_type,
    types_misfit,
    types_of,
    under,
)

if TYPE_CHECKING:
    from flatweave.array_ir.interp import Interp
    from flatweave.terms.batch import Env, Value, Values

# map fn xs ys:   zs[i] = fn(xs[i], ys[i])


@op
class Map(Op):
    """`fn` on the elements along the first `depth` axes of arrays of one shape.

    With depth equal to the rank an element is a scalar; with less it is an array, so maps nest.
    At a `barrier` the results are stored, and every reader loads them: nothing is fused across it.
    """

    fn: Lambda
    xs: tuple[Atom, ...]
    depth: int = 1
    barrier: bool = False
    traced: ClassVar[bool] = True

    def shape(self) -> tuple[Atom, ...]:
        return array_type(self.xs[0]).shape[: self.depth]

    def result_types(self) -> tuple[Type, ...]:
        return tuple(under(self.shape(), result) for result in self.fn.result_types())

    def misfits(self) -> Iterator[str]:
        elements = [element_type(x, self.depth) for x in self.xs]
        return function_misfits("the function", self.fn, elements)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        shape = interp.shape(env, self.shape())
        size = math.prod(shape)
        columns = [x.reshape(size, *x.shape[self.depth :]) for x in interp.atoms(env, self.xs)]
        rows = interp.each(env, self.fn, columns, size)
        return tuple(row.reshape(*shape, *row.shape[1:]) for row in rows)


def element_type(atom: Atom, depth: int) -> Type:
    """The type of an element below the first `depth` axes."""
    type_: Type = array_type(atom)
    for _ in range(depth):
        assert isinstance(type_, ArrayType)
        type_ = row_type(type_)
    return type_


# generate shape fn:   zs[i, j] = fn(i, j)


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


# empty dtype shape:   an array whose elements are not set


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


# concat extent xs ys:   the elements of xs, then those of ys, along axis 0


@op
class Concat(Op):
    """Arrays concatenated; `extent` is the sum of their extents along axis 0."""

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


# reshape xs shape:   the same elements in row-major order under another shape (no copy)


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


# Reading one element:   y: f32 = index xs i j


@op
class Index(Op):
    """xs[i, j, ..]; when `checked`, an index outside the extent is reported as an error.

    `row` is as in `check`.
    """

    xs: Atom
    indices: tuple[Atom, ...]
    checked: bool = True
    row: tuple[Atom, ...] = ()
    batched: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return (array_type(self.xs).dtype,)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the indices", self.indices)
        if len(self.indices) != array_type(self.xs).rank:
            yield f"{len(self.indices)} indices into rank {array_type(self.xs).rank}"

    def evaluate(self, interp: Interp, env: Env) -> Values:
        xs, indices = interp.atom(env, self.xs), interp.atoms(env, self.indices)
        if env.size == 0:  # no element reads, wherever an index that all share would be
            return (np.empty(0, xs.dtype),)
        outside = [(i < 0) | (i >= extent) for i, extent in zip(indices, xs.shape, strict=True)]
        bad = np.flatnonzero(np.logical_or.reduce(np.broadcast_arrays(*outside)))
        if bad.size:
            rows = interp.atoms(env, self.row)
            raise self._fault(env, xs.shape, indices, int(bad[0]), rows)
        return (np.asarray(xs[indices]),)

    def _fault(
        self, env: Env, shape: tuple[int, ...], indices: Values, element: int, rows: Values
    ) -> Fault | CompilerBug:
        """What is wrong with the read of one element; its first bad axis is reported."""
        at = [int(i if i.ndim == 0 else i[element]) for i in indices]
        axis = next(a for a, extent in enumerate(shape) if not 0 <= at[a] < extent)
        i, extent = at[axis], shape[axis]
        if not self.checked:
            return CompilerBug(f"an unchecked read of {self.xs!r} at {i}, extent {extent}.")
        number = env.position(element)
        for row in rows:
            number = int(np.atleast_1d(row)[element if row.ndim else 0])
        return index_fault(number, i, extent, axis)


WORD = u32
"""The dtype of words: a warp's flags are one of them."""


@op
class StoreBits(Sink):
    """The flags of all elements as bits of words, of which there are `extent`."""

    extent: Atom
    forward: ClassVar[bool] = True
    early: ClassVar[bool] = True
    in_words: ClassVar[bool] = True
    deciding: ClassVar[int] = 1
    said: ClassVar[str] = "flags as bits"

    @property
    def arity(self) -> int:
        return 1

    def binders(self, shape: tuple[Atom, ...], taken: tuple[Atom, ...]) -> tuple[Var, ...]:
        return (Var("bits", ArrayType(WORD, (self.extent,))),)

    def misfits(self, taken: tuple[Atom, ...]) -> Iterator[str]:
        yield from condition_misfits(taken[0])
        yield from index_misfits("the number of words", (self.extent,))

    def evaluate(
        self, interp: Interp, env: Env, shape: tuple[int, ...], order: Value, taken: Values
    ) -> Values:
        (extent,) = interp.shape(env, (self.extent,))
        return (packed(taken[0], extent),)


@op
class PackBits(SinkOp):
    """The flags of `mask` as bits of words, of which there are `extent`."""

    mask: Atom
    extent: Atom

    def fed(self) -> tuple[Atom, ...]:
        return (self.mask,)

    def sink(self, atoms: Callable[[Sequence[Atom]], tuple[Atom, ...]]) -> Sink:
        return StoreBits(*atoms((self.extent,)))

    def result_types(self) -> tuple[Type, ...]:
        return (ArrayType(WORD, (self.extent,)),)

    def misfits(self) -> Iterator[str]:
        yield from types_misfit("the mask", (self.mask,), (self.mask.type,))
        yield from index_misfits("the number of words", (self.extent,))

    def evaluate(self, interp: Interp, env: Env) -> Values:
        (extent,) = interp.shape(env, (self.extent,))
        return (packed(interp.atom(env, self.mask), extent),)


def packed(flags: Value, extent: int) -> Value:
    """The bits of all flags, in `extent` words."""
    if extent != -(-len(flags) // WORD.bits):
        raise AssertionError(f"{len(flags)} flags do not fill {extent} words")
    room = np.zeros(extent * WORD.bits, np.bool_)
    room[: len(flags)] = flags
    return np.packbits(room, bitorder="little").view("<u4")


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
