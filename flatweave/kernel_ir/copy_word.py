"""CopyWord: some narrow elements go from one memory to another at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from flatweave.base.dtypes import DType
from flatweave.kernel_ir.op import KernelOp, SimulatedWarp, contents_misfit, dtype_in
from flatweave.terms.batch import Env, Values
from flatweave.terms.rules import index_misfits
from flatweave.terms.syntax import Atom, BufferType, Var, op

WORD_BYTES = 4


@op
class CopyWord(KernelOp):
    """buffer[index + k] = source[first + k] for each element k of a word of 32 bits.

    Both places are multiples of the elements of a word: 4 of u8, 2 of u16.
    """

    buffer: Var
    index: Atom
    source: Var
    first: Atom
    effect: ClassVar[bool] = True

    def misfits(self) -> Iterator[str]:
        yield from index_misfits("the place", (self.index, self.first))
        yield from contents_misfit((self.buffer, self.source))
        dtypes = dtype_in(self.buffer), dtype_in(self.source)
        if dtypes[0] is not dtypes[1]:
            yield f"{dtypes[1]} is copied to {dtypes[0]}"
        if not is_narrow(dtypes[0]):
            yield f"{dtypes[0]} is no part of a word"
        if (space_of(self.buffer), space_of(self.source)) != ("shared", "global"):
            yield "words go from the grid's memory to a block's"

    def simulate(self, warp: SimulatedWarp, env: Env) -> Values:
        to, source = (self.buffer, self.index), (self.source, self.first)
        warp.copy_word(env, to, source, elements_of_word(dtype_in(self.buffer)))
        return ()


def space_of(buffer: Var) -> str:
    """Whose memory it is."""
    return buffer.type.space if isinstance(buffer.type, BufferType) else ""


def is_narrow(dtype: DType) -> bool:
    """Whether a word holds several elements."""
    return dtype.bytes < WORD_BYTES


def elements_of_word(dtype: DType) -> int:
    """How many elements a word holds."""
    return WORD_BYTES // dtype.bytes
