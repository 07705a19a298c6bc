"""Ragged: an irregular nested array, flat values and where each row begins and ends.

    rows = ragged([1, 2, 3, 4], lengths=[2, 0, 2])
    rows.values, rows.offsets     [1, 2, 3, 4], [0, 2, 2, 4]
    rows[0], rows[1], rows[2]     [1, 2], [], [3, 4]
    locate(ends, 0, p)            ends    = [2, 5, 6, 7],    p = 3   ==>   row 1, which begins at 2
    locate(offsets, 1, p)         offsets = [0, 2, 5, 6, 7], p = 3   ==>   the same

Offsets are checked when a Ragged is made and never change: whoever has one may read its rows.
`locate` finds the row, or the source of an expansion, that a position of the values belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from flatweave.base.dtypes import bool_
from flatweave.base.errors import ArgumentError
from flatweave.base.pretty import counted
from flatweave.frontend.call.operation import operation
from flatweave.frontend.elements.broadcasting import generated, read
from flatweave.frontend.ragged.awkward_methods import Verbs
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.extents import ONE, add, known_natural, sub
from flatweave.frontend.trace.tracers import as_tracer, emit, tracer_of
from flatweave.frontend.values import untraceable
from flatweave.frontend.values.array import (
    METHODS,
    SHOWN,
    Array,
    HostArray,
    Tracer,
    describe,
    host_array,
    separate,
)
from flatweave.frontend.values.arrow_interface import capsules
from flatweave.frontend.values.elsewhere import at_hand
from flatweave.frontend.values.operators import Elementwise, Reductions
from flatweave.frontend.values.scope import current
from flatweave.frontend.values.tree import (
    LEAF,
    Node,
    flat_values,
    flatten,
    map_leaves,
    spelled,
    unflatten,
)
from flatweave.ops import Locate, Scatter
from flatweave.runtime.lazy_import import opened
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, constant


def locate(ends: Tracer, skip: int, p: Atom) -> tuple[Atom, Atom]:
    """The row of position `p`, and where that row begins; row i ends at `ends[skip + i]`.

    Ends do not decrease, and `p` is below the last one: the row is the first with an end above p.
    """
    row, start = current().emit(Locate(ends.atom, skip, p), "s")
    known_natural(row)
    known_natural(start)
    current().trace.bounds[row] = sub(ends.extents[0], index(skip))
    return row, start


class Ragged(Node, Verbs, Elementwise, Reductions):
    """An irregular nested array: `.values`, an array or a tree of them, and `.offsets`.

    Offsets are i64[rows + 1]. Row i is `values[offsets[i]:offsets[i+1]]`; rows may be empty.
    Operators and functions of single elements work on all values, with numbers, with Ragged values
    of the same lengths and with one value for each row; reductions along axis 1 on each row.
    `fw.ragged` makes one of rows, or from offsets, lengths or flags; `Ragged(values, offsets)` is
    `fw.ragged(values, offsets=offsets)`. Raises as `fw.ragged` does.

    Types: `values: t[n, ..], offsets: i64[rows + 1]`. Source: Awkward's `ListOffsetArray`; Arrow's
    lists.

        >>> fw.sum(fw.ragged([[1, 2], [], [3]]) * 10, axis=1)
        Array([30,  0, 30], dtype=int64)
    """

    __slots__ = ("_offsets", "_values")
    parts: ClassVar[tuple[str, ...]] = ("values", "offsets")
    _values: Any
    _offsets: Any

    def __init__(self, values: Any, offsets: Any = None) -> None:
        checked = METHODS["ragged"](values, offsets=offsets)
        self._values, self._offsets = checked.values, checked.offsets

    @classmethod
    def made(cls, *parts: Any) -> Ragged:
        """A Ragged of values and offsets that are known to fit."""
        rows = object.__new__(cls)
        rows._values, rows._offsets = parts
        return rows

    def _held(self) -> tuple[Any, ...]:
        """The parts of a value, to be read."""
        return self._values, self._offsets

    @property
    def values(self) -> Any:
        """The elements of all rows, one row after the other: an array or a tree of arrays."""
        return self._values

    @property
    def offsets(self) -> Array:
        """Where each row begins, and at last where the last one ends: i64[rows + 1]. Assignments to
        them change no rows."""
        offsets: Array = self._offsets
        return separate(offsets) if isinstance(offsets, Array) else offsets

    @property
    def lengths(self) -> Array:
        """The number of elements in each row: i64[rows]."""
        return row_lengths(self)

    @property
    def flags(self) -> Array:
        """Where a row begins among the values: bool[values]. Empty rows leave no flag."""
        return row_flags(self)

    @property
    def dtype(self) -> Any:
        """The dtype of the values; of a tree of arrays, the tree of theirs."""
        values = flat_values(self._values)
        if hasattr(type(values), "dtype"):  # an array, or a class that says it itself
            return values.dtype
        return map_leaves(lambda leaf: leaf.dtype, values)

    @property
    def ndim(self) -> int:
        """The number of axes: one for each level of rows, and those of the values."""
        return rank_of(self)

    @property
    def size(self) -> Tracer | int:
        """The number of values in all rows."""
        number: Tracer | int = flatten(flat_values(self))[0][0].shape[0]
        return number

    @property
    def shape(self) -> tuple[Any, ...]:
        """Not there: AttributeError."""
        raise untraceable.no_shape()

    if not TYPE_CHECKING:  # which knows every name

        def __getattr__(self, name: str) -> NoReturn:
            if name == "shape":  # asked for again, since the property has raised
                raise untraceable.no_shape()
            fields = self._values if name[0] != "_" and isinstance(self._values, dict) else ()
            raise untraceable.attribute(name, "a Ragged", "Ragged", fields)

    def _on_host(self, wanted: str = "") -> Ragged:
        """This Ragged, if its values are known; else NotTraceableError."""
        if isinstance(self._offsets, Tracer):
            text = _described(self)
            raise untraceable.rows_on_host(text, wanted) if wanted else untraceable.row_count(text)
        return self

    def __len__(self) -> int:
        return len(self._on_host()._offsets) - 1

    def __getitem__(self, i: Any) -> Any:
        return METHODS["row"](self, i)

    def __iter__(self) -> Iterator[Any]:
        rows = self._on_host()
        return (rows[i] for i in range(len(rows)))

    def __contains__(self, value: Any) -> bool:
        return bool(METHODS["any"](METHODS["equal"](self, value)))

    def __bool__(self) -> bool:
        if isinstance(self._offsets, Tracer):
            raise untraceable.truth(_described(self))
        raise untraceable.truth_of_rows()

    def __eq__(self, other: object) -> Ragged:  # type: ignore[override]
        if isinstance(other, str):
            return self._compared(self._values == other)
        return super().__eq__(other)

    def __ne__(self, other: object) -> Ragged:  # type: ignore[override]
        if isinstance(other, str):
            return self._compared(self._values != other)
        return super().__ne__(other)

    __hash__ = None  # type: ignore[assignment]

    def _compared(self, found: Any) -> Ragged:
        """Rows of what a comparison of the values with a text gives; ArgumentError where they are
        numbers, which are equal to no text."""
        if isinstance(found, bool):
            raise ArgumentError.here(
                f"{_described(self)} is compared with a text, and its values are numbers.",
                "Rows of bytes become texts first: fw.Strings(rows) == text. Bytes of each row are"
                " compared with numbers: rows == 120.",
            )
        return Ragged.made(found, self._offsets)

    def __reduce__(self) -> tuple[Any, ...]:
        rows = self._on_host("pickle")
        return Ragged, (rows._values, rows._offsets)

    def _become(self, other: Any) -> None:
        """Let this object stand for the value of another one."""
        self._values, self._offsets = other._values, other._offsets

    def __copy__(self) -> Ragged:
        return Ragged.made(map_leaves(separate, self._values), self._offsets)

    def __deepcopy__(self, memo: Any) -> Ragged:
        return self.__copy__()

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[object, object]:
        """The rows as any library of Arrow takes them, nothing copied but bools."""
        return capsules(METHODS["column_of"](self._on_host("Arrow")))

    def to_arrow(self) -> Any:
        """A pyarrow.LargeListArray of these rows, nothing copied but bools; dicts are structs."""
        return METHODS["to_arrow"](self._on_host("Arrow"))

    def to_awkward(self) -> Any:
        """An awkward.Array of these rows, nothing copied; dicts of arrays are records."""
        return METHODS["to_awkward"](self._on_host("Awkward Array"))

    def tolist(self) -> list[Any]:
        """The rows as lists of Python scalars, or of tuples of them, or of lists."""
        self._on_host()
        values = _listed(self._values)
        return [values[start:end] for start, end in pairwise(self._offsets.tolist())]

    def _repr_html_(self) -> str | None:
        """What a notebook shows."""
        html: str | None = opened("notebook").rows(self)
        return html

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """What a notebook shows; what is on a device is not copied for it."""
        if isinstance(self._offsets, Tracer):
            return {"text/plain": repr(self)}
        is_here = all(at_hand(leaf) is not None for leaf in flatten(self)[0])
        html = self._repr_html_()
        return {"text/plain": repr(self) if is_here else self._counted(), "text/html": html or ""}

    def _counted(self) -> str:
        """How much of what there is."""
        leaves, tree = flatten(flat_values(self))
        text = spelled(tree, [str(leaf.dtype) for leaf in leaves])
        total = len(leaves[0])
        return f"Ragged({counted(len(self), 'row')}, {counted(total, 'value')}, dtype={text})"

    def __repr__(self) -> str:
        if isinstance(self._offsets, Tracer):
            return f"Traced({_described(self)})"
        inner = flat_values(self)  # an array, or a structure that lists its elements
        dtype = getattr(inner, "dtype", None) if hasattr(inner, "tolist") else None
        most = max((len(leaf) for leaf in flatten(inner)[0]), default=0) + len(self)
        if dtype is not None and inner.ndim == 1 and most <= SHOWN:
            return f"Ragged({self.tolist()}, dtype={dtype})"
        return self._counted()


def _listed(values: Any) -> list[Any]:
    """Values on the host as a list of elements; a structure may know its own."""
    leaves, tree = flatten(values, lambda part: hasattr(part, "tolist"))
    lists = [leaf.tolist() for leaf in leaves]
    if tree == LEAF:
        return list(lists[0])
    return [unflatten(tree, element) for element in zip(*lists, strict=True)]


def rank_of(rows: Any) -> int:
    """The number of axes, one for each level of rows and those of the values."""
    if isinstance(rows, Ragged):
        return 1 + rank_of(rows.values)
    return max((leaf.ndim for leaf in flatten(rows)[0]), default=1)


def depth_of(rows: Any) -> int:
    """How many levels of rows there are."""
    return 1 + depth_of(rows.values) if isinstance(rows, Ragged) else 0


def joined(rows: Ragged) -> Ragged:
    """A Ragged of Ragged as one whose rows hold the values of all inner rows."""
    outer, inner = as_tracer(rows.offsets), as_tracer(rows.values.offsets)
    offsets = generated(outer.extents, lambda i: read(inner, (read(outer, (i,)).atom,)))[0]
    return Ragged.made(rows.values.values, offsets)


def value_count(rows: Ragged) -> Atom:
    """How many values, or inner rows, all rows hold."""
    if isinstance(rows.values, Ragged):
        return row_count(as_tracer(rows.values.offsets))
    return as_tracer(flatten(rows.values)[0][0]).extents[0]


def _described(rows: Ragged) -> str:
    if isinstance(rows.values, Ragged):
        return f"Ragged({_described(rows.values)})"
    leaves, tree = flatten(rows.values)
    return f"Ragged({spelled(tree, [describe(leaf) for leaf in leaves])})"


def row_count(offsets: Tracer) -> Atom:
    """The number of rows."""
    return extents.known_extent(sub(offsets.extents[0], ONE))


def _host_lengths(rows: Ragged) -> object:
    """Lengths on the host, by NumPy."""
    if not isinstance(rows.offsets, HostArray):
        return NotImplemented
    return host_array(np.diff(rows.offsets.to_numpy()))


def _host_flags(rows: Ragged) -> object:
    """Flags on the host, by NumPy."""
    if not isinstance(rows.offsets, HostArray):
        return NotImplemented
    offsets = rows.offsets.to_numpy()
    flags = np.zeros(int(offsets[-1]), np.bool_)
    flags[offsets[:-1][np.diff(offsets) > 0]] = True
    return host_array(flags)


@operation(host=_host_lengths)
def row_lengths(rows: Ragged) -> Array:
    """The number of elements in each row."""
    offsets = as_tracer(rows.offsets)

    def length(i: Atom) -> Tracer:
        return tracer_of(sub(read(offsets, (add(i, ONE),)).atom, read(offsets, (i,)).atom))

    return generated((row_count(offsets),), length)[0]


@operation(host=_host_flags)
def row_flags(rows: Ragged) -> Array:
    """Where rows begin among the values."""
    offsets = as_tracer(rows.offsets)
    count = row_count(offsets)
    total = value_count(rows)
    no, yes = constant(False, bool_), constant(True, bool_)
    none = generated((total,), lambda i: tracer_of(no))[0]
    starts = generated((count,), lambda i: read(offsets, (i,)))[0]
    marks = generated((count,), lambda i: tracer_of(yes))[0]
    return emit(Scatter((none.atom,), starts.atom, (marks.atom,)))[0]


def row_of(values: Tracer, start: Atom, length: Atom) -> Tracer:
    """The part of an array that is a row."""
    shape = (length, *values.extents[1:])
    return generated(shape, lambda k, *at: read(values, (add(start, k), *at)), "k")[0]
