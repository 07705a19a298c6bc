"""Words that blocks of one launch hand each other: of each store all is seen, or nothing.

    store_whole words 3 [w]             words[3] = w
    w: i64 = load_whole words 3         what one store has left there, whoever did it
    store_whole pairs 3 [v, w]          pairs[6] = v, pairs[7] = w, both at once

They order nothing else: who loads a word has not been told of other memory, as by `acquire`. So
they take no fence, where a release takes one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.op import BY_LANE, UNIFORM_CODE, KernelOp, contents_misfit, dtype_in
from flatweave.terms.rules import index_misfits
from flatweave.terms.syntax import Atom, Type, Var, op

MOST = 2
"""How many words of 64 bits a machine may load or store as a whole."""


@op
class LoadWhole(KernelOp):
    """The `count` words from buffer[index * count] on, as one store has left them; in lanes, each
    lane those of an index of its own."""

    buffer: Var
    index: Atom
    count: int = 1
    effect: ClassVar[bool] = True
    stands = UNIFORM_CODE
    gives = BY_LANE

    def result_types(self) -> tuple[Type, ...]:
        return (dtype_in(self.buffer),) * self.count

    def misfits(self) -> Iterator[str]:
        yield from _misfits(self.buffer, self.index, self.count)


@op
class StoreWhole(KernelOp):
    """buffer[index * n + k] = values[k] for all n of them at once; in lanes that differ, each lane
    at an index of its own, of which no two are the same."""

    buffer: Var
    index: Atom
    values_: tuple[Atom, ...]
    effect: ClassVar[bool] = True
    stands = UNIFORM_CODE

    def misfits(self) -> Iterator[str]:
        yield from _misfits(self.buffer, self.index, len(self.values_))
        yield from contents_misfit((self.buffer,) * len(self.values_), self.values_)


def _misfits(buffer: Var, index: Atom, count: int) -> Iterator[str]:
    yield from index_misfits("the index", (index,))
    yield from contents_misfit((buffer,))
    if dtype_in(buffer) is not i64:
        yield f"words of {dtype_in(buffer)}, not of i64"
    if not 1 <= count <= MOST:
        yield f"{count} words at once: it takes 1 or {MOST}"
