"""The simulator's memory: buffers that know who wrote and read each element, and when.

    out of bounds      an index outside a buffer
    not written        a read of an element that nobody has written
    race               two agents use one element, one of them writes another value, and nothing
                       orders the two: between warps a barrier, between blocks release and acquire

An *agent* is a warp of a block. Lanes of a warp run in lock step: what one writes the others may
read in the next step, but two lanes may not write different values to one element in one step.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from flatweave.base.dtypes import DType
from flatweave.base.errors import CompilerBug
from flatweave.terms.batch import Value

NOBODY, SEVERAL = -1, -2


@dataclass(eq=False)
class Agent:
    """A warp of a block, and what its block knows of the others.

    `epoch` counts the block's barriers, `releases` its releases; `known[b]` is how many releases of
    block b it has seen.
    """

    block: int
    warp: int
    warps: int
    times: BlockTimes

    @property
    def number(self) -> int:
        """Different for all agents of a launch."""
        return self.block * self.warps + self.warp


@dataclass(eq=False)
class BlockTimes:
    """The clock of a block."""

    known: Value
    epoch: int = 0
    releases: int = 0


class Trace:
    """Who last used each element, in which epoch of its block, and after how many releases.

    Where SEVERAL warps of a block wrote one value (`agreed`), each of them may go on as if alone.
    """

    def __init__(self, count: int, agreed: bool) -> None:
        self.agreed = agreed
        self.agent = np.full(count, NOBODY, np.int64)
        self.block = np.full(count, NOBODY, np.int64)
        self.epoch = np.zeros(count, np.int64)
        self.releases = np.zeros(count, np.int64)

    def unordered(self, at: Value, by: Agent) -> Value:
        """Where the last use was by another agent, and nothing orders it before `by`."""
        agent, block = self.agent[at], self.block[at]
        alone = agent != by.number
        same_block = block == by.block
        if self.agreed:
            alone &= ~(same_block & (agent == SEVERAL))
        before_barrier = same_block & (self.epoch[at] < by.times.epoch)
        others = np.where(block >= 0, block, 0)
        released = ~same_block & (self.releases[at] < by.times.known[others])
        return np.asarray((block != NOBODY) & alone & ~before_barrier & ~released)

    def note(self, at: Value, by: Agent, others: Value) -> None:
        """Agent `by` uses the elements, together with `others` where so marked."""
        self.agent[at] = np.where(others, SEVERAL, by.number)
        self.block[at] = by.block
        self.epoch[at] = by.times.epoch
        self.releases[at] = by.times.releases


@dataclass(eq=False)
class Buffer:
    """A flat piece of memory; `owners` 0 means that it was given back."""

    name: str
    data: Value
    known: Value
    owners: int = 1
    kept_by_caller: bool = False
    released: dict[int, Value] = field(default_factory=dict)
    atomic: Value | None = None
    writes: Trace | None = None
    reads: Trace | None = None

    @staticmethod
    def fresh(name: str, dtype: DType, count: int) -> Buffer:
        """Memory that nobody has written: it holds the greatest value of its dtype."""
        data = np.full(count, dtype.high, dtype.numpy)
        return Buffer(name, data, np.zeros(count, np.bool_))

    @staticmethod
    def of(name: str, array: Value) -> Buffer:
        """An array that the caller keeps."""
        flat = np.ascontiguousarray(array).reshape(-1)
        return Buffer(name, flat, np.ones(flat.size, np.bool_), kept_by_caller=True)

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
        if values is not None:
            changes = ~self.known[at] | ~is_same(self.data[at], values)
        others = writes.unordered(at, by)
        self._refuse(others & changes, at, "is written with different values", by)
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
            who = f"block {by.block}, warp {by.warp}"
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


def is_same(a: Value, b: Value) -> Value:
    """Where two arrays hold the same bits' worth: NaN equals NaN."""
    return np.asarray((a == b) | ((a != a) & (b != b)))
