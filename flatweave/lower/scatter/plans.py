"""The plan of each sweep of a program: a given one, one that a user forces, or the chosen one."""

from __future__ import annotations

from flatweave.base.errors import ArgumentError
from flatweave.base.pretty import listed
from flatweave.base.schedule import Schedule
from flatweave.base.source import Location
from flatweave.lower.context import Program
from flatweave.lower.machine import Machine
from flatweave.lower.scatter import choose
from flatweave.lower.schedule.choose import plan_sweep
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import SweepPlan
from flatweave.lower.schedule.verify import as_keywords, check_forced, verify_plan, why_refused


def plan_of(
    facts: SweepFacts, machine: Machine, wishes: Schedule, where: Location | None = None
) -> SweepPlan:
    """The plan of a sweep of the user's line `where`, by the variants that are wished for.

    Raises ArgumentError where a wish cannot be granted.
    """
    if not any(sink.alone for sink in facts.op.sinks):
        return plan_sweep(facts, machine, wishes, (), in_order=False)
    scatter = choose.plan_scatter(facts, machine, wishes, where)
    return plan_sweep(facts, machine, wishes, scatter, in_order=choose.is_divided(scatter))


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
