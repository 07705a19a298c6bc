"""How a sweep is divided: blocks, steps, tiles, and elements that stay in registers."""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.base.dtypes import DType, bool_, u32
from flatweave.base.records import record, replace
from flatweave.lower.machine import (
    ACCUMULATING,
    BLOCK_WORK,
    FEWEST,
    FOLD_STEPS,
    LEAST_EACH,
    NARROWEST,
    NARROWEST_PANEL,
    OTHER_REGISTERS,
    ROW_LANES,
    SIDE_IN_PLACE,
    SPARE_REGISTERS,
    TALLER,
    TILE_LANES,
    TILE_ROWS,
    UNDER_WAY,
    VECTORS,
    WIDEST,
    WIDEST_SQUARE,
    Machine,
    room,
)
from flatweave.lower.schedule.arrangement import folds_down_columns, in_any_order
from flatweave.lower.schedule.contraction import Contraction
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.scan_levels import ScanLevels, ScanRecord
from flatweave.lower.schedule.steps import (
    BY_STEPS,
    BY_TILES,
    Axis,
    Bind,
    Cache,
    Guard,
    Memory,
    Split,
    Tail,
    Unroll,
    Vectorize,
    Version,
)
from flatweave.ops import Check, Index, Prefix, Sweep
from flatweave.ops.arrays import WORD
from flatweave.passes.cost import AS_READ, READ, cost_of_body
from flatweave.terms.control import Apply, Cast, For, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Var, scalar_type
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in, needed_for, walk_lets

# -- tiling ---------------------------------------------------------------------------------------
#
# How a sweep is divided: blocks and steps, column tiles of stencils, tiles of contractions.

def element_dtypes(sweep: Sweep, *, selected: bool = True) -> list[DType]:
    """The dtypes that a sweep reads from arrays or passes to its sinks, with those of which a
    filter stores only `selected` elements."""
    read = [var.type.dtype for var in free_vars(sweep) if isinstance(var.type, ArrayType)]
    pairs = zip(sweep.sinks, sweep.portions(), strict=True)
    passed = [t if selected or not s.filters else t[: s.deciding] for s, t in pairs]
    return [*read, *(scalar_type(result) for taken in passed for result in taken)]


def choose_blocks(
    machine: Machine, sweep: Sweep, *, in_order: bool, along_rows: bool = False,
    streams: list[DType] | None = None,
) -> tuple[int, Bind]:  # fmt: skip
    """Lanes of a step, and the least and most elements of a block, from what the body costs.

    `streams`: the dtypes moved for each element, if these are not those of all reads and stores.
    """
    cost, at_once = max(1, cost_of_body(sweep.body)), _at_once(sweep)
    dtypes = element_dtypes(sweep)
    width = machine.lanes(element_dtypes(sweep, selected=False))
    if machine.fixed_width is None:
        if not machine.one_block:  # few elements, which are in the nearest cache
            several = width * _registers(at_once, in_order=in_order)
            if 2 * several * _state_of_loops(sweep.body) > machine.registers * machine.vector_bytes:
                several = width  # a loop's state before an iteration and after it
            if _searches(sweep.body):
                several = ROW_LANES
            width = min(WIDEST, max(several, _lanes_of_scans(machine, sweep)))
            if any(sink.in_words for sink in sweep.sinks):
                width = max(width, WORD.bits)  # blocks are of whole words
        width = ROW_LANES if along_rows else width
    bytes_each = max(1, sum(dtype.bytes for dtype in (dtypes if streams is None else streams)))
    step = width * machine.warps
    most = max(step, machine.block_bytes // bytes_each // step * step)
    least = min(most, max(step, machine.block_work // cost // step * step))
    return width, Bind(least, most)


def _lanes_of_scans(machine: Machine, sweep: Sweep) -> int:
    """Lanes that fill a register with what is scanned: its operator is taken once for each doubling
    of their number. Of anything else they fill four at most."""
    scanned = [
        scalar_type(atom) for let in sweep.body.lets if isinstance(let.op, Prefix)
        for atom in let.op.args
    ]  # fmt: skip
    carried = [dtype for dtype in scanned if dtype is not bool_]
    if not carried:
        return 1
    return min(machine.lanes(carried), 4 * machine.lanes(element_dtypes(sweep)))


def _state_of_loops(fn: Lambda) -> int:
    """The bytes that the widest loop of an element carries from one iteration to the next."""
    loops = (let.op for let in walk_lets(fn) if isinstance(let.op, For | While))
    return max((sum(scalar_type(x).bytes for x in op.init) for op in loops), default=0)


def _searches(fn: Lambda) -> bool:
    """Whether an element is a search: a loop, of as many iterations for all elements, of which each
    reads where the one before found it should. It waits for memory; registers that run out cost
    less than that."""
    inside = {var for let in walk_lets(fn) for var in let.vars}.union(fn.params)
    loops = (let.op for let in walk_lets(fn) if isinstance(let.op, For))
    return any(
        not inside.intersection((op.lo, op.hi, op.step)) and _follows_reads(op.body) for op in loops
    )


def _follows_reads(body: Lambda) -> bool:
    """Whether a loop reads at indices that depend on its state."""
    state = set(body.params[1:])
    places = [i for let in walk_lets(body) if isinstance(let.op, Index) for i in let.op.indices]
    needed = Lambda((), needed_for(body.lets, places), tuple(places))
    return not state.isdisjoint(free_vars(needed))


def blocks_of(each: int, width: int, machine: Machine) -> Bind:
    """Blocks of which every thread takes `each` elements, one in each step."""
    size = each * width * machine.warps
    return Bind(size, size)


def _at_once(sweep: Sweep) -> int:
    """The cost of the computation of an element at one time. Folds down columns read a row in each
    iteration: they cost an iteration of the dearest; the more of the row the better."""
    folds = folds_down_columns(sweep)
    if not folds:
        return cost_of_body(sweep.body)
    others = tuple(let for let in sweep.body.lets if let.op not in folds)
    around = cost_of_body(Lambda((), others, ()))
    return max(around, *(sum(map(cost_of_body, lambdas_in(fold))) for fold in folds))


def _registers(cost: int, *, in_order: bool) -> int:
    """Registers for each value of a step: independent work hides latency until they run out."""
    if in_order:
        return 4 if cost <= 8 else 2 if cost <= 16 else 1
    return 4 if cost < 40 else 2


def choose_panel(facts: SweepFacts, machine: Machine, lanes: Vectorize) -> int:
    """Columns of a panel; 0 where there are no neighbours, or the order of visits matters."""
    found = facts.neighbours
    if found is None or lanes.axis is not Axis.LAST or machine.one_block:
        return 0
    if facts.scans.depth or not in_any_order(facts.op):
        return 0
    most = max(NARROWEST_PANEL, room(machine.first_level) // found.column_bytes)
    return 1 << most.bit_length() - 1


def taller(bind: Bind) -> Bind:
    """Blocks that are visited in panels."""
    return replace(bind, most=bind.most * TALLER)


def tiled_versions(found: Contraction | None, machine: Machine) -> list[Version]:
    """The versions of a contraction on a machine whose lanes are those of registers."""
    if found is None or machine.simt:
        return []
    width = machine.lanes(found.dtypes)
    lanes = width * min(VECTORS, max(1, WIDEST // width))
    vectors, results = lanes // width, len(found.op.neutral)
    values = len(found.lane_values)
    rows = (machine.registers - SPARE_REGISTERS - vectors * values) // (vectors * results)
    if rows < 2:
        return []
    each = sum(scalar_type(value).bytes for value in found.lane_values)
    work = BLOCK_WORK // (2 * READ)  # enough steps of two reads to pay for packing
    if found.leading:
        if not found.reads_along_lanes:
            return []
        depth = machine.first_level // (SIDE_IN_PLACE * each)
        guard = Guard(inside=True, work=work, narrowest=FEWEST, longest=depth)
        height, side = min(rows, machine.registers // ACCUMULATING), SIDE_IN_PLACE
        widest = width if machine.embeds_broadcasts else lanes
        widths = {f"-{n}": n for n in (width // 2, width) if 1 < n < widest} | {"": widest}
        versions = [
            Version(f"whole{name}", replace(guard, widest=n if name else 0),
                    (Unroll(Axis.ROW, min(height, n)), Vectorize(Axis.LAST, n)))
            for name, n in widths.items()
        ]  # fmt: skip
        return versions + [
            _version(f"tiled{name}", replace(guard, widest=n if name else 0, longest=0),
                     (min(height, n), n), (side, side), depth)
            for name, n in widths.items()
        ]  # fmt: skip
    depth = min(FOLD_STEPS, machine.first_level // (lanes * each) // width * width)
    transposes = found.reads_along_fold and machine.tiles
    square = min(WIDEST_SQUARE, width) if transposes else 0
    guard = Guard(inside=True, work=work, narrowest=NARROWEST)
    packed = Cache(Memory.PACKED, (Axis.ROW, Axis.LAST), square)
    return [_version("tiled", guard, (rows, lanes), (TILE_ROWS, TILE_LANES), depth, packed)]


def turned_versions(facts: SweepFacts, machine: Machine) -> list[Version]:
    """The version of a sweep that reads across its lanes, where these are threads of a GPU: in
    tiles that are read along memory, and have as many elements as fill a line. OpenCL's may be
    those of a CPU, which a tile costs up to 1.2 of the time."""
    found = facts.turned if machine.shuffles else None
    if found is None:
        return []
    width = machine.lanes([])
    sizes = [scalar_type(let.vars[0]).bytes for let in found.reads]
    side = max(width, machine.line_bytes // max(sizes))
    room = sum(size * side * stride_of(side, size) for size in sizes)
    extents = (facts.op.shape[found.axis], facts.op.shape[-1])
    small = any(isinstance(extent, Const) and int(extent.value) < width for extent in extents)
    if small or side % machine.warps or 4 * room > 3 * machine.shared_bytes:
        return []
    return [Version("turned", Guard(narrowest=width), (
        Split(Axis.ROW, side), Split(Axis.LAST, side), BY_TILES,
        Vectorize(Axis.LAST, width, Tail.PREDICATE), Cache(Memory.SHARED, (Axis.ROW, Axis.LAST)),
    ))]  # fmt: skip


def stride_of(side: int, size: int) -> int:
    """How far rows of a tile are from each other in shared memory, in elements of `size` bytes. A
    bank holds words of 32 bits, and rows are an odd number of them: columns meet no bank twice."""
    return side + max(1, u32.bytes // size)


def _version(
    name: str, guard: Guard, size: tuple[int, int], most: tuple[int, int], depth: int,
    *cache: Cache,
) -> Version:  # fmt: skip
    """A version with register tiles of a size, in tiles of at most `most` rows and lanes, which
    take `depth` steps of the fold at once."""
    rows, lanes = (max(1, limit // n) * n for n, limit in zip(size, most, strict=True))
    return Version(name, guard, (
        Split(Axis.ROW, rows), Split(Axis.LAST, lanes), Split(Axis.FOLD, depth), BY_STEPS,
        Unroll(Axis.ROW, size[0]), Vectorize(Axis.LAST, size[1]), *cache))  # fmt: skip


# -- in registers ---------------------------------------------------------------------------------
#
# Scans whose elements stay in registers from their evaluation to the last pass: how many of them.
#
# A thread keeps M elements: their scanned values, and the values that are read after the scan. All
# M loads are under way at once, and more elements share a look-back; but each takes registers, and
# with more registers there are fewer warps. A thread has the registers that leave enough warps to
# hide the latency of memory (`Machine.thread_registers`). M is what fits into these, in addition to
# the registers of the look-back and of addresses.


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
