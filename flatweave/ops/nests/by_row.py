"""by_row count fn:   a program for each row, done by one thread from its first step to its last

    ys: f32[n, m], zs: f32[t] = by_row n totals=[t] offsets=[o] groups=[-1, 0] (i: i64 =>
        .. in row, values)

The body is one of the host: its arrays are the row's own, in memory of the thread that does the
row. It is a version of what `generate` and `nest` are otherwise: operations on all rows at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import i64
from flatweave.ops.rows import array_type, under
from flatweave.terms.batch import Env, Values
from flatweave.terms.control import For, If, While
from flatweave.terms.rules import function_misfits, index_misfits
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Op, Type, Var, op


@op
class ByRow(Op):
    """`fn` on every index below `count`, each alone.

    Result k of `fn` is an element or row of one shape, where `groups[k]` is -1; or a row of group
    g, which goes to `offsets[g][i]` of an array of `totals[g]`. It may be shorter than its room
    there: what lies behind it is undefined.
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

    def binders(self) -> tuple[Var, ...]:
        return tuple(Var("t", type_) for type_ in self.result_types())

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
