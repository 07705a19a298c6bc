"""Scattering into private copies: block p combines its elements into copy p of the destination.

    block p:   copy p = the neutral element everywhere
               for its elements: copy p [index] fn= value
    then:      dest[j] = dest[j] fn copy 0 [j] fn copy 1 [j] ..      in order

For operators with a neutral element and destinations small relative to the input. An operator that
is exact in any grouping gets a copy for each thread. For any other, the number of copies depends on
sizes alone, unless `jit(deterministic=False)` says that bits may differ. If every element adds the
same integer, copies hold 32-bit counts. For an operator that commutes, a small copy is replicated
for each iteration of an unrolled body, so that an iteration seldom waits for the previous store.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i64, u32
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir.hierarchy import store_each
from flatweave.kernel_ir.host import Role, free
from flatweave.kernel_ir.syntax import BlockIndex, Load, Store
from flatweave.lower.context import Own
from flatweave.lower.kernel_builder import KernelBuilder
from flatweave.lower.machine import ADDING, Machine, room
from flatweave.lower.scatter.owner import visit_share
from flatweave.lower.scatter.scattering import (
    Division,
    Scattering,
    Source,
    bytes_of,
    is_counted,
    times_added,
    widened,
)
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import NOT_COMBINED, When, combining, neutral_of
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.steps import Position, State
from flatweave.lower.traverse.traversal import flat
from flatweave.passes.cost import READ
from flatweave.passes.operators import is_commutative, is_exact
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, BufferType, Const, Var

FIXED_COPIES = 16
"""The most copies, for any number of threads, if the grouping shows in the bits; two at least."""
SHARE = 16
"""Elements for each index of a copy beyond the minimum of two copies, which serve two threads:
clearing and combining all copies then costs little relative to the elements. On a Xeon under other
load, one thread added 2^22 f64 to 2^17 indices in 16.4, 16.0, 14.0, 14.0 ms with 2, 8, 16, 32, and
to 2^18 indices in 27.9, 18.5, 18.4, 27.2."""
LEAST_SHARE, ALONE_SHARE = 4, 8
"""The fewest elements for each index with which copies are used; the second if each thread has one
copy, and there is only one thread. ms for 2^22 elements into 2^20 indices on Zen 5, with copies and
as owners. Indices are equally likely, follow Zipf's law, are sorted, or are equal for 15 of 16:

    f32, 2 threads    4.0 6.7     4.1 7.0     1.9 3.5    7.6 12.6
    f32, 1 thread     6.7 6.2     5.5 3.6     3.1 3.0    12.8 12.2
    f64, 2 threads    5.0 6.8     8.8 11.4    3.2 3.7    8.8 13.3
    f64, 1 thread     9.2 7.0    10.4 10.2    4.4 3.6    13.7 13.6
    i32, 2 threads    4.0 5.1     2.7 9.3     2.2 3.2    7.1 11.7
    i32, 1 thread     6.5 6.1     6.2 2.7     2.6 2.4    8.2 7.4

For floats, the number of threads must not affect the choice, so one thread does as two do.
"""
INTEGER_TURNS = 2
"""Copies that the iterations of an unrolled body share if a sum takes one cycle. Float sums take
four cycles: each iteration has a separate copy. All copies fit in the nearest cache. ns for each of
2^23 elements on Zen 5, one thread, uniform and by Zipf's law, with 1, 2, 4 copies:

    u32 counts, 2^8 bins     0.24 0.37    0.22 0.25    0.25 0.25
                2^10         0.24 0.38    0.24 0.27    0.27 0.26
                2^12         0.27 0.36    0.33 0.28    0.57 0.56
    f64 sums,   2^8          0.44 0.58    0.41 0.62    0.43 0.43
                2^9          0.45 0.61    0.42 0.56    0.51 0.49
                2^10         0.44 0.70    0.46 0.48    0.63 0.53
                2^12         0.56 0.77    1.07 0.77    1.45 0.88
"""


NO_NEUTRAL = "it needs a neutral element, which reduce_by_index and histogram take"


class Private(Division):
    """The two kernels of private copies, and their launches."""

    name = "private"
    reason = (
        "each thread adds into a copy of the destination, since copies are small next to the"
        " elements"
    )

    def __init__(self, scattering: Scattering, when: When) -> None:
        super().__init__(scattering, when)
        assert scattering.sink is not None
        self.neutral = neutral_of(scattering.sink)
        suffix = "" if when is When.ALWAYS else "_private"
        self.role = Role.VARIANT if suffix else Role.PASS
        self.counts = is_counted(scattering.op)
        self.sums = widened(scattering.op) or scattering.dtypes
        self.dtypes: Sequence[DType] = (
            [u32] * len(scattering.dtypes) if self.counts else self.sums
        )
        deterministic = scattering.lowering.schedule.deterministic
        self.exact = is_exact(scattering.sink.fn) or not deterministic
        self.commutes = is_commutative(scattering.sink.fn)
        floats = any(dtype.is_float for dtype in self.dtypes)
        self.most_turns = ADDING if floats else INTEGER_TURNS
        machine = scattering.lowering.machine
        two_lines = 2 * machine.line_bytes  # some CPUs fetch two together
        self.line = two_lines // min(dtype.bytes for dtype in self.dtypes)
        self.combined = max(1, machine.block_work // (FIXED_COPIES * READ))
        """Elements of the destination that a block combines."""
        copies: Own = [("copies", BufferType(dtype)) for dtype in self.dtypes]
        shared: Own = [*copies, ("blocks", i64), ("turns", i64)]
        self.own = scattering.visiting(
            suffix, lambda w, p: _OwnCopy(self, w, p).write(), shared, self.why
        )
        self.all = scattering.later(
            f"{suffix}_all", lambda k, p: _write_combine(self, k, p), shared
        )

    @classmethod
    def obstacle(cls, machine: Machine, facts: SweepFacts) -> str:
        sink = combining(facts.op)
        if sink is None:
            return NOT_COMBINED
        return super().obstacle(machine, facts) if neutral_of(sink) else NO_NEUTRAL

    def blocks(self, host: Builder) -> Atom:
        """How many blocks fill copies."""
        total = self.scattering.total
        if not self.exact:
            each = host.mul(self._some(host), index(SHARE))
            most = host.apply("minimum", host.apply("floordiv", total, each), index(FIXED_COPIES))
            bits = host.apply("clz", host.apply("maximum", most, index(2)))
            return host.apply("shl", index(1), host.sub(index(63), bits))
        places = index(self.scattering.lowering.machine.scratch_bytes // bytes_of(self.dtypes))
        most = host.apply("floordiv", places, self._some(host))
        copies = host.apply("minimum", self.scattering.threads, most)
        least = host.add(host.apply("shr", total, index(u32.bits - 1)), index(1))  # counts fit
        return host.apply("maximum", copies, least)

    def stride(self, b: Builder, extent: Atom) -> Atom:
        """Places from one copy to the next: whole lines, of which no other thread writes a part."""
        return b.apply("and", b.add(extent, index(self.line - 1)), index(-self.line))

    def turns(self, host: Builder) -> Atom:
        """How many copies a block fills."""
        if not self.commutes:
            return index(1)
        nearest = room(self.scattering.lowering.machine.first_level)
        most = index(nearest // self.most_turns // bytes_of(self.dtypes))
        small = host.apply("le", self.scattering.extent, most)
        many = host.mul(self.scattering.extent, index(self.most_turns * FIXED_COPIES * SHARE))
        pays = host.apply("and", small, host.apply("le", many, self.scattering.total))
        return host.apply("select", pays, index(self.most_turns), index(1))

    def pays(self, host: Builder) -> Atom:
        """Whether the copies fit the caches, and are combined in less work than the elements."""
        extent, total = self.scattering.extent, self.scattering.total
        shared = self.scattering.lowering.machine.caches[1]
        fits = host.apply("le", extent, index(shared // bytes_of(self.dtypes)))
        least: Atom = index(LEAST_SHARE)
        if self.exact:
            alone = host.apply("eq", self.scattering.threads, index(1))
            least = host.apply("select", alone, index(ALONE_SHARE), least)
        return host.apply("and", fits, host.apply("le", host.mul(self._some(host), least), total))

    def _some(self, host: Builder) -> Atom:
        """The destination's elements, but never none."""
        return host.apply("maximum", self.scattering.extent, index(1))

    def launch(self, host: Builder) -> None:
        """Copies, then their combination."""
        s = self.scattering
        blocks, turns = self.blocks(host), self.turns(host)
        most = host.add(s.extent, index(self.line))  # no stride is longer
        room = host.mul(host.mul(blocks, turns), most)
        buffers = [s.lowering.alloc(dtype, room, host=host) for dtype in self.dtypes]
        shared = (*buffers, blocks, turns)
        s.launch(self.own, blocks, self.role, host, shared)
        parts = host.ceil_div(s.extent, index(self.combined))
        s.lowering.launch(self.all, parts, Role.PARTIALS, host, shared)
        free(host, *buffers)


class _OwnCopy:
    """The kernel in which each block fills a copy."""

    def __init__(self, private: Private, writer: KernelWriter, own: Sequence[Var]) -> None:
        self.private = private
        self.scattering = private.scattering
        self.writer = writer
        self.kernel = writer.kernel
        *self.copies, self.blocks, self.turns = own

    def write(self) -> None:
        """Clear the copies, then combine this block's elements into them."""
        scattering, b = self.scattering, self.writer.b
        extent = self.kernel.capture(scattering.extent)
        block = b.emit(BlockIndex())[0]
        stride = self.private.stride(b, extent)
        self.room = b.mul(self.turns, stride)
        self.base = b.mul(block, self.room)
        several = b.apply("gt", self.turns, index(1))
        copied = b.apply("select", several, stride, index(0))
        copies = self.private.most_turns
        self.bases = [b.add(self.base, b.mul(copied, index(k % copies))) for k in range(ADDING)]
        self._clear(b)
        source = Source(scattering, self.writer, index(0), extent)
        visit_share(b, source, block, self.blocks, self._write)

    def _clear(self, b: Builder) -> None:
        """The neutral element everywhere."""
        lowering = self.scattering.lowering
        first = [self.kernel.scalar(atom) for atom in self.private.neutral]
        if self.private.counts:
            first = [Const(0, u32)] * len(first)
        first = [b.cast(a, dtype) for a, dtype in zip(first, self.private.dtypes, strict=True)]

        def step(c: Builder, position: Position, state: State) -> State:
            at = c.add(self.base, position.flat)
            store_each(c, self.copies, at, first)
            return state

        width = lowering.machine.lanes(list(self.private.dtypes))
        walk = flat(lowering.machine, self.room, width)
        walk.block(b, index(0), self.room, (), step)

    def _write(self, b: Builder, place: Atom, values: Sequence[Atom], turn: int) -> None:
        """Combines one element into this block's copy for one iteration of an unrolled body."""
        at = b.add(self.bases[turn], place)
        if not self.private.counts:
            self.scattering.write(self.kernel, b, self.copies, at, values)
            return
        for buffer in self.copies:
            b.emit(Store(buffer, at, b.add(b.emit(Load(buffer, at))[0], Const(1, u32))))


def _write_combine(private: Private, kernel: KernelBuilder, own: Sequence[Var]) -> None:
    """dest[j] = dest[j] fn copy 0 [j] fn copy 1 [j] .., the copies in order."""
    scattering = private.scattering
    lowering = scattering.lowering
    b, extent = kernel.body, kernel.capture(scattering.extent)
    dest = scattering.dest_in(kernel)
    *copies, blocks, turns = own
    count, stride = b.mul(blocks, turns), private.stride(b, extent)
    each = index(private.combined)
    lo = b.mul(b.emit(BlockIndex())[0], each)
    hi = b.apply("minimum", b.add(lo, each), extent)

    def step(c: Builder, position: Position, state: State) -> State:
        j = position.flat
        held = [c.emit(Load(buffer, j))[0] for buffer in dest]
        init = [c.cast(a, dtype) for a, dtype in zip(held, private.sums, strict=True)]
        inside, k, params = c.iteration("k", init)
        at = inside.add(inside.mul(k, stride), j)
        more = _copied(private, inside, copies, at)
        combined = scattering.combine(kernel, inside, params, more)
        results = inside.close_loop(index(0), count, init, combined)
        for buffer, value in zip(dest, results, strict=True):
            c.emit(Store(buffer, j, c.cast(value, dtype_in(buffer))))
        return state

    width = lowering.machine.lanes(list(private.sums))
    walk = flat(lowering.machine, extent, width)
    walk.block(b, lo, hi, (), step)


def _copied(private: Private, b: Builder, copies: Sequence[Var], at: Atom) -> list[Atom]:
    """The value of a copy at an index: the element there, or the counted addend times its count."""
    held = [b.emit(Load(buffer, at))[0] for buffer in copies]
    return times_added(b, private.scattering.op, held) if private.counts else list(held)
