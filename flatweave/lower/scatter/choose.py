"""Sweeps that write to computed indices, scatter, permute, reduce_by_index: which variant runs.

    strided     rows write in even steps: a block finds those of its tile
    private     a block combines its elements into a private copy; for small destinations
    partition   elements are sorted by tile of the destination first; for large ones
    owner       a block owns a part of the destination and looks at all elements
    shared-atomic    blocks update copies in shared memory; on GPUs, for operators that are exact
                     in any grouping, if the destination is known to be small
    atomic, cas    as the sweep feeds its sinks, in any order: on GPUs, for operators that
                          are exact so, or where bits may differ; or on request
    shared      blocks combine elements in copies in shared memory; for small destinations, on GPUs
    sorted      elements are sorted by index, then combined like rows: on GPUs, for all others

Owner, partition and strided keep the order of the sweep at every index, so all three give the same
bits. The number of private copies depends on sizes, or the operator is exact in any grouping. The
grouping of sorted elements depends on the sizes and on the indices.

Sums of f32 that meet in the destination itself are f64 while elements are added:

    dest: f32[extent]                            wide: f64[extent] = dest
    dest[place] add= value       ==>             wide[place] add= value
                                                 dest = wide

A sum of n elements in sequence is wrong by up to n roundings: 10^7 equal f32 at one index are wrong
by 7 %, 10^6 by 1 %. Sums in f64 copy the destination twice, which would slow down a loop that
updates a few of many indices. So a copy may move at most one cache line of bytes for each element:
2^22 elements are added to 2^24 indices in f64, fewer in f32. Private copies hold f64 anyway.

ms of CPU time for f32, added to f32 and to f64, 2 threads of a Zen 5, below the line of a Zen 4:

    elements    indices   equally likely    sorted
    2^24        2^24      108  155          15.9  31.0
    2^24        2^22       65   81          14.4  19.3
    2^22        2^22       17   25           4.2   8.4
    2^20        2^20      4.2  6.9           1.0   2.1
    ------------------------------------------------------
    2^24        2^24      110  162            22    38
    2^23        2^24       60   90            10    29
    2^22        2^24       32   55             9    27
    2^21        2^24       22   40             8    30
    2^20        2^22      9.0   14           2.8   7.4
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flatweave.base.dtypes import f32, f64, i64, u64
from flatweave.base.errors import ArgumentError, CompilerBug
from flatweave.base.pretty import listed
from flatweave.base.schedule import PERMUTES, Schedule
from flatweave.base.source import Location
from flatweave.kernel_ir.hierarchy import store_each
from flatweave.kernel_ir.host import Free, Role
from flatweave.kernel_ir.syntax import Load
from flatweave.lower.atomic import UPDATES
from flatweave.lower.context import Lowering
from flatweave.lower.kernel_builder import HostArray
from flatweave.lower.machine import Machine
from flatweave.lower.scatter.in_shared import InShared
from flatweave.lower.scatter.owner import Owner, Strided
from flatweave.lower.scatter.partition import Partition
from flatweave.lower.scatter.private import Private
from flatweave.lower.scatter.scattering import Division, Scattering, cast_like, widened
from flatweave.lower.scatter.shared_copies import SharedAtomic
from flatweave.lower.scatter.sorted import Sorted
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import ScatterChoice, ScatterVariant, SweepPlan, When
from flatweave.terms.build import FALSE, TRUE, Builder, index
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Let, Var


def launch(host: Builder, division: Division) -> None:
    """The launches of a division, which adds to f64 where that pays."""
    s = division.scattering
    many: Atom = FALSE
    if division.writes_destination and widened(s.op) is not None:
        right = (np.finfo(np.float32).nmant + 1) // 2  # bits of a sum of few f32: half of them
        more = host.apply("gt", s.total, index(1 << right))
        lines = host.mul(s.total, index(s.lowering.machine.line_bytes))
        copied = host.mul(s.extent, index(f32.bytes + f64.bytes))
        many = host.apply("and", more, host.apply("ge", lines, copied))
    if many == FALSE:
        return division.launch(host)
    if many == TRUE:
        return _launch_wide(host, division, Role.PASS)
    with host.branches(many) as (wide, narrow):
        _launch_wide(wide, division, Role.VARIANT)
        division.launch(narrow)


def _launch_wide(host: Builder, division: Division, role: Role) -> None:
    """The same division into buffers of wider sums, between two copies."""
    s, lowering = division.scattering, division.scattering.lowering
    dest: list[Var] = []
    pairs: list[tuple[Var, Var]] = []
    for buffer, dtype, sum_ in zip(s.dest, s.held, widened(s.op) or s.held, strict=True):
        dest.append(buffer)
        if sum_ != dtype:
            dest[-1] = lowering.alloc(sum_, s.extent, "sums", host)
            pairs.append((buffer, dest[-1]))
    for buffer, sums in pairs:
        lowering.copy_elements(host, buffer, sums, s.extent)
    type(division)(s.into(dest, role), division.when).launch(host)
    for buffer, sums in pairs:
        lowering.copy_elements(host, sums, buffer, s.extent)
        host.emit(Free(sums))


VARIANTS: Sequence[type[ScatterVariant]] = (
    Strided,
    Private,
    Partition,
    Owner,
    SharedAtomic,
    *UPDATES,
    InShared,
    Sorted,
)
"""In the order in which they are tried; what is always taken ends the search."""
LEFT = (Owner, Sorted)
"""Who does what a variant that is wished for has no room for: the first that can."""


def plan_scatter(
    facts: SweepFacts, machine: Machine, wishes: Schedule, where: Location | None = None
) -> tuple[ScatterChoice, ...]:
    """How a sweep of the user's line `where` writes to computed indices.

    Raises ArgumentError where the variant that is wished for cannot do it.
    """
    if wishes.permute is not None:
        wished = _wished(wishes.permute, facts, machine, where)
        choice = ScatterChoice(wished.name, wished.wished)
        if choice.when is When.ALWAYS:
            return (choice,)
        left = next(variant for variant in LEFT if variant.suits(machine, facts))
        return choice, ScatterChoice(left.name, When.ALWAYS)
    found: list[ScatterChoice] = []
    free = not wishes.deterministic
    for variant in VARIANTS:
        if variant.suits(machine, facts) and (variant.keeps_bits(facts) or free):
            found.append(ScatterChoice(variant.name, variant.chosen))
            if variant.chosen is When.ALWAYS:
                return tuple(found)
    raise CompilerBug(f"no variant of scattering can do a sweep on {machine.name}.")


def _wished(
    name: str, facts: SweepFacts, machine: Machine, where: Location | None
) -> type[ScatterVariant]:
    """The variant that the schedule names."""
    reasons = {variant.name: variant.obstacle(machine, facts) for variant in VARIANTS}
    if reasons[name]:
        able = [other for other in PERMUTES if not reasons[other]]
        raise ArgumentError(
            f"permute={name!r} cannot divide this: {reasons[name]}.",
            where=where,
            remedy=f"What can: {listed(able)}; or leave the choice to the sizes.",
            more="schedule",
        )
    return next(variant for variant in VARIANTS if variant.name == name)


def is_divided(choices: Sequence[ScatterChoice]) -> bool:
    """Whether a sweep is divided among blocks, its elements visited in order."""
    return any(choice.name not in [update.name for update in UPDATES] for choice in choices)


def lower_scatter(lowering: Lowering, let: Let, facts: SweepFacts, plan: SweepPlan) -> None:
    """Emit the launches of a sweep that is divided, and bind its results."""
    scattering = Scattering(lowering, let, facts, plan)
    if _is_one(scattering):
        _write_one(scattering)
    else:
        made = [_division(choice.name)(scattering, choice.when) for choice in plan.scatter]
        _first_of(lowering.host, made)
    updated = facts.op.sinks[0].updated
    for var, buffer, array in zip(let.vars, scattering.dest, updated, strict=True):
        lowering.scope.bind(var, HostArray(buffer, lowering.scope.array(array).shape))


def _is_one(s: Scattering) -> bool:
    """Whether it writes one element, which the host knows, to memory that the host writes."""
    if s.lowering.machine.atomics or s.lowering.schedule.permute is not None:
        return False
    if s.sink is not None and component_functions(s.sink.fn) is None:
        return False
    body = s.op.body
    known = not body.lets and not set(body.results).intersection(body.params)
    return known and s.total == index(1)


def _write_one(s: Scattering) -> None:
    """Write that element where the program of the host is."""
    host, scalar = s.lowering.host, s.lowering.scope.scalar
    place, *values = map(scalar, s.op.body.results)
    place = host.cast(place, i64)
    fits = host.apply("lt", host.cast(place, u64), host.cast(s.extent, u64))
    with host.when(fits) as inside:
        if s.sink is not None:
            names = component_functions(s.sink.fn)
            assert names is not None  # see `_is_one`
            old = [inside.emit(Load(buffer, place))[0] for buffer in s.dest]
            parts = zip(names, old, cast_like(inside, s.dest, values), strict=True)
            values = [inside.apply(name, left, right) for name, left, right in parts]
        store_each(inside, s.dest, place, values)


def _division(name: str) -> type[Division]:
    """The class that a plan names."""
    for variant in VARIANTS:
        if variant.name == name and issubclass(variant, Division):
            return variant
    raise CompilerBug(f"A plan names {name!r}, which divides no scatter.")


def _first_of(host: Builder, divisions: Sequence[Division]) -> None:
    """The first whose condition holds, which may be known by now; the last needs none."""
    first, *others = divisions
    holds = first.holds(host) if others else TRUE
    if holds == TRUE:
        return launch(host, first)
    if holds == FALSE:
        return _first_of(host, others)
    with host.branches(holds) as (yes, no):
        launch(yes, first)
        _first_of(no, others)
