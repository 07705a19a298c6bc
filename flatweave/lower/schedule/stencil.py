"""Arrays that a sweep reads at several offsets from its elements, and the tiles that hold them.

    sweep [n, m] (i, j =>                                      lo    hi
        a = index xs [maximum (i - 1) 0, j]            xs:    1, 0   1, 0      rows i - 1 to i + 1
        b = index xs [minimum (i + 1) (n - 1), j])

A block of threads puts a tile of xs, its elements and those around them (the *halo*), into shared
memory once, and reads it there. Whether that pays is found in cycles of a multiprocessor, for 32
elements, one in each lane of a warp, with b bytes each:

    through the caches      each read         lines of 128 bytes that it touches, one more where a
                                              warp's first element is anywhere
                            each row of reads what comes from beyond: 32 b / far_bytes
                            each axis but one DIVIDED, as positions are divided by extents
    in a tile               each element that is put there, halos among them: its lines, what comes
                            from beyond, one store, LOADED
                            each read         one
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

from flatweave.access.analyse import Accesses, Span, find_span
from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record, replace
from flatweave.lower.machine.cost import DIVIDED, LOADED, room
from flatweave.lower.machine.machine import Machine
from flatweave.lower.machine.thresholds import MOST_OF_TILE
from flatweave.nest.schedule import Axis, Cache, Memory, Split, Version
from flatweave.ops import Index, Locate, Prefix, Sweep
from flatweave.ops.rows import array_type, scalar_type
from flatweave.terms.syntax import Atom, Var

HUNDREDTHS = 100
TILED = (Axis.PLANE, Axis.ROW, Axis.LAST)
"""The axes of a tile, the last ones."""


@record
class Near:
    """A read near an element's position, with the span of each of its indices."""

    read: Index
    spans: tuple[Span, ...]


@record
class Around:
    """An array that is read around an element's position, and how far before and after it."""

    xs: Var
    reads: tuple[Near, ...]
    lo: tuple[int, ...]
    hi: tuple[int, ...]

    @property
    def dtype(self) -> DType:
        """Of its elements."""
        return array_type(self.xs).dtype

    @property
    def rows(self) -> int:
        """How many rows of it are read for one element."""
        return len({near.read.indices[:-1] for near in self.reads})

    def slots(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The extents of a tile of it with its halo."""
        return tuple(n + a + b for n, a, b in zip(shape, self.lo, self.hi, strict=True))

    def bytes_of(self, shape: Sequence[int]) -> int:
        """What such a tile takes."""
        return self.dtype.bytes * prod(self.slots(shape))


@record
class Stencil:
    """The arrays that a sweep reads so, each at two or more offsets."""

    arrays: tuple[Around, ...]


def find_stencil(op: Sweep, known: Accesses) -> Stencil | None:
    """The stencil of a sweep that stores each element at its position, or None."""
    plain = not op.reverse and op.only_stores
    if not plain or any(isinstance(let.op, Prefix | Locate) for let in op.body.lets):
        return None
    found: dict[Var, dict[tuple[Atom, ...], Near]] = {}
    for read in _reads(op):
        spans = [find_span(known, *pair) for pair in zip(read.indices, op.body.params, strict=True)]
        near = tuple(span for span in spans if span is not None)
        if len(near) == len(spans):
            assert isinstance(read.xs, Var)
            found.setdefault(read.xs, {})[read.indices] = Near(read, near)
    arrays = tuple(_around(xs, tuple(at.values())) for xs, at in found.items() if len(at) > 1)
    return Stencil(arrays) if arrays else None


def _reads(op: Sweep) -> list[Index]:
    """The reads of arrays of a sweep's rank."""
    reads = [let.op for let in op.body.lets if isinstance(let.op, Index)]
    return [read for read in reads if len(read.indices) == len(op.shape)]


def _around(xs: Var, reads: tuple[Near, ...]) -> Around:
    axes = list(zip(*(near.spans for near in reads), strict=True))
    lo = tuple(max(0, -min(span.lo for span in axis)) for axis in axes)
    hi = tuple(max(0, max(span.hi for span in axis)) for axis in axes)
    return Around(xs, reads, lo, hi)


# -- rows -----------------------------------------------------------------------------------------


@record(eq=True)
class Neighbours:
    """The reads of rows around an element's own row: for each array the read of the furthest row,
    which a step prefetches, and the bytes of a column of all these rows, including those that are
    stored."""

    furthest: tuple[Index, ...]
    column_bytes: int


def find_neighbours(op: Sweep, known: Accesses) -> Neighbours | None:
    """Of a sweep that reads several rows of an array, all at its own indices of the axes before."""
    if len(op.shape) < 2 or op.reverse:
        return None
    *before, row, column = op.body.params
    rows: dict[Var, dict[int, Index]] = {}
    for read in _reads(op):
        *lead, i, j = read.indices
        span = find_span(known, i, row)
        if span is None or lead != before or find_span(known, j, column) is None:
            return None
        assert isinstance(read.xs, Var)
        rows.setdefault(read.xs, {}).setdefault(span.inner, read)
    if all(len(reads) == 1 for reads in rows.values()):
        return None
    bytes_read = sum(
        (max(at) - min(at) + 1) * array_type(xs).dtype.bytes for xs, at in rows.items()
    )
    bytes_stored = sum(scalar_type(result).bytes for result in op.body.results)
    furthest = tuple(at[max(at)] for at in rows.values())
    return Neighbours(furthest, bytes_read + bytes_stored)


# -- tiles ----------------------------------------------------------------------------------------


@record(eq=True)
class SharedTile:
    """A tile of elements for which a block puts into shared memory what they read around them.

    In hundredths: how many elements a result reads of arrays that are read at several indices
    (`reads`), and how many are put into a tile for it (`loads`); the cycles of 32 results, through
    the caches (`cached`) and in tiles (`tiled`).
    """

    shape: tuple[int, ...]
    reads: int
    loads: int
    cached: int
    tiled: int

    @property
    def pays(self) -> bool:
        """Whether that takes fewer cycles, sizes aside."""
        return self.tiled < self.cached

    def of(self, plain: Version) -> Version:
        """The version whose blocks have such tiles, besides the steps of another one."""
        axes = TILED[-len(self.shape) :]
        splits = map(Split, axes, self.shape[-len(axes) :])
        return replace(plain, steps=(*splits, *plain.steps, Cache(Memory.SHARED)))


def shape_of(version: Version, rank: int) -> tuple[int, ...]:
    """The extents of a version's tiles."""
    axes = TILED[-rank:]
    return (*(1,) * (rank - len(axes)), *(version.part(axis) or 1 for axis in axes))


def choose_shared_tile(
    stencil: Stencil | None, rank: int, machine: Machine
) -> SharedTile | None:
    """The tile that costs the least, of those whose halos are no wider than they are."""
    if stencil is None or not machine.far_bytes:
        return None
    tiles = [shared_tile(stencil, shape, machine) for shape in _shapes(rank, machine)
             if _fits(stencil, shape, machine)]  # fmt: skip
    return min(tiles, key=lambda tile: (tile.tiled, -prod(tile.shape), tile.shape),
               default=None)  # fmt: skip


def _shapes(rank: int, machine: Machine) -> Iterator[tuple[int, ...]]:
    """Powers of two, a warp or more along the last axis."""
    width, threads = machine.lanes([i64]), machine.warps * machine.lanes([i64])
    powers = [1 << k for k in range((MOST_OF_TILE * threads).bit_length())]
    axes = min(rank, len(TILED))
    for shape in product(powers, repeat=axes):
        size = prod(shape)
        if shape[-1] >= width and size % threads == 0 and size <= MOST_OF_TILE * threads:
            yield (*(1,) * (rank - axes), *shape)


def _fits(stencil: Stencil, shape: Sequence[int], machine: Machine) -> bool:
    narrow = any(
        a + b > n
        for around in stencil.arrays
        for n, a, b in zip(shape, around.lo, around.hi, strict=True)
    )
    size = sum(around.bytes_of(shape) for around in stencil.arrays)
    return not narrow and size <= room(machine.shared_bytes)


def shared_tile(stencil: Stencil, shape: tuple[int, ...], machine: Machine) -> SharedTile:
    """A tile of this shape, and what it costs."""
    size, lanes = prod(shape), machine.lanes([i64])
    cached = HUNDREDTHS * DIVIDED * (len(shape) - 1)
    tiled = reads = loads = 0
    for around in stencil.arrays:
        bytes_each = around.dtype.bytes
        lines = max(1, lanes * bytes_each // machine.line_bytes)
        beyond = max(1, lanes * bytes_each // machine.far_bytes)
        anywhere = sum(near.spans[-1].lo != 0 or near.spans[-1].hi != 0 for near in around.reads)
        read = len(around.reads)
        loaded = HUNDREDTHS * prod(around.slots(shape)) // size
        cached += HUNDREDTHS * (read * lines + anywhere + around.rows * beyond)
        tiled += loaded * (2 * lines + 1 + beyond + LOADED) + HUNDREDTHS * read * lines
        reads, loads = reads + HUNDREDTHS * read, loads + loaded
    return SharedTile(shape, reads, loads, cached, tiled)
