"""The simulator's memory: buffers that know who wrote and read each element, and when.

    out of bounds      an index outside a buffer
    not written        a read of an element that nobody has written
    race               two agents use one element, one of them writes another value, and nothing
                       orders the two: between warps a barrier, between blocks release and acquire

An *agent* is who uses memory: a warp of a block, or, inside a `for_all`, one of its units. Lanes of
a warp run in lock step: what one writes the others may read in the next step, but two lanes may not
write different values to one element in one step. Units of a `for_all` are in no order at all: a
barrier must stand between what one writes and another uses.
"""

from __future__ import annotations

import numpy as np

from flatweave.base.dtypes import DType
from flatweave.base.errors import CompilerBug
from flatweave.base.records import record, replace
from flatweave.terms.batch import Value

NOBODY, SEVERAL = -1, -2


@record(frozen=False)
class BlockTimes:
    """The clock of a block: `epoch` counts its barriers, `releases` its releases, and `known[b]` is
    how many releases of block b it has seen."""

    known: Value
    epoch: int = 0
    releases: int = 0


@record(frozen=False)
class WarpTimes:
    """The clock of a warp: `epoch` counts its barriers."""

    epoch: int = 0


@record(frozen=False)
class Agent:
    """Who uses memory: a warp, a unit of a `for_all`, or all its threads that run in lock step.

    `number` is different for all agents of a launch, and `crew` for all warps; threads have one
    each, in the order of the elements that they use. `units` are their numbers in the `for_all`;
    `warps` is how many warps run this code.
    """

    block: int
    name: str
    warps: int
    times: BlockTimes
    warp_times: WarpTimes
    number: int | Value
    crew: int | Value
    alone: bool = False  # nobody else may write what it writes, not even the same
    units: Value | None = None

    def unit(self, number: int, unit: int) -> Agent:
        """One warp of a `for_all`."""
        name = f"{self.name.split(',')[0]}, warp {unit} of a for_all"
        return Agent(self.block, name, 1, self.times, WarpTimes(), number, number, alone=True)

    def threads(self, numbers: Value, units: Value, of_warp: bool) -> Agent:
        """The threads of a `for_all`, of a single warp or of the block."""
        crew = self.crew if of_warp else numbers
        return replace(self, number=numbers, crew=crew, alone=True, units=units)

    def some(self, chosen: Value) -> Agent:
        """Those threads alone."""
        assert isinstance(self.number, np.ndarray) and self.units is not None
        crew = self.crew[chosen] if isinstance(self.crew, np.ndarray) else self.crew
        return replace(self, number=self.number[chosen], crew=crew, units=self.units[chosen])

    def who(self, element: int) -> str:
        """The agent that uses the element, in words."""
        return self.name if self.units is None else f"{self.name}, thread {self.units[element]}"


class Trace:
    """Who last used each element, in which epochs of block and warp, and after how many releases.

    Where SEVERAL warps of a block wrote one value (`agreed`), each of them may go on as if alone.
    """

    def __init__(self, count: int, agreed: bool) -> None:
        self.agreed = agreed
        self.agent = np.full(count, NOBODY, np.int64)
        self.crew = np.full(count, NOBODY, np.int64)
        self.block = np.full(count, NOBODY, np.int64)
        self.epoch = np.zeros(count, np.int64)
        self.warp_epoch = np.zeros(count, np.int64)
        self.releases = np.zeros(count, np.int64)

    def unordered(self, at: Value, by: Agent) -> Value:
        """Where the last use was by another agent, and nothing orders it before `by`."""
        agent, block = self.agent[at], self.block[at]
        another = agent != by.number
        same_block = block == by.block
        if self.agreed and not by.alone:
            another &= ~(same_block & (agent == SEVERAL))
        before_barrier = same_block & (self.epoch[at] < by.times.epoch)
        same_warp = self.crew[at] == by.crew
        before_barrier |= same_warp & (self.warp_epoch[at] < by.warp_times.epoch)
        others = np.where(block >= 0, block, 0)
        released = ~same_block & (self.releases[at] < by.times.known[others])
        return np.asarray((block != NOBODY) & another & ~before_barrier & ~released)

    def note(self, at: Value, by: Agent, others: Value) -> None:
        """Agent `by` uses the elements, together with `others` where so marked."""
        twice = _used_twice(at, by)
        mixed = others & (self.crew[at] != by.crew)
        if isinstance(by.crew, np.ndarray):
            mixed |= twice
        self.agent[at] = np.where(others | twice, SEVERAL, by.number)
        self.crew[at] = np.where(mixed, SEVERAL, by.crew)
        self.block[at] = by.block
        self.epoch[at] = by.times.epoch
        self.warp_epoch[at] = by.warp_times.epoch
        self.releases[at] = by.times.releases


def _used_twice(at: Value, by: Agent) -> Value:
    """Where two threads use one element at once."""
    if by.units is None:
        return np.zeros(at.shape, np.bool_)
    _, inverse, count = np.unique(at, return_inverse=True, return_counts=True)
    return np.asarray(count[inverse] > 1)


@record(frozen=False)
class Buffer:
    """A flat piece of memory; `owners` 0 means that it was given back."""

    name: str
    data: Value
    known: Value
    released: dict[int, Value]
    owners: int = 1
    kept_by_caller: bool = False
    atomic: Value | None = None
    writes: Trace | None = None
    reads: Trace | None = None

    @staticmethod
    def fresh(name: str, dtype: DType, count: int) -> Buffer:
        """Memory that nobody has written: it holds the greatest value of its dtype."""
        data = np.full(count, dtype.high, dtype.numpy)
        return Buffer(name, data, np.zeros(count, np.bool_), {})

    @staticmethod
    def of(name: str, array: Value) -> Buffer:
        """An array that the caller keeps."""
        flat = np.ascontiguousarray(array).reshape(-1)
        return Buffer(name, flat, np.ones(flat.size, np.bool_), {}, kept_by_caller=True)

    def forget(self) -> None:
        """A launch begins: all that was done before is done."""
        self.writes = self.reads = self.atomic = None
        self.released = {}

    # -- uses -------------------------------------------------------------------------------------

    def inside(self, at: Value) -> None:
        """Refuse indices outside, and memory that was given back."""
        if self.owners < 1:
            raise CompilerBug(f"{self.name} is used after it was given back.")
        bad = np.flatnonzero((at < 0) | (at >= self.data.size))
        if bad.size:
            raise CompilerBug(
                f"out of bounds: index {at[bad[0]]} of {self.name}, which has {self.data.size}."
            )

    def load(self, at: Value, by: Agent | None) -> Value:
        """The elements, which somebody has written before."""
        self.inside(at)
        unset = np.flatnonzero(~self.known[at])
        if unset.size:
            raise CompilerBug(f"{self.name}[{at[unset[0]]}] is read, but nobody has written it.")
        if by is not None:
            writes, reads, _ = self._traces()
            self._refuse(writes.unordered(at, by), at, "is written by one and read by another", by)
            reads.note(at, by, reads.unordered(at, by))
        return self.data[at]

    def store(self, at: Value, values: Value, by: Agent | None) -> None:
        """New values, each element from one lane or the same from all."""
        self.inside(at)
        if self.kept_by_caller:
            raise CompilerBug(f"{self.name} belongs to the caller and is written.")
        if by is not None:
            self._claim(at, values, by)
        self.data[at] = values
        self.known[at] = True
        if at.size and not is_same(self.data[at], values).all():
            k = int(np.flatnonzero(~is_same(self.data[at], values))[0])
            raise CompilerBug(f"race: two lanes write different values to {self.name}[{at[k]}].")

    def spoil(self, at: Value, by: Agent) -> None:
        """Anything may stand in the elements from now on."""
        self.inside(at)
        self.known[at] = False
        self._claim(at, None, by)

    def _claim(self, at: Value, values: Value | None, by: Agent) -> None:
        """Refuse to write what others use; where all write one value, all may."""
        writes, reads, atomic = self._traces()
        changes = np.ones(at.shape, np.bool_)
        if values is not None and not by.alone:
            changes = ~self.known[at] | ~is_same(self.data[at], values)
        self._refuse(_used_twice(at, by), at, "is written by two threads", by)
        others = writes.unordered(at, by)
        what = "is written by two units" if by.alone else "is written with different values"
        self._refuse(others & changes, at, what, by)
        readers = reads.unordered(at, by) & changes
        self._refuse(readers, at, "is read by one and written by another", by)
        writes.note(at, by, others)
        atomic[at] = False

    def _traces(self) -> tuple[Trace, Trace, Value]:
        if self.writes is None or self.reads is None or self.atomic is None:
            self.writes, self.reads = Trace(self.data.size, True), Trace(self.data.size, False)
            self.atomic = np.zeros(self.data.size, np.bool_)
        return self.writes, self.reads, self.atomic

    def _refuse(self, bad: Value, at: Value, what: str, by: Agent) -> None:
        found = np.flatnonzero(bad)
        if found.size:
            who = by.who(int(found[0]))
            raise CompilerBug(
                f"race: {self.name}[{at[found[0]]}] {what}, with nothing between them ({who})."
            )

    # -- uses that order others -------------------------------------------------------------------

    def atomic_place(self, at: int, by: Agent) -> Value:
        """One element for an indivisible update; only those of others may be unordered."""
        where = np.asarray([at])
        self.inside(where)
        writes, reads, atomic = self._traces()
        plain = ~atomic[where]
        self._refuse(writes.unordered(where, by) & plain, where, "is also written plainly", by)
        self._refuse(reads.unordered(where, by), where, "is also read plainly", by)
        writes.note(where, by, np.zeros(1, np.bool_))
        atomic[at] = True
        if not self.known[at]:
            raise CompilerBug(f"{self.name}[{at}] is updated, but nobody has written it.")
        return self.data[at : at + 1]

    def release(self, at: int, value: Value, by: Agent) -> None:
        """A store that publishes all that the block has done."""
        self.inside(np.asarray([at]))
        _, _, atomic = self._traces()
        by.times.releases += 1
        by.times.known[by.block] = by.times.releases
        before = self.released.get(at, by.times.known)
        self.released[at] = np.maximum(before, by.times.known)
        self.data[at], self.known[at], atomic[at] = value, True, True

    def acquire(self, at: int, by: Agent) -> Value:
        """A load that sees what the release it reads from has published."""
        where = np.asarray([at])
        self.inside(where)
        writes, _, atomic = self._traces()
        if not self.known[at]:
            raise CompilerBug(f"{self.name}[{at}] is read, but nobody has written it.")
        if not atomic[at]:
            self._refuse(writes.unordered(where, by), where, "is written without a release", by)
        if at in self.released:
            np.maximum(by.times.known, self.released[at], out=by.times.known)
        return np.asarray(self.data[at])


@record(frozen=False)
class Private:
    """Memory that each of so many threads has to itself: `count` elements for each."""

    buffer: Buffer
    count: int

    @staticmethod
    def fresh(name: str, dtype: DType, count: int, threads: int) -> Private:
        """Memory that nobody has written."""
        return Private(Buffer.fresh(name, dtype, count * threads), count)

    def places(self, at: Value, threads: Value) -> Value:
        """Where the elements of these threads are."""
        bad = np.flatnonzero((at < 0) | (at >= self.count))
        if bad.size:
            raise CompilerBug(
                f"out of bounds: index {at[bad[0]]} of {self.buffer.name}, of which a thread has "
                f"{self.count}."
            )
        return np.asarray(threads * self.count + at)


def is_same(a: Value, b: Value) -> Value:
    """Where two arrays hold the same bits' worth: NaN equals NaN."""
    return np.asarray((a == b) | ((a != a) & (b != b)))
