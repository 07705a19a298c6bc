"""Scattering into private copies: block p combines its elements into a copy of its own.

    block p:   copy p = the neutral element everywhere
               for its elements: copy p [place] fn= value
    then:      dest[j] = dest[j] fn copy 0 [j] fn copy 1 [j] ..      in order

For operators with a neutral element and destinations small beside the input. An operator that is
exact in any grouping gets a copy for each thread, any other a number that depends on sizes alone,
unless `jit(deterministic=False)` says that bits may differ. Where every element adds the same
integer, copies hold counts of 32 bits. A small copy of an operator that commutes is there once for
each turn of the loop over elements, so that a turn seldom waits for what the last one stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i64, u32
from flatweave.kernel_ir.host import Alloc, Free, Role, Threads
from flatweave.kernel_ir.syntax import BlockIndex, Load, Store
from flatweave.lower.host.context import Own
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.scatter.scattering import (
    UNROLLED,
    Scattering,
    Source,
    Stage,
    bytes_of,
    ceil_div,
    one_by_one,
)
from flatweave.lower.schedule.plan import Lanes
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.flat import flat
from flatweave.lower.traverse.position import Position, State
from flatweave.ops import ScatterReduce, Sweep
from flatweave.passes.cost import cost_of_body
from flatweave.passes.operators import component_functions, is_commutative, is_exact
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, Apply, For, If
from flatweave.terms.syntax import Atom, BufferType, Const, Var

CHUNK = 2048
CHEAP = 8
"""A body up to this cost is computed where its element is combined, without a stage."""
MOST_NEIGHBOURS = 8
"""Elements of one source that are computed together, without a stage, at most."""
FIXED_COPIES = 16
"""At most so many, whatever the threads, where the grouping shows in the bits."""
SHARE = 16
"""Elements that there are for each one of those copies, at least: clearing and combining these
then costs little beside them."""
EXACT_SHARE = 8
"""The same where each thread has a copy."""
MOST_BYTES = 32 * 1024 * 1024
"""Of all copies together."""
MOST_BYTES_EACH = 4 * 1024 * 1024
"""Of one copy: what lies around a core's cache in the one that cores share."""
BYTES_PER_TURN = 32 * 1024
"""Up to so many bytes a copy is there for each turn of the loop."""
COMBINED = 4096
"""Elements of the destination that a block combines."""
COUNTED = 31
"""A block takes fewer than 2^31 elements, so that their number fits a counter."""


class Private:
    """The two kernels of private copies, and their launches."""

    def __init__(self, scattering: Scattering, neutral: Sequence[Atom], suffix: str = "") -> None:
        assert isinstance(scattering.sink, ScatterReduce)
        self.scattering = scattering
        self.neutral = neutral
        self.role = Role.VARIANT if suffix else Role.PASS
        self.counts = _counts(scattering)
        self.dtypes: Sequence[DType] = (
            [u32] * len(scattering.dtypes) if self.counts else scattering.dtypes
        )
        deterministic = scattering.lowering.schedule.deterministic
        self.exact = is_exact(scattering.sink.fn) or not deterministic
        self.commutes = is_commutative(scattering.sink.fn)
        copies: Own = [("copies", BufferType(dtype)) for dtype in self.dtypes]
        self.own = scattering.visiting(
            "private", suffix, lambda w, p: _OwnCopy(self, w, p).write(),
            [*copies, ("blocks", i64), ("room", i64), ("apart", i64)],
        )
        self.all = scattering.later(
            f"{suffix}_all", lambda k, p: _write_combine(self, k, p), [*copies, ("count", i64)]
        )

    def blocks(self, host: Builder) -> Atom:
        """How many blocks fill copies."""
        extent, total = self.scattering.extent, self.scattering.total
        if not self.exact:
            fitting = ceil_div(host, total, host.mul(self._some(host), index(SHARE)))
            most = host.apply("minimum", fitting, index(FIXED_COPIES))
            bits = host.sub(index(64), host.apply("clz", host.sub(most, index(1))))
            blocks = host.apply("shl", index(1), bits)
            return host.apply("select", host.apply("gt", total, index(0)), blocks, index(1))
        room = host.mul(extent, index(bytes_of(self.dtypes)))
        most = host.apply(
            "floordiv", index(MOST_BYTES), host.apply("maximum", room, index(1))
        )
        copies = host.apply("minimum", host.emit(Threads())[0], most)
        least = host.add(host.apply("shr", total, index(COUNTED)), index(1))
        return host.apply("maximum", copies, least)

    def turns(self, host: Builder) -> Atom:
        """How many copies a block fills."""
        if not self.commutes:
            return index(1)
        most = index(BYTES_PER_TURN // bytes_of(self.dtypes))
        small = host.apply("le", self.scattering.extent, most)
        many = host.mul(self.scattering.extent, index(UNROLLED * FIXED_COPIES * SHARE))
        pays = host.apply("and", small, host.apply("le", many, self.scattering.total))
        return host.apply("select", pays, index(UNROLLED), index(1))

    def pays(self, host: Builder) -> Atom:
        """Whether the copies fit the caches, and are combined in less work than the elements."""
        extent, total = self.scattering.extent, self.scattering.total
        fits = host.apply("le", extent, index(MOST_BYTES_EACH // bytes_of(self.dtypes)))
        least = index(EXACT_SHARE if self.exact else 2 * SHARE)
        return host.apply("and", fits, host.apply("le", host.mul(self._some(host), least), total))

    def _some(self, host: Builder) -> Atom:
        """The destination's elements, but never none."""
        return host.apply("maximum", self.scattering.extent, index(1))

    def launch(self, host: Builder) -> None:
        """Copies, then their combination."""
        s = self.scattering
        blocks, turns = self.blocks(host), self.turns(host)
        copies, room = host.mul(blocks, turns), host.mul(turns, s.extent)
        apart = host.apply("select", host.apply("gt", turns, index(1)), s.extent, index(0))
        site = s.lowering.site()
        buffers = [
            host.emit(Alloc(dtype, host.mul(blocks, room), site))[0] for dtype in self.dtypes
        ]
        s.launch(self.own, blocks, self.role, host, (*buffers, blocks, room, apart))
        parts = ceil_div(host, s.extent, index(COMBINED))
        s.lowering.launch(self.all, parts, Role.PARTIALS, host, (*buffers, copies))
        for buffer in buffers:
            host.emit(Free(buffer))


def _counts(scattering: Scattering) -> bool:
    """Whether all that an element does is to add an integer that is the same for all."""
    assert isinstance(scattering.sink, ScatterReduce)
    names = component_functions(scattering.sink.fn) or ["none"]
    values = scattering.op.body.results[1:]
    return all(name == "add" for name in names) and all(
        isinstance(value, Const) and value.dtype.is_integer for value in values
    )


def neighbours(op: Sweep) -> int:
    """How many neighbours share a source, in an expansion by a small constant; else 1."""
    for let in op.body.lets:
        if isinstance(let.op, Apply) and let.op.fn == "floordiv":
            position, size = let.op.args
            if position is op.body.params[-1] and isinstance(size, Const):
                return int(size.value) if 1 < size.value <= MOST_NEIGHBOURS else 1
    return 1


class _OwnCopy:
    """The kernel in which each block fills a copy."""

    def __init__(self, private: Private, writer: KernelWriter, own: Sequence[Var]) -> None:
        self.private = private
        self.scattering = private.scattering
        self.writer = writer
        self.kernel = writer.kernel
        *self.copies, self.blocks, self.room, self.apart = own

    def write(self) -> None:
        """Clear the copies, then combine this block's elements into them."""
        scattering, b = self.scattering, self.writer.b
        extent = self.kernel.capture(scattering.extent)
        block = b.emit(BlockIndex())[0]
        self.base = b.mul(block, self.room)
        self.bases = [b.add(self.base, b.mul(self.apart, index(k))) for k in range(UNROLLED)]
        self._clear(b)
        source = Source(scattering, self.writer, index(0), extent)
        body, near = scattering.op.body, neighbours(scattering.op)
        if self._in_a_row and (near > 1 or cost_of_body(body) <= CHEAP):
            size = max(near, UNROLLED // near * near)
            self._in_groups(b, source, block, size)
            return
        lo, hi = self.writer.share(b, block, self.blocks)
        if cost_of_body(body) > CHEAP:
            self._staged(b, source, lo, hi)
        else:
            self._one_by_one(b, source, lo, hi)

    @property
    def _in_a_row(self) -> bool:
        """Whether elements are visited one after the other, by nothing but their position."""
        writer = self.writer
        by_row = writer.traversal.lanes is Lanes.ROW_BY_ROW
        turned = by_row or writer.op.reverse or writer.located is not None
        return len(writer.shape) == 1 and not turned

    def _clear(self, b: Builder) -> None:
        """The neutral element everywhere."""
        lowering = self.scattering.lowering
        first = [self.kernel.scalar(atom) for atom in self.private.neutral]
        if self.private.counts:
            first = [Const(0, u32)] * len(first)

        def step(c: Builder, position: Position, state: State) -> State:
            at = c.add(self.base, position.flat)
            for buffer, atom in zip(self.copies, first, strict=True):
                c.emit(Store(buffer, at, atom))
            return state

        width = lowering.machine.lanes(list(self.private.dtypes))
        walk = flat(lowering.machine, self.room, width)
        walk.block(b, index(0), self.room, (), step)

    def _in_groups(self, b: Builder, source: Source, block: Atom, size: int) -> None:
        """So many neighbours are computed, then combined: what they share is computed once."""
        total, each = self.writer.total, index(size)

        def group(c: Builder, first: Atom, count: int) -> None:
            found = []
            for turn in range(count):
                i = c.add(first, index(turn))
                found.append(source.element(c, Position(i, (i,), 1, alone=True), ()))
            for turn, (place, values, mine, _) in enumerate(found):
                self._write_if(c, mine, place, values, turn % UNROLLED)

        def bound(number: Atom) -> Atom:
            part = b.apply("floordiv", b.mul(number, total), self.blocks)
            return b.apply("floordiv", part, each)

        lo, hi = bound(block), bound(b.add(block, index(1)))
        loop = b.inner()
        k = loop.param("k", i64)
        group(loop, loop.mul(k, each), size)
        b.emit(For(lo, hi, index(1), loop.close([k], []), ()))
        last = b.apply("eq", b.add(block, index(1)), self.blocks)
        rest = b.inner()
        i = rest.param("i", i64)
        group(rest, i, 1)
        stop = b.mul(hi, each)
        behind = b.apply("select", last, total, stop)
        b.emit(For(stop, behind, index(1), rest.close([i], []), ()))

    def _one_by_one(self, b: Builder, source: Source, lo: Atom, hi: Atom) -> None:
        """Element by element, as the traversal goes."""

        def step(c: Builder, position: Position, state: State) -> State:
            place, values, mine, after = source.element(c, position, state)
            self._write_if(c, mine, place, values, 0)
            return after

        one = min(1, self.writer.traversal.width)  # 0: folds may use the lanes
        self.writer.traverse((), width=one).block(b, lo, hi, (), step)

    def _staged(self, b: Builder, source: Source, lo: Atom, hi: Atom) -> None:
        """A chunk on all lanes into shared memory, then one by one."""
        stage = Stage.of(b, self.scattering, CHUNK)
        chunks = b.inner()
        at = chunks.param("c", i64)
        stop = chunks.apply("minimum", chunks.add(at, index(CHUNK)), hi)
        count, _ = stage.fill(chunks, source, at, stop, ())

        def write(c: Builder, k: Atom, turn: int) -> None:
            self._write(c, *stage.element(c, k), turn)

        one_by_one(chunks, index(0), count, write)
        b.emit(For(lo, hi, index(CHUNK), chunks.close([at], []), ()))

    def _write_if(
        self, b: Builder, mine: Atom, place: Atom, values: Sequence[Atom], turn: int
    ) -> None:
        """One element, if it goes anywhere."""
        inside = b.inner()
        self._write(inside, place, values, turn)
        b.emit(If(mine, inside.close([], []), NO_BODY))

    def _write(self, b: Builder, place: Atom, values: Sequence[Atom], turn: int) -> None:
        """One element into this block's copy of a turn."""
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
    dest = [kernel.buffer(buffer) for buffer in scattering.dest]
    *copies, count = own
    lo = b.mul(b.emit(BlockIndex())[0], index(COMBINED))
    hi = b.apply("minimum", b.add(lo, index(COMBINED)), extent)

    def step(c: Builder, position: Position, state: State) -> State:
        j = position.flat
        inside = c.inner()
        k = inside.param("k", i64)
        params = [inside.param("s", dtype) for dtype in scattering.dtypes]
        at = inside.add(inside.mul(k, extent), j)
        more = _copied(private, inside, copies, at)
        combined = scattering.combine(kernel, inside, params, more)
        init = tuple(c.emit(Load(buffer, j))[0] for buffer in dest)
        body = inside.close([k, *params], combined)
        results = c.emit(For(index(0), count, index(1), body, init))
        for buffer, value in zip(dest, results, strict=True):
            c.emit(Store(buffer, j, value))
        return state

    width = lowering.machine.lanes(list(scattering.dtypes))
    walk = flat(lowering.machine, extent, width)
    walk.block(b, lo, hi, (), step)


def _copied(private: Private, b: Builder, copies: Sequence[Var], at: Atom) -> list[Atom]:
    """What a copy has for a place: the element there, or as often as was counted the one added."""
    held = [b.emit(Load(buffer, at))[0] for buffer in copies]
    if not private.counts:
        return list(held)
    values = private.scattering.op.body.results[1:]
    return [
        b.mul(b.cast(number, value.dtype), value)
        for number, value in zip(held, values, strict=True)
        if isinstance(value, Const)
    ]
