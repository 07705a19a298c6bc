"""Scans down the columns of an array, by blocks of a few rows.

    totals[b, j]  = xs[8 b, j] + .. + xs[8 b + 7, j]          each block of rows
    before[b, j]  = totals[0, j] + .. + totals[b, j]          the same, of an eighth of the rows
    result[i, j]  = before[i // 8 - 1, j] + xs[i // 8 * 8, j] + .. + xs[i, j]

Every read is one of neighbours along the last axis, and all of it is element by element. A row is
read some five times, most of them from caches; going down one column after the other would read a
line of memory for each element. After three times there are 512 times fewer rows: these go that
way.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.frontend.arrays.row_scans import narrow_or
from flatweave.frontend.arrays.shapes import transposed
from flatweave.frontend.elements.broadcasting import generated, read
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, ZERO
from flatweave.frontend.trace.tracers import emit, tracer_of
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.scope import current
from flatweave.ops import Reduce, Scan
from flatweave.terms.syntax import Atom, Lambda, constant

ROWS = 8
"""Of a block. Down 2^17 x 1024 f32 with AVX-512 on two threads, ms: 75 with 8 rows and 3 levels, 85
with 4 and 4, 91 with 6 and 3, 87 with 16 and 2; around the caches once in and once out takes 19."""
LEVELS = 3
SIZE, MORE = constant(ROWS, i64), constant(ROWS - 1, i64)


def scan_along(
    fn: Lambda, identity: Sequence[Atom], arrays: Sequence[Tracer], axis: int
) -> list[Tracer]:
    """Every prefix along an axis.

    By blocks where totals are stored: in an element function they would be computed where they are
    read, again and again.
    """
    if axis == arrays[0].ndim - 1:
        return scan_last_axis(fn, identity, arrays, False, False)
    levels = levels_here()
    if axis:
        return down(fn, identity, arrays, axis, levels)
    start = [tracer_of(value) for value in identity]
    return narrow_or(
        fn, start, arrays, False, False, lambda rows: down(fn, identity, rows, 0, levels)
    )


def levels_here() -> int:
    """How often totals of blocks are scanned by blocks: not in an element function, nor in a
    program that is to be divided, whose chunks do so (`cluster/rules.py`)."""
    return 0 if current().outer or current().trace.in_chunks else LEVELS


def down(
    fn: Lambda, identity: Sequence[Atom], arrays: Sequence[Tracer], axis: int, levels: int
) -> list[Tracer]:
    """By blocks, their totals by blocks of these, and so on."""
    if levels:
        blocks = _Blocks(fn, identity, arrays, axis)
        return blocks.results(down(fn, identity, blocks.totals(), axis, levels - 1))
    order = [a for a in range(arrays[0].ndim) if a != axis] + [axis]
    turned = [transposed(x, order) for x in arrays]
    results = scan_last_axis(fn, identity, turned, False, False)
    return [transposed(x, [order.index(a) for a in range(len(order))]) for x in results]


class _Blocks:
    """Arrays whose rows along an axis are taken `ROWS` at a time."""

    def __init__(
        self, fn: Lambda, identity: Sequence[Atom], arrays: Sequence[Tracer], axis: int
    ) -> None:
        self.fn = fn
        self.identity = tuple(identity)
        self.arrays = arrays
        self.axis = axis

    def totals(self) -> list[Tracer]:
        """Each block combined."""
        shape, length = list(self.arrays[0].extents), self.arrays[0].extents[self.axis]
        blocks = extents.floordiv(extents.add(length, MORE), SIZE)
        extents.known_extent(blocks)
        shape[self.axis] = blocks

        def total(*at: Atom) -> list[Tracer]:
            first = extents.mul(at[self.axis], SIZE)
            return self._combined(at, first, extents.least(SIZE, extents.sub(length, first)))

        return generated(shape, total)

    def results(self, before: Sequence[Tracer]) -> list[Tracer]:
        """Every prefix, given what all blocks up to each one combine to."""

        def result(*at: Atom) -> list[Tracer]:
            block = extents.floordiv(at[self.axis], SIZE)
            first = extents.mul(block, SIZE)
            mine = self._combined(at, first, extents.add(extents.sub(at[self.axis], first), ONE))
            place = extents.greatest(extents.sub(block, ONE), ZERO)
            there = current().apply("gt", block, ZERO)
            known = [
                current().apply("select", there, read(x, self._at(at, place)).atom, e)
                for x, e in zip(before, self.identity, strict=True)
            ]
            copy = current().builder.copy(self.fn)
            joined = current().builder.inline(copy, [*known, *(x.atom for x in mine)])
            return [tracer_of(atom) for atom in joined]

        return generated(self.arrays[0].extents, result)

    def _combined(self, at: Sequence[Atom], first: Atom, count: Atom) -> list[Tracer]:
        """So many rows of a column, from the first on."""
        extents.known_extent(count)
        column = generated(
            (count,), lambda k: [read(x, self._at(at, extents.add(first, k))) for x in self.arrays]
        )
        copy = current().builder.copy(self.fn)
        return emit(Reduce(copy, self.identity, tuple(x.atom for x in column)))

    def _at(self, at: Sequence[Atom], row: Atom) -> list[Atom]:
        return [row if axis == self.axis else i for axis, i in enumerate(at)]


def scan_last_axis(
    fn: Lambda, start: Sequence[Atom], arrays: Sequence[Tracer], exclusive: bool, reverse: bool
) -> list[Tracer]:
    """A segmented scan along the last axis: in row-major order, restarted in every row."""
    shape = arrays[0].extents
    starts: tuple[Atom, ...] = ()
    if len(shape) > 1:
        first = extents.sub(shape[-1], extents.ONE) if reverse else extents.ZERO
        flags = generated(shape, lambda *at: tracer_of(current().apply("eq", at[-1], first)))
        starts = (flags[0].atom,)
    atoms = tuple(x.atom for x in arrays)
    return emit(Scan(fn, tuple(start), atoms, exclusive, reverse, starts))
