"""Sorts of what is short: a row by one thread in a network of registers, or a row for each lane."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from flatweave.array_ir.syntax import PARTS
from flatweave.base.dtypes import i32, i64, u32
from flatweave.base.plan import CHECK_ERROR
from flatweave.kernel_ir.hierarchy import in_lanes, store_each
from flatweave.kernel_ir.host import Fail, Retain, Role, free
from flatweave.kernel_ir.syntax import Lane, Load, Store
from flatweave.kernel_ir.warp_ops import LoadTile
from flatweave.lower.context import Lowering
from flatweave.lower.element_functions import Elements
from flatweave.lower.kernel_builder import HostArray, KernelBuilder, place_blocks, write_positions
from flatweave.lower.machine import FULL_REGISTERS, Machine
from flatweave.lower.sort.network import Network, Words
from flatweave.lower.traverse.steps import Position, count_lanes, while_active
from flatweave.ops import RadixSort, SortRow, SortRows
from flatweave.ops.writes import SHORT, SHORT_ALONE, longest_in_lanes
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.operators import comes_before, exchanges, steps_back, undone
from flatweave.terms.syntax import Atom, Lambda, Let, Var, array_type, constant, scalar_type

# -- The sort of a row by one thread: its keys in a network of registers, then its elements --------
#
#     words = the keys of the elements, lane by lane; then padding that comes last
#     sort the words                                    `network.py`
#     ys[e] = element of words[e % R * lanes + e // R], where there are many, square by square
#
# Results have room for the padding after the last element. `radix.py` sorts short arrays in the
# same way. See docs/decisions/sorts.md.


FEW_REGISTERS = 512
"""Registers up to which a network is faster than passes over digits, where there is a minimum of
words: other words are compared and chosen."""
TOO_LONG = PARTS.join([
    "one thread cannot sort a row of {0} elements.",
    'Sort all rows at once: with fw.schedule(version="flat").',
])  # fmt: skip


def lower_sort_row(lowering: Lowering, let: Let, op: SortRow) -> None:
    """Emit the launch of a sort by one thread and bind its results."""
    host = lowering.host
    total = lowering.scope.array(op.xs[0]).shape[0]
    _check_places(lowering, total)
    written = RowSort(lowering, let, op, total)
    kernel = lowering.kernel(let)
    written.write(kernel)
    lowering.launch(kernel, host.apply("minimum", total, index(1)))
    written.end()
    for var, buffer in zip(let.vars, written.target, strict=True):
        lowering.scope.bind(var, HostArray(buffer, (total,)))


def in_network(lowering: Lowering, let: Let, op: RadixSort, total: Atom) -> list[Var]:
    """The buffers of a whole program's elements that one thread sorts in its registers."""
    written = RowSort(lowering, let, op, total)
    kernel = lowering.later(
        let, "_network", written.needs, lambda kernel, own: written.write(kernel)
    )
    blocks = lowering.host.apply("minimum", total, index(1))
    lowering.launch(kernel, blocks, Role.VARIANT)
    written.end()
    return written.target


def width_of(machine: Machine, words: Words) -> int:
    """Elements that a register has words of."""
    return max(machine.lanes(words.dtypes), 2)


def few_elements(machine: Machine, fn: Lambda) -> int:
    """Up to how many elements a network sorts faster than passes over the digits of `fn`."""
    words = Words.of(fn)
    widest = max(dtype.bytes for dtype in words.dtypes)
    compares = widest < i64.bytes or machine.vector_bytes >= FULL_REGISTERS
    has_minimum = len(words.dtypes) == 1 and compares
    steps = 1 if has_minimum else max(2, len(words.dtypes))
    return FEW_REGISTERS // steps * width_of(machine, words)


def _check_places(lowering: Lowering, total: Atom) -> None:
    """Places of elements must fit the words."""
    has_place = lowering.host.apply("lt", total, index(1 << u32.bits))
    site = lowering.site("argument", TOO_LONG, 1)
    failed = lowering.host.apply("not", has_place)
    lowering.host.emit(Fail(failed, CHECK_ERROR, site, total, index(0)))


class RowSort:
    """One sort: what it takes of the host, and its kernel."""

    def __init__(
        self, lowering: Lowering, let: Let, op: SortRow | RadixSort, total: Atom
    ) -> None:
        self.lowering = lowering
        self.op = op
        self.words = words = Words.of(op.fn)
        self.width = width = width_of(lowering.machine, words)
        host = lowering.host
        count = host.apply("floordiv", host.add(total, index(width - 1)), index(width))
        pairs = host.apply("maximum", count, index(2))  # each is compared with another
        behind = host.sub(pairs, index(1))
        log = host.sub(index(64), host.apply("clz", behind))
        room = host.mul(host.apply("shl", index(1), log), index(width))
        self.sizes = (total, room, log)
        self.source = [lowering.scope.array(x).buffer for x in op.xs]
        self.target = [lowering.alloc_like(x, room) for x in op.xs]
        self.rooms = [lowering.alloc(dtype, room, "words") for dtype in words.dtypes]

    @property
    def needs(self) -> list[Atom]:
        """The host values that the kernel may capture."""
        reads = self.lowering.reads(self.op.fn)
        return [*reads, *self.source, *self.target, *self.rooms, *self.sizes]

    def end(self) -> None:
        """Give back what the launch needed."""
        free(self.lowering.host, *self.rooms)

    def write(self, kernel: KernelBuilder) -> None:
        """Its code, which one block runs."""
        written = _Sorting(self.lowering, self.op, kernel, self.words, self.width)
        written.write(self.source, self.target, self.rooms, self.sizes)


class _Sorting:
    """The kernel of one sort."""

    def __init__(
        self, lowering: Lowering, op: SortRow | RadixSort, kernel: KernelBuilder, words: Words,
        width: int,
    ) -> None:  # fmt: skip
        self.lowering = lowering
        self.op = op
        self.kernel = kernel
        self.words = words
        self.width = width

    def write(
        self, source: Sequence[Var], target: Sequence[Var], rooms: Sequence[Var],
        sizes: tuple[Atom, Atom, Atom],
    ) -> None:  # fmt: skip
        """Words, their sort, elements: all in one region of lanes."""
        kernel = self.kernel
        self.source = [kernel.buffer(buffer) for buffer in source]
        self.target = [kernel.buffer(buffer) for buffer in target]
        self.rooms = [kernel.buffer(buffer) for buffer in rooms]
        self.total, room, self.log = (kernel.capture(size) for size in sizes)
        with in_lanes(kernel.body, self.width) as b:
            whole = b.apply("and", self.total, index(-self.width))
            for lo, hi, is_last in ((index(0), whole, False), (whole, room, True)):
                with b.loop(lo, hi, self.width, hint="k") as (c, start):
                    self._enter(c, start, is_last)
            # a whole program has one sort of few elements, which is as fast as it is made
            Network(self.rooms, self.width, self.log, isinstance(self.op, SortRow)).sort(b)
            registers = b.apply("shl", index(1), self.log)
            has_squares = b.apply("ge", registers, index(self.width))
            with b.branches(has_squares) as (squares, few):
                with squares.loop(index(0), registers, self.width, hint="k") as (c, register):
                    self._leave_square(c, register)
                with few.loop(index(0), self.total, self.width, hint="k") as (c, start):
                    self._leave(c, start)

    def _enter(self, b: Builder, start: Atom, last: bool) -> None:
        """The words of the elements from `start` on."""
        place = b.emit(Lane(start))[0]

        def some(c: Builder) -> Sequence[Atom]:
            elements = [c.emit(Load(buffer, place))[0] for buffer in self.source]
            made = Elements(self.kernel, place, self.lowering.checks)
            return self.words.packed(c, made.call(c, self.op.fn, elements), place)

        found: Sequence[Atom] = some(b) if not last else b.choose(
            b.apply("lt", place, self.total), some, lambda _: self.words.behind()
        )
        store_each(b, self.rooms, place, found)

    def _leave_square(self, b: Builder, register: Atom) -> None:
        """The elements of as many registers as each has lanes: from a register on."""
        width = index(self.width)
        words = b.emit(LoadTile(self.rooms[-1], b.mul(register, width), width, self.width))
        for lane, word in enumerate(words):
            self._store(b, b.add(b.apply("shl", index(lane), self.log), register), word)

    def _leave(self, b: Builder, start: Atom) -> None:
        """The elements from `start` on."""
        place = b.emit(Lane(start))[0]
        lane = b.apply("shr", place, self.log)
        register = b.sub(place, b.apply("shl", lane, self.log))
        at = b.add(b.mul(register, index(self.width)), lane)
        self._store(b, start, b.emit(Load(self.rooms[-1], at))[0])

    def _store(self, b: Builder, start: Atom, word: Atom) -> None:
        """Stores the elements of the words, from `start` on; after the last one, any values."""
        if self.words.undo is not None:
            values = [self.words.element(b, word)]
        else:
            last = b.sub(self.total, index(1))
            origin = b.apply("minimum", self.words.place(b, word), last)
            values = [b.emit(Load(buffer, origin))[0] for buffer in self.source]
        place = b.emit(Lane(start))[0]
        store_each(b, self.target, place, values)


# -- Short rows, many at once: each lane sorts one row, in registers -------------------------------
#
#     row 0   3 1 2        lane 0 of  x0 x1 x2    3 1 2    1 3 2    1 2 3    1 2 3
#     row 1   5 4          lane 1                 5 4 -    4 5 -    4 5 -    4 5 -
#
# Neighbours are exchanged if the second one comes first (odd-even transposition sort). Pairs at
# even and at odd positions alternate, in one step for each element; then the row is in order. Equal
# elements never pass each other. Positions after the end of a row have keys that come last. A key
# that determines its element moves alone, in Batcher's network, which compares half as many pairs.
# A step takes the code for the longest of its rows. Rows that no code is for are copied:
# `passes/nests/inner_rules.py` sorts them by row and by key.


LENGTHS = (2, 4, 8, SHORT, 24, SHORT_ALONE)
"""Places of a row that there is code for."""


def lower_sort_rows(lowering: Lowering, let: Let, op: SortRows) -> None:
    """Emit the launch and bind the results; rows of one element are in order."""
    host, total = lowering.host, lowering.scope.array(op.xs[0]).shape[0]
    alone, inside = lowering.inner(optional=True), lowering.inner(optional=True)
    source = [lowering.scope.array(x).buffer for x in op.xs]
    for buffer in source:
        alone.host.emit(Retain(buffer))
    target = [inside.alloc_like(x, total) for x in op.xs]
    _Rows(inside, let, op, total, target).launch()
    some = host.apply("gt", lowering.scope.scalar(op.length), index(1))
    bodies = inside.host.close([], target), alone.host.close([], source)
    found = host.emit(If(some, *bodies), "buffer")
    for var, buffer in zip(let.vars, found, strict=True):
        lowering.scope.bind(var, HostArray(buffer, (total,)))


class _Rows:
    """One sort of rows."""

    def __init__(
        self, lowering: Lowering, let: Let, op: SortRows, total: Atom, target: Sequence[Var]
    ) -> None:
        self.lowering = lowering
        self.let = let
        self.op = op
        self.total = total
        self.target = target
        scope = lowering.scope
        self.source = [scope.array(x).buffer for x in op.xs]
        self.offsets = [scope.array(x).buffer for x in op.offsets]
        self.length = scope.scalar(op.length)
        some = lowering.host.apply("gt", total, index(0))
        self.rows = lowering.host.apply("select", some, scope.scalar(op.rows), index(0))
        self.dtypes = [*(array_type(x).dtype for x in op.xs), i32]
        most = longest_in_lanes(op.fn, is_even=not op.offsets)
        self.lengths = [places for places in LENGTHS if places <= most]

    def launch(self) -> None:
        """One launch, of the code for the longest row."""
        lowering, host = self.lowering, self.lowering.host
        reads = lowering.reads(self.op.fn)
        needs = [*reads, *self.source, *self.target, *self.offsets]
        needs += [self.length, self.rows, self.total]
        made = [
            lowering.later(self.let, f"_of_{places}", needs, partial(self._write, places))
            for places in self.lengths
        ]
        fits = [host.apply("le", self.length, index(places)) for places in self.lengths]
        *others, last = zip(fits, made, strict=True)
        blocks = place_blocks(host, lowering.machine, self.rows, self.dtypes * SHORT)
        lowering.launch_first(others, last[1], blocks, Role.VARIANT)

    def _write(self, places: int, kernel: KernelBuilder, own: Sequence[Var]) -> None:
        machine, rows = self.lowering.machine, kernel.capture(self.rows)

        def step(b: Builder, position: Position) -> None:
            row = position.flat
            if position.active is not None:
                row = b.apply("minimum", row, b.sub(rows, index(1)))
            start, length = self._span(b, kernel, row)
            (length,) = while_active(b, [length], [index(0)], position)
            if self.offsets and places == SHORT:
                length = self._copy_longer(b, kernel, start, length)
            self._shortest(b, kernel, places, position.width, start, length)

        write_positions(machine, kernel, rows, self.dtypes * SHORT, step)

    def _shortest(
        self, b: Builder, kernel: KernelBuilder, places: int, width: int, start: Atom, length: Atom
    ) -> None:
        """Sort the rows of a step by the code for the longest one, up to `places` elements. Lanes
        are counted before the branches, which warps take differently: all warps come to a count."""
        sizes = [places]
        while self.offsets and sizes[-1] > LENGTHS[0]:
            sizes.append(sizes[-1] // 2)
        counts = [count_lanes(b, b.apply("gt", length, index(size)), width) for size in sizes[1:]]
        longer = [b.apply("gt", count, index(0)) for count in counts]

        def sort(c: Builder, number: int) -> None:
            if number == len(longer):
                return self._sort(c, kernel, sizes[number], start, length)
            with c.branches(longer[number]) as (whole, half):
                self._sort(whole, kernel, sizes[number], start, length)
                sort(half, number + 1)

        sort(b, 0)

    def _copy_longer(self, b: Builder, kernel: KernelBuilder, start: Atom, length: Atom) -> Atom:
        """Copy rows that are too long, and return the lengths to sort, 0 for those."""
        is_long = b.apply("gt", length, index(SHORT))
        end = b.apply("select", is_long, b.add(start, length), start)

        def copy(c: Builder, known: tuple[Atom, ...]) -> tuple[Atom, ...]:
            (at,) = known
            for x, y in zip(self.source, self.target, strict=True):
                c.emit(Store(kernel.buffer(y), at, c.emit(Load(kernel.buffer(x), at))[0]))
            return (c.add(at, index(1)),)

        b.repeat(
            (start,), lambda c, known: c.apply("lt", known[0], end), copy, "i", through_memory=True
        )
        return b.apply("select", is_long, index(0), length)

    def _sort(
        self, b: Builder, kernel: KernelBuilder, places: int, start: Atom, length: Atom
    ) -> None:
        """Sort one row in each lane, of up to `places` elements."""
        there = [b.apply("lt", index(k), length) for k in range(places)]
        last = b.sub(kernel.capture(self.total), index(1))
        steps = steps_back(self.op.fn)
        carried = []
        for k in range(places):
            at = b.apply("minimum", b.add(start, index(k)), last)
            elements = [b.emit(Load(kernel.buffer(x), at))[0] for x in self.source]
            keys = Elements(kernel, at, self.lowering.checks).call(b, self.op.fn, elements)
            moves = elements if steps is None else keys
            carried.append(self._carried(b, there[k], keys, moves))
        many = len(self.op.fn.results)
        for one, other in _neighbours(places) if steps is None else exchanges(places):
            carried[one], carried[other] = _exchanged(b, many, carried[one], carried[other])
        for k, moved in enumerate(carried):
            place = b.add(start, index(k))
            with b.when(there[k]) as inside:
                values = moved[many:] if steps is None else [undone(inside, steps, moved[0])]
                store_each(inside, map(kernel.buffer, self.target), place, values)

    def _span(self, b: Builder, kernel: KernelBuilder, row: Atom) -> tuple[Atom, Atom]:
        """Where a row begins, and how long it is."""
        if not self.offsets:
            length = kernel.capture(self.length)
            return b.mul(row, length), length
        offsets = kernel.buffer(self.offsets[0])
        start = b.emit(Load(offsets, row))[0]
        return start, b.sub(b.emit(Load(offsets, b.add(row, index(1))))[0], start)

    def _carried(
        self, b: Builder, there: Atom, keys: Sequence[Atom], elements: Sequence[Atom]
    ) -> list[Atom]:
        """The keys of an element, and the element; what is a key itself is the same atom."""
        most = [constant(-1, scalar_type(key)) for key in keys]
        found = [b.apply("select", there, *each) for each in zip(keys, most, strict=True)]
        alike = dict(zip(keys, found, strict=True))
        return [*found, *(alike.get(x, x) for x in elements)]


def _neighbours(places: int) -> Iterator[tuple[int, int]]:
    """Odd-even transposition: the pairs of positions to compare, in order."""
    for turn in range(places):
        for k in range(turn % 2, places - 1, 2):
            yield k, k + 1


def _exchanged(
    b: Builder, many: int, one: Sequence[Atom], other: Sequence[Atom]
) -> tuple[list[Atom], list[Atom]]:
    """Two elements, which each begin with `many` keys, in sorted order."""
    less = comes_before(b, other[:many], one[:many])
    pairs = dict.fromkeys(zip(one, other, strict=True))
    chosen = {
        pair: (b.apply("select", less, pair[1], pair[0]), b.apply("select", less, *pair))
        for pair in pairs
    }
    found = [chosen[pair] for pair in zip(one, other, strict=True)]
    return [first for first, _ in found], [second for _, second in found]
