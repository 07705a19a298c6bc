"""A program that brings a chunk's elements in order of the parts in which they belong.

    splitters 30 70     x: 41 90 12 75 30     ==>     12 | 41 30 | 90 75     counts: 1 2 2

Within a part they stay in their order. The number of a part has few bits, so it takes one pass of
a sort: less than half of the time of sorting by the key itself, if that is long.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DType, i64, u8, u16, u32
from flatweave.cluster.local import Is, LocalProgram, Param
from flatweave.ops import Index, Map, Permute, Sort
from flatweave.ops.rows import array_type
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Var, constant
from flatweave.terms.traverse import free_vars

COMPARED = 5
"""Up to 2 to the power of this, less one, splitters are all compared with a key, several keys at
once; of more a key's place is found by bisection, each step of which takes a read."""
Columns = Sequence[Any]
"""Keys in order, the first column counting most."""


class Parting:
    """Programs that part elements by unsigned keys, one for each power of two of parts."""

    def __init__(self, xs: Sequence[Atom], key: Lambda) -> None:
        self.key = key
        self.xs = tuple(xs)
        used = free_vars(Lambda((), key.lets, key.results))
        self.reads = [k for k, param in enumerate(key.params) if param in used] or [0]
        self._made: dict[int, LocalProgram] = {}

    def keys(self) -> Lambda:
        """The keys of so many elements, from the arrays that `reads` says."""
        b = Builder()
        count = b.param("count", i64)
        types = [array_type(self.xs[k]).dtype for k in self.reads]
        xs = [b.param("x", ArrayType(dtype, (count,))) for dtype in types]
        params = tuple(self.key.params[k] for k in self.reads)
        keys = b.emit(Map(b.copy(Lambda(params, self.key.lets, self.key.results)), tuple(xs)))
        return b.close([count, *xs], keys)

    def program(self, parts: int) -> LocalProgram:
        """A program for up to so many parts."""
        depth = _depth(parts)
        if depth not in self._made:
            self._made[depth] = self._program(depth)
        return self._made[depth]

    def given(self, splitters: Columns, parts: int) -> list[Any]:
        """What it takes between the number of rows and these: how many parts there are, a table of
        splitters, and a zero for each part."""
        own, size = len(splitters[0]) + 1, (1 << _depth(parts)) - 1
        tables = [_padded(column, size) for column in splitters]
        return [own, *tables, np.zeros(own, np.int64)]

    def _program(self, depth: int) -> LocalProgram:
        b = Builder()
        rows, parts = b.param("rows", i64), b.param("parts", i64)
        count = (1 << depth) - 1
        keys = [dtype for dtype in self.key.result_types() if isinstance(dtype, DType)]
        tables = [b.param("splitters", ArrayType(dtype, (index(count),))) for dtype in keys]
        none = b.param("none", ArrayType(i64, (parts,)))
        types = [array_type(x).dtype for x in self.xs]
        xs = [b.param("x", ArrayType(dtype, (rows,))) for dtype in types]
        number = u8 if depth <= 8 else u16 if depth <= 16 else u32
        last = b.cast(b.sub(parts, index(1)), u32)
        few = [_read(b, tables, index(k)) for k in range(count)] if depth <= COMPARED else []

        def part(inside: Builder, *elements: Var) -> tuple[Atom, ...]:
            key = inside.inline(self.key, elements)
            at = _counted(inside, few, key) if few else _reached(inside, tables, key, depth)
            return (inside.cast(inside.apply("minimum", at, last), number),)

        numbers = b.emit(Map(b.function(types, part), tuple(xs)))[0]
        order = b.function([number, *types], lambda inside, part, *_: (part,))
        _, *found = b.emit(Sort(order, (numbers, *xs)))
        places = b.function([number], lambda inside, part: (inside.cast(part, i64), index(1)))
        indices, ones = b.emit(Map(places, (numbers,)))
        add = lambda_of("add", i64)
        counts = b.emit(Permute(add, (index(0),), (none,), indices, (ones,)))
        fn = b.close([rows, parts, *tables, none, *xs], [*found, *counts])
        return LocalProgram(Program("parted", fn), (Param(Is.COUNT),), (), (), ())


def _depth(parts: int) -> int:
    return max((parts - 1).bit_length(), 1)


def _padded(column: Any, size: int) -> Any:
    """A table of a size, filled up with what no key is greater than."""
    padding = np.full(size - len(column), np.iinfo(column.dtype).max, column.dtype)
    return np.concatenate([column, padding])


def _read(b: Builder, tables: Sequence[Var], at: Atom) -> list[Atom]:
    return [b.emit(Index(table, (at,), checked=False))[0] for table in tables]


def _counted(b: Builder, splitters: Sequence[Sequence[Atom]], key: Sequence[Atom]) -> Atom:
    """How many splitters are no greater than a key, each compared."""
    at: Atom = constant(0, u32)
    for splitter in splitters:
        at = b.add(at, b.cast(_is_reached(b, key, splitter), u32))
    return at


def _reached(b: Builder, tables: Sequence[Var], key: Sequence[Atom], depth: int) -> Atom:
    """The same by bisection."""
    at: Atom = index(0)
    for k in reversed(range(depth)):
        splitter = _read(b, tables, b.add(at, index((1 << k) - 1)))
        at = b.apply("select", _is_reached(b, key, splitter), b.add(at, index(1 << k)), at)
    return b.cast(at, u32)


def _is_reached(b: Builder, key: Sequence[Atom], splitter: Sequence[Atom]) -> Atom:
    """Whether a key is no less than a splitter."""
    *first, last = zip(key, splitter, strict=True)
    found = b.apply("ge", *last)
    for mine, other in reversed(first):
        found = b.apply("and", b.apply("eq", mine, other), found)
        found = b.apply("or", b.apply("gt", mine, other), found)
    return found
