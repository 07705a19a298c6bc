"""Steps of a random program over arrays of one axis: each adds to what a writer has."""

from __future__ import annotations

import math

from flatweave.base.dtypes import bool_, i64, u8, u16, u32, u64
from flatweave.ops import (
    Concat,
    Filter,
    Generate,
    Index,
    Map,
    Permute,
    Reduce,
    ReduceSegments,
    Scan,
    Scatter,
    Sort,
)
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If, While
from flatweave.terms.syntax import Atom, Var, constant
from tests.laws.writer import Writer, better, composition, dtype_of, shape_of


def map_step(w: Writer) -> None:
    """map over one to three arrays of one shape"""
    x = w.random.choice(w.arrays)
    xs = (x, *(w.alike(x) for _ in range(w.random.randrange(3))))
    fn = w.b.function([dtype_of(y) for y in xs], lambda c, *args: [w.element(c, args)])
    w.keep(w.b.emit(Map(fn, xs, len(shape_of(x)))))


def scan_step(w: Writer) -> None:
    """scan with a random operator, either way, inclusive or not, with starts or without"""
    x = w.tame(w.random.choice(w.arrays))
    fn, neutral = w.associative(dtype_of(x))
    exclusive, reverse = w.random.random() < 0.5, w.random.random() < 0.3
    w.keep(w.b.emit(Scan(fn, (neutral,), (x,), exclusive, reverse, starts_for(w, x))))


def best_step(w: Writer) -> None:
    """the greatest element so far, or of all, and where it is: an operator on pairs of two types"""
    x = w.array()
    dtype = dtype_of(x)
    if dtype is bool_:
        return map_step(w)
    places = w.b.emit(Generate(shape_of(x), w.b.function([i64], lambda c, i: [i])))[0]
    fn = w.b.function([dtype, i64] * 2, lambda c, *args: better(c, args))
    low = constant(-math.inf if dtype.is_float else dtype.low, dtype)
    op = Reduce if w.random.random() < 0.5 else Scan
    return w.keep(w.b.emit(op(fn, (low, index(-1)), (x, places))))


def starts_for(w: Writer, x: Var) -> tuple[Var, ...]:
    """Flags for an array's elements, as another of its shape says; or none."""
    if w.random.random() < 0.5:
        return ()
    y = w.alike(x)
    low = index(w.random.choice((0, 1, 7)))  # every element, every other one, few of them

    def starts(c: Builder, v: Atom) -> list[Atom]:
        return [c.apply("eq", c.apply("and", c.cast(v, i64), low), index(0))]

    return w.b.emit(Map(w.b.function([dtype_of(y)], starts), (y,), len(shape_of(y))))


def pair_scan_step(w: Writer) -> None:
    """scan with an operator on pairs that is not commutative"""
    pair = pair_of(w, w.array())
    fn = w.b.function([i64] * 4, lambda c, *args: composition(c, args))
    exclusive, reverse = w.random.random() < 0.3, w.random.random() < 0.3
    scan = Scan(fn, (index(1), index(0)), pair, exclusive, reverse, starts_for(w, pair[0]))
    w.keep(w.b.emit(scan))


def pair_of(w: Writer, x: Var) -> tuple[Var, ...]:
    """Two i64 arrays made from one."""

    def split(c: Builder, v: Atom) -> list[Atom]:
        wide = c.cast(v, i64)
        return [c.apply("or", wide, index(1)), c.apply("xor", wide, index(5))]

    return w.b.emit(Map(w.b.function([dtype_of(x)], split), (x,)))


def reduce_step(w: Writer) -> None:
    """reduce with a random operator, or with one on pairs"""
    x = w.array()
    if w.random.random() < 0.4:
        fn = w.b.function([i64] * 4, lambda c, *args: composition(c, args))
        w.keep(w.b.emit(Reduce(fn, (index(1), index(0)), pair_of(w, x))))
        return
    fn, neutral = w.associative(dtype_of(x))
    w.keep(w.b.emit(Reduce(fn, (neutral,), (w.tame(x),))))


def odd_ones(w: Writer, x: Var, low: int) -> Var:
    """Flags: where the lowest bits of an array's elements are not all 0."""

    def odd(c: Builder, v: Atom) -> list[Atom]:
        return [c.apply("ne", c.apply("and", c.cast(v, i64), index(low)), index(0))]

    return w.b.emit(Map(w.b.function([dtype_of(x)], odd), (x,)))[0]


def segments_step(w: Writer) -> None:
    """reduce each segment with a random operator, or with one on pairs"""
    x = w.array()
    starts = odd_ones(w, w.alike(x), w.random.choice((0, 1, 3)))
    if w.random.random() < 0.4:
        fn = w.b.function([i64] * 4, lambda c, *args: composition(c, args))
        w.keep(w.b.emit(ReduceSegments(fn, (index(1), index(0)), starts, pair_of(w, x))))
        return
    fn, neutral = w.associative(dtype_of(x))
    w.keep(w.b.emit(ReduceSegments(fn, (neutral,), starts, (w.tame(x),))))


def filter_step(w: Writer) -> None:
    """filter one or two arrays by a random mask"""
    x = w.array()
    y = w.alike(x)

    def even(c: Builder, v: Atom) -> list[Atom]:
        return [c.apply("eq", c.apply("and", c.cast(v, i64), index(1)), index(0))]

    test = w.b.function([dtype_of(x)], even)
    mask = w.b.emit(Map(test, (x,)))[0]
    w.keep(w.b.emit(Filter(mask, (x, y))))


def gather_step(w: Writer) -> None:
    """read at shifted, wrapped positions"""
    x = w.array()
    n, shift = shape_of(x)[0], index(w.random.randrange(-3, 9))

    def read(c: Builder, i: Atom) -> list[Atom]:
        at = c.apply("mod", c.add(i, shift), n)
        return list(c.emit(Index(x, (at,), w.random.random() < 0.5)))

    w.keep(w.b.emit(Generate((n,), w.b.function([i64], read))))


def stencil_step(w: Writer) -> None:
    """read two neighbours, clamped"""
    x = w.array()
    n = shape_of(x)[0]

    def read(c: Builder, i: Atom) -> list[Atom]:
        last = c.sub(n, index(1))
        left = c.emit(Index(x, (c.apply("maximum", c.sub(i, index(1)), index(0)),), False))[0]
        right = c.emit(Index(x, (c.apply("minimum", c.add(i, index(1)), last),), False))[0]
        return [w.binary(c, *(w.fit(c, v, dtype_of(x)) for v in (left, right)))]

    w.keep(w.b.emit(Generate((n,), w.b.function([i64], read))))


def indices_for(w: Writer, x: Var, extent: Atom) -> Var:
    """Indices made from the elements of `x`, some of them outside."""

    def place(c: Builder, v: Atom) -> list[Atom]:
        wide = c.apply("and", c.cast(v, i64), index(63))
        return [c.sub(c.apply("mod", wide, c.add(extent, index(3))), index(1))]

    return w.b.emit(Map(w.b.function([dtype_of(x)], place), (x,)))[0]


def scatter_step(w: Writer) -> None:
    """scatter into one of the arrays"""
    dest, x = w.array(), w.array()
    y = w.alike(x)
    fit = w.b.function([dtype_of(y)], lambda c, v: [w.fit(c, v, dtype_of(dest))])
    values = w.b.emit(Map(fit, (y,)))[0]
    places = indices_for(w, x, shape_of(dest)[0])
    w.keep(w.b.emit(Scatter((dest,), places, (values,))))


def permute_step(w: Writer) -> None:
    """combine into one of the arrays, with a neutral element or without"""
    dest, x = w.array(), w.array()
    y = w.alike(x)
    fn, neutral = w.associative(dtype_of(dest), neutral=True)
    fit = w.b.function([dtype_of(y)], lambda c, v: [w.fit(c, v, dtype_of(dest))])
    values = w.b.emit(Map(fit, (y,)))[0]
    places = indices_for(w, x, shape_of(dest)[0])
    known = (neutral,) if w.random.random() < 0.5 else ()
    w.keep(w.b.emit(Permute(fn, known, (dest,), places, (values,))))


def sort_step(w: Writer) -> None:
    """sort two arrays of one shape, by one random key of their elements or by two"""
    x = w.array()
    pair = (x, w.alike(x))
    unsigned = [w.random.choice((u8, u16, u32, u64)) for _ in range(w.random.randrange(1, 3))]

    def keys(c: Builder, *elements: Atom) -> list[Atom]:
        return [w.fit(c, w.element(c, elements), dtype) for dtype in unsigned]

    fn = w.b.function([dtype_of(y) for y in pair], keys)
    w.keep(w.b.emit(Sort(fn, pair)))


def concat_step(w: Writer) -> None:
    """one array after another"""
    x = w.array()
    same = [y for y in w.arrays if dtype_of(y) is dtype_of(x) and len(shape_of(y)) == 1]
    y = w.random.choice(same)
    w.keep(w.b.emit(Concat(w.b.add(shape_of(x)[0], shape_of(y)[0]), (x, y))))


def loop_step(w: Writer) -> None:
    """a while loop over an array and a counter"""
    x = w.array()
    counts = w.b.inner()
    c0, v0 = counts.param("c", i64), counts.param("v", x.type)
    holds = counts.close([c0, v0], [counts.apply("lt", c0, index(w.random.randrange(4)))])
    body = w.b.inner()
    c1, v1 = body.param("c", i64), body.param("v", x.type)
    dtype = dtype_of(x)

    def step(c: Builder, v: Atom) -> list[Atom]:
        return [w.binary(c, w.fit(c, v, dtype), w.fit(c, c1, dtype))]

    after = body.emit(Map(body.function([dtype], step), (v1,)))[0]
    turn = body.close([c1, v1], [body.add(c1, index(1)), after])
    w.keep(w.b.emit(While(holds, turn, (index(0), x))))


def branch_step(w: Writer) -> None:
    """one array or another made from it, as long or of a constant length, as a scalar says"""
    x = w.array()
    flag = w.b.apply("lt", shape_of(x)[0], index(w.random.randrange(300)))
    then = w.b.inner()
    fn = then.function([dtype_of(x)], lambda c, v: [w.binary(c, w.fit(c, v, dtype_of(x)), v)])
    made = then.close([], [*shape_of(x), *then.emit(Map(fn, (x,)))])
    other = w.b.inner()
    if w.random.random() < 0.5:
        kept = other.close([], [*shape_of(x), x])
    else:
        few = index(w.random.randrange(1, 9))
        part = other.function([i64], lambda c, i: [w.fit(c, i, dtype_of(x))])
        kept = other.close([], [few, *other.emit(Generate((few,), part))])
    w.keep(w.b.emit(If(flag, made, kept))[1:])
