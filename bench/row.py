"""One row of the table: a Flatweave program, its inputs, its peers and what it must reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.needs import ONE, Need
from bench.tools import Tools

Call = Callable[[], Any]
Arrays = tuple[Any, ...]
SERIAL = (  # the beginnings of the names of peers that always run on one thread
    "C loop", "C queue", "C byte sieve", "numpy", "scipy", "numba, serial", "numba queue",
    "numba, odd only",
)  # fmt: skip


def no_peers(tools: Tools, *args: Any) -> dict[str, Call]:
    """Nothing to compare with."""
    return {}


@dataclass(frozen=True)
class Row:
    """One piece of work.

    `size` and `quick` are what `inputs` gets; `peers` makes calls without arguments that give
    what the program gives, or None for a value that is not to be compared. A sample is `repeat`
    calls in a row. `stream` is the speed of memory that counts, "read" or "copy"; without it that
    of a copy where more than next to nothing is written. `compared` takes the arrays of a
    result to those that must be equal, where answers may differ. `serial` names peers that run on
    one thread although their name does not say so.
    """

    name: str
    title: str
    size: int
    quick: int
    program: Callable[..., Any]
    inputs: Callable[[int], Arrays]
    needs: tuple[Need, ...]
    peers: Callable[..., dict[str, Call]] = no_peers
    tolerance: float = 0.0
    repeat: int = 1
    one_kernel: bool = False
    same_bits: bool = False  # for every number of threads
    compared: Callable[[list[Any]], list[Any]] = list
    stream: str = ""
    bytes_each: float = 0.0  # what memory may hold in all, for each of `size`
    blas: bool = False  # NumPy's peer is OpenBLAS, which gets all threads only here
    serial: tuple[str, ...] = ()  # peers that run on one thread here and on more elsewhere

    def threads_of(self, contender: str, threads: int) -> int:
        """How many of the threads that all were given a contender can use."""
        parallel_blas = self.blas and contender == "numpy"
        alone = contender.startswith(SERIAL) and not parallel_blas
        return 1 if alone or contender in self.serial or contender == ONE else threads

    @property
    def is_large(self) -> bool:
        """Whether bytes matter, and not the overhead of a call."""
        return self.repeat == 1
