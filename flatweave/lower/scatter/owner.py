"""Scattering, owner by owner: block p owns a part of the destination and looks at all elements.

    block p:   for each chunk of elements, in order:
                   those that go to p's part, on all lanes, into shared memory
                   one by one from there to their places

Any operator, nothing atomic, the same bits for any division; but each block looks at everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.host import Role, Threads
from flatweave.kernel_ir.syntax import BlockIndex
from flatweave.lower.scan.called_operator import Operator, called_for_nan
from flatweave.lower.scatter.scattering import Scattering, Source, Stage, one_by_one
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.ops import ScatterReduce
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Var

CHUNK = 2048
"""Elements staged at a time: indices and values stay in the first-level cache."""


class Owner:
    """A division of the destination among blocks."""

    def __init__(self, scattering: Scattering) -> None:
        self.scattering = scattering
        self.kernels = scattering.visiting("owner", "", self._write, [("blocks", i64)])

    def launch(self, host: Builder) -> None:
        """One block for each thread."""
        blocks = host.emit(Threads())[0]
        self.scattering.launch(self.kernels, blocks, Role.PASS, host, [blocks])

    def _write(self, writer: KernelWriter, own: Sequence[Var]) -> None:
        _Body(self.scattering, writer, own[0]).write()


class _Body:
    """The kernel's body."""

    def __init__(self, scattering: Scattering, writer: KernelWriter, blocks: Atom) -> None:
        self.scattering = scattering
        self.writer = writer
        self.blocks = blocks
        self.dest = [writer.kernel.buffer(buffer) for buffer in scattering.dest]

    def write(self) -> None:
        """The chunks, one after the other."""
        b = self.writer.b
        extent = self.writer.kernel.capture(self.scattering.extent)
        block = b.emit(BlockIndex())[0]
        first = self._bound(b, block, extent)
        last = self._bound(b, b.add(block, index(1)), extent)
        self._write(b, Source(self.scattering, self.writer, first, last))

    def _bound(self, b: Builder, block: Atom, extent: Atom) -> Atom:
        """Where the part of a block begins."""
        blocks = b.apply("maximum", self.blocks, index(1))  # so that a division needs no guard
        return b.apply("floordiv", b.mul(block, extent), blocks)

    def _write(self, b: Builder, source: Source) -> None:
        stage = Stage.of(b, self.scattering, CHUNK)
        combine = self._combine(b)
        chunks = b.inner()
        at = chunks.param("c", i64)
        carries = source.carries
        state = tuple(chunks.param("s", atom.type) for atom in carries)
        stop = chunks.apply("minimum", chunks.add(at, index(CHUNK)), self.writer.total)
        count, after = stage.fill(chunks, source, at, stop, state)

        def write(c: Builder, k: Atom, turn: int) -> None:
            place, values = stage.element(c, k)
            self.scattering.write(self.writer.kernel, c, self.dest, place, values, combine)

        one_by_one(chunks, index(0), count, write)
        body = chunks.close([at, *state], after)
        b.emit(For(index(0), self.writer.total, index(CHUNK), body, carries))

    def _combine(self, b: Builder) -> Operator | None:
        """The operator, so that it does not matter which turn of a loop takes an element: that
        depends on how many go to this block."""
        sink = self.scattering.sink
        if not isinstance(sink, ScatterReduce):
            return None
        return called_for_nan(b, sink.fn, self.scattering.operator(self.writer.kernel))
