"""How a sweep is divided: blocks and steps, column tiles of stencils, tiles of contractions.

Blocks and steps follow from what a body costs. A stencil visits some columns of all rows of a block
before the next columns. Rows of 4,096 f32, a panel of 1,024 columns:

    1 2 . .      what the rows above and below share with a row is still in the nearest cache
    1 2 . .      when that is visited; each step prefetches the row after those that it reads,
    1 2 . .      as no CPU's prefetcher follows from the end of a panel's row to the next

A contraction keeps results in registers and values in caches:

    version name=tiled
        guard inside=true work=32768 narrowest=4
        split axis=row by=126                               rows of a tile
        split axis=last by=256                              and lanes
        split axis=fold by=256
        reorder loops=row,column,fold,column,row,fold
        unroll axis=row by=14                               a register tile
        vectorize axis=last width=32
        cache at=packed axes=row,last

    registers   rows x lanes results, the values of a step's lanes, one of a row, one product
    first       the values of `lanes` lanes for as many steps as the fold is split into
    second      the values of a tile's rows and lanes for as many steps, and its results so far

Where axes come before rows and lanes there are many small contractions: their values are read where
they are. Where half a register of lanes is enough, or one, a version has these; its tiles are no
taller than wide, since small matrices are as tall as wide more often than not. Nothing is split
where folds are short: each register tile takes all steps, and its results go on from registers.

    version name=whole
        guard inside=true work=32768 narrowest=2 longest=64
        unroll axis=row by=4
        vectorize axis=last width=8

Threads that read across rows, as those of a transpose do, take a tile together: they read it along
memory into the shared memory of their block, and then each takes a row of that.

    version name=turned
        guard narrowest=32
        split axis=row by=32
        split axis=last by=32
        reorder loops=row,column,row,column
        vectorize axis=last width=32 tail=predicate
        cache at=shared axes=row,last
"""

from __future__ import annotations

from flatweave.base.dtypes import DType, bool_, u32
from flatweave.base.records import replace
from flatweave.lower.machine.machine import BLOCK_WORK, ROW_LANES, WIDEST, Machine, room
from flatweave.lower.machine.thresholds import (
    ACCUMULATING,
    FEWEST,
    FOLD_STEPS,
    NARROWEST,
    NARROWEST_PANEL,
    SIDE_IN_PLACE,
    SPARE_REGISTERS,
    TALLER,
    TILE_LANES,
    TILE_ROWS,
    VECTORS,
    WIDEST_SQUARE,
)
from flatweave.lower.schedule.arrangement import folds_down_columns
from flatweave.lower.schedule.contraction import Contraction
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.nest.legal import in_any_order
from flatweave.nest.schedule import (
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
from flatweave.ops import Index, Prefix, Sweep
from flatweave.ops.arrays import WORD
from flatweave.passes.cost import READ, cost_of_body
from flatweave.terms.control import For, While
from flatweave.terms.rules import scalar_type
from flatweave.terms.syntax import ArrayType, Const, Lambda
from flatweave.terms.traverse import free_vars, lambdas_in, needed_for, walk_lets


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
