"""Elements combined: folds, reductions, scans, segments; rows by position; filter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from flatweave.array_ir import operators
from flatweave.base.dtypes import bool_, i64
from flatweave.base.errors import CompilerBug
from flatweave.ops.sweep import Compact, Sink, SinkOp
from flatweave.terms import batch
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Lambda,
    Op,
    Var,
    array_type,
    elements_of,
    function_misfits,
    index_misfits,
    op,
    operator_misfits,
    scalar_type,
    starts_misfits,
    types_misfit,
    types_of,
)

if TYPE_CHECKING:
    from flatweave.array_ir.interp import Interp

# -- segments -------------------------------------------------------------------------------------
#
# Sinks of a sweep that combine segments: runs of neighbours, each to one result.
#
#   combine_segments fn neutral       start, v..        the v of each segment combined, and how many
#   combine_rows fn neutral rows      row, start, v..   ys[row] = the v of its segment combined
#
#     start   T F F T F       a segment goes from a start up to the next one
#     row     1 1 1 4 4       with rows: each goes to a distinct index, indices between stay neutral


def arrays_of(neutral: tuple[Atom, ...], extent: Atom) -> Iterator[Var]:
    """Fresh variables for arrays of results: `extent` elements like the neutral ones."""
    return (Var("t", ArrayType(scalar_type(atom), (extent,))) for atom in neutral)


def combine_segments(
    interp: Interp, env: batch.Env, fn: Lambda, starts: batch.Value, columns: batch.Values
) -> batch.Values:
    """The elements of each segment combined in order; the first one starts a segment anyway."""
    groups = np.cumsum(starts)
    return operators.combine(interp, env, fn, groups - groups[:1], columns)


@op
class CombineSegments(Sink):
    """Binds the number of segments, then their results; the first element always starts one."""

    fn: Lambda
    neutral: tuple[Atom, ...]
    forward: ClassVar[bool] = True
    closes: ClassVar[bool] = True
    said: ClassVar[str] = "the results of segments"

    @property
    def arity(self) -> int:
        return 1 + len(self.neutral)

    def counted(self, taken: tuple[Atom, ...]) -> Atom | None:
        return taken[0]

    def binders(self, shape: tuple[Atom, ...], taken: tuple[Atom, ...]) -> tuple[Var, ...]:
        segments = Var("n", i64)
        return segments, *arrays_of(self.neutral, segments)

    def misfits(self, taken: tuple[Atom, ...]) -> Iterator[str]:
        elements = types_of(self.neutral)
        yield from types_misfit("what is combined", taken, (bool_, *elements))
        yield from operator_misfits(self.fn, elements)

    def evaluate(
        self, interp: Interp, env: batch.Env, shape: tuple[int, ...], order: batch.Value,
        taken: batch.Values,
    ) -> batch.Values:
        combined = combine_segments(interp, env, self.fn, taken[0], taken[1:])
        return np.asarray(len(combined[0])), *combined


@op
class CombineRows(Sink):
    """Binds arrays of `rows` results; a row without elements is neutral.

    `row` does not decrease along the sweep; `start` holds where it differs from that of the
    element before, and at the first element.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    rows: Atom
    forward: ClassVar[bool] = True
    by_row: ClassVar[bool] = True
    said: ClassVar[str] = "the array of results, one for each row,"

    @property
    def arity(self) -> int:
        return 2 + len(self.neutral)

    def row(self, taken: tuple[Atom, ...]) -> Atom | None:
        return taken[0]

    def binders(self, shape: tuple[Atom, ...], taken: tuple[Atom, ...]) -> tuple[Var, ...]:
        return tuple(arrays_of(self.neutral, self.rows))

    def misfits(self, taken: tuple[Atom, ...]) -> Iterator[str]:
        elements = types_of(self.neutral)
        yield from index_misfits("the number of rows", (self.rows,))
        yield from types_misfit("what is combined", taken, (i64, bool_, *elements))
        yield from operator_misfits(self.fn, elements)

    def evaluate(
        self, interp: Interp, env: batch.Env, shape: tuple[int, ...], order: batch.Value,
        taken: batch.Values,
    ) -> batch.Values:
        row, start, *values = taken
        (rows,) = interp.shape(env, (self.rows,))
        ahead = np.diff(row, prepend=-1)
        if (ahead < 0).any() or (row >= rows).any() or not np.array_equal(ahead > 0, start):
            raise CompilerBug(f"combine_rows of {rows} rows: no starts {start} for rows {row}.")
        neutral = interp.atoms(env, self.neutral)
        results = tuple(np.full(rows, value, value.dtype) for value in neutral)
        combined = combine_segments(interp, env, self.fn, start, tuple(values))
        batch.assign(results, row[start], combined)
        return results


# -- folds ----------------------------------------------------------------------------------------
#
# Elements combined: fold, reduce, scan, segments; rows found by position; filter.


# fold extent body fn neutral:   neutral fn body(0) fn .. fn body(extent-1), inside an element


BATCH = 1 << 16  # positions that the interpreter evaluates at once


@op
class Fold(Op):
    """A reduction inside an element function, its input computed on the fly and never stored."""

    extent: Atom
    body: Lambda
    fn: Lambda
    neutral: tuple[Atom, ...]
    batched: ClassVar[bool] = True
    typed_as = "neutral"

    def misfits(self) -> Iterator[str]:
        elements = types_of(self.neutral)
        yield from index_misfits("the extent", (self.extent,))
        yield from function_misfits("the body", self.body, (i64,), elements)
        yield from operator_misfits(self.fn, elements)

    def evaluate(self, interp: Interp, env: batch.Env) -> batch.Values:
        """In rounds, each as long as the shortest of the folds that are not finished."""
        size = 1 if env.size is None else env.size
        extents = batch.spread([interp.atom(env, self.extent)], size)[0]
        neutral = batch.spread(interp.atoms(env, self.neutral), size)
        totals, done = tuple(column.copy() for column in neutral), np.zeros(size, np.int64)
        while (active := np.flatnonzero(done < extents)).size:
            left = int((extents - done)[active].min())
            count = min(left, max(1, BATCH // active.size))
            groups = np.repeat(active, count)
            positions = done[groups] + np.tile(np.arange(count), active.size)
            xs = batch.spread(interp.call(env.take(groups), self.body, [positions]), groups.size)
            xs = operators.combine(interp, env, self.fn, groups, xs)
            args = (*batch.take(totals, active), *xs)
            batch.assign(totals, active, interp.call(env.take(active), self.fn, args))
            done[active] += count
        return totals if env.size is not None else tuple(total.reshape(()) for total in totals)


# reduce fn ne xs:   y = ne fn xs[0] fn .. fn xs[n-1]


@op
class Reduce(Op):
    """All elements combined in order by an associative operator; several arrays are a tuple.

    `neutral` is applied once, on the left of everything; it need not be neutral unless `known` says
    that it is to all elements.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    xs: tuple[Atom, ...]
    known: bool = False
    traced: ClassVar[bool] = True
    typed_as = "neutral"

    def misfits(self) -> Iterator[str]:
        elements = types_of(self.neutral)
        yield from types_misfit("the neutral element", self.neutral, elements_of(self.xs, elements))
        yield from operator_misfits(self.fn, elements)

    def evaluate(self, interp: Interp, env: batch.Env) -> batch.Values:
        neutral = interp.atoms(env, self.neutral)
        elements = operators.elements(self.fn, interp.atoms(env, self.xs))
        return operators.reduce(interp, env, self.fn, neutral, elements)


# scan fn ne xs:   ys[i] = ne fn xs[0] fn .. fn xs[i]
#
# scan .. starts=[flags]      ys[i] = ne fn xs[k] fn .. fn xs[i], flags[k] being the last up to i


@op
class Scan(Op):
    """Every prefix of a reduction; `exclusive` leaves xs[i] out, `reverse` gives every suffix.

    `neutral` is applied once, on the left, or on the right with `reverse`; it need not be
    neutral unless `known` says that it is. `starts` may hold one array of flags, one for each
    element: a flagged element begins a segment anew, from `neutral`. In a `reverse` scan, which
    runs from the end, the flagged element of a segment is its last one.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    xs: tuple[Atom, ...]
    exclusive: bool = False
    reverse: bool = False
    starts: tuple[Atom, ...] = ()
    known: bool = False
    traced: ClassVar[bool] = True
    typed_as = "xs"

    def misfits(self) -> Iterator[str]:
        elements = types_of(self.neutral)
        yield from types_misfit("the neutral element", self.neutral, elements_of(self.xs, elements))
        yield from operator_misfits(self.fn, elements)
        rank = 1 if any(isinstance(e, ArrayType) for e in elements) else array_type(self.xs[0]).rank
        yield from starts_misfits(self.starts, rank)

    def evaluate(self, interp: Interp, env: batch.Env) -> batch.Values:
        """A suffix x[i] fn y[i+1] is a prefix of the reversed array under the flipped operator."""
        neutral, arrays = interp.atoms(env, self.neutral), interp.atoms(env, self.xs)
        fn, xs = self.fn, operators.elements(self.fn, arrays)
        starts = tuple(flags.reshape(-1) for flags in interp.atoms(env, self.starts))
        if self.reverse:
            fn, xs = operators.flipped(fn), batch.take(xs, slice(None, None, -1))
            starts = batch.take(starts, slice(None, None, -1))
        results = operators.scan(interp, env, fn, neutral, xs, self.exclusive, starts)
        if self.reverse:
            results = batch.take(results, slice(None, None, -1))
        return tuple(y.reshape(x.shape) for y, x in zip(results, arrays, strict=True))


# reduce_segments fn ne starts xs:   ys[k] = ne and the x of the k-th segment, combined


@op
class ReduceSegments(Op):
    """Binds the number of segments (i64), then one array of that extent for each of `xs`.

    A segment goes from an element where `starts` holds up to the next; the first element starts
    one anyway.
    """

    fn: Lambda
    neutral: tuple[Atom, ...]
    starts: Atom
    xs: tuple[Atom, ...]
    traced: ClassVar[bool] = True

    def binders(self) -> tuple[Var, ...]:
        segments = Var("n", i64)
        return segments, *arrays_of(self.neutral, segments)

    def misfits(self) -> Iterator[str]:
        elements = types_of(self.neutral)
        (extent,) = array_type(self.xs[0]).shape
        yield from types_misfit("the starts", (self.starts,), (ArrayType(bool_, (extent,)),))
        yield from types_misfit("the neutral element", self.neutral, elements_of(self.xs, elements))
        yield from operator_misfits(self.fn, elements)

    def evaluate(self, interp: Interp, env: batch.Env) -> batch.Values:
        starts, *columns = interp.atoms(env, (self.starts, *self.xs))
        combined = combine_segments(interp, env, self.fn, starts, tuple(columns))
        results = operators.apply(
            interp, env, self.fn, (*interp.atoms(env, self.neutral), *combined)
        )
        return np.asarray(len(results[0])), *results


# Which row a position of a flat array belongs to:   s, start = locate ends skip=0 p
#
# ends = [2, 5, 6, 7], p = 3   ==>   row 1, which begins at 2


@op
class Locate(Op):
    """The row of a position and where that row begins; row i ends at `ends[skip + i]`.

    Ends do not decrease, row 0 begins at 0, and the position is not negative and below the last
    end: its row is the first one whose end is greater. A sweep that locates its own positions walks
    along the rows and searches once for each block.
    """

    ends: Atom
    skip: int
    position: Atom
    batched: ClassVar[bool] = True
    typed_as = (i64, i64)

    def below(self) -> tuple[Atom | None, ...]:
        return () if self.skip else (array_type(self.ends).shape[0],)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the position", (self.position,))
        if array_type(self.ends).dtype is not i64 or array_type(self.ends).rank != 1:
            yield f"ends are an i64 array of rank 1, not {self.ends.type}"

    def evaluate(self, interp: Interp, env: batch.Env) -> batch.Values:
        ends = interp.atom(env, self.ends)[self.skip :]
        position = np.asarray(interp.atom(env, self.position))
        row = np.searchsorted(ends, position, side="right")
        starts = np.concatenate(([0], ends))
        return np.asarray(row, np.int64), np.asarray(starts[row], np.int64)


# filter mask xs:   the xs[i] where mask[i], in order, and how many they are


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

    def misfits(self) -> Iterator[str]:
        yield from types_misfit("the mask", (self.mask,), (ArrayType(bool_, (self.mask,)),))

    def evaluate(self, interp: Interp, env: batch.Env) -> batch.Values:
        kept = np.flatnonzero(interp.atom(env, self.mask))
        return np.asarray(len(kept)), *(x[kept] for x in interp.atoms(env, self.xs))
