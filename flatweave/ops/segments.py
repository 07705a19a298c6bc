"""Sinks of a sweep that combine segments: runs of neighbours, each to one result.

    combine_segments fn neutral       start, v..        the v of each segment combined, and how many
    combine_rows fn neutral rows      row, start, v..   ys[row] = the v of its segment combined

    start   T F F T F       a segment goes from a start up to the next one
    row     1 1 1 4 4       with rows: each goes to a distinct index, indices between stay neutral
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from flatweave.array_ir import operators
from flatweave.base.dtypes import bool_, i64
from flatweave.base.errors import CompilerBug
from flatweave.ops.sweep import Sink
from flatweave.terms import batch
from flatweave.terms.rules import index_misfits, operator_misfits, scalar_type, types_misfit
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Var, op, types_of

if TYPE_CHECKING:
    from flatweave.array_ir.interp import Interp


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
