"""Flags stored as bits, as `numpy.packbits(.., bitorder="little")` stores them.

Bit k of word w is the flag of element 32 w + k. With the counts of all words before, one read of a
word says how many flags hold before any position: the rank in a bit vector (Jacobson 1989, 2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

import numpy as np

from flatweave.array_ir.interp import Interp
from flatweave.base.dtypes import u32
from flatweave.ops.sweep import Sink, SinkOp
from flatweave.terms.batch import Env, Value, Values
from flatweave.terms.rules import condition_misfits, index_misfits, types_misfit
from flatweave.terms.syntax import ArrayType, Atom, Type, Var, op

WORD = u32
"""The dtype of words: a warp's flags are one of them."""


@op
class StoreBits(Sink):
    """The flags of all elements as bits of words, of which there are `extent`."""

    extent: Atom
    forward: ClassVar[bool] = True
    early: ClassVar[bool] = True
    in_words: ClassVar[bool] = True
    deciding: ClassVar[int] = 1
    said: ClassVar[str] = "flags as bits"

    @property
    def arity(self) -> int:
        return 1

    def binders(self, shape: tuple[Atom, ...], taken: tuple[Atom, ...]) -> tuple[Var, ...]:
        return (Var("bits", ArrayType(WORD, (self.extent,))),)

    def misfits(self, taken: tuple[Atom, ...]) -> Iterator[str]:
        yield from condition_misfits(taken[0])
        yield from index_misfits("the number of words", (self.extent,))

    def evaluate(
        self, interp: Interp, env: Env, shape: tuple[int, ...], order: Value, taken: Values
    ) -> Values:
        (extent,) = interp.shape(env, (self.extent,))
        return (packed(taken[0], extent),)


@op
class PackBits(SinkOp):
    """The flags of `mask` as bits of words, of which there are `extent`."""

    mask: Atom
    extent: Atom

    def fed(self) -> tuple[Atom, ...]:
        return (self.mask,)

    def sink(self, atoms: Callable[[Sequence[Atom]], tuple[Atom, ...]]) -> Sink:
        return StoreBits(*atoms((self.extent,)))

    def result_types(self) -> tuple[Type, ...]:
        return (ArrayType(WORD, (self.extent,)),)

    def misfits(self) -> Iterator[str]:
        yield from types_misfit("the mask", (self.mask,), (self.mask.type,))
        yield from index_misfits("the number of words", (self.extent,))

    def evaluate(self, interp: Interp, env: Env) -> Values:
        (extent,) = interp.shape(env, (self.extent,))
        return (packed(interp.atom(env, self.mask), extent),)


def packed(flags: Value, extent: int) -> Value:
    """The bits of all flags, in `extent` words."""
    if extent != -(-len(flags) // WORD.bits):
        raise AssertionError(f"{len(flags)} flags do not fill {extent} words")
    room = np.zeros(extent * WORD.bits, np.bool_)
    room[: len(flags)] = flags
    return np.packbits(room, bitorder="little").view("<u4")
