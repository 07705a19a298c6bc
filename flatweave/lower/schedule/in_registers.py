"""Scans whose elements stay in registers from their evaluation to the last pass: how many of them.

A thread keeps M elements: what they are scanned to, and what is read of them behind the scan. All
M loads are under way at once, and a look-back is shared by more elements; but each takes registers,
and with more registers there are fewer warps. So M is what fits into the registers that a thread
has where so many warps run as hide the latency of memory (`Machine.thread_registers`), beside what
the look-back and addresses take.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.base.dtypes import DType
from flatweave.base.records import record
from flatweave.lower.machine.machine import Machine
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.scan_levels import ScanRecord
from flatweave.ops import Check, Index, Store
from flatweave.passes.cost import cost_of_body
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Lambda, Let, Var
from flatweave.terms.traverse import atoms_in, free_vars, needed_for, walk_lets

OTHERS = 40
"""Registers for all but the elements: addresses of 64 bits, what lanes exchange, the look-back."""
UNDER_WAY = 4, 7
"""Of seven registers for elements four hold what is kept, the others what has been loaded and not
scanned yet. Registers that NVRTC 13.5 takes for sm_80, of kernels of 16 elements of i32, 16 of i64,
8 of five words, 10 of (i64, f64): 48, 94, 64, 112; the model's 68, 96, 110, 110."""

CHEAP = 2
"""The cost of a scalar function that is computed again sooner than its result is kept."""


@record(eq=True)
class Kept:
    """The scans of a sweep, its lets before and behind them, and what is `live` from the former to
    the latter."""

    records: tuple[ScanRecord, ...]
    before: tuple[Let, ...]
    behind: tuple[Let, ...]
    live: tuple[Var, ...]

    @property
    def words(self) -> int:
        """Registers of 32 bits for one element; a flag's is free when its step is scanned."""
        values = [atom for scan in self.records for atom in scan.neutral]
        types = [atom.type for atom in (*values, *self.live)]
        return sum(-(-type_.bits // 32) for type_ in types if isinstance(type_, DType))


def kept_of(facts: SweepFacts) -> Kept | None:
    """What threads keep; None for scans of several levels or that count, of elements whose indices
    are checked, and for sinks that carry something themselves."""
    op, levels = facts.op, facts.scans.levels
    plain = all(isinstance(sink, Store) or sink.reduction() is not None for sink in op.sinks)
    if len(levels) != 1 or not plain or facts.located is not None:
        return None
    records = levels[0]
    if any(scan.prefix is None for scan in records):
        return None
    if any(isinstance(let.op, Check) or (isinstance(let.op, Index) and let.op.checked)
           for let in walk_lets(op.body)):  # fmt: skip
        return None
    scans = [scan.prefix for scan in records]
    before = needed_for(op.body.lets, [atom for scan in records for atom in scan.args])
    rest = tuple(let for let in op.body.lets if let not in before and let not in scans)
    ways = [_kept(records, op.body, before, rest, again) for again in (False, True)]
    kept = min(ways, key=lambda way: way.words)
    return kept if all(isinstance(var.type, DType) for var in kept.live) else None


def _kept(
    records: tuple[ScanRecord, ...], body: Lambda, before: tuple[Let, ...], rest: tuple[Let, ...],
    again: bool,
) -> Kept:  # fmt: skip
    """What is read of the lets before the scan is kept; or, `again`, cheap ones are computed once
    more from what they read."""
    read: set[Atom] = {*body.results, *(atom for let in rest for atom in _read(let))}
    once_more: list[Let] = []
    for let in reversed(before):
        if again and _is_cheap(let) and not read.isdisjoint(let.vars):
            once_more.append(let)
            read.update(_read(let))
    live = [var for let in before if let not in once_more for var in let.vars if var in read]
    behind = tuple(let for let in body.lets if let in once_more or let in rest)
    return Kept(records, before, behind, tuple(live))


def _read(let: Let) -> Iterator[Atom]:
    yield from free_vars(let.op)
    yield from atoms_in(let.op)


def _is_cheap(let: Let) -> bool:
    """Whether a scalar is as well computed once more as kept."""
    plain = isinstance(let.op, Apply | Cast)
    return plain and cost_of_body(Lambda((), (let,), ())) <= CHEAP


def elements_each(facts: SweepFacts, machine: Machine) -> int:
    """How many elements a thread keeps; 0 where none are kept."""
    kept = kept_of(facts) if machine.thread_registers and machine.forward_progress else None
    if kept is None:
        return 0
    kept_of_all, all_ = UNDER_WAY
    room = (machine.thread_registers - OTHERS) * kept_of_all // all_
    return min(machine.most_each, room // kept.words)
