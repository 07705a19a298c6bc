"""The kernels of scattering sweeps: elements are staged in shared memory, then written in order."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, bool_, i64, u64
from flatweave.kernel_ir.syntax import BlockIndex, Lanes, Load, Shared, Store, StoreCompact
from flatweave.lower.context import Lowering
from flatweave.lower.kernel import KernelBuilder
from flatweave.lower.sinks import count_lanes
from flatweave.lower.sweep_kernel import KernelWriter, call_operator
from flatweave.lower.walk import Position, State, Step, Walk
from flatweave.ops import Merge, Place
from flatweave.passes.cost import cost_of_body
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For, If
from flatweave.terms.syntax import Atom, BufferType, Lambda, Var

CHUNK = 2048
"""Elements staged at a time: indices and values stay in the first-level cache."""
ROOM = CHUNK + 64
UNROLLED = 4
"""Elements that a loop over single elements takes in a turn."""
CHEAP = 8
"""A body up to this cost is not worth staging when no element is left out."""


def write_place_kernel(
    writer: KernelWriter, sink: Place | Merge, dtypes: Sequence[DType]
) -> tuple[Var, ...]:
    """Write the kernel's body; the parameters that every launch sets anew are returned."""
    b = writer.b
    dest = tuple(b.param("dest", BufferType(dtype)) for dtype in dtypes)
    extent, blocks = b.param("extent", i64), b.param("blocks", i64)
    private = b.param("private", bool_)
    block = b.emit(BlockIndex())[0]
    lo, hi = _share(b, block, blocks, writer.total, private, whole=False)
    first, last = _share(b, block, blocks, extent, private, whole=True)
    offset = b.apply("select", private, b.mul(block, extent), index(0))
    if isinstance(sink, Merge) and sink.neutral:
        _fill_copies(writer, sink, dest, offset, extent, private)
    part = _Part(writer, sink, dest, offset, first, last)
    if cost_of_body(writer.op.body) > CHEAP:
        part.staged(b, lo, hi, dtypes)
    else:
        directly, staged = b.inner(), b.inner()
        part.directly(directly, lo, hi)
        part.staged(staged, lo, hi, dtypes)
        b.emit(If(private, directly.close([], []), staged.close([], [])))
    return (*dest, extent, blocks, private)


def _share(
    b: Builder, block: Atom, blocks: Atom, total: Atom, private: Atom, *, whole: bool
) -> tuple[Atom, Atom]:
    """This block's part of `total`; all of it when `private` is `whole`."""
    lo = b.apply("floordiv", b.mul(block, total), blocks)
    hi = b.apply("floordiv", b.mul(b.add(block, index(1)), total), blocks)
    if whole:
        return b.apply("select", private, index(0), lo), b.apply("select", private, total, hi)
    return b.apply("select", private, lo, index(0)), b.apply("select", private, hi, total)


def _fill_copies(
    writer: KernelWriter, sink: Merge, dest: Sequence[Var], offset: Atom, extent: Atom, private: Var
) -> None:
    b = writer.b
    inside = b.inner()

    def step(c: Builder, position: Position, state: State) -> State:
        for buffer, atom in zip(dest, sink.neutral, strict=True):
            c.emit(Store(buffer, c.add(offset, position.flat), writer.kernel.scalar(atom)))
        return state

    width = writer.low.machine.lanes([i64])
    walk = Walk(writer.low.machine, (extent,), extent, width, False, False, ())
    walk.block(inside, index(0), extent, (), step)
    b.emit(If(private, inside.close([], []), Lambda((), (), ())))


class _Part:
    """The elements of a block's share whose index lies in [first, last), written one by one."""

    def __init__(
        self, writer: KernelWriter, sink: Place | Merge, dest: Sequence[Var],
        offset: Atom, first: Atom, last: Atom,
    ) -> None:  # fmt: skip
        self.writer = writer
        self.sink = sink
        self.dest = dest
        self.offset = offset
        self.first = first
        self.last = last
        levels = writer.stages.levels
        self.neutral = tuple(
            writer.kernel.scalar(atom) for links in levels for k in links for atom in k.neutral
        )

    def directly(self, b: Builder, lo: Atom, hi: Atom) -> None:
        """Element by element: best for a light body that mostly stays inside the part."""

        def step(c: Builder, position: Position, state: State) -> State:
            place, values, mine, after = self._element(c, position, state)
            inside = c.inner()
            self._write(inside, place, values)
            c.emit(If(mine, inside.close([], []), Lambda((), (), ())))
            return after

        writer = self.writer
        if writer.strategy.rows or writer.op.reverse or len(writer.shape) > 1 or writer.located:
            writer.walk((), width=1).block(b, lo, hi, self.neutral, step)
            return
        whole = b.apply("floordiv", b.sub(hi, lo), index(UNROLLED))
        mid = b.add(lo, b.mul(whole, index(UNROLLED)))
        state = _one_by_one(b, lo, mid, UNROLLED, self.neutral, step)
        _one_by_one(b, mid, hi, 1, state, step)

    def staged(self, b: Builder, lo: Atom, hi: Atom, dtypes: Sequence[DType]) -> None:
        """A chunk on all lanes into shared memory, what is not ours left out; then one by one."""
        buffers = [b.emit(Shared(dtype, ROOM))[0] for dtype in (i64, *dtypes)]
        chunks = b.inner()
        at = chunks.param("c", i64)
        state = tuple(chunks.param("s", atom.type) for atom in self.neutral)
        stop = chunks.apply("minimum", chunks.add(at, index(CHUNK)), hi)

        def step(c: Builder, position: Position, known: State) -> State:
            place, values, mine, after = self._element(c, position, known[1:])
            _stage(c, buffers, known[0], mine, [place, *values], position)
            return (c.add(known[0], count_lanes(c, mine, position.width)), *after)

        count, *after = self.writer.walk(()).block(chunks, at, stop, (index(0), *state), step)
        self._write_staged(chunks, buffers, count)
        body = chunks.close([at, *state], after)
        b.emit(For(lo, hi, index(CHUNK), body, self.neutral))

    def _element(
        self, b: Builder, position: Position, state: State
    ) -> tuple[Atom, list[Atom], Atom, State]:
        """An element's place and values, whether it is ours, and the scans' carries behind it."""
        writer = self.writer
        elements = writer.elements(position)
        depth = writer.stages.depth
        after = writer.emit_body(b, elements, writer.op.body.lets, depth, position, state)
        place, *values = elements.atoms(writer.op.body.results)
        place = b.cast(place, i64)
        above = b.cast(b.sub(place, self.first), u64)
        mine = b.apply("lt", above, b.cast(b.sub(self.last, self.first), u64))
        if position.active is not None:
            mine = b.apply("and", mine, position.active)
        return place, values, mine, after

    def _write_staged(self, b: Builder, buffers: Sequence[Var], count: Atom) -> None:
        region = b.inner()
        inside = region.inner()
        k = inside.param("k", i64)
        place, *values = (inside.emit(Load(buffer, k))[0] for buffer in buffers)
        self._write(inside, place, values)
        region.emit(For(index(0), count, index(1), inside.close([k], []), ()))
        b.emit(Lanes(1, region.close([], [])))

    def _write(self, b: Builder, place: Atom, values: Sequence[Atom]) -> None:
        """dest[place] = values, or dest[place] fn values."""
        at = b.add(place, self.offset)
        if isinstance(self.sink, Merge):
            old = [b.emit(Load(buffer, at))[0] for buffer in self.dest]
            values = self.writer.call(b, self.sink.fn, [*old, *values])
        for buffer, value in zip(self.dest, values, strict=True):
            b.emit(Store(buffer, at, value))


def _one_by_one(
    b: Builder, lo: Atom, hi: Atom, turns: int, state: State, step: Step
) -> State:
    """Steps at lo, lo + 1, .. below hi, `turns` of them written out in the loop's body."""
    inside = b.inner()
    i = inside.param("i", i64)
    params = [inside.param("s", atom.type) for atom in state]
    after: State = tuple(params)
    for k in range(turns):
        flat = inside.add(i, index(k))
        after = step(inside, Position(flat, (flat,), 1), after)
    return b.emit(For(lo, hi, index(turns), inside.close([i, *params], after), state))


def _stage(
    b: Builder, buffers: Sequence[Var], at: Atom, mine: Atom, values: Sequence[Atom],
    position: Position,
) -> None:  # fmt: skip
    """Put the elements that are ours behind those staged already."""
    if position.width > 1:
        b.emit(StoreCompact(tuple(buffers), at, index(ROOM), mine, tuple(values)))
        return
    for buffer, value in zip(buffers, values, strict=True):
        b.emit(Store(buffer, at, value))


def combine_copies_kernel(
    low: Lowering, name: str, sink: Merge, dtypes: Sequence[DType]
) -> tuple[KernelBuilder, int]:
    """dest[j] = dest[j] fn copy 0 [j] fn copy 1 [j] .., the copies in order."""
    kernel = KernelBuilder(name, low.host, low.scope, low.machine.warps)
    b = kernel.body
    dest = [b.param("dest", BufferType(dtype)) for dtype in dtypes]
    copies = [b.param("copies", BufferType(dtype)) for dtype in dtypes]
    extent, count = b.param("extent", i64), b.param("count", i64)
    size = 4096
    lo = b.mul(b.emit(BlockIndex())[0], index(size))
    hi = b.apply("minimum", b.add(lo, index(size)), extent)

    def step(c: Builder, position: Position, state: State) -> State:
        j = position.flat
        inside = c.inner()
        k = inside.param("k", i64)
        params = [inside.param("s", dtype) for dtype in dtypes]
        at = inside.add(inside.mul(k, extent), j)
        more = [inside.emit(Load(buffer, at))[0] for buffer in copies]
        combined = call_operator(low, kernel, inside, sink.fn, [*params, *more])
        body = inside.close([k, *params], combined)
        init = tuple(c.emit(Load(buffer, j))[0] for buffer in dest)
        for buffer, value in zip(
            dest, c.emit(For(index(0), count, index(1), body, init)), strict=True
        ):
            c.emit(Store(buffer, j, value))
        return state

    width = low.machine.lanes(list(dtypes))
    walk = Walk(low.machine, (extent,), extent, width, False, False, ())
    walk.block(b, lo, hi, (), step)
    low.program.kernels.append(kernel.finish((*dest, *copies, extent, count)))
    return kernel, size
