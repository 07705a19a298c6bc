"""The sources of a block's prefix: chains of blocks, known prefixes, or a single block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from flatweave.algorithms.block_scans import (
    NOTHING,
    PREFIX,
    Packing,
    Slots,
    Warps,
    Words,
    reduce_by_warps,
    scan_by_warps,
)
from flatweave.algorithms.operator import Operator, together
from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.hierarchy import WARP, Pull, Put, Values, for_all, read, store_each
from flatweave.kernel_ir.host import Alloc, Free, Role, free
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.context import Lowering
from flatweave.lower.element_functions import operator_in
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.schedule.scan_levels import ScanRecord, with_slots
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Lambda, Let, Var

# -- The chain in which the blocks of a single-pass scan publish: the host's part of it ------------
#
# The blocks' part is `algorithms/look_back.py`. Timing decides whether a block or a later one joins
# the block's aggregate to the prefix before it. Where copies of the operator might disagree, it is
# called as a function (`kernel_builder.py`).


Clear = Callable[[Var, Atom, Atom], None]
"""Launches a kernel that sets a number of words: the first to a value, the others to NOTHING."""


@record
class Chain:
    """The buffers of one chain, as the host holds them; `last` is the slot after all blocks."""

    states: Var
    aggregates: tuple[Var, ...]
    prefixes: tuple[Var, ...]
    last: Atom

    def inside(self, kernel: KernelBuilder) -> Slots:
        """The same in a kernel."""
        aggregates = tuple(kernel.buffer(buffer) for buffer in self.aggregates)
        states = kernel.buffer(self.states)
        return Slots(aggregates, states, tuple(kernel.buffer(buffer) for buffer in self.prefixes))

    def counted(self, host: Builder, slot: int) -> Atom:
        """Where a scan of counts ends."""
        return host.emit(Load(self.prefixes[slot], self.last))[0]

    def free(self, host: Builder) -> None:
        free(host, self.states, *self.aggregates, *self.prefixes)


@record
class WordChain:
    """The words of one chain, as the host holds them; `last` is the slot after all blocks."""

    words: Var
    packing: Packing
    last: Atom

    def inside(self, kernel: KernelBuilder) -> Words:
        """The same in a kernel."""
        return Words(self.packing, kernel.buffer(self.words))

    def counted(self, host: Builder, slot: int) -> Atom:
        """Where a scan of counts ends."""
        first = host.mul(self.last, index(self.packing.count))
        words = [
            host.emit(Load(self.words, host.add(first, index(k))))[0]
            for k in range(self.packing.count)
        ]
        return self.packing.unpack(host, words)[slot]

    def free(self, host: Builder) -> None:
        host.emit(Free(self.words))


def make_chain(
    host: Builder, first: Sequence[Atom], blocks: Atom, site: int, clear: Clear | None = None
) -> Chain:
    """Allocate a chain for `blocks` blocks; slot 0 is known, the others are not.

    `clear` sets the states where the host had better not.
    """
    slots = host.add(blocks, index(1))

    def array(dtype: object) -> Var:
        assert isinstance(dtype, DType)
        return host.emit(Alloc(dtype, slots, site))[0]

    states = array(i64)
    aggregates = tuple(array(atom.type) for atom in first)
    prefixes = tuple(array(atom.type) for atom in first)
    store_each(host, prefixes, index(0), first)
    (clear or _clear_on(host))(states, slots, PREFIX)
    return Chain(states, aggregates, prefixes, blocks)


def make_words(
    host: Builder, first: Sequence[Atom], blocks: Atom, site: int, clear: Clear | None,
    packing: Packing,
) -> WordChain:  # fmt: skip
    """The same of a chain of words."""
    count = host.mul(host.add(blocks, index(1)), index(packing.count))
    words = host.emit(Alloc(i64, count, site))[0]
    known, *others = packing.pack(host, first, PREFIX)
    (clear or _clear_on(host))(words, count, known)
    for number, word in enumerate(others, 1):
        host.emit(Store(words, index(number), word))
    return WordChain(words, packing, blocks)


def _clear_on(host: Builder) -> Clear:
    """The host does it."""

    def clear(words: Var, count: Atom, first: Atom) -> None:
        host.emit(Store(words, index(0), first))
        with host.loop(index(1), count, hint="t") as (inside, slot):
            inside.emit(Store(words, slot, NOTHING))

    return clear


# -- The two-pass scan: for machines where a block must not wait for an earlier one ----------------
#
#    launch 1    aggregates[w] = all elements of warp w combined     (warps of all blocks, in order)
#     launch 2    prefixes = scan of the aggregates, by one warp
#     launch 3    the sweep, each warp going on from prefixes[w]
#
# The walk over the elements, the operators and the sinks are those of the single pass. Only the way
# in which a warp learns its prefix differs. See look_back.py for the other variant.


@record
class KnownPrefixes:
    """The prefix of each warp of the grid; `last` is the slot after all of them."""

    prefixes: tuple[Var, ...]
    last: Atom

    def counted(self, host: Builder, slot: int) -> Atom:
        """Where a scan of counts ends."""
        return host.emit(Load(self.prefixes[slot], self.last))[0]

    def free(self, host: Builder) -> None:
        free(host, *self.prefixes)


def store_aggregate(
    b: Builder, kernel: KernelBuilder, aggregates: Sequence[Var], slot: Atom, values: Sequence[Atom]
) -> None:
    """Store the aggregate of a warp's elements."""
    store_each(b, map(kernel.buffer, aggregates), slot, values)


def load_prefix(
    b: Builder, kernel: KernelBuilder, known: KnownPrefixes, slot: Atom
) -> tuple[Atom, ...]:
    """All elements before slot `slot`, combined."""
    return tuple(b.emit(Load(kernel.buffer(buffer), slot))[0] for buffer in known.prefixes)


# --------------------------------------------------------------------------------------------------
# A scan of a launch that is one block: no block precedes it, and no block waits for its results.
#
# The last pass begins with the scan's initial values. The final value of a scan of counts is stored
# for the host, which reads the number of selected elements.


@record
class OnlyBlock:
    """The initial values of one level's scans and, for counts, their indices among these with a
    buffer for the final value."""

    first: tuple[Atom, ...]
    ends: tuple[tuple[int, Var], ...]
    last: Atom

    def counted(self, host: Builder, slot: int) -> Atom:
        """Where a scan of counts ends."""
        return host.emit(Load(dict(self.ends)[slot], self.last))[0]

    def inside(self, kernel: KernelBuilder) -> tuple[Atom, ...]:
        """Their initial values, in the kernel."""
        return tuple(kernel.capture(atom) for atom in self.first)

    def leave(self, kernel: KernelBuilder, ends: Sequence[Atom]) -> None:
        """Store where the counts end, of all scans that end so."""
        for slot, buffer in self.ends:
            kernel.body.emit(Store(kernel.buffer(buffer), self.last, ends[slot]))

    def free(self, host: Builder) -> None:
        free(host, *(buffer for _, buffer in self.ends))


def make_only_block(
    host: Builder, records: Sequence[ScanRecord], first: Sequence[Atom], site: int
) -> OnlyBlock:
    """Buffers for the ends: without elements, the final count is the initial one."""
    ends = []
    for slot, scan in with_slots(records):
        if scan.compact is not None:
            atom = first[slot]
            assert isinstance(atom.type, DType)
            buffer = host.emit(Alloc(atom.type, index(1), site))[0]
            host.emit(Store(buffer, index(0), atom))
            ends.append((slot, buffer))
    return OnlyBlock(tuple(first), tuple(ends), index(0))


# -- The results of blocks, one value each, scanned by one block: for hosts that share no memory ---
#
#     prefixes[0] = first;  prefixes[t + 1] = prefixes[t] fn aggregates[t]     for t below count
#
# The second step of the two-pass scan takes all its prefixes from here, and a sort the positions of
# its digits. A reduction has its result alone. The order is that of the blocks. Nothing else runs
# meanwhile, so the block's threads load runs of elements at once (`algorithms/lanes.py`).


Part = tuple[Lambda, tuple[Atom, ...]]
"""An operator of the program and its neutral elements."""


def scan_block_partials(
    lowering: Lowering, let: Let, parts: Sequence[Part], aggregates: Sequence[Var], count: Atom,
    first: Sequence[Atom] = (),
) -> tuple[Var, ...]:  # fmt: skip
    """Launch the scan of `count` values; the buffers of the prefixes, one element longer.

    It begins with the neutral elements where there is no `first`.
    """
    room = lowering.host.add(count, index(1))
    prefixes = tuple(_buffer_like(lowering, buffer, room) for buffer in aggregates)

    def write(kernel: KernelBuilder) -> None:
        b = kernel.body
        operator, xs = _combined(lowering, kernel, parts, aggregates, count)
        before = tuple(kernel.scalar(atom) for atom in first) or operator.neutral
        put = _put_in(kernel, prefixes)
        for_all(b, WARP, 1, lambda c, _: put(c, index(0), before))
        scan_by_warps(
            b, operator, xs, _warps(lowering, aggregates),
            lambda c, i, values: put(c, c.add(i, index(1)), values), before,
        )  # fmt: skip

    scalars = [lowering.scope.scalar(x) for x in (*first, *(x for _, ne in parts for x in ne))]
    _launch(lowering, let, parts, [*aggregates, *prefixes, count, *scalars], write)
    return prefixes


def reduce_block_partials(
    lowering: Lowering, let: Let, part: Part, aggregates: Sequence[Var], count: Atom
) -> tuple[Var, ...]:
    """Launch what combines `count` values; buffers of one element each, where host and blocks share
    no memory."""
    results = tuple(_buffer_like(lowering, buffer, index(1)) for buffer in aggregates)

    def write(kernel: KernelBuilder) -> None:
        operator, xs = _combined(lowering, kernel, [part], aggregates, count)
        found = reduce_by_warps(kernel.body, operator, xs, _warps(lowering, aggregates))
        put = _put_in(kernel, results)
        for_all(kernel.body, WARP, 1, lambda c, _: put(c, index(0), found))

    _launch(lowering, let, [part], [*aggregates, *results, count], write)
    return results


def _launch(
    lowering: Lowering, let: Let, parts: Sequence[Part], needs: Sequence[Atom],
    write: Callable[[KernelBuilder], None],
) -> None:  # fmt: skip
    """Launch one block."""
    if lowering.machine.shares_memory:  # in branches of the program, which may not run
        reads = [read for fn, _ in parts for read in lowering.reads(fn)]
        later = lowering.later(let, "_partials", [*needs, *reads], lambda kernel, _: write(kernel))
        lowering.launch(later, index(1), Role.PARTIALS)
        return
    kernel = lowering.kernel(let, "_partials")
    write(kernel)
    lowering.launch(kernel, index(1), Role.PARTIALS)


def _buffer_like(lowering: Lowering, buffer: Var, count: Atom) -> Var:
    return lowering.alloc(dtype_in(buffer), count)


def _warps(lowering: Lowering, aggregates: Sequence[Var]) -> Warps:
    machine = lowering.machine
    dtypes = [dtype_in(buffer) for buffer in aggregates]
    return machine.warps_in_runs(machine.lanes([i64]), dtypes)


def _combined(
    lowering: Lowering, kernel: KernelBuilder, parts: Sequence[Part], aggregates: Sequence[Var],
    count: Atom,
) -> tuple[Operator, Pull]:  # fmt: skip
    """The operator of all parts, and the values as it takes them."""
    xs = read([kernel.buffer(buffer) for buffer in aggregates], kernel.capture(count))
    operators = [operator_in(kernel, fn, neutral, lowering.checks) for fn, neutral in parts]
    return reduce(together, operators), xs


def _put_in(kernel: KernelBuilder, buffers: Sequence[Var]) -> Put:
    target = [kernel.buffer(buffer) for buffer in buffers]

    def put(b: Builder, at: Atom, values: Values) -> None:
        store_each(b, target, at, values)

    return put
