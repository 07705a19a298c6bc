"""Scans whose elements stay in registers from their evaluation to the last pass: how many of them.

A thread keeps M elements: their scanned values, and the values that are read after the scan. All M
loads are under way at once, and more elements share a look-back; but each takes registers, and with
more registers there are fewer warps. A thread has the registers that leave enough warps to hide the
latency of memory (`Machine.thread_registers`). M is what fits into these, in addition to the
registers of the look-back and of addresses.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.base.dtypes import DType
from flatweave.base.records import record
from flatweave.lower.machine.machine import Machine
from flatweave.lower.machine.thresholds import LEAST_EACH, OTHER_REGISTERS, UNDER_WAY
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.scan_levels import ScanLevels, ScanRecord
from flatweave.ops import Check, Index
from flatweave.passes.cost import AS_READ, cost_of_body
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Lambda, Let, Var
from flatweave.terms.traverse import atoms_in, free_vars, needed_for, walk_lets


@record(eq=True)
class Kept:
    """The scans of a sweep by level, the lets before each level and after the last one, and the
    values that are `live` from the lets before a level to later ones."""

    levels: tuple[tuple[ScanRecord, ...], ...]
    before: tuple[tuple[Let, ...], ...]
    behind: tuple[Let, ...]
    results: tuple[Atom, ...]
    live: tuple[tuple[Var, ...], ...]

    @property
    def words(self) -> int:
        """Registers of 32 bits for one element after the level that leaves most."""
        return max(map(self._words_behind, range(len(self.levels))))

    def _words_behind(self, level: int) -> int:
        """What the level's scans gave, their flags, too, which are free when a step is scanned; and
        of what comes before it what is read later."""
        read = {atom for let in self.behind for atom in _read(let)} | set(self.results)
        for records, lets in zip(self.levels[level + 1 :], self.before[level + 1 :], strict=True):
            read.update(atom for let in lets for atom in _read(let))
            read.update(atom for scan in records for atom in scan.args)
        kept = [atom for scan in self.levels[level] for atom in scan.neutral]
        for scan in (scan for records in self.levels[:level] for scan in records):
            if scan.prefix is not None and not read.isdisjoint(scan.prefix.vars):
                kept += scan.neutral
        kept += [var for vars_ in self.live[: level + 1] for var in vars_ if var in read]
        types = [atom.type for atom in kept]
        return sum(-(-type_.bits // 32) for type_ in types if isinstance(type_, DType))


def kept_of(facts: SweepFacts) -> Kept | None:
    """What threads keep; None for scans that count, of elements whose indices are checked, and for
    sinks that carry something themselves."""
    op, levels = facts.op, facts.scans.levels
    if not levels or not op.stores_or_reduces or facts.located is not None:
        return None
    if any(scan.prefix is None for scan in facts.scans.records):
        return None
    if any(isinstance(let.op, Check) or (isinstance(let.op, Index) and let.op.checked)
           for let in walk_lets(op.body)):  # fmt: skip
        return None
    before = _before_levels(facts.scans, op.body)
    ways = [_kept(facts.scans, op.body, before, again) for again in (False, True)]
    kept = min(ways, key=lambda way: way.words)
    live = [var for vars_ in kept.live for var in vars_]
    return kept if all(isinstance(var.type, DType) for var in live) else None


def _before_levels(scans: ScanLevels, body: Lambda) -> tuple[tuple[Let, ...], ...]:
    """The lets that each level needs, but for those that an earlier one does, and scans."""
    taken = [scan.prefix for scan in scans.records]
    found = []
    for records in scans.levels:
        needed = needed_for(body.lets, [atom for scan in records for atom in scan.args])
        found.append(tuple(let for let in needed if let not in taken))
        taken += found[-1]
    return tuple(found)


def _kept(
    scans: ScanLevels, body: Lambda, before: tuple[tuple[Let, ...], ...], again: bool
) -> Kept:
    """Keep the values before a level that later lets read. With `again`, cheap lets before the
    last level are computed once more after it, from the values that they read."""
    others = [*(let for lets in before for let in lets), *(scan.prefix for scan in scans.records)]
    rest = [let for let in body.lets if let not in others]
    read: set[Atom] = {*body.results, *(atom for let in rest for atom in _read(let))}
    once_more: list[Let] = []
    live: list[tuple[Var, ...]] = []
    for records, lets in zip(reversed(scans.levels), reversed(before), strict=True):
        for let in reversed(lets):
            if again and not live and _is_cheap(let) and not read.isdisjoint(let.vars):
                once_more.append(let)
                read.update(_read(let))
        kept = [var for let in lets if let not in once_more for var in let.vars if var in read]
        live.append(tuple(kept))
        read.update(atom for let in lets for atom in _read(let))
        read.update(atom for scan in records for atom in scan.args)
    behind = tuple(let for let in body.lets if let in once_more or let in rest)
    return Kept(scans.levels, before, behind, body.results, tuple(reversed(live)))


def _read(let: Let) -> Iterator[Atom]:
    yield from free_vars(let.op)
    yield from atoms_in(let.op)


def _is_cheap(let: Let) -> bool:
    """Whether a scalar is as well computed once more as kept."""
    plain = isinstance(let.op, Apply | Cast)
    return plain and cost_of_body(Lambda((), (let,), ())) <= AS_READ


def elements_each(facts: SweepFacts, machine: Machine) -> int:
    """How many elements a thread keeps; 0 where none are kept."""
    kept = kept_of(facts) if machine.thread_registers and machine.forward_progress else None
    if kept is None:
        return 0
    kept_of_all, all_ = UNDER_WAY
    room = (machine.thread_registers - OTHER_REGISTERS) * kept_of_all // all_
    each = room // kept.words
    if each < LEAST_EACH:
        return 0
    return min(machine.most_each, each)
