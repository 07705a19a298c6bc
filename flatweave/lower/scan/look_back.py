"""The chain in which the blocks of a single-pass scan publish: the host's part of it.

What blocks do with it is `algorithms/look_back.py`. Timing says whether a block or one behind it
joins its aggregate to what lies before: where copies of the operator might disagree it is called
(`called_operator.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.algorithms.slots import Slots
from flatweave.algorithms.words import NOTHING, PREFIX, Packing, Words
from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record
from flatweave.kernel_ir.host import Alloc, Free
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Var

Clear = Callable[[Var, Atom, Atom], None]
"""Sets so many words by a launch: the first one to a value, the others to NOTHING."""


@record
class Chain:
    """The buffers of one chain, as the host holds them; `last` is the slot behind all blocks."""

    states: Var
    aggregates: tuple[Var, ...]
    prefixes: tuple[Var, ...]
    last: Atom

    def inside(self, kernel: KernelBuilder) -> Slots:
        """The same in a kernel."""
        aggregates = tuple(kernel.buffer(buffer) for buffer in self.aggregates)
        states = kernel.buffer(self.states)
        return Slots(aggregates, states, tuple(kernel.buffer(buffer) for buffer in self.prefixes))

    def counted(self, host: Builder, slot: int) -> Atom:
        """Where a scan of counts ends."""
        return host.emit(Load(self.prefixes[slot], self.last))[0]

    def free(self, host: Builder) -> None:
        for buffer in (self.states, *self.aggregates, *self.prefixes):
            host.emit(Free(buffer))


@record
class WordChain:
    """The words of one chain, as the host holds them; `last` is the slot behind all blocks."""

    words: Var
    packing: Packing
    last: Atom

    def inside(self, kernel: KernelBuilder) -> Words:
        """The same in a kernel."""
        return Words(self.packing, kernel.buffer(self.words))

    def counted(self, host: Builder, slot: int) -> Atom:
        """Where a scan of counts ends."""
        first = host.mul(self.last, index(self.packing.count))
        words = [
            host.emit(Load(self.words, host.add(first, index(k))))[0]
            for k in range(self.packing.count)
        ]
        return self.packing.unpack(host, words)[slot]

    def free(self, host: Builder) -> None:
        host.emit(Free(self.words))


def make_chain(
    host: Builder, first: Sequence[Atom], blocks: Atom, site: int, clear: Clear | None = None
) -> Chain:
    """Allocate a chain for `blocks` blocks; slot 0 is known, the others are not.

    `clear` sets the states where the host had better not.
    """
    slots = host.add(blocks, index(1))

    def array(dtype: object) -> Var:
        assert isinstance(dtype, DType)
        return host.emit(Alloc(dtype, slots, site))[0]

    states = array(i64)
    aggregates = tuple(array(atom.type) for atom in first)
    prefixes = tuple(array(atom.type) for atom in first)
    for buffer, atom in zip(prefixes, first, strict=True):
        host.emit(Store(buffer, index(0), atom))
    (clear or _clear_on(host))(states, slots, PREFIX)
    return Chain(states, aggregates, prefixes, blocks)


def make_words(
    host: Builder, first: Sequence[Atom], blocks: Atom, site: int, clear: Clear | None,
    packing: Packing,
) -> WordChain:  # fmt: skip
    """The same of a chain of words."""
    count = host.mul(host.add(blocks, index(1)), index(packing.count))
    words = host.emit(Alloc(i64, count, site))[0]
    known, *others = packing.pack(host, first, PREFIX)
    (clear or _clear_on(host))(words, count, known)
    for number, word in enumerate(others, 1):
        host.emit(Store(words, index(number), word))
    return WordChain(words, packing, blocks)


def _clear_on(host: Builder) -> Clear:
    """The host does it."""

    def clear(words: Var, count: Atom, first: Atom) -> None:
        host.emit(Store(words, index(0), first))
        inside = host.inner()
        slot = inside.param("t", i64)
        inside.emit(Store(words, slot, NOTHING))
        host.emit(For(index(1), count, index(1), inside.close([slot], []), ()))

    return clear
