"""What a block does in a pass of a sort whose blocks look back.

    threads     hold elements                      M each, in registers
    warps       tally[w, d]                        how many have the digit d, by atomic updates
    thread d    count[d]                           of all warps; published
                first[d]                           where d begins in the block: a scan of the counts
                tally[w, d]                        now where the warp's elements with d begin
    warps       staged[tally + rank] = x           the block's elements in order, in shared memory;
                                                   rank: how many lanes before have x's digit
    thread d    ahead[d]                           looks back: what the blocks before have of d
    threads     target[place[d] + i] = staged[i]   place = start + ahead - first; neighbours of one
                                                   digit go to neighbours

Counting before ranking has two reasons: later blocks see the counts sooner, and an element whose
index in the block is known is stored there at once, so that no rank stays in a register.

Only the distance that a thread looks back depends on timing. Elements of a digit keep their order:
in a warp by iterations and lanes, then by warps, then by blocks. Of a block that is not full, the
threads without an element count and rank one with the greatest digit. It comes after all others,
and is not moved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.algorithms.block_scans import AGGREGATE, PREFIX
from flatweave.algorithms.lanes import count_of, is_empty, lanes_below
from flatweave.algorithms.look_back import Chains
from flatweave.algorithms.operator import addition, meet
from flatweave.base.dtypes import i32, i64, u8, u16, u32
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.hierarchy import extent_of, fold, in_lanes, store_each
from flatweave.kernel_ir.memory_ops import Atomic, ThreadMemory
from flatweave.kernel_ir.syntax import BlockIndex, Lane, Lanes, Load, Shared, Store, Sync
from flatweave.kernel_ir.warp_ops import LastLane, MatchLanes, ScanLanes
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.machine import Machine
from flatweave.lower.sort.digits import DigitPass
from flatweave.lower.traverse.steps import Position, State, warp_index
from flatweave.lower.traverse.traversal import flat
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var, constant

# -- Elements that the threads of a block hold in registers: the same number each, loaded at once --
#
#    thread t of warp w, number k    element first + (w each + k) 32 + t: neighbours load neighbours


Turn = Callable[[Builder, Atom, Atom, Atom | None], None]
"""What a lane does in an iteration, given its number, the index in the block, and whether there is
an element at that index: None where the block is full."""


class Held:
    """Some components of the elements of a block, of which each thread holds `each`."""

    def __init__(
        self, kernel: KernelBuilder, machine: Machine, each: int, source: Sequence[Var],
        components: Sequence[int],
    ) -> None:  # fmt: skip
        self.kernel, self.each, self.lanes = kernel, each, machine.lanes([])
        self.size = index(each * self.lanes * machine.warps)
        self.warp = warp_index(kernel.body, machine)
        self.source = {k: kernel.buffer(source[k]) for k in components}
        self.memory = {
            k: kernel.body.emit(ThreadMemory(dtype_in(buffer), each, self.lanes))[0]
            for k, buffer in self.source.items()
        }

    def load(self, b: Builder, first: Atom, count: Atom) -> None:
        """Loads the `count` elements from `first` on; threads hold 0 for all others."""

        def act(c: Builder, k: Atom, at: Atom, active: Atom | None) -> None:
            place = c.add(first, at)
            zeros = tuple(constant(0, dtype_in(buffer)) for buffer in self.source.values())

            def loaded(d: Builder) -> tuple[Atom, ...]:
                return tuple(d.emit(Load(buffer, place))[0] for buffer in self.source.values())

            values = loaded(c) if active is None else c.choose(active, loaded, lambda d: zeros)
            store_each(c, self.memory.values(), k, values)

        self.turns(b, count, act)

    def component(self, k: Atom) -> Callable[[Builder, int], Atom]:
        """The components of a thread's element number k."""
        return lambda b, number: b.emit(Load(self.memory[number], k))[0]

    def turns(self, b: Builder, count: Atom, act: Turn) -> None:
        """Emits a loop of all threads over the indices of the elements that they hold, and another
        for a block that is not full: where nothing is asked, many loads are under way at once."""
        full = b.apply("ge", count, self.size)
        with b.branches(full) as (every, some):
            for inner, there in ((some, count), (every, None)):
                with in_lanes(inner, self.lanes) as region:
                    self.turns_inside(region, there, act)

    def turns_inside(self, region: Builder, count: Atom | None, act: Turn) -> None:
        """The same in lanes, of `count` elements or a full block. What is left from a thread's
        first element on has 32 bits."""
        start = region.mul(self.warp, index(self.each * self.lanes))
        first = region.emit(Lane(start))[0]
        left = None if count is None else region.cast(region.sub(count, first), i32)
        with region.loop(index(0), index(self.each), hint="k") as (inside, k):
            before = inside.mul(k, index(self.lanes))
            active = None if left is None else inside.apply("lt", inside.cast(before, i32), left)
            act(inside, k, inside.add(first, before), active)


def by_threads(
    b: Builder, machine: Machine, count: Atom | int, act: Callable[[Builder, Atom], None]
) -> None:
    """Act at 0, 1, .. below `count`, divided among the threads of the block."""
    extent = extent_of(count)

    def step(c: Builder, position: Position, state: State) -> State:
        assert position.active is not None
        with c.when(position.active) as d:
            act(d, position.flat)
        return state

    flat(machine, extent, machine.lanes([])).block(b, index(0), extent, (), step)


ZERO, FIRST = constant(0, u32), index(0)
SUM = addition(u32)


class SweepKernel:
    """One pass by a block of as many threads as a digit has values."""

    def __init__(
        self, digits: DigitPass, kernel: KernelBuilder, held: Held, bits: int, total: Atom,
        words: Var, entries: int, starts: Var,
    ) -> None:  # fmt: skip
        b = kernel.body
        self.digits, self.kernel, self.held, self.b = digits, kernel, held, b
        self.machine: Machine = digits.lowering.machine
        self.bits, self.values, self.lanes = bits, 1 << bits, held.lanes
        self.starts, self.entries = starts, index(entries)
        self.turn = kernel.capture(digits.turn)
        self.shift = kernel.capture(digits.shift)
        self.chains = Chains(words, entries, self.values, self.turn)
        self.block = b.emit(BlockIndex())[0]
        self.first = b.mul(self.block, held.size)
        self.count = b.apply("minimum", held.size, b.sub(total, self.first))
        self.tally = b.emit(Shared(u32, self.values * self.machine.warps))[0]
        self.places = b.emit(Shared(i64, self.values))[0]
        room = held.each << bits
        self.staged = {
            k: b.emit(Shared(dtype_in(buffer), room))[0] for k, buffer in held.source.items()
        }
        self.of_elements = b.emit(Shared(u8 if bits <= u8.bits else u16, room))[0]
        self.counts, self.firsts = self._of_thread(), self._of_thread()

    def _of_thread(self) -> Var:
        return self.b.emit(ThreadMemory(u32, 1, self.lanes))[0]

    def write(self) -> None:
        """The kernel."""
        b, held = self.b, self.held
        held.load(b, self.first, self.count)
        self._count()
        b.emit(Sync())
        self._publish()
        b.emit(Sync())
        self._stage()
        self._look_back()
        b.emit(Sync())
        held.turns(b, self.count, self._leave)

    def _digit(self, b: Builder, keys: list[Atom]) -> Atom:
        return b.cast(self.digits.digit_of(b, self.kernel, keys, self.shift), u32)

    def _digit_of(self, b: Builder, k: Atom, active: Atom | None) -> Atom:
        """The digit of a thread's element number k, the greatest if it has none."""
        digit = self._digit(b, self.digits.keys_of(b, self.kernel, self.held.component(k)))
        if active is None:
            return digit
        greatest = b.cast(b.sub(self.kernel.capture(self.digits.count), index(1)), u32)
        return b.apply("select", active, digit, greatest)

    def _of_warp(self, b: Builder, digit: Atom) -> Atom:
        """The index of a digit in this warp's tally."""
        return b.add(b.mul(self.held.warp, index(self.values)), b.cast(digit, i64))

    # -- in a warp --------------------------------------------------------------------------------

    def _count(self) -> None:
        """How many elements of the warp have each digit; the digits, so that no register holds one
        until elements are ranked."""
        with in_lanes(self.b, self.lanes) as region:
            with region.loop(FIRST, index(self.values), self.lanes, "base") as (clear, base):
                at = clear.emit(Lane(self._of_warp(clear, base)))[0]
                clear.emit(Store(self.tally, at, ZERO))
            region.emit(Sync("warp"))

            def act(b: Builder, k: Atom, at: Atom, active: Atom | None) -> None:
                digit = self._digit_of(b, k, active)
                b.emit(Store(self.of_elements, at, b.cast(digit, dtype_in(self.of_elements))))
                b.emit(Atomic("add", self.tally, self._of_warp(b, digit), constant(1, u32)))

            self.held.turns_inside(region, self.count, act)

    def _stage(self) -> None:
        """Stores each element at its index in the block: after those of its warp with the same
        digit that come before it."""
        with in_lanes(self.b, self.lanes) as region:
            below = lanes_below(region)

            def act(b: Builder, k: Atom, at: Atom, active: Atom | None) -> None:
                digit = b.cast(b.emit(Load(self.of_elements, at))[0], u32)
                alike = b.emit(MatchLanes(digit, self.bits))[0]
                earlier = b.apply("and", alike, below)
                place = self._of_warp(b, digit)
                known = b.emit(Load(self.tally, place))[0]
                b.emit(Sync("warp"))  # one of those that are alike adds all of them
                after = b.add(known, count_of(b, alike))
                with b.when(is_empty(b, earlier)) as c:
                    c.emit(Store(self.tally, place, after))
                b.emit(Sync("warp"))
                target = b.cast(b.add(known, count_of(b, earlier)), i64)
                read = self.held.component(k)
                for number, memory in self.staged.items():
                    b.emit(Store(memory, target, read(b, number)))

            self.held.turns_inside(region, None, act)

    # -- a thread for each digit ------------------------------------------------------------------

    def _publish(self) -> None:
        """Publishes the block's count of each digit; finds where each warp's elements go in it."""
        b = self.b
        region = b.inner()
        digit = self._own(region)

        def add(c: Builder, w: Atom, before: tuple[Atom, ...]) -> tuple[Atom, ...]:
            return (c.add(before[0], self._counted(c, w, digit)),)

        count = fold(region, FIRST, index(self.machine.warps), (ZERO,), add, hint="w")[0]
        self.chains.publish(region, self.block, digit, region.cast(count, i64), AGGREGATE)
        up_to = region.emit(ScanLanes(SUM.function(region), SUM.neutral, (count,)))[0]
        region.emit(Store(self.counts, FIRST, count))
        region.emit(Store(self.firsts, FIRST, region.apply("sub", up_to, count)))
        of_warp = region.emit(LastLane((up_to,)))
        mine = b.emit(Lanes(self.lanes, region.close([], of_warp)))
        before, _ = meet(b, SUM, mine, self.machine.warps)
        with in_lanes(b, self.lanes) as region:
            digit = self._own(region)
            first = region.add(before[0], region.emit(Load(self.firsts, FIRST))[0])
            region.emit(Store(self.firsts, FIRST, first))

            def move(c: Builder, w: Atom, known: tuple[Atom, ...]) -> tuple[Atom, ...]:
                counted = self._counted(c, w, digit)
                c.emit(Store(self.tally, self._slot(c, w, digit), known[0]))
                return (c.add(known[0], counted),)

            fold(region, FIRST, index(self.machine.warps), (first,), move, hint="w")

    def _own(self, region: Builder) -> Atom:
        """The digit that a thread stands for."""
        return region.emit(Lane(region.mul(self.held.warp, index(self.lanes))))[0]

    def _slot(self, b: Builder, warp: Atom, digit: Atom) -> Atom:
        return b.add(b.mul(warp, index(self.values)), digit)

    def _counted(self, b: Builder, warp: Atom, digit: Atom) -> Atom:
        return b.emit(Load(self.tally, self._slot(b, warp, digit)))[0]

    def _look_back(self) -> None:
        """Where the block's elements of each digit go."""
        with in_lanes(self.b, self.lanes) as region:
            digit = self._own(region)
            ahead = self.chains.before(region, self.block, digit)
            count = region.cast(region.emit(Load(self.counts, FIRST))[0], i64)
            self.chains.publish(region, self.block, digit, region.add(ahead, count), PREFIX)
            of_turn = region.mul(self.turn, index(self.values))
            start = region.emit(Load(self.starts, region.add(of_turn, digit)))[0]
            earlier = region.emit(Load(self.starts, of_turn))[0]
            first = region.cast(region.emit(Load(self.firsts, FIRST))[0], i64)
            place = region.sub(region.add(region.sub(start, earlier), ahead), first)
            region.emit(Store(self.places, digit, place))

    # -- elements ---------------------------------------------------------------------------------

    def _leave(self, b: Builder, k: Atom, at: Atom, active: Atom | None) -> None:
        """Moves the element at an index of the block to its index among all."""
        values = {k: b.emit(Load(memory, at))[0] for k, memory in self.staged.items()}
        keys = self.digits.keys_of(b, self.kernel, lambda _, k: values[k])
        start = b.emit(Load(self.places, b.cast(self._digit(b, keys), i64)))[0]
        place = b.add(start, at)

        with b.when(active) as c:
            for component, buffer in enumerate(self.digits.target):
                c.emit(Store(self.kernel.buffer(buffer), place, values[component]))
