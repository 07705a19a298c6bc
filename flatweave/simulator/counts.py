"""Counts of what a kernel does, and who reads and writes what, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from flatweave.base.records import record
from flatweave.kernel_ir.hierarchy import TryOperator, TryOverBlocks
from flatweave.terms.batch import Env, Value
from flatweave.terms.syntax import Let

# Counting what a kernel does, as a device would: accesses, bank conflicts, sectors, barriers.
#
# A warp is 32 neighbouring threads; what they do in one step is one access of the warp. Shared
# memory has 32 banks of 4 bytes: an access takes one step more for each further word in the
# fullest bank; lanes that read one word share it. Elements of 8 bytes go in two halves. The
# grid's memory comes in sectors of 32 bytes and lines of 128: an access touches those that
# contain its elements.


WARP, BANKS, BANK, SECTOR, LINE = 32, 32, 4, 32, 128

ROWS = {
    "launches": "launches",
    "blocks": "blocks",
    "threads": "threads",
    "barriers": "barriers of blocks",
    "warp_barriers": "barriers of warps",
    "shuffles": "shuffles of warps",
    "shared_reads": "shared: reads",
    "shared_writes": "shared: writes",
    "shared_atomics": "shared: atomic updates",
    "bank_conflicts": "shared: bank conflicts",
    "global_reads": "global: reads",
    "global_writes": "global: writes",
    "global_atomics": "global: atomic updates",
    "sectors": "global: sectors of 32 bytes",
    "fewest_sectors": "global: sectors if coalesced",
    "lines": "global: lines of 128 bytes",
    "uncoalesced": "global: uncoalesced accesses",
    "local_reads": "own: reads",
    "local_writes": "own: writes",
}
"""What is counted, and how a table says it."""


@record(eq=True, frozen=False)
class Counted:
    """What the launches of one kernel did, or of all.

    Reads and writes are those of single threads. `threads` is, for each block, the most that work
    at once. `bank_conflicts` are steps beyond the first, `fewest_sectors` what the elements of each
    access of a warp need if they lie side by side, and `uncoalesced` the accesses of warps that
    touch more, but for one that a start within a sector takes. `shuffles` are steps in which the
    lanes of a warp exchange a value: log2 of them for a reduction or scan. `local` is memory that
    threads have to themselves.
    """

    kernel: str
    launches: int = 0
    blocks: int = 0
    threads: int = 0
    barriers: int = 0
    warp_barriers: int = 0
    shuffles: int = 0
    shared_reads: int = 0
    shared_writes: int = 0
    shared_atomics: int = 0
    bank_conflicts: int = 0
    global_reads: int = 0
    global_writes: int = 0
    global_atomics: int = 0
    sectors: int = 0
    fewest_sectors: int = 0
    lines: int = 0
    uncoalesced: int = 0
    local_reads: int = 0
    local_writes: int = 0

    def add(self, what: str, many: int) -> None:
        """So many more."""
        setattr(self, what, getattr(self, what) + many)


class Counts:
    """What each kernel of a run did (`.kernels`), and all of them: `counts.barriers`, ..

    As a string it is a table.

    Units: counts; sectors of 32 bytes, lines of 128. Source: NVIDIA's Nsight Compute.

        >>> fk.kernel(fk.reverse).counts(np.arange(4)).global_reads
        4
    """

    def __init__(self, kernels: Sequence[Counted]) -> None:
        self.kernels = tuple(kernels)
        self.all = Counted("all")
        for counted in kernels:
            for name in ROWS:
                self.all.add(name, getattr(counted, name))

    def __getattr__(self, name: str) -> int:
        if name not in ROWS:
            raise AttributeError(f"{name} is not counted; {', '.join(ROWS)} are.")
        return int(getattr(self.all, name))

    def __str__(self) -> str:
        columns = [*self.kernels, self.all] if len(self.kernels) > 1 else list(self.kernels)
        if not columns:
            return "nothing was launched"
        head = ["", *(counted.kernel for counted in columns)]
        rows = [
            [label, *(f"{getattr(counted, name):,}" for counted in columns)]
            for name, label in ROWS.items()
            if any(getattr(counted, name) for counted in columns)
        ]
        widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if k == 0 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in [head, *rows]
        )

    __repr__ = __str__


class Counter:
    """Told of everything; this one counts nothing."""

    watches: ClassVar[bool] = True
    """Whether memory notes who uses it, so that races are found."""

    def launch(self, kernel: str, blocks: int) -> None:
        """A launch begins."""

    def done(self) -> None:
        """It ends."""

    def threads(self, block: int, warp: int, many: int) -> None:
        """So many threads of a warp of a block work at once."""

    def barrier(self, of_warp: bool = False, *, block: int = 0) -> None:
        """Warps of a block meet, or threads of a warp."""

    def shuffle(self, many: int) -> None:
        """The lanes of a warp exchange values `many` times."""

    def lets(self, many: int) -> None:
        """A body runs; `many` is the number of its lets."""

    def operator(self, warp: Any, env: Env, let: Let, op: TryOperator | TryOverBlocks) -> None:
        """A warp comes to an operator that may be tried."""

    def access(
        self, space: str, what: str, places: Value, itemsize: int, threads: Value | None, *,
        buffer: str = "", block: int = 0,
    ) -> None:  # fmt: skip
        """Threads with these numbers, or some lanes of one warp, read or write these elements."""


class Counting(Counter):
    """Counts for each kernel."""

    def __init__(self) -> None:
        self._kernels: dict[str, Counted] = {}
        self._now = Counted("")
        self._most: dict[tuple[int, int], int] = {}

    def counts(self) -> Counts:
        """All of it."""
        return Counts(list(self._kernels.values()))

    def launch(self, kernel: str, blocks: int) -> None:
        self._now = self._kernels.setdefault(kernel, Counted(kernel))
        self._now.launches += 1
        self._now.blocks += blocks
        self._most = {}

    def done(self) -> None:
        self._now.threads += sum(self._most.values())

    def threads(self, block: int, warp: int, many: int) -> None:
        self._most[block, warp] = max(many, self._most.get((block, warp), 0))

    def barrier(self, of_warp: bool = False, *, block: int = 0) -> None:
        self._now.add("warp_barriers" if of_warp else "barriers", 1)

    def shuffle(self, many: int) -> None:
        self._now.add("shuffles", many)

    def access(
        self, space: str, what: str, places: Value, itemsize: int, threads: Value | None, *,
        buffer: str = "", block: int = 0,
    ) -> None:  # fmt: skip
        kind = "shared" if space == "warp_shared" else space
        self._now.add(f"{kind}_{what}", places.size)
        if kind == "local" or not places.size or what == "atomics":
            return
        lanes = np.arange(places.size) if threads is None else threads
        if kind == "shared":
            self._now.bank_conflicts += bank_conflicts(places, itemsize, lanes)
            return
        sectors, fewest, lines, uncoalesced = touched(places, itemsize, lanes // WARP)
        self._now.sectors += sectors
        self._now.fewest_sectors += fewest
        self._now.lines += lines
        self._now.uncoalesced += uncoalesced


def bank_conflicts(places: Value, itemsize: int, threads: Value) -> int:
    """Steps beyond the first that the warps take, of which these threads use these elements."""
    word = max(BANK, itemsize)
    banks = BANKS * BANK // word
    groups = threads // min(WARP, banks)
    group, words = _different(groups, places * itemsize // word)
    bank, used = np.unique(group * banks + words % banks, return_counts=True)
    starts = np.flatnonzero(np.diff(bank // banks, prepend=-1))
    return int((np.maximum.reduceat(used, starts) - 1).sum())


def touched(places: Value, itemsize: int, warps: Value) -> tuple[int, int, int, int]:
    """Sectors touched, the fewest that could be, lines, and accesses of too many sectors."""
    group, _ = _different(warps, places)
    _, elements = np.unique(group, return_counts=True)
    fewest = -(-elements * itemsize // SECTOR)
    group, _ = _different(warps, places * itemsize // SECTOR)
    _, sectors = np.unique(group, return_counts=True)
    group, _ = _different(warps, places * itemsize // LINE)
    return (
        int(sectors.sum()), int(fewest.sum()), len(group), int((sectors > fewest + 1).sum())
    )  # fmt: skip


def _different(groups: Value, things: Value) -> tuple[Value, Value]:
    """The different things of each group, in order: the groups they are in, and the things."""
    most = int(things.max()) + 1
    found = np.unique(groups * most + things)
    return found // most, found % most


# Who reads and writes what in a kernel, in the order in which it happens.
#
# watching = Watching()
# watching.uses[0]        Use(kernel="sums", block=0, turn=0, buffer="xs", space="global",
#                             what="reads", places=[0, 1, ..], threads=[0, 1, ..])


BLOCKS, TURNS = 2, 96
NONE = np.zeros(0, np.int64)


@record
class Use:
    """Threads of a block use elements of a buffer at once; `what` is reads, writes, atomics, or
    barrier, which uses none. Words of several elements count as one index."""

    kernel: str
    block: int
    turn: int
    buffer: str
    space: str
    what: str
    places: tuple[int, ...]
    threads: tuple[int, ...]


class Watching(Counter):
    """Keeps what the first blocks of each kernel's first launch do, as far as a picture goes.

    `left_out` is how often memory was used beyond that.
    """

    def __init__(self) -> None:
        self.uses: list[Use] = []
        self.left_out = 0
        self._now = ""
        self._seen: set[str] = set()
        self._turns: dict[tuple[str, int], int] = {}

    def launch(self, kernel: str, blocks: int) -> None:
        """A launch begins; a second one of a kernel is not kept."""
        self._now = "" if kernel in self._seen else kernel
        self._seen.add(kernel)

    def barrier(self, of_warp: bool = False, *, block: int = 0) -> None:
        """Warps of a block meet, or threads of a warp."""
        self._keep("", "warp" if of_warp else "block", "barrier", NONE, NONE, block)

    def access(
        self, space: str, what: str, places: Value, itemsize: int, threads: Value | None, *,
        buffer: str = "", block: int = 0,
    ) -> None:  # fmt: skip
        """Threads with these numbers, or some lanes of one warp, use these elements."""
        who = np.arange(places.size) if threads is None else threads
        self._keep(buffer, space, what, places, who, block)

    def _keep(
        self, buffer: str, space: str, what: str, places: Value, threads: Value, block: int
    ) -> None:
        turn = self._turns.get((self._now, block), 0)
        if not self._now or block >= BLOCKS or turn >= TURNS:
            self.left_out += 1
            return
        self._turns[self._now, block] = turn + 1
        at, who = (tuple(numbers.ravel().tolist()) for numbers in (places, threads))
        self.uses.append(Use(self._now, block, turn, buffer, space, what, at, who))
