"""Elements written at computed positions, and sorted: as a program says it, and as it is lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from flatweave.array_ir import operators
from flatweave.base.dtypes import DType, bool_, i64
from flatweave.ops.sweep import Sink, SinkOp, zeros
from flatweave.terms.build import index
from flatweave.terms.operators import steps_back
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Lambda,
    Op,
    Type,
    Var,
    array_type,
    function_misfits,
    index_misfits,
    op,
    operator_misfits,
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


# sort fn xs:   the elements of xs in stable ascending order of the keys that fn gives for them
#
#     ys: f32[n], zs: i64[n] = sort (x: f32, z: i64 => k: u32 = bits x in k) [xs, zs]
#
# Keys are unsigned integers, the most significant one first; `frontend/arrays/sorting.py` makes
# them of any scalars.


class Sorting(Op):
    """Elements in order of the keys that `fn` gives."""

    __slots__ = ()
    fn: Lambda
    xs: tuple[Atom, ...]
    typed_as = "xs"

    def misfits(self) -> Iterator[str]:
        """The keys' function takes the elements of arrays of rank 1 and gives unsigned integers."""
        yield from function_misfits("the key", self.fn, [array_type(x).dtype for x in self.xs])
        if any(array_type(x).rank != 1 for x in self.xs):
            yield "its arrays are not all of rank 1"
        if not self.fn.results or any(
            not isinstance(type_, DType) or type_.kind != "u" for type_ in self.fn.result_types()
        ):
            yield "its keys are not unsigned integers"

    def evaluate(self, interp: Interp, env: Env) -> Values:
        columns = interp.atoms(env, self.xs)
        keys = interp.each(env, self.fn, columns, len(columns[0]))
        order = np.lexsort(keys[::-1])
        return tuple(column[order] for column in columns)


@op
class Sort(Sorting):
    """Arrays of rank 1 and one extent, their elements moved together; of a known number, the
    sort of an element function may be done `in_registers`. Where few elements are read, they are
    selected instead, unless it says `whole`."""

    fn: Lambda
    xs: tuple[Atom, ...]
    in_registers: bool = False
    whole: bool = False
    traced: ClassVar[bool] = True


# radix_sort fn varying least most order xs:   a sort as it is lowered: in passes over digits
#
#     ys: u32[n] = radix_sort (x: u32 => in x) [v] [least] [most] [rises, falls] [xs]
#
# `varying` says for each key which of its bits are not the same in all elements, `least` and
# `most` between what the key lies: what they show to be the same everywhere needs no pass.
# `order`, where anybody asked, says whether no element comes before the one before it, and
# whether each does: such elements need no pass either. The key is computed anew in every pass, so
# it is a few operations that read no arrays.


@op
class RadixSort(Sorting):
    """Arrays of rank 1 and one extent in stable ascending order of their unsigned keys."""

    fn: Lambda
    varying: tuple[Atom, ...]
    least: tuple[Atom, ...]
    most: tuple[Atom, ...]
    order: tuple[Atom, ...]
    xs: tuple[Atom, ...]

    def misfits(self) -> Iterator[str]:
        yield from Sorting.misfits(self)
        keys = self.fn.result_types()
        yield from types_misfit("the bits that vary", self.varying, keys)
        yield from types_misfit("the least keys", self.least, keys)
        yield from types_misfit("the greatest keys", self.most, keys)
        yield from types_misfit("the order", self.order, [bool_] * len(self.order))


# sort_row fn xs:   a sort as it is lowered in the program of a row, which one thread runs
#
#     ys: u32[n] = sort_row (x: u32 => in x) [xs]
#
# All of a row is in the caches of one core: its elements are compared with each other, and
# nothing is counted beforehand.
#
# sort_rows fn rows offsets length xs:   each of many short rows in order of the keys that fn gives
#
#     ys: f32[n] = sort_rows (x: f32 => k: u32 = bits x in k) r [] m [xs]      r rows of m elements
#     ys: f32[n] = sort_rows (x: f32 => k: u32 = bits x in k) r [o] m [xs]     row i from o[i] on
#
# Rows are concatenated. `length` is at most that of `longest_in_lanes`; longer rows stay.


SHORT = 16
"""Elements of the longest rows that are sorted side by side."""
LONG = 1 << 11
"""Elements of the shortest rows of which single positions are selected, each row by one thread."""
LARGE = 1 << 16
"""Elements of the smallest arrays of which single positions are selected."""
SHORT_ALONE = 32
"""The same of rows of one length, where keys alone move. On one thread of a Zen 4 with AVX-512
200,000 rows of 17, 24 and 32 f32 take 4.8, 6.2 and 8.7 ms, and 18 ms by a network for each row;
with AVX2 5.1, 6.0, 10 and 17."""


def longest_in_lanes(fn: Lambda, *, is_even: bool) -> int:
    """The elements of the longest rows that are sorted side by side by these keys. Rows of many
    lengths need code for each: LLVM takes 2.4 s for 32 elements, 1.0 s for 16."""
    return SHORT_ALONE if is_even and steps_back(fn) is not None else SHORT


@op
class SortRow(Sorting):
    """Arrays of rank 1 and one extent in stable ascending order of their unsigned keys."""

    fn: Lambda
    xs: tuple[Atom, ...]


@op
class SortRows(Sorting):
    """Arrays of rank 1 and one extent, each short row's elements moved together in stable order."""

    fn: Lambda
    rows: Atom
    offsets: tuple[Atom, ...]
    length: Atom
    xs: tuple[Atom, ...]
    traced: ClassVar[bool] = True

    def evaluate(self, interp: Interp, env: Env) -> Values:
        columns = interp.atoms(env, self.xs)
        count, length = interp.atoms(env, (self.rows, self.length))
        if self.offsets:
            lengths = np.diff(interp.atoms(env, self.offsets)[0])
        else:
            lengths = np.full(count, length)
        numbers = np.repeat(np.arange(len(lengths)), lengths)
        keys = interp.each(env, self.fn, columns, len(columns[0]))
        order = np.lexsort((*keys[::-1], numbers))
        stays = np.repeat(lengths > length, lengths)
        order = np.where(stays, np.arange(len(order)), order)
        return tuple(column[order] for column in columns)
