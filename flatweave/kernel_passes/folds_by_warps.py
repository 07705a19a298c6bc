"""Combine the values of a block's threads by shuffles of its warps and one barrier.

    threads      a b c d        e f g h        i j           warps of 4 lanes
    lanes        a ab abc abcd  e ef efg efgh  i ij          by shuffles: a prefix each
    warps        abcd           efgh           ij            in shared memory, a barrier
    before       nothing        abcd           abcdefgh      by shuffles of each warp
    prefixes     a ab abc abcd  abcde abcdef ..

With rows a prefix goes back to where its row begins: in its warp, or in one before. A reduction of
all is the last line's last, for which one warp is enough. It is done where lanes have shuffles, and
a block has a thread for each value; elsewhere memory takes log2 n steps (`block_scans.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from flatweave.algorithms.operator import Operator, select
from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import (
    BLOCK,
    WARP,
    Pull,
    Put,
    Values,
    allocate,
    dtypes_of,
    for_all,
    in_lanes,
    store_each,
)
from flatweave.kernel_ir.syntax import Lane, Lanes, Load, Sync
from flatweave.kernel_ir.warp_ops import LastLane, ReduceLanes, ScanLanes, ShiftLanes
from flatweave.kernel_passes.distribute import BlockShape
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const, Var


def has_shuffles(shape: BlockShape, threads: int) -> bool:
    """Whether a block has a lane with shuffles for each of `threads` threads, and no more warps
    than a warp has lanes."""
    return shape.shuffles and threads <= shape.threads and shape.warps <= shape.width


@record(eq=True)
class Meeting:
    """The threads of a block that meet: each has what `of_thread` gives, in rows of `row`."""

    operator: Operator
    of_thread: Pull
    row: int
    width: int

    @property
    def count(self) -> int:
        """How many threads."""
        assert isinstance(self.of_thread.extent, Const)
        return int(self.of_thread.extent.value)

    @property
    def warps(self) -> int:
        """How many warps they are."""
        return -(-self.count // self.width)

    @property
    def has_rows(self) -> bool:
        """Whether there are several."""
        return self.row < self.count

    @property
    def across(self) -> bool:
        """Whether what some warp has goes on in the next."""
        return self.warps > 1 and not (self.has_rows and self.width % self.row == 0)


def reduce_by_shuffles(b: Builder, m: Meeting, put: Put) -> None:
    """Puts what the threads of each row combine to."""
    if m.has_rows:
        prefixes = scan_by_shuffles(b, m)
        prefixes(b, lambda c, t, value: _put_last(c, m, t, value, put))
        return
    ends = _memory(b, m, m.warps) if m.warps > 1 else ()

    def warp(c: Builder, w: Atom) -> None:
        region = c.inner()
        lane, values = _values(region, m, w)
        total: Values = region.emit(ReduceLanes(m.operator.function(region), values))
        if m.warps == 1:
            with region.when(_is_first(region, lane)) as d:
                put(d, index(0), total)
            total = ()
        _store(c, ends, w, c.emit(Lanes(m.width, region.close([], total))))

    for_all(b, WARP, m.warps, warp)
    if m.warps > 1:
        b.emit(Sync(BLOCK.word))
        for_all(b, WARP, 1, lambda c, w: _meet(c, m, ends, put))


def _meet(b: Builder, m: Meeting, ends: tuple[Var, ...], put: Put) -> None:
    """One warp combines what all have."""
    with in_lanes(b, m.width) as region:
        lane = region.emit(Lane(index(0)))[0]
        total = _between(region, m, ends, lane, index(0), index(m.warps))
        with region.when(_is_first(region, lane)) as d:
            put(d, index(0), total)


def _put_last(b: Builder, m: Meeting, t: Atom, value: Values, put: Put) -> None:
    """What the last thread of a row has is that of the row."""
    behind = b.add(t, index(1))
    ends = b.apply("eq", b.apply("mod", behind, index(m.row)), index(0))
    with b.when(ends) as c:
        put(c, c.apply("floordiv", t, index(m.row)), value)


# -- prefixes -------------------------------------------------------------------------------------

Each = Callable[[Builder, Atom, Values], None]


def scan_by_shuffles(
    b: Builder, m: Meeting, *, exclusive: bool = False
) -> Callable[[Builder, Each], None]:
    """Combines what threads have, and gives what lets each thread t go on: `prefixes(b, body)` is
    body(b, t, prefix) in all of them, which ends before the thread if it is `exclusive`."""
    own = _memory(b, m, m.warps * m.width)
    ends: tuple[Var, ...] = _memory(b, m, m.warps) if m.across else ()

    def warp(c: Builder, w: Atom) -> None:
        region = c.inner()
        lane, values = _values(region, m, w)
        starts = _starts(region, m, lane)
        alone = region.emit(
            ScanLanes(m.operator.function(region), m.operator.neutral, values, starts)
        )
        mine: Values = alone
        if exclusive:
            mine = region.emit(ShiftLanes(m.operator.neutral, alone))
            for flag in starts:
                mine = select(region, flag, m.operator.neutral, mine)
        _store(region, own, lane, mine)
        last: Values = region.emit(LastLane(alone)) if m.across else ()
        _store(c, ends, w, c.emit(Lanes(m.width, region.close([], last))))

    for_all(b, WARP, m.warps, warp)
    b.emit(Sync(BLOCK.word))

    def prefixes(c: Builder, body: Each) -> None:
        for_all(c, WARP, m.warps, lambda d, w: _go_on(d, m, w, own, ends, body))

    return prefixes


def _go_on(
    b: Builder, m: Meeting, w: Atom, own: tuple[Var, ...], ends: tuple[Var, ...], body: Each
) -> None:
    """The lanes of a warp with what stands before each."""
    before: Values = ()
    with in_lanes(b, m.width) as region:
        first = region.mul(w, index(m.width))
        if m.across:
            number = region.emit(Lane(index(0)))[0]
            lo = region.apply("floordiv", _row_start(region, m, first), index(m.width))
            before = _between(region, m, ends, number, lo, w)
        t = region.emit(Lane(first))[0]

        def thread(c: Builder) -> None:
            mine: Values = tuple(c.emit(Load(buffer, t))[0] for buffer in own)
            if before:
                mine = _joined(c, m, first, t, before, mine)
            body(c, t, mine)

        if _all_run(m):
            thread(region)
        else:
            with region.when(region.apply("lt", t, index(m.count))) as there:
                thread(there)


def _joined(b: Builder, m: Meeting, first: Atom, t: Atom, before: Values, mine: Values) -> Values:
    """What earlier warps have of a thread's row, and what its own has."""
    both = m.operator.combine(b, before, mine)
    if not m.has_rows:
        return both
    goes_on = b.apply("lt", _row_start(b, m, t), first)
    return select(b, goes_on, both, mine)


def _between(
    b: Builder, m: Meeting, ends: tuple[Var, ...], lane: Atom, lo: Atom, hi: Atom
) -> Values:
    """What the warps from lo below hi have, combined by the lanes of one."""
    there = b.apply("lt", lane, hi)
    if lo != index(0):
        there = b.apply("and", b.apply("le", lo, lane), there)
    values = b.choose(
        there, lambda c: tuple(c.emit(Load(end, lane))[0] for end in ends),
        lambda c: m.operator.neutral,
    )  # fmt: skip
    return b.emit(ReduceLanes(m.operator.function(b), values))


# -- lanes ----------------------------------------------------------------------------------------


def _values(b: Builder, m: Meeting, w: Atom) -> tuple[Atom, Values]:
    """The number of each lane's thread, and what it has."""
    lane = b.emit(Lane(b.mul(w, index(m.width))))[0]
    if _all_run(m):
        return lane, m.of_thread.at(b, lane)
    there = b.apply("lt", lane, index(m.count))
    return lane, b.choose(there, lambda c: m.of_thread.at(c, lane), lambda c: m.operator.neutral)


def _all_run(m: Meeting) -> bool:
    return m.count % m.width == 0


def _starts(b: Builder, m: Meeting, t: Atom) -> tuple[Atom, ...]:
    """Where rows begin that do not begin with a warp."""
    if m.row % m.width == 0 or not m.has_rows:
        return ()
    return (b.apply("eq", b.apply("mod", t, index(m.row)), index(0)),)


def _row_start(b: Builder, m: Meeting, t: Atom) -> Atom:
    """The first thread of a thread's row."""
    if not m.has_rows:
        return index(0)
    return b.sub(t, b.apply("mod", t, index(m.row)))


def _is_first(b: Builder, lane: Atom) -> Atom:
    return b.apply("eq", lane, index(0))


def _memory(b: Builder, m: Meeting, size: int) -> tuple[Var, ...]:
    return allocate(b, dtypes_of(b, m.operator.neutral), size)


def _store(b: Builder, buffers: tuple[Var, ...], at: Atom, values: Values) -> None:
    store_each(b, buffers, at, values)
