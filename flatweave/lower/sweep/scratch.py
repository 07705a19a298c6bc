"""Compaction with a single evaluation: a block evaluates its elements once into scratch memory, and
copies the selected elements when its output offset is known.

    evaluate the block    scratch  x x x x x x x x x . . .    the selected ones, from 0 on, in cache
    publish how many; look back: the output offset
    copy                  . x x | x x x x x x | x . .         whole lines around the caches

Memory is read at one go, so loads prefetch a few steps ahead. Where blocks publish more than counts
of selected elements, the elements are counted first, and evaluated again when the offset is known.
"""

from __future__ import annotations

from flatweave.kernel_ir.syntax import Lane, Lanes, Load, Shared, Store
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.machine.machine import WIDEST
from flatweave.lower.schedule.scan_levels import ScanRecord
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, For, If
from flatweave.terms.syntax import Atom, BufferType, Var

LINE = 64
"""Elements of a line: whole cache lines whatever the dtype."""


class SingleEvaluation:
    """The elements that a block stores for each compact sink until they are moved."""

    def __init__(
        self, kernel: KernelBuilder, compacts: dict[int, tuple[Var, ...]], most: int
    ) -> None:
        self.room = most + 2 * WIDEST
        self.targets = {k: tuple(map(kernel.buffer, found)) for k, found in compacts.items()}
        self.buffers = {
            k: tuple(self._stage(kernel.body, buffer) for buffer in found)
            for k, found in self.targets.items()
        }

    def _stage(self, b: Builder, buffer: Var) -> Var:
        assert isinstance(buffer.type, BufferType)
        return b.emit(Shared(buffer.type.dtype, self.room))[0]

    def move(
        self, b: Builder, scan: ScanRecord, start: Atom, count: Atom, streaming: bool
    ) -> None:
        """Copy the elements stored for a record's sink from `start` on, a cache line at a time."""
        assert scan.compact is not None
        k = scan.compact
        stop = b.add(start, count)
        loop, line, _ = b.iteration("p")
        after = loop.apply("ge", line, start)
        whole = loop.apply("and", after, loop.apply("le", loop.add(line, index(LINE)), stop))
        inside, edge = loop.inner(), loop.inner()
        self._line(inside, k, line, start, stop, whole=True, streaming=streaming)
        self._line(edge, k, line, start, stop, whole=False, streaming=False)
        loop.emit(If(whole, inside.close([], []), edge.close([], [])))
        first = b.apply("and", start, index(-LINE))
        b.emit(For(first, stop, index(LINE), loop.close([line], []), ()))

    def _line(
        self, b: Builder, k: int, line: Atom, start: Atom, stop: Atom, *, whole: bool,
        streaming: bool,
    ) -> None:  # fmt: skip
        region = b.inner()
        place = region.emit(Lane(line))[0]
        store = region if whole else region.inner()
        source = store.sub(place, start)
        for stage, target in zip(self.buffers[k], self.targets[k], strict=True):
            value = store.emit(Load(stage, source))[0]
            store.emit(Store(target, place, value, streaming))
        if not whole:
            after = region.apply("ge", place, start)
            mine = region.apply("and", after, region.apply("lt", place, stop))
            region.emit(If(mine, store.close([], []), NO_BODY))
        b.emit(Lanes(LINE, region.close([], [])))
