"""Who reads and writes what in a kernel, in the order in which it happens.

    watching = Watching()
    watching.uses[0]        Use(kernel="sums", block=0, turn=0, buffer="xs", space="global",
                                what="reads", places=[0, 1, ..], threads=[0, 1, ..])
"""

from __future__ import annotations

import numpy as np

from flatweave.base.records import record
from flatweave.simulator.counts import Counter
from flatweave.terms.batch import Value

BLOCKS, TURNS = 2, 96
NONE = np.zeros(0, np.int64)


@record
class Use:
    """Threads of a block use elements of a buffer at once; `what` is reads, writes, atomics, or
    barrier, which uses none. Words of several elements count as one place."""

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
