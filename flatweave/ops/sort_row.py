"""sort_row fn xs:   a sort as it is lowered in the program of a row, which one thread runs

    ys: u32[n] = sort_row (x: u32 => in x) [xs]

All of a row is in the caches of one core: its elements are compared with each other, and nothing
is counted beforehand.

sort_rows fn rows offsets length xs:   each of many short rows in order of the keys that fn gives

    ys: f32[n] = sort_rows (x: f32 => k: u32 = bits x in k) r [] m [xs]      r rows of m elements
    ys: f32[n] = sort_rows (x: f32 => k: u32 = bits x in k) r [o] m [xs]     row i from o[i] on

Rows lie one after the other; no row is longer than `length`, nor that than `SHORT`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.ops.sort import in_order, keys_misfit
from flatweave.terms.batch import Env, Values
from flatweave.terms.syntax import Atom, Lambda, Op, Type, op, types_of

SHORT = 16
"""Elements of the longest rows that are sorted side by side."""


@op
class SortRow(Op):
    """Arrays of rank 1 and one extent in stable ascending order of their unsigned keys."""

    fn: Lambda
    xs: tuple[Atom, ...]

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.xs)

    def misfits(self) -> Iterator[str]:
        return keys_misfit(self.fn, self.xs)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        return in_order(interp, env, self.fn, self.xs)


@op
class SortRows(Op):
    """Arrays of rank 1 and one extent, each row's elements moved together in stable order."""

    fn: Lambda
    rows: Atom
    offsets: tuple[Atom, ...]
    length: Atom
    xs: tuple[Atom, ...]
    traced: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.xs)

    def misfits(self) -> Iterator[str]:
        yield from keys_misfit(self.fn, self.xs)

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
        return tuple(column[order] for column in columns)
