"""sort fn xs:   the elements of xs in stable ascending order of the keys that fn gives for them

    ys: f32[n], zs: i64[n] = sort (x: f32, z: i64 => k: u32 = bits x in k) [xs, zs]

Keys are unsigned integers, the most significant one first; `frontend/arrays/sorting.py` makes
them of any scalars.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import DType
from flatweave.ops.rows import array_type
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import function_misfits
from flatweave.terms.syntax import Atom, Lambda, Op, Type, op, types_of


def keys_misfit(fn: Lambda, xs: Sequence[Atom]) -> Iterator[str]:
    """A lambda takes the elements of arrays of rank 1 and gives unsigned integers."""
    yield from function_misfits("the key", fn, [array_type(x).dtype for x in xs])
    if any(array_type(x).rank != 1 for x in xs):
        yield "its arrays are not all of rank 1"
    if not fn.results or any(
        not isinstance(type_, DType) or type_.kind != "u" for type_ in fn.result_types()
    ):
        yield "its keys are not unsigned integers"


def in_order(interp: Interp, env: Env, fn: Lambda, xs: Sequence[Atom]) -> Values:
    """The elements in order of their keys."""
    columns = interp.atoms(env, xs)
    keys = interp.each(env, fn, columns, len(columns[0]))
    order = np.lexsort(keys[::-1])
    return tuple(column[order] for column in columns)


@op
class Sort(Op):
    """Arrays of rank 1 and one extent, their elements moved together; of a known number, the
    sort of an element function may be done `in_registers`."""

    fn: Lambda
    xs: tuple[Atom, ...]
    in_registers: bool = False
    traced: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return types_of(self.xs)

    def misfits(self) -> Iterator[str]:
        return keys_misfit(self.fn, self.xs)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        return in_order(interp, env, self.fn, self.xs)
