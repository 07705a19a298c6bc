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

from flatweave.base.errors import ArgumentError, Unsupported
from flatweave.base.pretty import listed
from flatweave.base.schedule import PERMUTES, Schedule
from flatweave.base.source import Location
from flatweave.kernel_ir.updates import ATOMIC
from flatweave.lower.machine.machine import Machine
from flatweave.lower.schedule.plan import ScatterVariant, When
from flatweave.lower.schedule.strides import Course, course_of, courses_along_rows
from flatweave.ops import Check, Index, Locate, Prefix, ScatterReduce, ScatterStore, Sweep
from flatweave.ops.rows import scalar_type
from flatweave.passes.operators import (
    component_functions,
    is_commutative,
    known_neutral,
    may_commute,
)
from flatweave.terms.syntax import Atom, Lambda
from flatweave.terms.traverse import walk_lets

UPDATES = ("atomic", "cas", "locks")
OWNER = ScatterVariant("owner", When.ALWAYS)
NOT_COMBINED = "scatter combines nothing"
SCANS = "what it writes is scanned on the way, and blocks would have to wait for each other"
NO_NEUTRAL = "it needs a neutral element, which reduce_by_index and histogram take"
NOT_COMMUTATIVE = "it takes elements in any order, and a op b is not b op a"
NOT_ATOMIC = f"its operator is none of {listed(ATOMIC)}, component by component"


def scatter_variants(
    op: Sweep, located: Locate | None, machine: Machine, wishes: Schedule, where: Location | None
) -> tuple[ScatterVariant, ...]:
    """In which ways a sweep may write to computed places, tried in this order; () if it does not.

    Raises ArgumentError where the way that is wished for cannot do it, and Unsupported where none
    can.
    """
    if not any(sink.alone for sink in op.sinks):
        return ()
    (sink,) = op.sinks
    assert isinstance(sink, ScatterStore | ScatterReduce)
    wished = _wished(op, sink, machine, wishes, where)
    if wished is None and machine.atomics:
        wished = "atomic" if isinstance(sink, ScatterStore) else _update(op, sink, machine, where)
    if wished == "partition":
        return ScatterVariant(wished, When.FITS), OWNER
    if wished is not None:
        return (ScatterVariant(wished, When.ALWAYS),)
    found = ["strided"] if located is not None and is_strided(op, located) else []
    if not any(isinstance(let.op, Prefix) for let in op.body.lets):
        found += ["private", "partition"] if neutral_of(sink) else ["partition"]
    return *(ScatterVariant(name, When.PAYS) for name in found), OWNER


def _wished(
    op: Sweep, sink: ScatterStore | ScatterReduce, machine: Machine, wishes: Schedule,
    where: Location | None,
) -> str | None:  # fmt: skip
    """The variant that the schedule names; None where it leaves the choice."""
    wanted = wishes.permute
    if wanted is None:
        return None
    reasons = dict(obstacles(machine, op, sink))
    if wanted in reasons:
        able = [name for name in PERMUTES if name not in reasons]
        raise ArgumentError(
            f"permute={wanted!r} cannot divide this: {reasons[wanted]}.",
            where=where,
            remedy=f"What can: {listed(able)}; or leave the choice to the sizes.",
            more="schedule",
        )
    return wanted


def _update(op: Sweep, sink: ScatterReduce, machine: Machine, where: Location | None) -> str:
    """The least that an operator asks of a machine whose threads write side by side."""
    if is_commutative(sink.fn):
        return "atomic"
    cannot = dict(obstacles(machine, op, sink))
    if "locks" in cannot:
        raise Unsupported(
            "permute and reduce_by_index with an operator that does not commute are not there on "
            f"{machine.name}, where elements meet in any order.",
            where=where,
            remedy='Run this function with target="cpu", which keeps their order.',
        )
    return "locks" if "cas" in cannot else "cas"


def is_strided(op: Sweep, located: Locate) -> bool:
    """Whether a scattering sweep writes along each row in even steps, and fails nowhere."""
    if can_fail(op.body) or any(isinstance(let.op, Prefix) for let in walk_lets(op.body)):
        return False
    return course_of(courses_along_rows(op, located), op.body.results[0]) is Course.LINEAR


def can_fail(body: Lambda) -> bool:
    """Whether an element may report an error: then the first in order must be the one."""
    return any(
        isinstance(let.op, Check) or (isinstance(let.op, Index) and let.op.checked)
        for let in walk_lets(body)
    )


def obstacles(
    machine: Machine, op: Sweep, sink: ScatterStore | ScatterReduce
) -> Iterator[tuple[str, str]]:
    """Each variant that cannot do a sweep, and why."""
    if machine.atomics:
        for name in ("owner", "private", "partition"):
            yield name, f"on {machine.name} there is no such division"
    elif any(isinstance(let.op, Prefix) for let in op.body.lets):
        yield "private", SCANS
        yield "partition", SCANS
    if isinstance(sink, ScatterStore):
        yield from ((name, NOT_COMBINED) for name in ("private", "cas", "locks"))
        return
    if not neutral_of(sink):
        yield "private", NO_NEUTRAL
    yield from _order(machine, sink)


def neutral_of(sink: ScatterStore | ScatterReduce) -> tuple[Atom, ...]:
    """What private copies begin with: as the user says, or as is known of the operator."""
    if isinstance(sink, ScatterStore):
        return ()
    return sink.neutral or known_neutral(sink.fn)


def _order(machine: Machine, sink: ScatterReduce) -> Iterator[tuple[str, str]]:
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
