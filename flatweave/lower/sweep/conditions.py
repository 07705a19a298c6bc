"""The guards of versions, as the host finds them out from sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from flatweave.kernel_ir.host import SharedIsApart
from flatweave.lower.host.context import Lowering
from flatweave.lower.machine.machine import Machine
from flatweave.lower.machine.thresholds import ENOUGH_TILES
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.short_rows import length_of_short
from flatweave.nest.schedule import Axis, Guard, SharedTile, Version
from flatweave.ops import Locate
from flatweave.terms.build import TRUE, Builder, index
from flatweave.terms.syntax import Atom

SUFFIXES = {
    "streaming": "_s", "rows": "_rows", "streaming-rows": "_rows_s", "fill": "_fill",
    "tiled": "_tiled", "shared": "_shared",
}  # fmt: skip
"""What is added to the name of a sweep's kernel for a version."""


def suffix(version: Version) -> str:
    """What is added to the name of a sweep's kernel for a version."""
    rows = "_ones" if version.guard.one else "_short" if version.guard.below else ""
    return rows + SUFFIXES.get(version.name, "")


def are_short(lowering: Lowering, guard: Guard, facts: SweepFacts, axis: Axis) -> Atom:
    """Whether rows are as short as a version asks for, of a sweep whose lanes else lie along
    `axis`."""
    host, scalar, ones = lowering.host, lowering.scope.scalar, facts.of_one(axis)
    if guard.one and ones:
        return host.apply("eq", scalar(ones.extent), index(1))
    length = length_of_short(facts.op, axis, facts.known)
    assert length is not None
    long = host.mul(scalar(length.rows), index(guard.below))
    return host.apply("lt", scalar(length.elements), long)


def holds(
    lowering: Lowering, host: Builder, version: Version, facts: SweepFacts,
    shape: Sequence[Atom], total: Atom,
) -> Atom:  # fmt: skip
    """Whether the sizes of a sweep are those that a version is for; and the device, where it reads
    from tiles in shared memory."""
    guard, conditions = version.guard, list[Atom]()
    if guard.inside:
        conditions += _is_tiled(lowering, host, guard, facts, shape, total)
    tile = version.step(SharedTile)
    if guard.worth and tile is not None:
        conditions += _is_shared(host, tile, lowering.machine, shape, total)
    if guard.elements:
        conditions.append(host.apply("ge", total, index(guard.elements)))
    if guard.multiple > 1:
        rest = host.apply("mod", shape[-1], index(guard.multiple))
        conditions.append(host.apply("eq", rest, index(0)))
    if guard.mean:
        assert facts.located is not None
        least = host.mul(rows_of_host(lowering, facts.located), index(guard.mean))
        conditions.append(host.apply("ge", total, least))
    first, *others = conditions or [TRUE]
    for other in others:
        first = host.apply("and", first, other)
    return first


def _is_tiled(
    lowering: Lowering, host: Builder, guard: Guard, facts: SweepFacts,
    shape: Sequence[Atom], total: Atom,
) -> list[Atom]:  # fmt: skip
    """Whether a contraction is large enough, and all that it reads is there."""
    found = facts.contraction
    assert found is not None
    around = [] if found.outer is None else [lowering.scope.scalar(found.outer.extent)]
    steps = lowering.scope.scalar(found.longest)
    least: Atom = index(guard.work)
    for extent in (steps, *around):  # a product of all extents might not fit
        each = host.apply("maximum", extent, index(1))
        least = host.ceil_div(least, each)
    bounds = [[lowering.scope.scalar(e) for e in pair] for pair in found.bounds]
    narrowest = index(guard.narrowest)
    sides = (*around, *shape[len(found.leading) :])
    large = [host.apply("ge", e, narrowest) for e in sides if guard.narrowest]
    if guard.steps:
        large.append(host.apply("ge", steps, index(guard.steps)))
    return [host.apply("ge", total, least), *large, *(host.apply("le", a, b) for a, b in bounds)]


def _is_shared(
    host: Builder, tile: SharedTile, machine: Machine, shape: Sequence[Atom], total: Atom
) -> list[Atom]:
    """Whether shared memory is nearer than other memory, there are tiles for all multiprocessors,
    and what reaches over the ends of the array does not cost more than they save."""
    tiles = host.product([
        host.ceil_div(extent, index(n)) for extent, n in zip(shape, tile.shape, strict=True)
    ])  # fmt: skip
    tiled = host.mul(tiles, index(prod(tile.shape) * tile.tiled))
    return [
        host.emit(SharedIsApart())[0],
        host.apply("ge", tiles, index(machine.blocks_wanted // ENOUGH_TILES)),
        host.apply("lt", tiled, host.mul(total, index(tile.cached))),
    ]


def rows_of_host(lowering: Lowering, located: Locate) -> Atom:
    """How many rows there are, of those that positions are located among."""
    extent = lowering.scope.array(located.ends).shape[0]
    return lowering.host.sub(extent, index(located.skip))
