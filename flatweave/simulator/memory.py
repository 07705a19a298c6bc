"""The simulator's memory: buffers that know who wrote and read each element, and when.

    out of bounds      an index outside a buffer
    not written        a read of an element that nobody has written
    race               two agents use one element, one of them writes another value, and nothing
                       orders the two: in a block a barrier, between blocks release and acquire

The users of memory, and the order of their accesses, are in `order.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flatweave.base.dtypes import DType
from flatweave.base.errors import CompilerBug
from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.simulator.order import Agent, Trace, used_twice
from flatweave.terms.batch import Value

# What the simulator finds wrong with a kernel.


class Misuse(CompilerBug):
    """A kernel uses memory or barriers as no kernel may.

    In kernels that the compiler has written that is its own fault, in those of a user the user's:
    whoever started the run knows which. `origin` is another line that has to do with it, and `role`
    what was done there; `bounds` says that an index is outside.
    """

    def __init__(
        self, message: str, *, origin: Location | None = None, role: str = "", remedy: str = "",
        bounds: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.origin = origin
        self.role = role
        self.remedy = remedy
        self.bounds = bounds

    def origins(self) -> tuple[str, ...]:
        """The other line, to be shown below the message."""
        if self.origin is None or not self.origin.is_known:
            return ()
        return (f"{self.role} {self.origin.excerpt().splitlines()[0]}",)


PLAINLY, ATOMICALLY = 0, 1
"""How an element was last written; a higher number stands for a lock."""

BARRIER = "Let a barrier stand between the two, as force does; or write it by one of them alone."
LAUNCH = "Blocks are in no order: write in one launch and read in the next, or use atomic updates."


@record(frozen=False)
class Buffer:
    """A flat piece of memory; `owners` 0 means that it was given back."""

    name: str
    data: Value
    known: Value
    space: str = "global"
    owners: int = 1
    kept_by_caller: bool = False
    made: Location | None = None
    released: dict[int, Value] | None = None
    way: Value | None = None
    writes: Trace | None = None
    reads: Trace | None = None

    @staticmethod
    def fresh(
        name: str, dtype: DType, count: int, space: str = "global", made: Location | None = None
    ) -> Buffer:
        """Memory that nobody has written: it holds the greatest value of its dtype."""
        data = np.full(count, dtype.high, dtype.numpy)
        return Buffer(name, data, np.zeros(count, np.bool_), space, made=made)

    @staticmethod
    def of(name: str, array: Value) -> Buffer:
        """An array that the caller keeps."""
        flat = np.ascontiguousarray(array).reshape(-1)
        return Buffer(name, flat, np.ones(flat.size, np.bool_), kept_by_caller=True)

    def forget(self) -> None:
        """A launch begins: all earlier accesses are complete."""
        self.writes = self.reads = self.way = self.released = None

    # -- uses -------------------------------------------------------------------------------------

    def inside(self, at: Value) -> None:
        """Refuse indices outside, and memory that was given back."""
        if self.owners < 1:
            raise Misuse(f"{self.name} is used after it was given back.")
        bad = np.flatnonzero((at < 0) | (at >= self.data.size))
        if bad.size:
            raise Misuse(
                f"out of bounds: index {at[bad[0]]} of {self.name}, which has {self.data.size}.",
                origin=self.made,
                role="made here:",
                remedy=f"Indices go from 0 to {self.data.size - 1}.",
                bounds=True,
            )

    def expect_written(self, at: Value, what: str = "read") -> None:
        """Refuse elements that nobody has written."""
        unset = np.flatnonzero(~self.known[at])
        if unset.size:
            raise Misuse(
                f"{self.name}[{at[unset[0]]}] is {what}, but nobody has written it.",
                origin=self.made,
                role="made here:",
                remedy="Write each element before; a push array must put every one.",
            )

    def load(self, at: Value, by: Agent | None) -> Value:
        """The elements, which somebody has written before."""
        self.inside(at)
        self.expect_written(at)
        if by is not None and not self.kept_by_caller:
            writes, reads, _ = self._traces()
            bad = writes.unordered(at, by)
            self._refuse(bad, at, "is written by one and read by another", by, writes)
            reads.note(at, by, reads.unordered(at, by))
        return self.data[at]

    def store(self, at: Value, values: Value, by: Agent | None) -> None:
        """New values, each element from one lane or the same from all."""
        self.inside(at)
        if self.kept_by_caller:
            raise Misuse(
                f"{self.name} belongs to the caller and is written.",
                remedy="Write to memory of the kernel's own, such as fill(xs), and return that.",
            )
        if by is not None:
            self._claim(at, values, by)
        self.data[at] = values
        self.known[at] = True
        if at.size and not is_same(self.data[at], values).all():
            k = int(np.flatnonzero(~is_same(self.data[at], values))[0])
            raise Misuse(f"race: two lanes write different values to {self.name}[{at[k]}].")

    def spoil(self, at: Value, by: Agent) -> None:
        """The elements have unspecified values from now on."""
        self.inside(at)
        self.known[at] = False
        self._claim(at, None, by)

    def _claim(self, at: Value, values: Value | None, by: Agent) -> None:
        """Refuse to write what others use; where all write one value, all may."""
        writes, reads, way = self._traces()
        changes = np.ones(at.shape, np.bool_)
        if values is not None and not by.alone:
            changes = ~self.known[at] | ~is_same(self.data[at], values)
        self._refuse_twice(at, by)
        others = writes.unordered(at, by)
        what = "is written by two units" if by.alone else "is written with different values"
        self._refuse(others & changes, at, what, by, writes)
        readers = reads.unordered(at, by) & changes
        self._refuse(readers, at, "is read by one and written by another", by, reads)
        writes.note(at, by, others)
        way[at] = PLAINLY

    def _traces(self) -> tuple[Trace, Trace, Value]:
        if self.writes is None or self.reads is None or self.way is None:
            self.writes, self.reads = Trace(self.data.size, True), Trace(self.data.size, False)
            self.way = np.zeros(self.data.size, np.int64)
        return self.writes, self.reads, self.way

    def _refuse(self, bad: Value, at: Value, what: str, by: Agent, trace: Trace) -> None:
        found = np.flatnonzero(bad)
        if found.size:
            place = int(at[found[0]])
            who, before = by.who(int(found[0])), trace.who(place, by)
            raise Misuse(
                f"race: {self.name}[{place}] {what}, with nothing between them ({before}; {who}).",
                origin=trace.where(place),
                role="the other one:",
                remedy=BARRIER if trace.block(place, by) == by.block else LAUNCH,
            )

    def _refuse_twice(self, at: Value, by: Agent) -> None:
        """Refuse that two threads write one element at once."""
        twice = used_twice(at, by)
        if twice.any():
            place = at[np.flatnonzero(twice)[0]]
            first, second = (by.who(int(k)) for k in np.flatnonzero(at == place)[:2])
            raise Misuse(
                f"race: {self.name}[{place}] is written by two threads, with nothing between them "
                f"({first}; {second}).",
                remedy=BARRIER,
            )

    # -- uses that order others -------------------------------------------------------------------

    def updated(self, at: int, by: Agent, way: int = ATOMICALLY) -> Value:
        """One element for an indivisible update; only those of the same `way` may be unordered."""
        where = np.asarray([at])
        self.inside(where)
        writes, reads, ways = self._traces()
        bad = writes.unordered(where, by) & (ways[where] != way)
        what = "is also written plainly" if ways[at] == PLAINLY else "is also updated otherwise"
        self._refuse(bad, where, what, by, writes)
        self._refuse(reads.unordered(where, by), where, "is also read plainly", by, reads)
        writes.note(where, by, np.zeros(1, np.bool_))
        ways[at] = way
        self.expect_written(where, "updated")
        return self.data[at : at + 1]

    def release(self, at: int, value: Value, by: Agent) -> None:
        """A store that publishes all earlier work of the block."""
        self.store_whole(at, [value], by)
        if self.released is None:
            self.released = {}
        self.released[at] = by.clock.release()

    def store_whole(self, first: int, values: Sequence[Value], by: Agent) -> None:
        """Words that others see all of, or none; other memory is not published."""
        where = np.arange(first, first + len(values))
        self.inside(where)
        writes, reads, ways = self._traces()
        bad = writes.unordered(where, by) & (ways[where] == PLAINLY)
        self._refuse(bad, where, "is also written plainly", by, writes)
        self._refuse(reads.unordered(where, by), where, "is also read plainly", by, reads)
        writes.note(where, by, np.zeros(where.size, np.bool_))
        self.data[where], self.known[where], ways[where] = values, True, ATOMICALLY

    def acquire(self, at: int, by: Agent) -> Value:
        """A load that sees what the release it reads from has published."""
        (found,) = self.load_whole(at, 1, by)
        if self.released is not None and at in self.released:
            by.clock.acquire(self.released[at])
        return found

    def load_whole(self, first: int, count: int, by: Agent) -> list[Value]:
        """Words that somebody has stored as a whole."""
        where = np.arange(first, first + count)
        self.inside(where)
        writes, _, ways = self._traces()
        self.expect_written(where)
        bad = writes.unordered(where, by) & (ways[where] == PLAINLY)
        self._refuse(bad, where, "is written without a release", by, writes)
        return [np.asarray(self.data[at]) for at in where]


@record(frozen=False)
class Private:
    """Private memory of each of some threads: `count` elements for each."""

    buffer: Buffer
    count: int

    @staticmethod
    def fresh(name: str, dtype: DType, count: int, threads: int) -> Private:
        """Memory that nobody has written."""
        return Private(Buffer.fresh(name, dtype, count * threads, "local"), count)

    def places(self, at: Value, threads: Value) -> Value:
        """Where the elements of these threads are."""
        bad = np.flatnonzero((at < 0) | (at >= self.count))
        if bad.size:
            raise Misuse(
                f"out of bounds: index {at[bad[0]]} of {self.buffer.name}, of which a thread has "
                f"{self.count}.",
                remedy=f"Indices go from 0 to {self.count - 1}.",
                bounds=True,
            )
        return np.asarray(threads * self.count + at)


def is_same(a: Value, b: Value) -> Value:
    """Where two arrays hold the same bits' worth: NaN equals NaN."""
    return np.asarray((a == b) | ((a != a) & (b != b)))
