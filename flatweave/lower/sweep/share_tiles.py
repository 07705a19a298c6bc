"""The tiles of a sweep's space, shared out among the blocks of its launch."""

from __future__ import annotations

from collections.abc import Callable

from flatweave.lower.sweep.writer import KernelWriter
from flatweave.lower.traverse.register_tiles import loop
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom


def for_each_tile(
    writer: KernelWriter, count: Atom, act: Callable[[Builder, Atom], None]
) -> None:
    """act for each of this block's tiles, of `count` in all."""
    b = writer.b
    block, _, _ = writer.block()
    blocks = b.apply("maximum", b.ceil_div(writer.total, writer.size), index(1))
    first = b.apply("floordiv", b.mul(block, count), blocks)
    behind = b.apply("floordiv", b.mul(b.add(block, index(1)), count), blocks)

    def one(c: Builder, number: Atom) -> None:
        c.assume_space(writer.shape)
        act(c, number)

    loop(b, first, behind, 1, one)
