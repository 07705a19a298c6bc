"""Reads at computed positions are taken out of element functions: positions are computed first.

    ys = map (i => t = mul i 2; x = index xs [t]; .. x ..) ids

    at = map (i => mul i 2) ids;  rows = gather_rows [xs] at
    ys = map (i, x => t = mul i 2; check t is inside of xs; .. x ..) ids rows

So the positions can be sent to the chunks that have these rows (`indexed_rules.py`). Positions that
follow from the number of a row, as in slices, stay: they have intervals (`row_ranges.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, cast

from flatweave.array_ir.syntax import INDEX
from flatweave.base.dtypes import bool_, i64
from flatweave.cluster.indexed_rules import GatherRows
from flatweave.cluster.loops_with_reads import as_loops, read_in_loops
from flatweave.ops import Check, Generate, Index, Locate, Map
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast, If
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var, array_type, row_type
from flatweave.terms.traverse import free_vars, lambdas_in, map_field, needed_for, walk_lets

NOWHERE = index(-1)


def read_anywhere(op: Op, arrays: Collection[Var]) -> Iterator[Var]:
    """Those of some arrays that an operation reads at indices computed from elements, one for each
    of its rows."""
    if isinstance(op, Generate | Map):
        for read in _reads(op.fn, arrays):
            if _position(op, read) is not None:
                yield read.xs  # type: ignore[misc]
        yield from read_in_loops(op, arrays)


def separate_reads(let: Let, arrays: Collection[Var]) -> list[Let]:
    """The lets that replace one which reads some arrays so: indices, rows, the let without these
    reads. Reads at indices from other reads stay for the next call."""
    if not isinstance(let.op, Generate | Map) or not arrays:
        return [let]
    for read in _reads(let.op.fn, arrays):
        found = _position(let.op, read)
        if found and not _reads_anywhere(let.op, found.lets, arrays):
            place, extent = read.indices[0], array_type(read.xs).shape[0]
            same = [
                each.xs for each in _reads(let.op.fn, arrays)
                if each.indices[0] is place and array_type(each.xs).shape[0] == extent
            ]  # fmt: skip
            return _Taken(let, place, list(dict.fromkeys(same))).lets(found)
    return as_loops(let, arrays)


def _reads_anywhere(op: Generate | Map, lets: tuple[Let, ...], arrays: Collection[Var]) -> bool:
    """Whether some lets of an operation's function read at computed indices."""
    return any(_position(op, read) for read in _reads(Lambda((), lets, ()), arrays))


class ReadPosition(NamedTuple):
    """The lets that compute the index of a read, and the index."""

    lets: tuple[Let, ...]
    atom: Atom


def _reads(fn: Lambda, arrays: Collection[Var]) -> Iterator[Index]:
    for let in walk_lets(fn):
        if isinstance(let.op, Index) and let.op.xs in arrays:
            yield let.op


def _position(op: Generate | Map, read: Index) -> ReadPosition | None:
    """The lets that compute the index of a read, which depends on elements, one for each row; None
    for any other index."""
    found = _position_in(op.fn, read)
    if found is None:
        return None
    inside = list(walk_lets(Lambda((), found.lets, ())))
    used = {found.atom, *(var for let in inside for var in free_vars(let.op))}
    used.update(atom for let in inside for fn in lambdas_in(let.op) for atom in fn.results)
    if isinstance(op, Map):
        return found if any(param in used for param in op.fn.params) else None
    if any(param in used for param in op.fn.params[1:]):
        return None
    return found if any(isinstance(let.op, Index) for let in inside) else None


def _position_in(fn: Lambda, read: Index) -> ReadPosition | None:
    """The same of a function that has the read, itself or in a branch; where that is not taken, the
    place is nowhere."""
    place = read.indices[0]
    for let in fn.lets:
        inside = (each.op for inner in lambdas_in(let.op) for each in walk_lets(inner))
        if let.op is read or (place in free_vars(let.op) and any(op is read for op in inside)):
            return _needed(fn, (), place)
        for k, branch in enumerate(lambdas_in(let.op) if isinstance(let.op, If) else ()):
            found = _position_in(branch, read)
            if found is not None:
                return _needed(fn, (_in_branch(let, k, found),))
    return None


def _in_branch(let: Let, number: int, found: ReadPosition) -> Let:
    """The index from one branch of an `if`; the other branch gives an index outside."""
    taken = Lambda((), found.lets, (found.atom,))
    nowhere = Lambda((), (), (NOWHERE,))
    op = cast(If, let.op)
    bodies = (nowhere, taken) if number else (taken, nowhere)
    return Let((Var("place", i64),), If(op.condition, *bodies), let.where)


def _needed(fn: Lambda, last: tuple[Let, ...], place: Atom | None = None) -> ReadPosition | None:
    """An index, by default the result of the last let, and everything in a function that it needs,
    if that is known for each row separately."""
    roots = [place] if place else [*free_vars(last[0].op)]
    needed = needed_for(fn.lets, roots)
    inside = walk_lets(Lambda((), needed, ()))
    if not all(isinstance(let.op, Apply | Cast | Index | If | Locate) for let in inside):
        return None
    return ReadPosition((*needed, *last), place or last[0].vars[0])


class _Taken:
    """A let without the reads of some arrays at one index."""

    def __init__(self, let: Let, place: Atom, arrays: Sequence[Atom]) -> None:
        self.let = let
        self.place = place
        self.arrays = arrays
        self.op: Any = let.op
        self.b = Builder()
        self.b.hoists = False
        self.b.where = let.where
        self.found: dict[Atom, Var] = {}  # for each array its rows, or the row at hand of a map
        self.renamed: dict[Atom, Atom] = {}

    def lets(self, found: ReadPosition) -> list[Let]:
        """Places, rows, and what is left."""
        places = self._places(*found)
        rows = self.b.emit(GatherRows(tuple(self.arrays), places))
        self.found = dict(zip(self.arrays, rows, strict=True))
        if isinstance(self.op, Generate):
            left = self.op.replace(fn=self._function(self.op.fn))
            return [*self.b.lets, Let(self.let.vars, left, self.let.where)]
        taken = {x: self.b.var("x", row_type(array_type(found))) for x, found in self.found.items()}
        self.found = taken
        fn = self._function(self.op.fn)
        fn = Lambda((*fn.params, *taken.values()), fn.lets, fn.results)
        left = self.op.replace(fn=fn, xs=(*self.op.xs, *rows))
        return [*self.b.lets, Let(self.let.vars, left, self.let.where)]

    def _places(self, needed: Sequence[Let], place: Atom) -> Var:
        fn = self.op.fn
        if isinstance(self.op, Generate):
            alone = Lambda(fn.params[:1], tuple(needed), (place,))
            return self.b.emit(Generate(self.op.shape[:1], self.b.copy(alone)))[0]
        used = {place, *(var for let in needed for var in free_vars(let.op))}
        pairs = [(p, x) for p, x in zip(fn.params, self.op.xs, strict=True) if p in used]
        alone = Lambda(tuple(p for p, _ in pairs), tuple(needed), (place,))
        return self.b.emit(Map(self.b.copy(alone), tuple(x for _, x in pairs)))[0]

    def _function(self, fn: Lambda) -> Lambda:
        lets = [made for let in fn.lets for made in self._left(let)]
        return Lambda(fn.params, tuple(lets), tuple(map(self._atom, fn.results)))

    def _atom(self, atom: Atom) -> Atom:
        return self.renamed.get(atom, atom)

    def _left(self, let: Let) -> list[Let]:
        op = let.op
        if not isinstance(op, Index) or op.xs not in self.found or op.indices[0] is not self.place:
            return [Let(let.vars, map_field(op, self._atom, self._function), let.where)]
        others, found = tuple(map(self._atom, op.indices[1:])), self.found[op.xs]
        row = tuple(map(self._atom, op.row))
        lets = self._checked(array_type(op.xs).shape[0], row, let) if op.checked else []
        at = (self.op.fn.params[0], *others) if isinstance(self.op, Generate) else others
        if not isinstance(found.type, ArrayType):
            self.renamed[let.vars[0]] = found
            return lets
        read = Index(found, at, op.checked and bool(others), row)
        return [*lets, Let(let.vars, read, let.where)]

    def _checked(self, extent: Atom, row: tuple[Atom, ...], let: Let) -> list[Let]:
        """The check of a read; for indices outside the rows that arrived are unspecified."""
        least, most, both = (self.b.var("t", bool_) for _ in range(3))
        place = self._atom(self.place)
        return [
            Let((least,), Apply("ge", (place, index(0))), let.where),
            Let((most,), Apply("lt", (place, extent)), let.where),
            Let((both,), Apply("and", (least, most)), let.where),
            Let((), Check(both, INDEX, (place, extent), "0", row), let.where),
        ]
