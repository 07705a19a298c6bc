"""What tells the languages of the C family apart: qualifiers, barriers and what a warp can do.

The same emitter writes both; a dialect supplies the words below and three functions. `exchange`
gives every lane the values of another lane, `ballot` the set of lanes where a flag holds: all
collectives of a warp are written with these two (warp.py). Where lanes can meet in memory only,
`spread` puts all lanes' values there, and a lane reads what it needs without further barriers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from flatweave.base.dtypes import DType
from flatweave.base.records import record


class KernelText(Protocol):
    """A kernel under emission, as a dialect's functions see it."""

    threads: int
    width: int

    def line(self, text: str) -> None:
        """Append a statement."""

    def temporary(self, dtype: DType, expression: str, hint: str = "fw_t") -> str:
        """A value with a name of its own."""

    def declare_shared(self, name: str, dtype: DType, count: int) -> str:
        """Memory of the block, stated once at the kernel's head."""


Values = Sequence[tuple[str, DType]]
Exchange = Callable[[KernelText, Values, str], list[str]]
Spread = Callable[[KernelText, Values], list[str]]
Ballot = Callable[[KernelText, str], str]
OwnAtomic = Callable[[str, DType], str | None]


@record(eq=True)
class Dialect:
    """One language: CUDA C or OpenCL C.

    `head` begins a kernel: {name}, {threads} and {params} stand for themselves. `global_pointer`
    spells a pointer to {type}; `block` is the block's number where blocks start in any order, and
    `acquire` and `release` are statements on {to}, {at} and {value}; `acquire_lanes` is one that
    each lane does for itself, after which all lanes see what any of them has. `load_whole` and
    `store_whole` are for so many words at once, {first} and {second}, and order nothing else.
    `first_lane` gives all lanes of a warp that one's {to}; "" where a warp cannot meet alone.
    `pause` is what who waits does after {attempt} others.
    `popcount` and `highest` tell of a word of 32 bits how many are set and which is the highest.
    `atomic` gives
    the device's own atomic update, as an expression on at and x, where it has one. `function`
    begins one that is never written out where it is called. `shared_space` qualifies what a pointer
    to shared memory points to, and `shared_fence` orders what one thread does there.
    """

    name: str
    prelude: str
    head: str
    global_pointer: str
    shared: str
    shared_space: str
    shared_fence: str
    thread: str
    block: str
    barrier: str
    warp_barrier: str
    claim: str
    acquire: str
    acquire_lanes: str
    release: str
    load_whole: Mapping[int, str]
    store_whole: Mapping[int, str]
    first_lane: str
    pause: str
    popcount: str
    highest: str
    exchange: Exchange
    spread: Spread | None
    ballot: Ballot
    atomic: OwnAtomic
    function: str
