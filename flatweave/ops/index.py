"""Reading one element:   y: f32 = index xs i j"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from flatweave.array_ir.fault import Fault, index_fault
from flatweave.array_ir.interp import Interp
from flatweave.base.errors import CompilerBug
from flatweave.ops.rows import array_type
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import index_misfits
from flatweave.terms.syntax import Atom, Op, Type, op


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
