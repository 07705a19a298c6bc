"""Sorts of a known number of scalars, which an element function does in registers.

    i => a = .. ; ys = sort f [xs: f32[25]]         i => a = .. ; ys = sort f [xs] in_registers=true
         m = index ys [12]                   ==>         m = index ys [12]
         in m                                            in m

Leaves alone sorts that an array of the element function's results needs, or an operation that needs
memory: the scalars would be computed again for each of its elements. The others compare and
exchange scalars, and store nothing (`Sorted`):

    equal keys are equal elements     Batcher's network of the keys, which tell the elements; of
                                      signed integers instead of their keys
    up to SHORT elements              neighbours exchanged, elements along with their keys
    more                              Batcher's network of the keys; for each position that is
                                      read, the element of that rank among equal keys is chosen

All are stable: neighbours are swapped only where the second comes before the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import DType
from flatweave.ops import Sort
from flatweave.ops.sorts import SHORT
from flatweave.passes.cost import FEW
from flatweave.passes.nests.hard import has_hard, is_hard
from flatweave.passes.nests.repeated import repeated
from flatweave.terms.build import Builder
from flatweave.terms.control import For, If, While
from flatweave.terms.operators import comes_before, exchanges, keep_order, steps_back, undone
from flatweave.terms.rules import array_type
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, constant
from flatweave.terms.traverse import free_vars, map_field, needed_for, walk_lets


def in_registers(fn: Lambda) -> Lambda:
    """A body of the host, with the small sorts of element functions in registers."""
    if not any(_is_small(let) for let in walk_lets(fn)):
        return fn
    lets = tuple(
        _with_bodies(let, in_registers if isinstance(let.op, If | While | For) else _in_row)
        for let in fn.lets
    )
    return Lambda(fn.params, lets, fn.results)


def _with_bodies(let: Let, change: Callable[[Lambda], Lambda]) -> Let:
    return Let(let.vars, map_field(let.op, lambda atom: atom, change), let.where)


def _in_row(fn: Lambda) -> Lambda:
    """An element function, or a body in one."""
    if not any(_is_small(let) for let in walk_lets(fn)):
        return fn
    lets = [_with_bodies(let, _in_row) for let in fn.lets]
    own = {*fn.params, *(var for let in lets for var in let.vars)}
    stored = repeated(Lambda(fn.params, tuple(lets), fn.results))
    roots = [result for result in fn.results if isinstance(result.type, ArrayType)]
    for let in lets:
        if not _is_small(let) and (is_hard(let, own) or not stored.isdisjoint(let.vars)):
            roots += free_vars(let.op)
    blocked = {var for let in needed_for(lets, roots) for var in let.vars}
    made = [let if blocked.intersection(let.vars) else _made(let) for let in lets]
    return Lambda(fn.params, tuple(made), fn.results)


def _made(let: Let) -> Let:
    if not _is_small(let):
        return let
    return Let(let.vars, let.op.replace(in_registers=True), let.where)


def _is_small(let: Let) -> bool:
    """Whether a let sorts a known number of elements, few enough."""
    op = let.op
    if not isinstance(op, Sort) or has_hard(op.fn):
        return False
    (extent,) = array_type(op.xs[0]).shape
    most = FEW if len(op.fn.results) == 1 else SHORT
    return isinstance(extent, Const) and 0 < int(extent.value) <= most


# -- the network ----------------------------------------------------------------------------------

Elements = Sequence[Sequence[Atom]]
"""The scalars of the element at each position."""


class Sorted:
    """Sorted scalars: computes the element at a position on demand."""

    def __init__(self, b: Builder, fn: Lambda, elements: Elements) -> None:
        self.b = b
        self.steps = steps_back(fn)
        self.elements = elements
        self.keys: Elements = [b.inline(fn, element) for element in elements]
        if self.steps is not None and keep_order(self.steps):
            self.steps, self.keys = (), elements
        self.places: dict[int, Sequence[Atom]] = {}
        count = len(elements)
        if self.steps is None and (count <= SHORT or len(fn.results) > 1):
            self.places.update(enumerate(_carried(b, self.keys, elements)))
            return
        self.ordered = [key for (key,) in self.keys]
        for low, high in exchanges(count):
            pair = self.ordered[low], self.ordered[high]
            self.ordered[low] = b.apply("minimum", *pair)
            self.ordered[high] = b.apply("maximum", *pair)

    def at(self, place: int) -> Sequence[Atom]:
        """The scalars of the element at a position."""
        if place not in self.places:
            key = self.ordered[place]
            if self.steps is not None:
                self.places[place] = [undone(self.b, self.steps, key)]
            else:
                self.places[place] = self._of_rank(place, key)
        return self.places[place]

    def _of_rank(self, place: int, key: Atom) -> Sequence[Atom]:
        """The element with this key whose rank among equal keys matches the position `place`."""
        b, dtype = self.b, key.type
        assert isinstance(dtype, DType)
        before: Atom = constant(place, dtype)
        one = constant(1, dtype)
        for (own,) in self.keys:
            less = b.apply("lt", own, key)
            before = b.apply("select", less, b.apply("sub", before, one), before)
        found = self.elements[-1]
        for (own,), element in zip(self.keys, self.elements, strict=True):
            is_equal = b.apply("eq", own, key)
            here = b.apply("and", is_equal, b.apply("eq", before, constant(0, dtype)))
            found = _selected(b, here, element, found)
            before = b.apply("select", is_equal, b.apply("sub", before, one), before)
        return found


def _carried(b: Builder, keys: Elements, elements: Elements) -> Elements:
    """Elements in order of their keys: each moves to the front past those that come after it."""
    rows = [(*key, *element) for key, element in zip(keys, elements, strict=True)]
    count = len(keys[0])
    for end in range(1, len(rows)):
        for second in range(end, 0, -1):
            a, c = rows[second - 1], rows[second]
            exchanged = comes_before(b, c[:count], a[:count])
            rows[second - 1] = _selected(b, exchanged, c, a)
            rows[second] = _selected(b, exchanged, a, c)
    return [row[count:] for row in rows]


def _selected(b: Builder, flag: Atom, a: Sequence[Atom], c: Sequence[Atom]) -> tuple[Atom, ...]:
    return tuple(b.apply("select", flag, x, y) for x, y in zip(a, c, strict=True))
