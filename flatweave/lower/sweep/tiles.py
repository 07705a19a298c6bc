"""Loops over the tiles of a sweep's space, which are shared out among the blocks of its launch."""

from __future__ import annotations

from collections.abc import Callable

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.syntax import Lanes
from flatweave.lower.sweep.writer import KernelWriter
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import Atom


def loop(
    b: Builder, lo: Atom, hi: Atom, step: int | Atom, act: Callable[[Builder, Atom], None]
) -> None:
    """act at lo, lo + step, .. below hi."""
    inside = b.inner()
    i = inside.param("i", i64)
    act(inside, i)
    by = index(step) if isinstance(step, int) else step
    b.emit(For(lo, hi, by, inside.close([i], []), ()))


def in_lanes(b: Builder, width: int, act: Callable[[Builder], None]) -> None:
    """act on the lanes of a warp."""
    region = b.inner()
    act(region)
    b.emit(Lanes(width, region.close([], [])))


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
