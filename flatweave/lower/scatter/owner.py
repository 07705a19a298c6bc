"""Scattering, owner by owner: block p owns a part of the destination and looks at all elements.

    block p:   for each chunk of elements, in order:
                   those that go to p's part, on all lanes, into shared memory
                   one by one from there to their places

A block that owns all of it writes cheap elements where they are computed, without a stage. Any
operator, nothing atomic, the same bits for any division; but each block looks at everything.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.syntax import BlockIndex
from flatweave.lower.host.context import Own
from flatweave.lower.scatter.division import Division
from flatweave.lower.scatter.scattering import Scattering, Source
from flatweave.lower.scatter.visit import Act, visit_share, visit_staged
from flatweave.lower.schedule.plan import When
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Var

ALONE = "one thread writes all elements where they are computed, in order"


class Owner(Division):
    """A division of the destination among blocks, which any sweep has."""

    name = "owner"
    reason = "each thread writes a part of the destination of its own, and looks at all elements"
    chosen = When.ALWAYS
    divides_scans = True

    def __init__(self, scattering: Scattering, when: When) -> None:
        super().__init__(scattering, when)
        own: Own = [("blocks", i64)]
        self.kernels = scattering.visiting("", self._write, own, self.why)
        self.alone = scattering.visiting("_alone", self._write_alone, own, ALONE)

    def launch(self, host: Builder) -> None:
        """One block for each thread, or one alone."""
        s = self.scattering
        is_alone = s.one_is_faster or host.apply("eq", s.threads, index(1))
        blocks = host.apply("select", is_alone, index(1), s.threads)
        s.launch(self.kernels, blocks, s.role, host, [blocks], self.alone, is_alone)

    def _write(self, writer: KernelWriter, own: Sequence[Var]) -> None:
        """All elements, of which a stage takes those of this block's part."""
        b, s = writer.b, self.scattering
        extent = writer.kernel.capture(s.extent)
        blocks = b.apply("maximum", own[0], index(1))  # so that a division needs no guard
        block = b.emit(BlockIndex())[0]
        first, last = (
            b.apply("floordiv", b.mul(number, extent), blocks)
            for number in (block, b.add(block, index(1)))
        )
        source = Source(s, writer, first, last)
        visit_staged(b, source, index(0), writer.total, self._act(writer))

    def _write_alone(self, writer: KernelWriter, own: Sequence[Var]) -> None:
        """All elements, by the only block."""
        extent = writer.kernel.capture(self.scattering.extent)
        source = Source(self.scattering, writer, index(0), extent)
        visit_share(writer.b, source, index(0), index(1), self._act(writer))

    def _act(self, writer: KernelWriter) -> Act:
        """Writes an element, so that it does not matter which turn of a loop takes it: that
        depends on how many go to this block."""
        s, kernel = self.scattering, writer.kernel
        dest, combine = s.dest_in(kernel), s.anywhere(kernel)

        def act(b: Builder, place: Atom, values: Sequence[Atom], turn: int) -> None:
            s.write(kernel, b, dest, place, values, combine)

        return act
