"""suits version gain exact rows values longest:   whether a version is taken for these sizes

    p: bool = suits "by-row" "loops" true n m k     n rows of m values together, the longest of k
    p: bool = suits "library" "product" false n m k    a product with m multiplications, sums of k
                                                       of them, and no extent below n

Every version gives the same: which one runs is left to the machine, and to the schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import bool_
from flatweave.base.library_products import LARGE
from flatweave.terms.batch import Env, Values
from flatweave.terms.control import If
from flatweave.terms.rules import index_misfits
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Type, op
from flatweave.terms.traverse import lambdas_in, walk_lets

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

    def result_types(self) -> tuple[Type, ...]:
        return (bool_,)

    def misfits(self) -> Iterator[str]:
        return index_misfits("sizes", (self.rows, self.values_, self.longest))

    def evaluate(self, interp: Interp, env: Env) -> Values:
        if self.version == BY_ROW:
            return (np.asarray(True),)
        extent, multiplications = interp.atoms(env, (self.rows, self.values_))
        return (np.asarray(LARGE.admits(int(extent), int(multiplications))),)
