"""Which version is taken: the sizes that decide, and what the user wishes."""

from __future__ import annotations

from flatweave.base.schedule import ALWAYS, NEVER
from flatweave.lower.host.context import Lowering
from flatweave.ops import Suits
from flatweave.ops.nests import LIBRARY
from flatweave.terms.build import FALSE, TRUE, index
from flatweave.terms.syntax import Atom

TUNED = "rows are done one after the other {}: thresholds that fw.tune measured here"


def suits(lowering: Lowering, op: Suits) -> Atom:
    """Whether a version is taken."""
    return _by_library(lowering, op) if op.version == LIBRARY else _by_row(lowering, op)


def _by_library(lowering: Lowering, op: Suits) -> Atom:
    """Whether the library computes a product."""
    limits, wished = lowering.machine.products, lowering.schedule.product
    if limits is None:
        return FALSE
    if wished is not None:
        return TRUE if wished == LIBRARY else FALSE
    host, scalar = lowering.host, lowering.scope.scalar
    wide = host.apply("ge", scalar(op.rows), index(limits.extent))
    return host.apply(
        "and", wide, host.apply("ge", scalar(op.values_), index(limits.multiplications))
    )


def _by_row(lowering: Lowering, op: Suits) -> Atom:
    """Whether rows are done one after the other."""
    if lowering.machine.rows_alone is None:
        return FALSE
    wished = lowering.schedule.version
    if wished is not None:
        return TRUE if wished == op.version else FALSE
    tuned = lowering.program.tuned.get(op)
    if tuned is not None:
        lowering.note(TUNED.format(tuned))
    limits = tuned or lowering.machine.rows_alone.of(op.gain)
    if limits in (ALWAYS, NEVER):
        return TRUE if limits == ALWAYS else FALSE
    host, scalar = lowering.host, lowering.scope.scalar
    rows, values, longest = scalar(op.rows), scalar(op.values_), scalar(op.longest)
    many = host.apply("ge", rows, index(limits.rows))
    small = host.apply("le", longest, index(limits.longest))
    if limits.least:
        small = host.apply("and", small, host.apply("ge", longest, index(limits.least)))
    even = host.apply("le", host.mul(longest, index(limits.share)), values)
    least = host.mul(rows, index(limits.mean))
    long = host.apply("ge", values, least)
    return host.apply("and", host.apply("and", many, long), host.apply("and", small, even))
