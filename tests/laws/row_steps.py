"""Steps of a random program over rows: of a matrix, of sizes that elements ask for, of a Ragged."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.ops import Concat, Generate, Index, Locate, Map, Reduce, Reshape, Scan
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import If
from flatweave.terms.syntax import ArrayType, Atom, Var
from tests.laws.writer import DTYPES, Writer, composition, dtype_of, shape_of


def reshape_step(w: Writer) -> None:
    """two rows of an array, transposed, taken together again"""
    x = w.array()
    half = w.b.apply("floordiv", shape_of(x)[0], index(2))
    even = w.b.mul(half, index(2))
    read = w.b.function([i64], lambda c, i: list(c.emit(Index(x, (i,)))))
    cut = w.b.emit(Generate((even,), read))
    rows = w.b.emit(Reshape(cut[0], (index(2), half)))[0]
    turned = w.b.function([i64, i64], lambda c, i, j: list(c.emit(Index(rows, (j, i)))))
    w.keep([rows, *w.b.emit(Generate((half, index(2)), turned))])


def row_reduce_step(w: Writer) -> None:
    """reduce each row of a rank-2 array"""
    found = [x for x in w.arrays if len(shape_of(x)) == 2]
    if not found:
        return reshape_step(w)
    x = w.tame(w.random.choice(found))
    fn, neutral = w.associative(dtype_of(x))
    row = ArrayType(dtype_of(x), shape_of(x)[1:])
    inner = w.b.function([row], lambda c, r: list(c.emit(Reduce(fn, (neutral,), (r,)))))
    w.keep(w.b.emit(Map(inner, (x,), 1)))
    return None


def sizes_of(c: Builder, v: Atom) -> Atom:
    """A small size made from an element: 0 or 1 for most, 14 or 15 for a few."""
    wide = c.apply("and", c.cast(v, i64), index(15))
    return c.apply("select", c.apply("lt", wide, index(14)), c.apply("shr", wide, index(3)), wide)


def reduced(w: Writer, c: Builder, size: Atom, args: Sequence[Atom]) -> list[Atom]:
    """A reduction over `size` elements, each made from its index and `args`."""
    if w.random.random() < 0.4:
        pair = c.function([i64], lambda d, k: [w.fit(d, w.element(d, (k, *args)), i64), k])
        fn = c.function([i64] * 4, lambda d, *four: composition(d, four))
        neutral: tuple[Atom, ...] = (index(1), index(0))
    else:
        dtype = w.random.choice(DTYPES)
        pair = c.function([i64], lambda d, k: [w.fit(d, w.element(d, (k, *args)), dtype)])
        fn, one = w.associative(dtype)
        neutral = (one,)
    return list(c.emit(Reduce(fn, neutral, c.emit(Generate((size,), pair)))))


def some_rows(w: Writer, x: Var) -> Atom:
    """How many elements of an array become rows: not too many for the interpreter."""
    return w.b.apply("minimum", shape_of(x)[0], index(200))


def expand_reduce_step(w: Writer) -> None:
    """reduce what each element expands to; a second reduction may need the first"""
    x = w.array()
    y = w.alike(x)

    def row(c: Builder, i: Atom) -> list[Atom]:
        v, u = (c.emit(Index(xs, (i,), False))[0] for xs in (x, y))
        size = sizes_of(c, v)
        found = reduced(w, c, size, (u, w.element(c, (u, v))))
        if w.random.random() < 0.4:
            found += reduced(w, c, size, (u, w.element(c, (found[0], v))))
        return [*found[-2:], w.element(c, (found[0], u))]

    w.keep(w.b.emit(Generate((some_rows(w, x),), w.b.function([i64], row))))


def ragged_step(w: Writer) -> None:
    """reduce the rows of a Ragged: sizes added up to offsets, and values between them"""
    x, values = w.array(), w.tame(w.array())
    n, available = some_rows(w, x), shape_of(values)[0]

    def size(c: Builder, i: Atom) -> list[Atom]:
        return [sizes_of(c, c.emit(Index(x, (i,), False))[0])]

    sizes = w.b.emit(Generate((n,), w.b.function([i64], size)))
    ends = w.b.emit(Scan(lambda_of("add", i64), (index(0),), sizes))[0]

    cut = w.b.function([i64], lambda c, end: [c.apply("minimum", end, available)])
    first = w.b.emit(Generate((index(1),), w.b.function([i64], lambda c, i: [index(0)])))
    parts = (*first, *w.b.emit(Map(cut, (ends,))))
    offsets = w.b.emit(Concat(w.b.add(n, index(1)), parts))[0]

    def row(c: Builder, i: Atom) -> list[Atom]:
        start = c.emit(Index(offsets, (i,), False))[0]
        end = c.emit(Index(offsets, (c.add(i, index(1)),), False))[0]

        def value(d: Builder, k: Atom) -> list[Atom]:
            return list(d.emit(Index(values, (d.add(start, k),), False)))

        length = c.sub(end, start)
        row = c.emit(Generate((length,), c.function([i64], value)))
        fn, neutral = w.associative(dtype_of(values))
        total = c.emit(Reduce(fn, (neutral,), row))[0]
        kind = w.random.choice(DTYPES)
        again = c.function(
            [dtype_of(values)], lambda d, v: [w.fit(d, w.element(d, (v, total)), kind)]
        )
        made = c.emit(Map(again, row))
        fn, neutral = w.associative(dtype_of(made[0]))
        return [total, *c.emit(Reduce(fn, (neutral,), made))]

    w.keep(w.b.emit(Generate((n,), w.b.function([i64], row))))


def expand_step(w: Writer) -> None:
    """expand each element to its size, in order"""
    x = w.array()
    y, n = w.alike(x), some_rows(w, x)

    def size(c: Builder, i: Atom) -> list[Atom]:
        return [sizes_of(c, c.emit(Index(x, (i,), False))[0])]

    sizes = w.b.emit(Generate((n,), w.b.function([i64], size)))
    ends = w.b.emit(Scan(lambda_of("add", i64), (index(0),), sizes))[0]
    some, none = w.b.inner(), w.b.inner()
    last = some.emit(Index(ends, (some.sub(n, index(1)),), False))
    held = w.b.apply("gt", n, index(0))
    total = w.b.emit(If(held, some.close([], last), none.close([], [index(0)])))[0]

    def element(c: Builder, p: Atom) -> list[Atom]:
        row, start = c.emit(Locate(ends, 0, p))
        v = c.emit(Index(y, (row,), False))[0]
        return [w.element(c, (v, c.sub(p, start), row))]

    w.keep(w.b.emit(Generate((total,), w.b.function([i64], element))))
