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
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.errors import ArgumentError, CompilerBug
from flatweave.base.pretty import listed
from flatweave.base.schedule import PERMUTES, Schedule
from flatweave.base.source import Location
from flatweave.lower.host.context import Lowering, Program
from flatweave.lower.kernel.builder import HostArray
from flatweave.lower.machine.machine import Machine
from flatweave.lower.scatter.in_shared import InShared
from flatweave.lower.scatter.owner import Owner
from flatweave.lower.scatter.partition import Partition
from flatweave.lower.scatter.private import Private
from flatweave.lower.scatter.scattering import Division, Scattering
from flatweave.lower.scatter.shared_copies import SharedAtomic
from flatweave.lower.scatter.sorted import Sorted
from flatweave.lower.scatter.strided import Strided
from flatweave.lower.scatter.wide import launch
from flatweave.lower.schedule.choose import plan_sweep
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.forced import as_keywords, check_forced, why_refused
from flatweave.lower.schedule.plan import ScatterChoice, SweepPlan, When
from flatweave.lower.schedule.scatter_variant import ScatterVariant
from flatweave.lower.schedule.verify import verify_plan
from flatweave.lower.update.atomic import UPDATES
from flatweave.terms.build import FALSE, TRUE, Builder
from flatweave.terms.control import If
from flatweave.terms.syntax import Let

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
    """How a sweep of the user's line `where` writes to computed indices; () if it does not.

    Raises ArgumentError where the variant that is wished for cannot do it.
    """
    if not any(sink.alone for sink in facts.op.sinks):
        return ()
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
    made = [_division(choice.name)(scattering, choice.when) for choice in plan.scatter]
    _first_of(lowering.host, made)
    updated = facts.op.sinks[0].updated
    for var, buffer, array in zip(let.vars, scattering.dest, updated, strict=True):
        lowering.scope.bind(var, HostArray(buffer, lowering.scope.array(array).shape))


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
    yes, no = host.inner(), host.inner()
    launch(yes, first)
    _first_of(no, others)
    host.emit(If(holds, yes.close([], []), no.close([], [])))


# -- The plan of each sweep of a program: a given one, one that a user forces, or the chosen one ---


def plan_of(
    facts: SweepFacts, machine: Machine, wishes: Schedule, where: Location | None = None
) -> SweepPlan:
    """The plan of a sweep of the user's line `where`, by the variants that are wished for.

    Raises ArgumentError where a wish cannot be granted.
    """
    scatter = plan_scatter(facts, machine, wishes, where)
    return plan_sweep(facts, machine, wishes, scatter, in_order=is_divided(scatter))


def planned(
    program: Program, name: str, facts: SweepFacts, where: Location | None
) -> SweepPlan:
    """The plan of the sweep that computes `name` first, which is kept."""
    machine, wishes = program.machine, program.schedule
    plan = program.plans.get(name)
    if plan is None:
        plan = chosen = plan_of(facts, machine, wishes, where)
        free, measured = not wishes.deterministic, program.measured.get(name, chosen)
        if name in program.forced:
            plan = program.forced[name]
            if why_refused(plan, chosen, facts, machine, free=free):
                wished = as_keywords(plan, chosen, machine, wishes)
                chosen = chosen if wished == wishes else plan_of(facts, machine, wished, where)
            check_forced(name, plan, chosen, facts, machine, free=free, where=where)
        elif not why_refused(measured, chosen, facts, machine, free=free):
            plan = measured
    verify_plan(plan, facts, machine)
    program.plans[name] = plan
    return plan


def refuse_unknown(program: Program) -> None:
    """Raise ArgumentError where a schedule is forced of a sweep that the program does not have."""
    unknown = [name for name in program.forced if name not in program.plans]
    if unknown:
        raise ArgumentError(
            f"the schedule is one of {listed(unknown)}, and the program has no such sweep.",
            remedy=f"Its sweeps are {listed(program.plans)}. Write the `with` around one call.",
            more="schedule",
        )
