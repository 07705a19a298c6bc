"""What tells the languages of the C family apart: qualifiers, barriers and what a warp can do.

The same emitter writes both; a dialect supplies the words below and three functions. `exchange`
gives every lane the values of another lane, `ballot` the set of lanes where a flag holds: all
collectives of a warp are written with these two (c_warp.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flatweave.base.dtypes import DType

if TYPE_CHECKING:
    from flatweave.codegen.c_family import CEmitter

Exchange = Callable[["CEmitter", Sequence[tuple[str, DType]], str], list[str]]
Spread = Callable[["CEmitter", Sequence[tuple[str, DType]]], list[str]]
Ballot = Callable[["CEmitter", str], str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One language: CUDA C or OpenCL C.

    `head` begins a kernel: {name}, {threads} and {params} stand for themselves. `global_pointer`
    spells a pointer to {type}; `block` is the block's number where blocks start in any order, and
    `acquire` and `release` are statements on {to}, {at} and {value}.
    """

    name: str
    prelude: str
    head: str
    global_pointer: str
    shared: str
    thread: str
    block: str
    barrier: str
    claim: str
    acquire: str
    release: str
    popcount: str
    exchange: Exchange
    spread: Spread | None
    ballot: Ballot
