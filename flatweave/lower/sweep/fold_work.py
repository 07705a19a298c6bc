"""Blocks of fewer elements, where each of them folds over many.

    12 means of 10^6 values: 12 blocks of one element, not one block of 12

How long a fold is the host knows when it runs. Elements that do no more than the smallest block's
work are blocks of their own, and there are no more blocks than are wanted anyway.
"""

from __future__ import annotations

from flatweave.lower.host.context import Lowering
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import SweepPlan
from flatweave.nest.schedule import Axis
from flatweave.passes.cost import cost_of_body
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom


def fewer_with_folds(
    lowering: Lowering, facts: SweepFacts, plan: SweepPlan, total: Atom, size: Atom
) -> Atom:
    """The elements of a block: `size`, or fewer."""
    if not plan.bind.folds:
        return size
    host, machine = lowering.host, lowering.machine
    work: Atom = index(1)
    for fold, length in facts.even_folds:
        cost = index(max(1, cost_of_body(fold.body) + cost_of_body(fold.fn)))
        work = host.add(work, host.mul(lowering.scope.scalar(length), cost))
    enough = host.apply("floordiv", index(machine.block_work), work)
    share = host.ceil_div(total, index(machine.blocks_wanted))
    wanted = host.apply("maximum", host.apply("maximum", enough, share), index(1))
    step = _step(lowering, facts, plan)
    return host.apply("minimum", size, host.mul(host.ceil_div(wanted, step), step))


def _step(lowering: Lowering, facts: SweepFacts, plan: SweepPlan) -> Atom:
    """The elements that lanes take at once: a block has some times as many."""
    width = index(max(plan.plain.width, 1))
    if plan.plain.lanes.axis is not Axis.LAST:
        return width
    host = lowering.host
    row = host.apply("maximum", lowering.scope.scalar(facts.op.shape[-1]), index(1))
    return host.apply("minimum", width, row)
