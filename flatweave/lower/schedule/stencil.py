"""Arrays that a sweep reads at several places around its elements, and the tiles that hold them.

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

from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record, replace
from flatweave.lower.machine.machine import Machine
from flatweave.lower.schedule.plan import NO_SHARED_TILE, SharedTile
from flatweave.ops import Index, Locate, Prefix, Store, Sweep
from flatweave.terms.control import Apply
from flatweave.terms.shifted import Makers, makers_of
from flatweave.terms.syntax import ArrayType, Atom, Const, Var

DIVIDED = 25
"""Cycles of a division of 64 bits by an extent, and of its rest: some 100 instructions."""
LOADED = 5
"""Cycles of finding where an element of a tile lies: some 20 instructions."""
LINE = 128
MOST_EACH = 8
"""Elements of a tile for each thread, at most: more of them make the halo a smaller part of it, but
leave few blocks for small arrays."""
BLOCKS_AT_ONCE = 2
"""So many blocks find room in the memory that one may have; multiprocessors have several times
that."""
TILED_AXES = 3
FURTHEST = 1 << 16
"""From an element's own place."""
HUNDREDTHS = 100


@record
class Span:
    """Where an index lies: from `lo` to `hi` away from the element's own, where no one of `ends` is
    less than that. Counted from the end `mirrored` back, if there is one. What is not `sure` is so
    where no edge is near."""

    lo: int
    hi: int
    sure: bool = True
    ends: tuple[Atom, ...] = ()
    mirrored: Atom | None = None


@record
class Near:
    """A read near an element's own place: where each of its indices lies."""

    read: Index
    spans: tuple[Span, ...]


@record
class Around:
    """An array that is read around an element's own place: so far before it and behind it."""

    xs: Var
    reads: tuple[Near, ...]
    lo: tuple[int, ...]
    hi: tuple[int, ...]

    @property
    def dtype(self) -> DType:
        """Of its elements."""
        assert isinstance(self.xs.type, ArrayType)
        return self.xs.type.dtype

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
    """The arrays that a sweep reads so, at two places or more each."""

    arrays: tuple[Around, ...]


def find_stencil(op: Sweep) -> Stencil | None:
    """Of a sweep that stores its elements, each at its own position; None if it is none."""
    plain = not op.reverse and all(isinstance(sink, Store) for sink in op.sinks)
    if not plain or any(isinstance(let.op, Prefix | Locate) for let in op.body.lets):
        return None
    made, found = makers_of(op.body.lets), dict[Var, dict[tuple[Atom, ...], Near]]()
    for let in op.body.lets:
        if not isinstance(let.op, Index) or len(let.op.indices) != len(op.shape):
            continue
        pairs = zip(let.op.indices, op.body.params, strict=True)
        spans = [_span(at, own, made) for at, own in pairs]
        known = tuple(span for span in spans if span is not None and span.mirrored is None)
        if len(known) == len(spans):
            assert isinstance(let.op.xs, Var)
            found.setdefault(let.op.xs, {})[let.op.indices] = Near(let.op, known)
    arrays = tuple(_around(xs, tuple(at.values())) for xs, at in found.items() if len(at) > 1)
    return Stencil(arrays) if arrays else None


def _around(xs: Var, reads: tuple[Near, ...]) -> Around:
    axes = list(zip(*(near.spans for near in reads), strict=True))
    lo = tuple(max(0, -min(span.lo for span in axis)) for axis in axes)
    hi = tuple(max(0, max(span.hi for span in axis)) for axis in axes)
    return Around(xs, reads, lo, hi)


# -- where indices lie ----------------------------------------------------------------------------


def _span(at: Atom, own: Var, made: Makers) -> Span | None:
    """Where an index lies; None where that is not known."""
    if at is own:
        return Span(0, 0)
    op = made.get(at) if isinstance(at, Var) else None
    if not isinstance(op, Apply) or at.type is not i64:
        return None
    first, *others = op.args
    span = _span(first, own, made)
    match op.fn:
        case "add" | "sub" if span is not None:
            return _moved(span, others[0], 1 if op.fn == "add" else -1)
        case "sub":
            return _back(first, _span(others[0], own, made))
        case "abs":
            return _positive(span)
        case "maximum" | "minimum" if span is None:
            return _clipped(op.fn, _span(others[0], own, made), first)
        case "maximum" | "minimum":
            return _clipped(op.fn, span, others[0])
        case "select":
            return _likely([_span(other, own, made) for other in others])
        case "mod":
            return _likely([span])
    return None


def _moved(span: Span, by: Atom, sign: int) -> Span | None:
    """x + c"""
    if not isinstance(by, Const) or abs(int(by.value)) > FURTHEST:
        return None
    distance = sign * int(by.value)
    return replace(span, lo=span.lo + distance, hi=span.hi + distance)


def _back(end: Atom, span: Span | None) -> Span | None:
    """end - x"""
    if span is None or span.mirrored not in (None, end):
        return None
    mirrored = end if span.mirrored is None else None
    return Span(-span.hi, -span.lo, span.sure, (*span.ends, end), mirrored)


def _positive(span: Span | None) -> Span | None:
    """abs (own + d): own is 0 or more, and so is the distance of an end from it."""
    return None if span is None else replace(span, hi=max(span.hi, -span.lo))


def _clipped(fn: str, span: Span | None, end: Atom) -> Span | None:
    """maximum x 0, and minimum x (extent - 1)"""
    if span is None or span.mirrored is not None:
        return None
    if fn == "minimum":
        return replace(span, lo=min(span.lo, 0), ends=(*span.ends, end))
    at_front = isinstance(end, Const) and int(end.value) <= 0
    return replace(span, hi=max(span.hi, 0), sure=span.sure and at_front)


def _likely(spans: Sequence[Span | None]) -> Span | None:
    """The nearest of several: others go round an edge."""
    known = [span for span in spans if span is not None]
    if not known:
        return None
    return replace(min(known, key=lambda span: max(abs(span.lo), abs(span.hi))), sure=False)


# -- tiles ----------------------------------------------------------------------------------------


def choose_shared_tile(stencil: Stencil | None, rank: int, machine: Machine) -> SharedTile:
    """The tile that costs the least, of those whose halos are no wider than they are."""
    if stencil is None or not machine.far_bytes:
        return NO_SHARED_TILE
    tiles = [_tile(stencil, shape, machine) for shape in _shapes(rank, machine)
             if _fits(stencil, shape, machine)]  # fmt: skip
    return min(tiles, key=lambda tile: (tile.tiled, -prod(tile.shape), tile.shape),
               default=NO_SHARED_TILE)  # fmt: skip


def _shapes(rank: int, machine: Machine) -> Iterator[tuple[int, ...]]:
    """Powers of two, a warp or more along the last axis."""
    width, threads = machine.lanes([i64]), machine.warps * machine.lanes([i64])
    powers = [1 << k for k in range((MOST_EACH * threads).bit_length())]
    axes = min(rank, TILED_AXES)
    for shape in product(powers, repeat=axes):
        size = prod(shape)
        if shape[-1] >= width and size % threads == 0 and size <= MOST_EACH * threads:
            yield (*(1,) * (rank - axes), *shape)


def _fits(stencil: Stencil, shape: Sequence[int], machine: Machine) -> bool:
    narrow = any(
        a + b > n
        for around in stencil.arrays
        for n, a, b in zip(shape, around.lo, around.hi, strict=True)
    )
    size = sum(around.bytes_of(shape) for around in stencil.arrays)
    return not narrow and size <= machine.shared_bytes // BLOCKS_AT_ONCE


def _tile(stencil: Stencil, shape: tuple[int, ...], machine: Machine) -> SharedTile:
    """A tile of this shape, and what it costs."""
    size, lanes = prod(shape), machine.lanes([i64])
    cached = HUNDREDTHS * DIVIDED * (len(shape) - 1)
    tiled = reads = loads = 0
    for around in stencil.arrays:
        bytes_each = around.dtype.bytes
        lines = max(1, lanes * bytes_each // LINE)
        beyond = max(1, lanes * bytes_each // machine.far_bytes)
        anywhere = sum(near.spans[-1].lo != 0 or near.spans[-1].hi != 0 for near in around.reads)
        read = len(around.reads)
        loaded = HUNDREDTHS * prod(around.slots(shape)) // size
        cached += HUNDREDTHS * (read * lines + anywhere + around.rows * beyond)
        tiled += loaded * (2 * lines + 1 + beyond + LOADED) + HUNDREDTHS * read * lines
        reads, loads = reads + HUNDREDTHS * read, loads + loaded
    return SharedTile(shape, reads, loads, cached, tiled)
