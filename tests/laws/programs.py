"""Random programs of the array language, for the laws that every pass must keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DType, bool_, i8, i16, i32, i64, u8, u16, u32, u64
from flatweave.ops import (
    Concat,
    Filter,
    Generate,
    Index,
    Map,
    Permute,
    Reduce,
    ReduceSegments,
    Reshape,
    Scan,
    Scatter,
    Sort,
)
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Var, constant

DTYPES = (bool_, i8, i16, i32, i64, u8, u16, u32, u64)
ASSOCIATIVE = ("add", "mul", "minimum", "maximum", "and", "or", "xor")
BINARY = (*ASSOCIATIVE, "sub")
NEUTRAL = {"add": 0, "mul": 1, "or": 0, "xor": 0}


@dataclass
class Writer:
    """Writes one random program; `n` is the extent of its inputs."""

    random: Random
    b: Builder = field(default_factory=Builder)
    arrays: list[Var] = field(default_factory=list)
    scalars: list[Atom] = field(default_factory=list)

    def program(self, length: int) -> tuple[Program, list[DType]]:
        """A program over three arrays of one extent, and their dtypes."""
        n = self.b.param("n", i64)
        dtypes = [self.random.choice(DTYPES) for _ in range(3)]
        for dtype in dtypes:
            self.arrays.append(self.b.param("xs", ArrayType(dtype, (n,))))
        params = [n, *self.arrays]
        for _ in range(length):
            self.random.choice(STEPS)(self)
        results: list[Atom] = self.random.sample(self.arrays[3:], min(3, len(self.arrays) - 3))
        if self.scalars:
            results.append(self.random.choice(self.scalars))
        return Program("random", self.b.close(params, results or self.arrays[:1])), dtypes

    # -- picking ----------------------------------------------------------------------------------

    def array(self, rank: int = 1) -> Var:
        """Any array of this rank."""
        return self.random.choice([x for x in self.arrays if x.type.rank == rank])  # type: ignore[union-attr]

    def alike(self, x: Var) -> Var:
        """Any array of the same shape as `x`."""
        return self.random.choice([y for y in self.arrays if shape_of(y) == shape_of(x)])

    def keep(self, found: Sequence[Var]) -> None:
        for var in found:
            (self.arrays if isinstance(var.type, ArrayType) else self.scalars).append(var)

    # -- element functions ------------------------------------------------------------------------

    def element(self, c: Builder, args: Sequence[Atom]) -> Atom:
        """A random scalar of some of `args`, with a branch or a loop now and then."""
        dtype = self.random.choice(DTYPES)
        x = c.cast(self.random.choice(args), dtype)
        y = c.cast(self.random.choice(args), dtype)
        pick = self.random.random()
        if pick < 0.15:
            return self._branch(c, x, y)
        if pick < 0.25:
            return self._loop(c, x, y)
        if pick < 0.35:
            flag = c.apply(self.random.choice(("lt", "le", "eq", "ne")), x, y)
            return c.apply("select", flag, x, y)
        return self.binary(c, x, y)

    def binary(self, c: Builder, x: Atom, y: Atom) -> Atom:
        return c.apply(self.operator(x.type), x, y)

    def operator(self, dtype: object) -> str:
        return self.random.choice(("and", "or", "xor") if dtype is bool_ else BINARY)

    def _branch(self, c: Builder, x: Atom, y: Atom) -> Atom:
        flag = c.apply("lt", x, y) if x.type is not bool_ else x
        then, other = c.inner(), c.inner()
        yes = then.close([], [self.binary(then, x, y)])
        return c.emit(If(flag, yes, other.close([], [self.binary(other, y, x)])))[0]

    def _loop(self, c: Builder, x: Atom, y: Atom) -> Atom:
        body = c.inner()
        k, s = body.param("k", i64), body.param("s", x.type)
        loop = body.close([k, s], [self.binary(body, s, y)])
        turns = c.apply("and", c.cast(y, i64), index(3))
        return c.emit(For(index(0), turns, index(1), loop, (x,)))[0]

    def associative(self, dtype: DType) -> tuple[Lambda, Atom]:
        names = ("and", "or", "xor") if dtype is bool_ else ASSOCIATIVE
        name = self.random.choice(names)
        low = {"minimum": dtype.high, "maximum": dtype.low, "and": -1 if dtype is not bool_ else 1}
        return lambda_of(name, dtype), constant(NEUTRAL.get(name, low.get(name, 0)), dtype)


def shape_of(var: Var) -> tuple[Atom, ...]:
    """The extents of an array variable."""
    assert isinstance(var.type, ArrayType)
    return var.type.shape


def dtype_of(var: Var) -> DType:
    """The dtype of an array variable."""
    assert isinstance(var.type, ArrayType)
    return var.type.dtype


def composition(c: Builder, args: Sequence[Atom]) -> list[Atom]:
    """Composition of x -> a x + b: associative, not commutative."""
    a, b, p, q = args
    return [c.mul(a, p), c.add(c.mul(p, b), q)]


# -- steps -----------------------------------------------------------------------------------------


def map_step(w: Writer) -> None:
    """map over one to three arrays of one shape"""
    x = w.random.choice(w.arrays)
    xs = (x, *(w.alike(x) for _ in range(w.random.randrange(3))))
    fn = w.b.function([dtype_of(y) for y in xs], lambda c, *args: [w.element(c, args)])
    w.keep(w.b.emit(Map(fn, xs, len(shape_of(x)))))


def scan_step(w: Writer) -> None:
    """scan with a random operator, either way, inclusive or not, with starts or without"""
    x = w.random.choice(w.arrays)
    fn, neutral = w.associative(dtype_of(x))
    exclusive, reverse = w.random.random() < 0.5, w.random.random() < 0.3
    w.keep(w.b.emit(Scan(fn, (neutral,), (x,), exclusive, reverse, starts_for(w, x))))


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
    w.keep(w.b.emit(Reduce(fn, (neutral,), (x,))))


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
    w.keep(w.b.emit(ReduceSegments(fn, (neutral,), starts, (x,))))


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
        return [w.binary(c, left, right)]

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
    fit = w.b.function([dtype_of(y)], lambda c, v: [c.cast(v, dtype_of(dest))])
    values = w.b.emit(Map(fit, (y,)))[0]
    places = indices_for(w, x, shape_of(dest)[0])
    w.keep(w.b.emit(Scatter((dest,), places, (values,))))


def permute_step(w: Writer) -> None:
    """combine into one of the arrays, with a neutral element or without"""
    dest, x = w.array(), w.array()
    y = w.alike(x)
    fn, neutral = w.associative(dtype_of(dest))
    fit = w.b.function([dtype_of(y)], lambda c, v: [c.cast(v, dtype_of(dest))])
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
        return [c.cast(w.element(c, elements), dtype) for dtype in unsigned]

    fn = w.b.function([dtype_of(y) for y in pair], keys)
    w.keep(w.b.emit(Sort(fn, pair)))


def concat_step(w: Writer) -> None:
    """one array behind another"""
    x = w.array()
    same = [y for y in w.arrays if dtype_of(y) is dtype_of(x) and len(shape_of(y)) == 1]
    y = w.random.choice(same)
    w.keep(w.b.emit(Concat(w.b.add(shape_of(x)[0], shape_of(y)[0]), (x, y))))


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
    x = w.random.choice(found)
    fn, neutral = w.associative(dtype_of(x))
    row = ArrayType(dtype_of(x), shape_of(x)[1:])
    inner = w.b.function([row], lambda c, r: list(c.emit(Reduce(fn, (neutral,), (r,)))))
    w.keep(w.b.emit(Map(inner, (x,), 1)))
    return None


def loop_step(w: Writer) -> None:
    """a while loop over an array and a counter"""
    x = w.array()
    counts = w.b.inner()
    c0, v0 = counts.param("c", i64), counts.param("v", x.type)
    holds = counts.close([c0, v0], [counts.apply("lt", c0, index(w.random.randrange(4)))])
    body = w.b.inner()
    c1, v1 = body.param("c", i64), body.param("v", x.type)
    fn = body.function([dtype_of(x)], lambda c, v: [w.binary(c, v, c.cast(c1, dtype_of(x)))])
    after = body.emit(Map(fn, (v1,)))[0]
    turn = body.close([c1, v1], [body.add(c1, index(1)), after])
    w.keep(w.b.emit(While(holds, turn, (index(0), x))))


def branch_step(w: Writer) -> None:
    """one array or another made from it, as long or of a constant length, as a scalar says"""
    x = w.array()
    flag = w.b.apply("lt", shape_of(x)[0], index(w.random.randrange(300)))
    then = w.b.inner()
    fn = then.function([dtype_of(x)], lambda c, v: [w.binary(c, v, v)])
    made = then.close([], [*shape_of(x), *then.emit(Map(fn, (x,)))])
    other = w.b.inner()
    if w.random.random() < 0.5:
        kept = other.close([], [*shape_of(x), x])
    else:
        few = index(w.random.randrange(1, 9))
        part = other.function([i64], lambda c, i: [c.cast(i, dtype_of(x))])
        kept = other.close([], [few, *other.emit(Generate((few,), part))])
    w.keep(w.b.emit(If(flag, made, kept))[1:])


def sizes_of(c: Builder, v: Atom) -> Atom:
    """A small size made from an element: 0 or 1 for most, 14 or 15 for a few."""
    wide = c.apply("and", c.cast(v, i64), index(15))
    return c.apply("select", c.apply("lt", wide, index(14)), c.apply("shr", wide, index(3)), wide)


def reduced(w: Writer, c: Builder, size: Atom, args: Sequence[Atom]) -> list[Atom]:
    """A reduction over `size` elements, each made from its place and `args`."""
    if w.random.random() < 0.4:
        pair = c.function([i64], lambda d, k: [d.cast(w.element(d, (k, *args)), i64), k])
        fn = c.function([i64] * 4, lambda d, *four: composition(d, four))
        neutral: tuple[Atom, ...] = (index(1), index(0))
    else:
        dtype = w.random.choice(DTYPES)
        pair = c.function([i64], lambda d, k: [d.cast(w.element(d, (k, *args)), dtype)])
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
    x, values = w.array(), w.array()
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
        again = c.function([dtype_of(values)], lambda d, v: [w.element(d, (v, total))])
        made = c.emit(Map(again, row))
        fn, neutral = w.associative(dtype_of(made[0]))
        return [total, *c.emit(Reduce(fn, (neutral,), made))]

    w.keep(w.b.emit(Generate((n,), w.b.function([i64], row))))


STEPS: tuple[Callable[[Writer], Any], ...] = (
    map_step, map_step, map_step, scan_step, pair_scan_step, reduce_step, segments_step,
    filter_step, gather_step, stencil_step, scatter_step, permute_step, concat_step, reshape_step,
    row_reduce_step, loop_step, branch_step, expand_reduce_step, ragged_step, sort_step,
)  # fmt: skip


def random_program(seed: int, length: int) -> tuple[Program, list[DType]]:
    """The program of a seed, and the dtypes of its three inputs."""
    return Writer(Random(seed)).program(length)


def random_args(seed: int, n: int, dtypes: Sequence[DType]) -> list[Any]:
    """Arguments for a random program."""
    rng = np.random.default_rng(seed)
    arrays = [rng.integers(0, 2 if d is bool_ else 100, n).astype(d.numpy) for d in dtypes]
    return [n, *arrays]
