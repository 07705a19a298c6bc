"""nest count fn:   what fn gives for every index, rows of different lengths one after the other

    k: i64, m: i64, o: i64[k], ys: f32[m], s: f32[n] = nest n groups=[0, -1] (i: i64 =>
        .. in length, row, sum)

`o` are the offsets of the rows: row i is ys[o[i]], .., ys[o[i + 1] - 1].
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import i64
from flatweave.ops.rows import array_type, under
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import function_misfits, index_misfits
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Op, Type, Var, op


@op
class Nest(Op):
    """`fn` on every index below `count`, where some of its results are rows of varying lengths.

    `fn` gives the lengths of such rows first, one for each group of rows that share theirs. Then
    it gives the results; `groups` has the number of each one's group, -1 for a result of one shape.
    Binds the number of offsets; for each group the number of values and the offsets; the results.
    """

    count: Atom
    groups: tuple[int, ...]
    fn: Lambda
    traced: ClassVar[bool] = True

    @property
    def lengths(self) -> tuple[Atom, ...]:
        """For each group the length of its rows."""
        return self.fn.results[: len(self.fn.results) - len(self.groups)]

    @property
    def rows(self) -> tuple[Atom, ...]:
        """The results of one element."""
        return self.fn.results[len(self.lengths) :]

    def binders(self) -> tuple[Var, ...]:
        entries = Var("n", i64)
        totals = [Var("n", i64) for _ in self.lengths]
        bound = [entries]
        for total in totals:
            bound += [total, Var("o", ArrayType(i64, (entries,)))]
        for group, row in zip(self.groups, self.rows, strict=True):
            if group < 0:
                bound.append(Var("t", under((self.count,), row.type)))
            else:
                type_ = array_type(row)
                bound.append(Var("t", ArrayType(type_.dtype, (totals[group], *type_.shape[1:]))))
        return tuple(bound)

    def result_types(self) -> tuple[Type, ...]:
        return tuple(var.type for var in self.binders())

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the count", (self.count,))
        yield from function_misfits("the function", self.fn, (i64,))
        yield from index_misfits("the lengths", self.lengths)
        if any(group >= len(self.lengths) for group in self.groups):
            yield f"groups {list(self.groups)} of {len(self.lengths)} lengths"

    def evaluate(self, interp: Interp, env: Env) -> Values:
        (count,) = interp.shape(env, (self.count,))
        found = interp.one_by_one(env, self.fn, [np.arange(count)], count)
        lengths = [_column(found, k) for k in range(len(self.lengths))]
        results = [np.asarray(count + 1)]
        for column in lengths:
            offsets = np.concatenate(([0], np.cumsum(column, dtype=np.int64)))
            results += [np.asarray(offsets[-1]), offsets]
        for k, (group, row) in enumerate(zip(self.groups, self.rows, strict=True), len(lengths)):
            if not found:
                none = interp.no_rows(env, row)
                results.append(none if group < 0 else none.reshape(0, *none.shape[2:]))
            elif group < 0:
                results.append(np.stack([values[k] for values in found]))
            else:
                results.append(np.concatenate([values[k] for values in found]))
        return tuple(results)


def _column(found: Sequence[Values], k: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Result k of every element, an i64."""
    return np.array([int(values[k]) for values in found], np.int64)
