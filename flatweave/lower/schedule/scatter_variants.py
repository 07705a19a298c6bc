"""Which divisions of the work can do a scattering sweep, and why the others cannot.

    owner private partition      of a machine whose blocks are few and run on: a CPU
    atomic                       elements that an instruction combines; the last of scattered ones
    cas                          elements that are swapped whole
    locks                        elements of any size

The names are those of `fw.schedule(permute=..)`. The last three take elements in any order, so the
operator must commute.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.base.errors import ArgumentError
from flatweave.base.pretty import listed
from flatweave.base.schedule import PERMUTES, Schedule
from flatweave.kernel_ir.rules import ATOMIC
from flatweave.lower.machine.machine import Machine
from flatweave.ops import Merge, Place, Prefix, Sweep
from flatweave.ops.rows import scalar_type
from flatweave.passes.operators import component_functions, known_neutral, may_commute
from flatweave.terms.syntax import Atom, Let

UPDATES = ("atomic", "cas", "locks")
NOT_COMBINED = "scatter combines nothing"
SCANS = "what it writes is scanned on the way, and blocks would have to wait for each other"
NO_NEUTRAL = "it needs a neutral element, which reduce_by_index and histogram take"
NOT_COMMUTATIVE = "it takes elements in any order, and a op b is not b op a"
NOT_ATOMIC = f"its operator is none of {listed(ATOMIC)}, component by component"


def chosen_variant(
    schedule: Schedule, machine: Machine, let: Let, sink: Place | Merge
) -> str | None:
    """The variant that the schedule names; None where it leaves the choice."""
    wanted = schedule.permute
    if wanted is None:
        return None
    assert isinstance(let.op, Sweep)
    reasons = dict(obstacles(machine, let.op, sink))
    if wanted in reasons:
        able = [name for name in PERMUTES if name not in reasons]
        raise ArgumentError(
            f"permute={wanted!r} cannot divide this: {reasons[wanted]}.",
            where=let.where,
            remedy=f"What can: {listed(able)}; or leave the choice to the sizes.",
            more="schedule",
        )
    return wanted


def obstacles(machine: Machine, op: Sweep, sink: Place | Merge) -> Iterator[tuple[str, str]]:
    """Each variant that cannot do a sweep, and why."""
    if machine.atomics:
        for name in ("owner", "private", "partition"):
            yield name, f"on {machine.name} there is no such division"
    elif any(isinstance(let.op, Prefix) for let in op.body.lets):
        yield "private", SCANS
        yield "partition", SCANS
    if isinstance(sink, Place):
        yield from ((name, NOT_COMBINED) for name in ("private", "cas", "locks"))
        return
    if not neutral_of(sink):
        yield "private", NO_NEUTRAL
    yield from _order(machine, sink)


def neutral_of(sink: Place | Merge) -> tuple[Atom, ...]:
    """What private copies begin with: as the user says, or as is known of the operator."""
    if isinstance(sink, Place):
        return ()
    return sink.neutral or known_neutral(sink.fn)


def _order(machine: Machine, sink: Merge) -> Iterator[tuple[str, str]]:
    """What keeps elements from being combined as they come."""
    if not may_commute(sink.fn):
        yield from ((name, NOT_COMMUTATIVE) for name in UPDATES)
        return
    names = component_functions(sink.fn)
    if names is None or not all(name in ATOMIC for name in names):
        yield "atomic", NOT_ATOMIC
    size = sum(scalar_type(result).bytes for result in sink.fn.results)
    if size > machine.swap_bytes:
        most = machine.swap_bytes
        yield "cas", f"its elements have {size} bytes, and at most {most} are swapped at once"
