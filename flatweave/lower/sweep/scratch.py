"""What the passes over a block keep in shared memory: flags, and kept elements on their way."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64, u64
from flatweave.base.records import record
from flatweave.kernel_ir.syntax import Lane, Lanes, Load, Shared, Store
from flatweave.kernel_ir.warp_ops import Ballot, InSet
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.lower.machine.machine import WIDEST
from flatweave.lower.schedule.scan_levels import ScanRecord
from flatweave.lower.traverse.steps import Position, State, Step
from flatweave.lower.traverse.traversal import Traverses
from flatweave.terms.build import Builder, index
from flatweave.terms.control import NO_BODY, For, If
from flatweave.terms.syntax import Atom, BufferType, Var

# -- Predicate bits: flags that the first pass over a block finds, saved for the last one ----------
#
#     first     saved[step] = ballot of the step's flags
#     last      the flags of a step = in_set saved[step]
#
# The flags of a step of 64 lanes are one word, so those of a block stay in the first-level cache,
# from where its elements and all that flags are computed from would have been evicted by then.


@record
class SavedBits:
    """The flags of each whole step of a block that begins at `lo`."""

    words: Var
    lo: Atom
    width: int

    def note(self, b: Builder, position: Position, flag: Atom) -> None:
        """Keep the flags of a step, if it is a whole one."""
        if position.base is not None and position.width == self.width:
            step = self._step(b, position.base)
            b.emit(Store(self.words, step, b.emit(Ballot(flag))[0]))

    def recall(self, b: Builder, position: Position) -> Atom | None:
        """The flags of a step, if they were kept."""
        if position.base is None or position.width != self.width:
            return None
        word = b.emit(Load(self.words, self._step(b, position.base)))[0]
        return b.emit(InSet(word))[0]

    def _step(self, b: Builder, base: Atom) -> Atom:
        """The number of a step in its block."""
        return b.apply("floordiv", b.sub(base, self.lo), index(self.width))


def room_for_bits(b: Builder, width: int, most: int, lo: Atom) -> SavedBits:
    """Room for the bits of a block of up to `most` elements that begins at `lo`, in whole steps."""
    steps = most // width
    return SavedBits(b.emit(Shared(u64, steps + 1))[0], lo, width)


# -- Kept elements on their way to a large array: through the first-level cache, in whole lines ----
#
#    stage   . . x x x x x x | x x x x x x x x | x x x .        a chunk's kept elements, from `base`
#             ^ base    ^ place where the block starts   ^ end   (`base` is `place`, rounded down)
#
#     whole lines go out around the caches; what is left moves to the front for the next chunk
#
# An ordinary store would read each line of the array before it is written, a third more traffic.
# The first and last lines of a block are shared with its neighbours and are stored element by
# element.


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


# --------------------------------------------------------------------------------------------------
# Compaction with a single evaluation: evaluate a block once into scratch memory, and copy when
# its output offset is known.
#
#     evaluate the block    scratch  x x x x x x x x x . . .    what is kept, from 0 on, in cache
#     publish how many; look back: the output offset
#     copy                  . x x | x x x x x x | x . .         whole lines around the caches
#
# Memory is read at one go, so loads ask for what they will want a few steps later. Where blocks
# pass on more than numbers of kept elements, these are counted first, and evaluated again when the
# offset is known.


class SingleEvaluation:
    """What a block keeps for each compact sink until it is moved."""

    def __init__(
        self, kernel: KernelBuilder, compacts: dict[int, tuple[Var, ...]], most: int
    ) -> None:
        self.room = most + 2 * WIDEST
        self.targets = {k: tuple(map(kernel.buffer, found)) for k, found in compacts.items()}
        self.buffers = {
            k: tuple(self._stage(kernel.body, buffer) for buffer in found)
            for k, found in self.targets.items()
        }
        self.bases: dict[int, Atom] = {k: index(0) for k in compacts}

    def _stage(self, b: Builder, buffer: Var) -> Var:
        assert isinstance(buffer.type, BufferType)
        return b.emit(Shared(buffer.type.dtype, self.room))[0]

    def block(
        self, b: Builder, walk: Traverses, lo: Atom, hi: Atom, state: State, step: Step,
        carries: int,
    ) -> State:  # fmt: skip
        """The walk over a block, at one go."""
        return walk.block(b, lo, hi, state, step)

    def move(
        self, b: Builder, scan: ScanRecord, start: Atom, count: Atom, streaming: bool
    ) -> None:
        """Write what was kept for a record's sink from `start` on, a cache line at a time."""
        assert scan.compact is not None
        k = scan.compact
        stop = b.add(start, count)
        loop = b.inner()
        line = loop.param("p", i64)
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
