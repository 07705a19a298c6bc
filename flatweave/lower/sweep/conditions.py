"""The conditions of variants, as the host finds them out from sizes."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.lower.host.context import Lowering
from flatweave.lower.schedule.plan import Variant
from flatweave.ops import Locate
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom

SUFFIXES = {"streaming": "_s", "rows": "_rows", "streaming-rows": "_rows_s", "fill": "_fill"}
"""What is added to the name of a sweep's kernel for a variant."""


def holds(
    lowering: Lowering, host: Builder, variant: Variant, located: Locate | None,
    shape: Sequence[Atom], total: Atom,
) -> Atom:  # fmt: skip
    """Whether the sizes of a sweep are those that a variant is for."""
    conditions: list[Atom] = []
    if variant.least:
        conditions.append(host.apply("ge", total, index(variant.least)))
    if variant.multiple > 1:
        rest = host.apply("mod", shape[-1], index(variant.multiple))
        conditions.append(host.apply("eq", rest, index(0)))
    if variant.row_length:
        assert located is not None
        least = host.mul(rows_of_host(lowering, located), index(variant.row_length))
        conditions.append(host.apply("ge", total, least))
    first, *others = conditions
    for other in others:
        first = host.apply("and", first, other)
    return first


def rows_of_host(lowering: Lowering, located: Locate) -> Atom:
    """How many rows there are, of those that positions are located among."""
    extent = lowering.scope.array(located.ends).shape[0]
    return lowering.host.sub(extent, index(located.skip))
