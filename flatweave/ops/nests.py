"""Nests whose rows vary in length: what they give, and the versions of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from flatweave.base.dtypes import bool_, i64
from flatweave.base.library_products import LARGE
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import (
    ArrayType,
    Atom,
    Lambda,
    Let,
    Op,
    Type,
    Var,
    array_type,
    function_misfits,
    index_misfits,
    op,
    under,
)
from flatweave.terms.traverse import lambdas_in, walk_lets

if TYPE_CHECKING:
    from flatweave.array_ir.interp import Interp
    from flatweave.terms.batch import Env, Values

# by_row count fn:   a program for each row, done by one thread from its first step to its last
#
#     ys: f32[n, m], zs: f32[t] = by_row n totals=[t] offsets=[o] groups=[-1, 0] (i: i64 =>
#         .. in row, values)
#
# The body is one of the host: its arrays are the row's own, in memory of the thread that does the
# row. It is a version of what `generate` and `nest` are otherwise: operations on all rows at
# once.


@op
class ByRow(Op):
    """`fn` on every index below `count`, each alone.

    Result k of `fn` is an element or row of one shape, where `groups[k]` is -1; or a row of group
    g, which goes to `offsets[g][i]` of an array of `totals[g]`. It may be shorter than its room
    there: the rest is undefined.
    """

    count: Atom
    totals: tuple[Atom, ...]
    offsets: tuple[Atom, ...]
    groups: tuple[int, ...]
    fn: Lambda
    traced: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        found: list[Type] = []
        for group, row in zip(self.groups, self.fn.results, strict=True):
            if group < 0:
                found.append(under((self.count,), row.type))
            else:
                type_ = array_type(row)
                found.append(ArrayType(type_.dtype, (self.totals[group], *type_.shape[1:])))
        return tuple(found)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the count", (self.count,))
        yield from index_misfits("the totals", self.totals)
        yield from function_misfits("the function", self.fn, (i64,))
        if len(self.totals) != len(self.offsets):
            yield f"{len(self.totals)} totals of {len(self.offsets)} groups"
        if any(group >= len(self.offsets) for group in self.groups):
            yield f"groups {list(self.groups)} of {len(self.offsets)}"

    def evaluate(self, interp: Interp, env: Env) -> Values:
        (count,) = interp.shape(env, (self.count,))
        found = interp.one_by_one(env, self.fn, [np.arange(count)], count)
        results = []
        for k, (group, row) in enumerate(zip(self.groups, self.fn.results, strict=True)):
            none = interp.no_rows(env, row)
            if group < 0:
                results.append(np.stack([values[k] for values in found]) if found else none)
                continue
            (total,) = interp.shape(env, (self.totals[group],))
            offsets = interp.atom(env, self.offsets[group])
            shape = found[0][k].shape[1:] if found else none.shape[2:]
            flat = np.zeros((total, *shape), none.dtype)
            for i, values in enumerate(found):
                flat[offsets[i] : offsets[i] + len(values[k])] = values[k]
            results.append(flat)
        return tuple(results)


HOST_BODIES = (If, While, For, ByRow)
"""Operations of the host whose bodies are of the host, too."""


# nest count fn:   the results of fn for every index: rows of different lengths, concatenated
#
#     k: i64, m: i64, o: i64[k], ys: f32[m], s: f32[n] = nest n groups=[0, -1] (i: i64 =>
#         .. in length, row, sum)
#
# `o` are the offsets of the rows: row i is ys[o[i]], .., ys[o[i + 1] - 1].


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


# Where a row begins and how long it is:   start, length = span offsets i
#
# offsets = [0, 2, 2, 5], i = 2   ==>   start 2, length 3


@op
class Span(Op):
    """A row of the rows that `offsets` cut values into: they are checked, and `row` is one of
    them."""

    offsets: Atom
    row: Atom
    traced: ClassVar[bool] = True
    batched: ClassVar[bool] = True
    gives_lengths: ClassVar[bool] = True
    typed_as = (i64, i64)

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the row", (self.row,))
        if array_type(self.offsets).dtype is not i64 or array_type(self.offsets).rank != 1:
            yield f"offsets are an i64 array of rank 1, not {self.offsets.type}"

    def evaluate(self, interp: Interp, env: Env) -> Values:
        offsets, row = interp.atom(env, self.offsets), interp.atom(env, self.row)
        start = np.asarray(offsets[row])
        return start, np.asarray(offsets[row + 1] - start)


# suits version gain exact rows values longest:   whether a version is taken for these sizes
#
#     p: bool = suits "by-row" "loops" true n m k     n rows of m values together, the longest of k
#     p: bool = suits "library" "product" false n m k    a product with m multiplications, sums of k
#                                                        of them, and no extent below n
#
# Every version gives the same: which one runs is left to the machine, and to the schedule.


BY_ROW = "by-row"
LIBRARY = "library"


@op
class Suits(Op):
    """Whether the version of this name is taken; `gain` says what the nest has that it is for, and
    `exact` whether it gives the same bits as the other one.

    The interpreter computes rows one at a time, and large products by the library.
    """

    version: str
    gain: str
    exact: bool
    rows: Atom
    values_: Atom
    longest: Atom
    traced: ClassVar[bool] = True

    @staticmethod
    def all_in(fn: Lambda) -> list[Let]:
        """What chooses the version of each nest that has several, in the order of the program."""
        lets = (let for let in walk_lets(fn) if isinstance(let.op, Suits))
        return [let for let in lets if let.op.version == BY_ROW]  # type: ignore[attr-defined]

    @staticmethod
    def bodies(let: Let, before: Sequence[Let]) -> list[Lambda]:
        """The bodies of an operation of the host, of two versions the last alone: what does all
        rows at once, or a product without the library, tells what is stored. `before` are the
        lets of the same body."""
        op = let.op
        versions = {each.vars[0] for each in before if isinstance(each.op, Suits)}
        if isinstance(op, If) and op.condition in versions:
            return [op.other]
        return lambdas_in(op)

    typed_as = (bool_,)

    def misfits(self) -> Iterator[str]:
        return index_misfits("sizes", (self.rows, self.values_, self.longest))

    def evaluate(self, interp: Interp, env: Env) -> Values:
        if self.version == BY_ROW:
            return (np.asarray(True),)
        extent, multiplications = interp.atoms(env, (self.rows, self.values_))
        return (np.asarray(LARGE.admits(int(extent), int(multiplications))),)
