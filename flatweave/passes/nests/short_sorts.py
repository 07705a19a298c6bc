"""Sorts of a row by itself: short rows by counting, for each element, how many come before it.

    ys = sort key [xs]
    ==>
    ys = if n <= SHORT
        (() => scatter (empty [n]) (generate [n] (i => how many j come before i)) [xs])
        (() => sort key [xs])

Counting takes n * n comparisons, all lanes at once, and nothing else: a radix sort clears and adds
up its counts of digits first, which takes longer than to compare some hundred elements with each
other (enumeration sort, Muller and Preparata 1975).
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i32, i64
from flatweave.ops import Empty, Map, Reduce, Scatter, Sort
from flatweave.ops.rows import array_type
from flatweave.passes.nests.arrays import at, branch, each
from flatweave.terms.build import Builder, Names, index, lambda_of
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import Atom, Lambda, Let, constant
from flatweave.terms.traverse import map_field

SHORT = 256
"""Elements up to which counting is faster."""


def with_short_sorts(names: Names, fn: Lambda) -> Lambda:
    """A body of a row's program in which short rows are sorted by counting."""
    lets: list[Let] = []
    for let in fn.lets:
        if isinstance(let.op, Sort):
            lets += _either(Builder(names), let, let.op)
        elif isinstance(let.op, If | While | For):
            inside = map_field(let.op, lambda atom: atom, lambda f: with_short_sorts(names, f))
            lets.append(Let(let.vars, inside, let.where))
        else:
            lets.append(let)
    return Lambda(fn.params, tuple(lets), fn.results)


def _either(b: Builder, let: Let, op: Sort) -> list[Let]:
    b.where = let.where
    (extent,) = array_type(op.xs[0]).shape
    is_short = b.apply("le", extent, index(SHORT))
    short, long = b.inner(optional=True), b.inner(optional=True)
    bodies = [branch(short, _counted(short, op, extent)), branch(long, long.emit(op))]
    bound = [each for var in let.vars for each in (b.var("n", i64), var)]
    return [*b.lets, Let(tuple(bound), If(is_short, *bodies), let.where)]


def _counted(b: Builder, op: Sort, extent: Atom) -> Sequence[Atom]:
    """Every element at the place that is the number of those before it."""
    keys = b.emit(Map(b.copy(op.fn), op.xs))

    def before(c: Builder, j: Atom, i: Atom, mine: Sequence[Atom]) -> Atom:
        holds = c.apply("lt", j, i)
        for key, own in reversed(list(zip(keys, mine, strict=True))):
            other = at(c, key, j)
            tie = c.apply("and", c.apply("eq", other, own), holds)
            holds = c.apply("or", c.apply("lt", other, own), tie)
        return c.cast(holds, i32)

    def place(c: Builder, i: Atom) -> Atom:
        mine = [at(c, key, i) for key in keys]
        ones = each(c, extent, lambda d, j: before(d, j, i, mine))
        add = Reduce(lambda_of("add", i32), (constant(0, i32),), (ones,), known=True)
        return c.cast(c.emit(add)[0], i64)

    types = [array_type(x) for x in op.xs]
    fresh = tuple(b.emit(Empty(type_.dtype, type_.shape))[0] for type_ in types)
    return b.emit(Scatter(fresh, each(b, extent, place), op.xs))
