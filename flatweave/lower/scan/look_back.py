"""The chain in which the blocks of a single-pass scan publish: the host's part of it.

What blocks do with it is `algorithms/look_back.py`. Timing says whether a block or one behind it
joins its aggregate to what lies before: where copies of the operator might disagree it is called
(`called_operator.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.algorithms.look_back import NOTHING, PREFIX, Slots
from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record
from flatweave.kernel_ir.host import Alloc, Free
from flatweave.kernel_ir.syntax import Store
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom, Var

Clear = Callable[[Var, Atom], None]


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

    def free(self, host: Builder) -> None:
        for buffer in (self.states, *self.aggregates, *self.prefixes):
            host.emit(Free(buffer))


def make_chain(
    host: Builder, first: Sequence[Atom], blocks: Atom, site: int, clear: Clear | None = None
) -> Chain:
    """Allocate a chain for `blocks` blocks; slot 0 is known, the others are not.

    `clear` sets the states by a launch where the host had better not.
    """
    slots = host.add(blocks, index(1))

    def array(dtype: object) -> Var:
        assert isinstance(dtype, DType)
        return host.emit(Alloc(dtype, slots, site))[0]

    states = array(i64)
    aggregates = tuple(array(atom.type) for atom in first)
    prefixes = tuple(array(atom.type) for atom in first)
    if clear is None:
        host.emit(Store(states, index(0), PREFIX))
    for buffer, atom in zip(prefixes, first, strict=True):
        host.emit(Store(buffer, index(0), atom))
    if clear is None:
        _clear_on_host(host, states, slots)
    else:
        clear(states, slots)
    return Chain(states, aggregates, prefixes, blocks)


def _clear_on_host(host: Builder, states: Var, slots: Atom) -> None:
    inside = host.inner()
    slot = inside.param("t", i64)
    inside.emit(Store(states, slot, NOTHING))
    host.emit(For(index(1), slots, index(1), inside.close([slot], []), ()))
