"""The conditions of variants, as the host finds them out from sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from flatweave.kernel_ir.host import SharedIsApart
from flatweave.lower.host.context import YES, Lowering
from flatweave.lower.machine.machine import Machine
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import NO_SHARED_TILE, SharedTile, Variant
from flatweave.lower.sweep.fold_work import ceil_div
from flatweave.ops import Locate
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom

ENOUGH = 4
"""This part of the blocks that are wanted is enough for all multiprocessors."""
SUFFIXES = {
    "streaming": "_s", "rows": "_rows", "streaming-rows": "_rows_s", "fill": "_fill",
    "tiled": "_tiled", "shared": "_shared",
}  # fmt: skip
"""What is added to the name of a sweep's kernel for a variant."""


def holds(
    lowering: Lowering, host: Builder, variant: Variant, facts: SweepFacts,
    shape: Sequence[Atom], total: Atom, stencil: SharedTile = NO_SHARED_TILE,
) -> Atom:  # fmt: skip
    """Whether the sizes of a sweep are those that a variant is for; and the device, where a tile of
    its elements is one of a `stencil`."""
    located = facts.located
    conditions: list[Atom] = []
    if variant.tiled:
        conditions += _is_tiled(lowering, host, variant, facts, shape, total)
    if variant.shared and not variant.wished:
        conditions += _is_shared(host, stencil, lowering.machine, shape, total)
    if variant.least:
        conditions.append(host.apply("ge", total, index(variant.least)))
    if variant.multiple > 1:
        rest = host.apply("mod", shape[-1], index(variant.multiple))
        conditions.append(host.apply("eq", rest, index(0)))
    if variant.row_length:
        assert located is not None
        least = host.mul(rows_of_host(lowering, located), index(variant.row_length))
        conditions.append(host.apply("ge", total, least))
    first, *others = conditions or [YES]
    for other in others:
        first = host.apply("and", first, other)
    return first


def _is_tiled(
    lowering: Lowering, host: Builder, variant: Variant, facts: SweepFacts,
    shape: Sequence[Atom], total: Atom,
) -> list[Atom]:  # fmt: skip
    """Whether a contraction is large enough, and all that it reads is there."""
    found = facts.contraction
    assert found is not None
    around = [] if found.outer is None else [lowering.scope.scalar(found.outer.extent)]
    steps = lowering.scope.scalar(found.longest)
    least: Atom = index(variant.work)
    for extent in (steps, *around):  # a product of all extents might not fit
        each = host.apply("maximum", extent, index(1))
        least = host.apply("floordiv", host.add(least, host.sub(each, index(1))), each)
    bounds = [[lowering.scope.scalar(e) for e in pair] for pair in found.bounds]
    narrowest = index(variant.narrowest)
    sides = (*around, *shape[len(found.leading) :])
    large = [host.apply("ge", e, narrowest) for e in sides if variant.narrowest]
    if variant.steps:
        large.append(host.apply("ge", steps, index(variant.steps)))
    return [host.apply("ge", total, least), *large, *(host.apply("le", a, b) for a, b in bounds)]


def _is_shared(
    host: Builder, tile: SharedTile, machine: Machine, shape: Sequence[Atom], total: Atom
) -> list[Atom]:
    """Whether shared memory is nearer than other memory, there are tiles for all multiprocessors,
    and what reaches over the ends of the array does not cost more than they save."""
    tiles = host.product([
        ceil_div(host, extent, index(n)) for extent, n in zip(shape, tile.shape, strict=True)
    ])  # fmt: skip
    tiled = host.mul(tiles, index(prod(tile.shape) * tile.tiled))
    return [
        host.emit(SharedIsApart())[0],
        host.apply("ge", tiles, index(machine.blocks_wanted // ENOUGH)),
        host.apply("lt", tiled, host.mul(total, index(tile.cached))),
    ]


def rows_of_host(lowering: Lowering, located: Locate) -> Atom:
    """How many rows there are, of those that positions are located among."""
    extent = lowering.scope.array(located.ends).shape[0]
    return lowering.host.sub(extent, index(located.skip))
