"""The two-pass scan: for machines where a block must not wait for an earlier one.

    launch 1    aggregates[w] = all elements of warp w combined     (warps of all blocks, in order)
    launch 2    prefixes = scan of the aggregates, by one warp      (block_partials.py)
    launch 3    the sweep, each warp going on from prefixes[w]

The walk over the elements, the operators and the sinks are those of the single pass; what differs
is how a warp learns what came before it. See look_back.py for the other variant.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.records import record
from flatweave.kernel_ir.host import Free
from flatweave.kernel_ir.syntax import Load, Store
from flatweave.lower.kernel.builder import KernelBuilder
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Var


@record
class KnownPrefixes:
    """The prefix of each warp of the grid; `last` is the slot behind all of them."""

    prefixes: tuple[Var, ...]
    last: Atom

    def counted(self, host: Builder, slot: int) -> Atom:
        """Where a scan of counts ends."""
        return host.emit(Load(self.prefixes[slot], self.last))[0]

    def free(self, host: Builder) -> None:
        for buffer in self.prefixes:
            host.emit(Free(buffer))


def store_aggregate(
    b: Builder, kernel: KernelBuilder, aggregates: Sequence[Var], slot: Atom, values: Sequence[Atom]
) -> None:
    """Leave what a warp's elements combine to."""
    for buffer, value in zip(aggregates, values, strict=True):
        b.emit(Store(kernel.buffer(buffer), slot, value))


def load_prefix(
    b: Builder, kernel: KernelBuilder, known: KnownPrefixes, slot: Atom
) -> tuple[Atom, ...]:
    """All elements before slot `slot`, combined."""
    return tuple(b.emit(Load(kernel.buffer(buffer), slot))[0] for buffer in known.prefixes)
