"""What reductions and scans of a block or warp rely on: that operators associate, and that a
neutral element is neutral, as it is combined once for each part of the elements.

What the operator's own functions prove wrong is an error when the kernel is written. What they
do not prove right is tried in a first call: `TryOperator` says on which elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flatweave.base.dtypes import i64
from flatweave.base.errors import OperatorError
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.frontend.elements.lambdas import (
    combined_by,
    is_known_neutral,
    is_lawful,
    is_ours,
    must_associate,
    name_of,
)
from flatweave.kernel.algorithms.as_code import elements_of
from flatweave.kernel.arrays.pulls import Pull
from flatweave.kernel.writing.code import extent_of, here, trace
from flatweave.kernel.writing.elements import Kind
from flatweave.kernel_ir.arrays import Values
from flatweave.kernel_ir.folds_of_blocks import TryOperator
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Const, Lambda

Op = Callable[[Any, Any], Any]
ONE_BY_ONE = "go one by one with fk.seq_reduce in a thread"
SAME_TWICE = frozenset({"minimum", "maximum", "and", "or"})
"""Functions that give x for x and x: a value that is combined twice counts once."""


@record
class Check:
    """Whether an operator is tried, and the user's line that asks for it."""

    wanted: bool
    where: Location


def keep_laws(
    op: Op, fn: Lambda, kind: Kind, array: Pull, neutral: Values, who: str, check: Check, *,
    row: int = 0,
) -> None:  # fmt: skip
    """Expect an operator to associate on an array, or on each row of it, and a neutral element to
    be neutral; OperatorError where it is known that they are not."""
    must_associate(fn, op, who, check.where, ONE_BY_ONE)
    if not check.wanted or not trace().checks or is_ours(op):
        return
    known = [is_known_neutral(fn, k, atom) for k, atom in enumerate(neutral)]
    if is_lawful(fn) and all(known):
        return
    for k, atom in enumerate(neutral):
        name = combined_by(fn, k)
        if name and isinstance(atom, Const) and not known[k] and name not in SAME_TWICE:
            raise OperatorError(
                f"{atom.value} is not neutral to {name}, by which {who} combines: it would"
                " count once for each part of the elements.",
                where=check.where, remedy=_remedy(who, op),
            )  # fmt: skip
    length, element = extent_of(array.length), _element(kind, array)
    b = here().builder
    b.where = check.where
    b.emit(TryOperator(fn, neutral, length, row, element))


def _remedy(who: str, op: Op) -> str:
    start = "give another start as before=" if who == "scan" else "combine the result with it"
    return f"Give the neutral element of {name_of(op)}, and {start}."


def _element(kind: Kind, array: Pull) -> Lambda:
    """Element i, in code that nothing else shares a value with."""
    elements = elements_of(kind, array)

    def write(b: Builder, i: Atom) -> Values:
        b.hoists = False
        return elements(b, i)

    return here().builder.function([i64], write)
