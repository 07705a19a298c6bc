"""The kernels of scattering sweeps: elements are staged in shared memory, then written in order."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, bool_, i64, u64
from flatweave.kernel_ir.syntax import BlockIndex, Lanes, Load, Shared, Store, StoreCompact
from flatweave.lower.context import Lowering
from flatweave.lower.kernel import KernelBuilder
from flatweave.lower.sweep_kernel import KernelWriter, call_operator, count_lanes
from flatweave.lower.walk import Position, State, Walk
from flatweave.ops import Merge, Place
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For, If
from flatweave.terms.syntax import Atom, BufferType, Lambda, Var

CHUNK = 2048
"""Elements staged at a time: indices and values stay in the first-level cache."""


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
    staged = _Staged(writer, dtypes)
    neutral = [atom for links in writer.stages.levels for k in links for atom in k.neutral]
    chunks = b.inner()
    at = chunks.param("c", i64)
    state = tuple(chunks.param("s", atom.type) for atom in neutral)
    stop = chunks.apply("minimum", chunks.add(at, index(CHUNK)), hi)
    count, state_after = staged.fill(chunks, at, stop, state, first, last)
    _write_staged(writer, chunks, staged, sink, dest, offset, count)
    body = chunks.close([at, *state], state_after)
    b.emit(For(lo, hi, index(CHUNK), body, tuple(writer.kernel.scalar(a) for a in neutral)))
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


class _Staged:
    """Shared memory for the elements of a chunk that this block takes."""

    def __init__(self, writer: KernelWriter, dtypes: Sequence[DType]) -> None:
        self.writer = writer
        self.room = CHUNK + 64
        b = writer.b
        self.buffers = [b.emit(Shared(dtype, self.room))[0] for dtype in (i64, *dtypes)]

    def fill(
        self, b: Builder, lo: Atom, hi: Atom, carries: State, first: Atom, last: Atom
    ) -> tuple[Atom, State]:
        """Stage the elements of lo to hi whose index lies in [first, last); how many they are."""
        writer = self.writer

        def step(c: Builder, position: Position, state: State) -> State:
            elements = writer.elements(position)
            depth = writer.stages.depth
            after = writer.emit_body(
                c, elements, writer.op.body.lets, depth, position, state[1:]
            )
            place, *values = elements.atoms(writer.op.body.results)
            place = c.cast(place, i64)
            above = c.cast(c.sub(place, first), u64)
            mine = c.apply("lt", above, c.cast(c.sub(last, first), u64))
            self._stage(c, state[0], mine, [place, *values], position)
            return (c.add(state[0], count_lanes(c, mine, position.width)), *after)

        done = writer.walk(()).block(b, lo, hi, (index(0), *carries), step)
        return done[0], done[1:]

    def _stage(
        self, b: Builder, at: Atom, mine: Atom, values: Sequence[Atom], position: Position
    ) -> None:
        if position.width > 1:
            limit = index(self.room)
            b.emit(StoreCompact(tuple(self.buffers), at, limit, mine, tuple(values)))
            return
        for buffer, value in zip(self.buffers, values, strict=True):
            b.emit(Store(buffer, at, value))


def _write_staged(
    writer: KernelWriter, b: Builder, staged: _Staged, sink: Place | Merge,
    dest: Sequence[Var], offset: Atom, count: Atom,
) -> None:  # fmt: skip
    """One staged element after the other, in the order of the sweep."""
    region = b.inner()
    inside = region.inner()
    k = inside.param("k", i64)
    place, *values = (inside.emit(Load(buffer, k))[0] for buffer in staged.buffers)
    place = inside.add(place, offset)
    if isinstance(sink, Merge):
        old = [inside.emit(Load(buffer, place))[0] for buffer in dest]
        values = list(writer.call(inside, sink.fn, [*old, *values]))
    for buffer, value in zip(dest, values, strict=True):
        inside.emit(Store(buffer, place, value))
    region.emit(For(index(0), count, index(1), inside.close([k], []), ()))
    b.emit(Lanes(1, region.close([], [])))


def combine_copies_kernel(
    low: Lowering, name: str, sink: Merge, dtypes: Sequence[DType]
) -> tuple[KernelBuilder, int]:
    """dest[j] = dest[j] fn copy 0 [j] fn copy 1 [j] .., the copies in order."""
    kernel = KernelBuilder(name, low.program.names, low.scope, low.machine.warps)
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
        body = inside.close([k, *params], call_operator(low, kernel, inside, sink.fn, [*params, *more]))
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
