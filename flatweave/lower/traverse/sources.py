"""Blocks of whole sources: how many there are, and where the results of each begin and end."""

from __future__ import annotations

from flatweave.lower.traverse.mixed_order import mixed
from flatweave.lower.traverse.row_of_position import Rows
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom


def share_of(
    sources: int, b: Builder, rows: Rows, total: Atom, block: Atom, blocks: Atom, *,
    mix: bool = False,
) -> tuple[Atom, Atom]:  # fmt: skip
    """Where the results of this block's `sources` begin and end, as `blocks` divide them.

    With `mix`, blocks take them in an order without pattern.
    A sweep over `total` positions may end before its rows do: it is a cut of an expansion.
    """
    count = groups(b, rows.count, sources)
    block = mixed(b, block, blocks) if mix else block
    bounds = []
    for number in (block, b.add(block, index(1))):
        first = b.mul(b.apply("floordiv", b.mul(number, count), blocks), index(sources))
        start = rows.start(b, b.apply("minimum", first, rows.count))
        bounds.append(b.apply("minimum", start, total))
    return bounds[0], bounds[1]


def groups(b: Builder, rows: Atom, size: int) -> Atom:
    """How many groups of `size` sources there are."""
    return b.apply("floordiv", b.add(rows, index(size - 1)), index(size))
