"""Kept elements on their way to a large array: through the first-level cache, in whole lines.

    stage   . . x x x x x x | x x x x x x x x | x x x .        a chunk's kept elements, from `base`
            ^ base    ^ place where the block starts   ^ end   (`base` is `place`, rounded down)

    whole lines go out around the caches; what is left moves to the front for the next chunk

An ordinary store would read each line of the array before it is written, a third more traffic. The
first and last lines of a block are shared with its neighbours and are stored element by element.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.syntax import Lane, Lanes, Load, Shared, Store
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.traverse.position import State, Step
from flatweave.lower.traverse.traversal import Traverses
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, For, If
from flatweave.terms.syntax import Atom, BufferType, Var

CHUNK = 4096
LINE = 64
"""Elements of a line: whole cache lines whatever the dtype."""
ROOM = CHUNK + 3 * LINE


class WriteCombining:
    """The buffers of a sweep's compact sinks; `slots` says which carry is each sink's place."""

    room = ROOM

    def __init__(
        self, kernel: KernelBuilder, compacts: dict[int, tuple[Var, ...]], slots: dict[int, int],
        starts: State,
    ) -> None:  # fmt: skip
        self.targets = {k: tuple(map(kernel.buffer, found)) for k, found in compacts.items()}
        self.buffers = {
            k: tuple(self._stage(kernel.body, buffer) for buffer in found)
            for k, found in self.targets.items()
        }
        self.slots = slots
        self.starts = {k: starts[slot] for k, slot in slots.items()}
        self.bases: dict[int, Atom] = {}

    @staticmethod
    def _stage(b: Builder, buffer: Var) -> Var:
        assert isinstance(buffer.type, BufferType)
        return b.emit(Shared(buffer.type.dtype, ROOM))[0]

    def block(
        self, b: Builder, walk: Traverses, lo: Atom, hi: Atom, state: State, step: Step,
        carries: int,
    ) -> State:  # fmt: skip
        """The walk over a block, chunk by chunk; the carries begin at position `carries`."""
        chunks = b.inner()
        at = chunks.param("c", i64)
        params = [chunks.param("s", atom.type) for atom in state]
        mask = index(-LINE)
        self.bases = {
            k: chunks.apply("and", params[carries + slot], mask) for k, slot in self.slots.items()
        }
        stop = chunks.apply("minimum", chunks.add(at, index(CHUNK)), hi)
        out = walk.block(chunks, at, stop, tuple(params), step)
        for k, slot in self.slots.items():
            self._flush(chunks, k, self.bases[k], out[carries + slot])
        body = chunks.close([at, *params], out)
        done: State = b.emit(For(lo, hi, index(CHUNK), body, state))
        for k, slot in self.slots.items():
            end = done[carries + slot]
            self._put_line(b, k, b.apply("and", end, mask), end)
        return done

    def _flush(self, b: Builder, k: int, base: Atom, end: Atom) -> None:
        """Write the whole lines; the rest goes to the front of the stage."""
        whole = b.apply("and", b.sub(end, base), index(-LINE))
        inside = b.inner()
        self._put_line(inside, k, base, inside.add(base, whole))
        region = inside.inner()
        loop = region.inner()
        g = loop.param("g", i64)
        j = loop.emit(Lane(g))[0]
        place = loop.add(base, j)
        for stage, target in zip(self.buffers[k], self.targets[k], strict=True):
            loop.emit(Store(target, place, loop.emit(Load(stage, j))[0], True))
        region.emit(For(index(LINE), whole, index(LINE), loop.close([g], []), ()))
        front, rest = region.emit(Lane(index(0)))[0], region.emit(Lane(whole))[0]
        for stage in self.buffers[k]:
            region.emit(Store(stage, front, region.emit(Load(stage, rest))[0]))
        inside.emit(Lanes(LINE, region.close([], [])))
        b.emit(If(b.apply("gt", whole, index(0)), inside.close([], []), NO_BODY))

    def _put_line(self, b: Builder, k: int, base: Atom, end: Atom) -> None:
        """Store the elements of the stage's first line that are this block's and below `end`."""
        region = b.inner()
        j = region.emit(Lane(index(0)))[0]
        place = region.add(base, j)
        after = region.apply("ge", place, self.starts[k])
        mine = region.apply("and", after, region.apply("lt", place, end))
        store = region.inner()
        self._copy(store, self.buffers[k], self.targets[k], j, place)
        region.emit(If(mine, store.close([], []), NO_BODY))
        b.emit(Lanes(LINE, region.close([], [])))

    @staticmethod
    def _copy(
        b: Builder, buffers: Sequence[Var], targets: Sequence[Var], j: Atom, place: Atom
    ) -> None:
        for stage, target in zip(buffers, targets, strict=True):
            b.emit(Store(target, place, b.emit(Load(stage, j))[0]))
