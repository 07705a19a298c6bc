"""Ragged rows in chunks: values and offsets, both cut where rows end.

    rows = fw.Chunked.cut(fw.ragged([[1, 2], [], [3]]), 2)
    rows.values, rows.offsets         Chunked(int64[3], 2 chunks), Chunked(int64[4], 2 chunks)

Offsets count from the first row of all. A row is in one chunk: a chunk has at least one.

`Chunked.ragged` takes values and offsets, of which one at least is in chunks. They are checked
before anything is read with them: offsets that fall, or end elsewhere, would read outside of the
values. What Dask has not counted yet is checked when a function is given it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from flatweave.base import pretty
from flatweave.base.errors import ArgumentError
from flatweave.frontend.ragged.offsets import (
    FALLING,
    FIRST,
    LAST,
    NO_OFFSET,
    SAME,
    check_cut,
    require,
)
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values import untraceable
from flatweave.frontend.values.array import METHODS, host_array, kind_of
from flatweave.frontend.values.chunked import Chunked, Held, not_before, positive
from flatweave.frontend.values.elsewhere import loaded
from flatweave.frontend.values.tree import Node, Tree, flatten, map_leaves, spelled, unflatten

NO_SHAPE = "rows in chunks have no shape: len(rows) is the number of rows."


class ChunkedRows(Node, Chunked):
    """A Ragged in chunks: what `Chunked` makes of Ragged values."""

    __slots__ = ("offsets", "values")
    parts: ClassVar[tuple[str, ...]] = ("values", "offsets")
    values: Any
    offsets: Chunked

    def __init__(self, arrays: Iterable[Any]) -> None:
        found = list(arrays)
        trees = {flatten(each)[1] for each in found if isinstance(each, Ragged)}
        if len(trees) != 1 or not all(isinstance(each, Ragged) for each in found):
            shown = pretty.listed([kind_of(each) for each in found])
            raise ArgumentError.here(
                f"Chunked needs Ragged values of one structure, got {shown}.",
                "Make each of them with fw.ragged first.",
            )
        inner = [each.values for each in found]
        if isinstance(inner[0], Ragged):
            values: Any = ChunkedRows(inner)
        else:
            leaves = zip(*(flatten(each)[0] for each in inner), strict=True)
            values = unflatten(flatten(inner[0])[1], map(Chunked, leaves))
        self._made(values, _joined_offsets([np.asarray(each.offsets) for each in found]))

    def _made(self, values: Any, offsets: Chunked) -> None:
        self.values, self.offsets = values, offsets
        offsets.rises = True
        self.pieces, self.row = (), ()
        self.dtype = map_leaves(lambda leaf: leaf.dtype, values)

    @classmethod
    def made(cls, *parts: Any) -> Ragged | ChunkedRows:
        """The rows with these parts, in chunks if any of these is."""
        values, offsets = parts
        if not any(isinstance(leaf, Chunked) for leaf in (*flatten(values)[0], offsets)):
            return Ragged.made(values, offsets)
        return cls.in_chunks(map_leaves(_in_chunks, values), _in_chunks(offsets))

    @classmethod
    def in_chunks(cls, values: Any, offsets: Chunked) -> ChunkedRows:
        """The rows of arrays in chunks that are known to fit."""
        rows: ChunkedRows = object.__new__(cls)
        rows._made(values, offsets)
        return rows

    @classmethod
    def cut(cls, array: Any, rows: int | None = None, *, values: int | None = None) -> ChunkedRows:
        """Chunks of at most `rows` rows each, or of at most `values` values each."""
        if (rows is None) is (values is None):
            raise ArgumentError.here(
                "a Ragged is cut by a number of rows or by a number of values: give one.",
                "fw.Chunked.cut(rows, values=1 << 24).",
            )
        count = len(array)
        if rows is not None:
            cuts = [*range(0, max(count, 1), positive(rows)), count]
        else:
            cuts = _cuts_by_values(np.asarray(array.offsets), positive(values))
        return cls([_part(array, begin, end) for begin, end in pairwise(cuts)])

    @property
    def lengths(self) -> Chunked:
        """The number of elements in each row, from offsets that are here."""
        return Chunked([np.diff(self.offsets.load(a, b + 1)) for a, b in pairwise(self.bounds)])

    @property
    def bounds(self) -> tuple[int, ...]:
        """Where chunks begin, and the end of the last one."""
        return tuple(sorted({0, *(cut - 1 for cut in self.offsets.bounds if cut)}))

    def _cut_at(self, bounds: Sequence[int]) -> ChunkedRows:
        ends = [0, *(bound + 1 for bound in bounds[1:])]
        return ChunkedRows.in_chunks(self.values, self.offsets._cut_at(ends))

    def to_dask(self) -> NoReturn:
        """Not there: ArgumentError."""
        raise ArgumentError.here(
            "to_dask takes arrays, and rows that differ in length are two of them.",
            "xs.values.to_dask() and xs.offsets.to_dask(); Chunked.ragged puts them"
            " together again.",
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """Not there, as rows differ in length: AttributeError."""
        raise AttributeError(NO_SHAPE)

    if not TYPE_CHECKING:  # which knows every name

        def __getattr__(self, name: str) -> NoReturn:
            if name == "shape":  # asked for again, since the property has raised
                raise AttributeError(NO_SHAPE)
            raise untraceable.attribute(name, "a Ragged in chunks", "Ragged")

    @property
    def ndim(self) -> int:
        """The number of axes: one for each level of rows, and those of the values."""
        ndims: list[int] = [leaf.ndim for leaf in arrays_in(self.values)]
        return 1 + max(ndims)

    @property
    def nbytes(self) -> int:
        """The bytes of all values and offsets."""
        sizes: list[int] = [leaf.nbytes for leaf in flatten(self.values)[0]]
        return self.offsets.nbytes + sum(sizes)

    @property
    def size(self) -> int:
        """The number of values in all rows."""
        return int(flatten(self.values)[0][0].shape[0])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, key: Any) -> Any:
        return METHODS["row"](self, key)

    def __iter__(self) -> Iterator[Ragged]:  # type: ignore[override]
        """The chunks, each loaded when it is needed."""
        return (self.load(begin, end) for begin, end in pairwise(self.bounds))

    def load(self, begin: int, end: int) -> Ragged:  # type: ignore[override]
        """Some rows of it, wherever they are."""
        end = min(end, len(self))
        wanted = self._extents(min(not_before(begin), end), end)
        parts = [array.between(*ends) for array, *ends in wanted]
        found = iter(loaded([part for each in parts for part in each]))
        pairs = zip(wanted, parts, strict=True)
        arrays = [array.whole([next(found) for _ in each]) for (array, *_), each in pairs]
        return self._rows(iter(arrays))

    def _extents(self, begin: int, end: int) -> list[tuple[Chunked, int, int]]:
        """Its arrays in the order of a tree, and what some rows have of each."""
        at = [part for k in (begin, end) for part in self.offsets.between(k, k + 1)]
        first, last = (int(entry[0]) for entry in loaded(at))
        if isinstance(self.values, ChunkedRows):
            inner = self.values._extents(first, last)
        else:
            inner = [(leaf, first, last) for leaf in flatten(self.values)[0]]
        return [*inner, (self.offsets, begin, end + 1)]

    def _rows(self, arrays: Iterator[Any]) -> Ragged:
        """Rows made of these arrays, whose offsets count from the first row of all."""
        if isinstance(self.values, ChunkedRows):
            values: Any = self.values._rows(arrays)
        else:
            values = map_leaves(lambda leaf: host_array(next(arrays)), self.values)
        offsets = next(arrays)
        return Ragged.made(values, host_array(offsets - offsets[0]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise ArgumentError.here(
            f"{self!r} is no array: its rows differ in length.",
            "Go over its chunks, `for rows in xs`, or say xs.load(0, len(xs)).",
        )

    def __repr__(self) -> str:
        inner, depth = self.values, 1
        while isinstance(inner, ChunkedRows):
            inner, depth = inner.values, depth + 1
        leaves, tree = flatten(inner)
        text = spelled(tree, [str(leaf.dtype) for leaf in leaves])
        extents = ", ".join([str(len(self)), *"~" * depth])
        chunks = pretty.counted(len(self.bounds) - 1, "chunk")
        return f"Chunked(ragged {text}[{extents}], {chunks})"


def chunked_tree(tree: Tree) -> Tree:
    """A tree of results in which rows may be in chunks."""
    children = tuple(map(chunked_tree, tree.children))
    cls = ChunkedRows if tree.cls is Ragged else tree.cls
    return Tree(tree.kind, cls, tree.names, children, tree.order, tree.factory)


def offsets_in(tree: Tree, first: int = 0) -> set[int]:
    """Which leaves of a tree are offsets: the last one of every Ragged."""
    found = {first + tree.size - 1} if tree.cls in (Ragged, ChunkedRows) else set()
    for child in tree.children:
        found |= offsets_in(child, first)
        first += child.size
    return found


def arrays_in(values: Any) -> list[Any]:
    """The values with axes: rows, or the arrays of a tree."""
    return [values] if isinstance(values, ChunkedRows) else flatten(values)[0]


def _in_chunks(array: Any) -> Chunked:
    return array if isinstance(array, Chunked) else Chunked([np.asarray(array)])


def _joined_offsets(offsets: Sequence[Any]) -> Chunked:
    """Offsets of several Ragged values as those of one."""
    begins = accumulate((int(each[-1]) for each in offsets), initial=0)
    moved = [each + begin if begin else each for each, begin in zip(offsets, begins, strict=False)]
    pieces = [Held(each[1:] if k else each) for k, each in enumerate(moved)]
    return Chunked.of(pieces, np.int64)


def _cuts_by_values(offsets: Any, values: int) -> list[int]:
    """The cuts of rows such that each chunk has at most `values` values, or one row."""
    cuts, rows = [0], len(offsets) - 1
    while cuts[-1] < rows:
        at = cuts[-1]
        most = int(np.searchsorted(offsets, offsets[at] + values, side="right")) - 1
        cuts.append(min(max(most, at + 1), rows))
    return cuts if rows else [0, 0]


def _part(rows: Ragged, begin: int, end: int) -> Ragged:
    """Some rows of a Ragged, its values not copied."""
    offsets = np.asarray(rows.offsets)[begin : end + 1]
    first, last = int(offsets[0]), int(offsets[-1])
    if isinstance(rows.values, Ragged):
        return Ragged.made(_part(rows.values, first, last), host_array(offsets - first))
    values = map_leaves(lambda leaf: host_array(np.asarray(leaf)[first:last]), rows.values)
    return Ragged.made(values, host_array(offsets - first))


LOW = -(2**63)


def ragged(values: Any, offsets: Any) -> Ragged | ChunkedRows:
    """The rows that these are; raises the user's error."""
    if not any(isinstance(each, Chunked) for each in (*flatten(values)[0], offsets)):
        rows: Ragged = METHODS["ragged"](values, offsets=offsets)
        return rows
    values = Chunked([values]) if isinstance(values, Ragged) else values
    cut = offsets if isinstance(offsets, Chunked) else Chunked([np.atleast_1d(offsets)])
    check_cut(np.broadcast_to(np.zeros((), cut.dtype), cut.shape), "offsets")
    if cut.dtype != np.int64:
        cut = cut.astype(np.int64)
    if _is_counted(cut):
        require(len(cut), NO_OFFSET)
        require(int(cut.load(0, 1)[0]) == 0, FIRST, cut.load(0, 1)[0])
        if not _rises(cut):
            require(False, FALLING, *_fall(cut))
        _check_totals(arrays_in(values), int(cut.load(len(cut) - 1, len(cut))[0]))
    return ChunkedRows.made(values, cut)


def _is_counted(array: Any) -> bool:
    """Whether it is known without computing anything how many rows there are."""
    own = array.offsets if isinstance(array, ChunkedRows) else array
    return all(getattr(piece, "is_counted", True) for piece in getattr(own, "pieces", ()))


def _check_totals(arrays: Any, last: int) -> None:
    totals = [len(each) for each in arrays if _is_counted(each)]
    for total in totals:
        require(total == totals[0], SAME, totals[0], total)
    if totals:
        require(last == totals[0], LAST, last, totals[0])


def _rises(cut: Chunked) -> bool:
    """Whether no offset is less than the one before it; where they are, if they are elsewhere."""
    if all(isinstance(piece, Held) for piece in cut.pieces):
        lasts = [LOW, *(int(each[-1]) for each in cut if len(each))]
        pairs = zip(lasts, (each for each in cut if len(each)), strict=False)
        return all(last <= each[0] and bool((each[1:] >= each[:-1]).all()) for last, each in pairs)
    both = METHODS["map"](lambda x: (x, x, True), cut)
    return bool(METHODS["reduce"](_combined, (LOW, LOW, True), both)[2])


def _combined(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """The first and the last of neighbouring offsets, and whether all of them rise."""
    return a[0], b[1], a[2] & b[2] & (a[1] <= b[0])


def _fall(cut: Chunked) -> tuple[int, int]:
    """The first row that would have fewer than no elements, and how many."""
    counts = (len(each) for each in cut)
    last = LOW
    for begin, each in zip(accumulate(counts, initial=0), cut, strict=False):
        falls = np.flatnonzero(np.diff(each, prepend=last if last != LOW else each[:1]) < 0)
        if len(falls):
            at = int(falls[0])
            return begin + at - 1, int(each[at]) - int(each[at - 1] if at else last)
        last = int(each[-1]) if len(each) else last
    return 0, 0
