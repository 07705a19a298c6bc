"""The versions of a sweep's schedule: where stores go and what lanes go along, by sizes.

Wishes of the user leave some of them. Why one runs is said in the user's words.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from flatweave.base.records import replace
from flatweave.base.schedule import Schedule
from flatweave.lower.machine import (
    FILLED_ROW,
    FULL_REGISTERS,
    LONG_ROW,
    ROW_AT_ONCE,
    ROW_OF_READS,
    Machine,
)
from flatweave.lower.schedule.arrangement import has_loops
from flatweave.lower.schedule.contraction import first_long
from flatweave.lower.schedule.division import (
    Division,
    folds_at_once,
    reads_along_rows,
    reads_of_runs,
)
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.steps import (
    ALWAYS,
    Along,
    Axis,
    Cache,
    Guard,
    Memory,
    Stream,
    Version,
)
from flatweave.ops import Fold, Index, Sweep
from flatweave.terms.syntax import Atom, Const, array_type, scalar_type
from flatweave.terms.traverse import walk_lets


def versions_of(
    facts: SweepFacts, machine: Machine, plain: Version, by_row: Version, division: Division,
    wishes: Schedule,
) -> tuple[Version, ...]:  # fmt: skip
    """Every combination of where stores go and of what lanes go along, the plainest last."""
    stores = _streaming(facts, machine, plain, division)
    rows, heads = plain.rows, facts.heads
    by_rows = facts.located is not None and rows.along is Along.EITHER
    if rows.flagged and heads is not None and not (heads.needs_rows or rows.folded):
        by_rows = False
    if not by_rows:
        return *stores, plain
    if rows.folded and facts.scans.depth:
        return _scanned(facts, machine, plain, by_row)
    free = wishes.rows is None and wishes.store != "streaming"
    reads = reads_of_runs(facts.op, facts.located) if free and facts.located else None
    if reads is not None:
        return _runs(machine, stores, plain, reads=len(reads) > 0)
    loops = has_loops(facts.op)  # they take longer than their stores
    long = [_along(v, Along.ROW, f"{v.name}-rows", LONG_ROW) for v in stores if not loops]
    by_row = _along(by_row, Along.ROW, "rows", _least_row(facts, machine, by_row))
    return *long, by_row, *(_along(v, Along.POSITIONS) for v in (*stores, plain))


def _scanned(
    facts: SweepFacts, machine: Machine, plain: Version, by_row: Version
) -> tuple[Version, ...]:
    """Rows with which their scans start. One lane goes along each if rows are no shorter than a
    register on average. In long rows, longer where fewer values fill a register, steps of many
    lanes pay."""
    first = first_long(machine)
    carried = [scalar_type(atom) for scan in facts.scans.records for atom in scan.neutral[1:]]
    long, mean = _along(plain, Along.POSITIONS), LONG_ROW * first // machine.lanes(carried)
    if facts.heads is not None and facts.heads.needs_rows:
        long = _along(by_row.but(replace(by_row.rows, folded=False)), Along.ROW)
    long = replace(long, name="long", guard=replace(long.guard, mean=mean))
    return (
        long,
        _along(by_row, Along.ROW, "rows", first),
        _along(plain, Along.POSITIONS),
    )


def _along(version: Version, along: Along, name: str = "", mean: int = 0) -> Version:
    """The version whose lanes go along rows so, for rows of a mean length or more."""
    chosen = version.but(replace(version.rows, along=along))
    return replace(chosen, name=name or version.name, guard=replace(version.guard, mean=mean))


def _least_row(facts: SweepFacts, machine: Machine, by_row: Version) -> int:
    """The mean length from which on lanes go along each row: what its elements share is computed
    once, and none looks for its row. A filter of cheap elements loses more by short steps."""
    filters = by_row.caches(Memory.SCRATCH) is not None
    if facts.located is None or (filters and not has_loops(facts.op)):
        return LONG_ROW
    if by_row.rows.folded and folds_at_once(facts.op, facts.located):
        return machine.vector_bytes // ROW_AT_ONCE
    if reads_along_rows(facts.op, facts.located, facts.known):
        return ROW_OF_READS
    return LONG_ROW if by_row.rows.folded else first_long(machine)


def _runs(
    machine: Machine, stores: tuple[Version, ...], plain: Version, *, reads: bool
) -> tuple[Version, ...]:
    """Rows are filled, each in steps that may end in the next ones. Where the lanes of a step are
    permuted at once, results that go around the caches are faster by position, and so are those of
    rows most of which are empty; long rows that are read, too, go around the caches one by one."""
    fill, positions = _along(plain, Along.FILL, "fill", 1), _along(plain, Along.POSITIONS)
    if reads:
        long = [_along(version, Along.ROW, f"{version.name}-rows", LONG_ROW) for version in stores]
        return *long, fill, positions
    if machine.vector_bytes < FULL_REGISTERS:
        return (_along(plain, Along.FILL, "fill"),)
    around = [_along(version, Along.POSITIONS, mean=FILLED_ROW) for version in stores]
    return *around, fill, positions


def wished(versions: tuple[Version, ...], wishes: Schedule) -> tuple[Version, ...]:
    """The versions that wishes leave, without the conditions that they decide."""
    left = list(versions)
    for wish, has, free in (
        (wishes.store, attrgetter("streams"), {"elements": 0}),
        (wishes.contraction, attrgetter("is_tiled"), {"work": 0, "narrowest": 0}),
    ):
        if wish in ("plain", "lanes"):
            left = [v for v in left if not has(v)]
        elif wish is not None:
            left = [_freed(v, **free) if has(v) else v for v in left]
    if wishes.rows == "positions":
        left = [v for v in left if not v.guard.mean]
    elif wishes.rows == "rows":
        by_rows = [v for v in left if v.guard.mean and v.rows.along is not Along.POSITIONS]
        left = [_freed(v, mean=0) for v in by_rows] or left
    always = next(k for k, v in enumerate(left) if v.guard == ALWAYS)
    return tuple(left[: always + 1])  # later ones never run


def _freed(version: Version, **conditions: int) -> Version:
    """The version without some conditions."""
    return replace(version, guard=replace(version.guard, **conditions))  # type: ignore[arg-type]


def _streaming(
    facts: SweepFacts, machine: Machine, plain: Version, division: Division
) -> tuple[Version, ...]:
    """Stores that fill the caches go around them, where blocks begin on whole cache lines: counted
    from the end, where the extent is a multiple of steps."""
    op = facts.op
    anywhere = facts.located is not None and division.sources
    # rows of folds begin anywhere, and take longer than their stores
    folds = any(isinstance(let.op, Fold) for let in op.body.lets)
    unaligned = plain.lanes.axis is Axis.LAST and folds
    if machine.streaming_from is None or plain.width < 2 or anywhere or unaligned:
        return ()
    stored: list[Atom] = []
    in_order = plain.step(Cache) is not None  # else kept elements are stored where they are found
    for sink, taken in zip(op.sinks, op.portions(), strict=True):
        if in_order or sink.counted(taken) is None:
            stored.extend(sink.consecutive(taken))
    if not stored:
        return ()
    each = sum(scalar_type(atom).bytes for atom in stored)
    least = machine.streaming_from if _read(op) >= each else machine.filling_from
    multiple = plain.width if plain.lanes.axis is Axis.LAST or op.reverse else 1
    streaming = plain.but(Stream())
    return (replace(streaming, name="streaming", guard=Guard(least // each, multiple)),)


def _read(op: Sweep) -> int:
    """Bytes of arrays that each element reads at its own indices; both parts of a pair count."""
    reads = (let.op for let in walk_lets(op.body) if isinstance(let.op, Index))
    own = (read for read in reads if len(read.indices) >= len(op.shape))
    parts = {(x.xs, tuple(at for at in x.indices if isinstance(at, Const))) for x in own}
    return sum(array_type(xs).dtype.bytes for xs, _ in parts)


WHY_TURNED = "tiles are read along memory, and turned in shared memory"
WHY_ONES = "rows have one element each"
WHY_SHORT = "each lane has a row, or a part of one, as rows are short"


def why_version(version: Version, versions: Sequence[Version]) -> str:
    """Why one of several versions runs; "" where there is no choice."""
    guard = version.guard
    if guard.of_short_rows:
        others = [v for v in versions if v.guard.short_rows == guard.short_rows]
        why = WHY_ONES if guard.one else WHY_SHORT
        return "; ".join(filter(None, (why, _why_version(version, others))))
    return _why_version(version, [v for v in versions if not v.guard.of_short_rows])


def _why_version(version: Version, versions: Sequence[Version]) -> str:
    """Why it runs, of versions for rows of the same lengths."""
    if len(versions) == 1:
        return ""
    guard = version.guard
    streaming = next((v.guard for v in versions if v.streams), None)
    earlier = versions[: versions.index(version)]
    rows = guard.mean or min((v.guard.mean for v in earlier if v.guard.mean), default=0)
    tiled = next((v.guard for v in versions if v.is_tiled), None)
    if version.is_tiled:
        sizes = f"{guard.work:,} elements or more meet" if guard.work else "the schedule says"
        return f"results stay in registers, many at once, as {sizes}"
    if version.caches(Memory.SHARED):
        return WHY_TURNED
    reasons = []
    if tiled is not None:
        reasons.append(f"each lane has one result, as fewer than {tiled.work:,} elements meet")
    if version.streams:
        reasons.append(f"results go around the caches, as there are {guard.elements:,} or more")
    elif streaming is not None:
        least = f"{streaming.elements:,}"
        reasons.append(f"results go through the caches, as there are fewer than {least}")
    if version.rows.along is Along.FILL:
        reasons.append("rows are filled one after the other, in steps that may end in the next row")
    elif rows:
        by_position = version.rows.along is Along.POSITIONS
        how = "several rows are taken at once" if by_position else "rows are taken one by one"
        number = f"{rows} elements or more" if guard.mean else f"fewer than {rows} elements"
        reasons.append(f"{how}, as they have {number} on average")
    return "; ".join(reasons)
