"""check condition:   the program ends with an error unless the condition holds"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from flatweave.array_ir.fault import INDEX, Fault, index_fault
from flatweave.array_ir.interp import Interp
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import condition_misfits
from flatweave.terms.syntax import Atom, Op, Type, op


@op
class Check(Op):
    """A condition on extents that must hold; `kind` selects the error, the atoms are its values.

    Kind `same` says that two extents are equal: after it the compiler takes them for one. Kind
    `index` is the test of a read: its values are the index and the extent, its message the axis.
    `row` may have the number of the user's element, where that is not the position at hand.
    """

    condition: Atom
    kind: str
    values_: tuple[Atom, ...]
    message: str
    row: tuple[Atom, ...] = ()
    batched: ClassVar[bool] = True
    effect: ClassVar[bool] = True

    def result_types(self) -> tuple[Type, ...]:
        return ()

    def misfits(self) -> Iterator[str]:
        return condition_misfits(self.condition)

    def evaluate(self, interp: Interp, env: Env) -> Values:
        if env.size == 0:
            return ()
        failed = np.flatnonzero(~np.atleast_1d(interp.atom(env, self.condition)))
        if failed.size:
            element = int(failed[0])
            found = [np.atleast_1d(value) for value in interp.atoms(env, self.values_)]
            values = tuple(value[element if len(value) > 1 else 0].item() for value in found)
            index = env.position(element)
            for row in interp.atoms(env, self.row):
                index = int(np.atleast_1d(row)[element if row.ndim else 0])
            if self.kind == INDEX:
                raise index_fault(index, int(values[0]), int(values[1]), int(self.message or 0))
            raise Fault(self.kind, index=index, values=values, message=self.message)
        return ()
