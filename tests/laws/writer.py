"""What writes a random program: its arrays and scalars so far, and functions of elements.

Floats are sums and products of few halves: they are exact in any order, so that what a machine
combines block by block is what the interpreter combines one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DType, bool_, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from flatweave.ops import Map
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import For, If
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Var, constant

DTYPES = (bool_, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64)
ASSOCIATIVE = ("add", "mul", "minimum", "maximum", "and", "or", "xor")
EXACT = ("add", "minimum", "maximum")
BINARY = (*ASSOCIATIVE, "sub")
NEUTRAL = {"add": 0, "mul": 1, "or": 0, "xor": 0}


@dataclass
class Writer:
    """Writes one random program; `n` is the extent of its inputs."""

    random: Random
    b: Builder = field(default_factory=Builder)
    arrays: list[Var] = field(default_factory=list)
    scalars: list[Atom] = field(default_factory=list)

    def inputs(self) -> tuple[list[Var], list[DType]]:
        """Three arrays of one extent, which comes first, and their dtypes."""
        n = self.b.param("n", i64)
        dtypes = [self.random.choice(DTYPES) for _ in range(3)]
        for dtype in dtypes:
            self.arrays.append(self.b.param("xs", ArrayType(dtype, (n,))))
        return [n, *self.arrays], dtypes

    def program(self, params: Sequence[Var]) -> Program:
        """The program that was written."""
        results: list[Atom] = self.random.sample(self.arrays[3:], min(6, len(self.arrays) - 3))
        results += self.random.sample(self.scalars, min(3, len(self.scalars)))
        return Program("random", self.b.close(params, results or self.arrays[:1]))

    # -- picking ----------------------------------------------------------------------------------

    def array(self, rank: int = 1) -> Var:
        """Any array of this rank."""
        return self.random.choice([x for x in self.arrays if len(shape_of(x)) == rank])

    def alike(self, x: Var) -> Var:
        """Any array of the same shape as `x`."""
        return self.random.choice([y for y in self.arrays if shape_of(y) == shape_of(x)])

    def keep(self, found: Sequence[Var]) -> None:
        for var in found:
            (self.arrays if isinstance(var.type, ArrayType) else self.scalars).append(var)

    # -- element functions ------------------------------------------------------------------------

    def fit(self, c: Builder, x: Atom, dtype: DType) -> Atom:
        """A value as one of a dtype; a float is one of 64 halves around 0."""
        wide = c.cast(x, i64)
        if not dtype.is_float:
            return c.cast(x if not is_float(x) else wide, dtype)
        small = c.sub(c.apply("and", wide, index(63)), index(32))
        return c.mul(c.cast(small, dtype), constant(0.5, dtype))

    def tame(self, x: Var) -> Var:
        """An array that may be added up in any order: floats as few halves."""
        dtype = dtype_of(x)
        if not dtype.is_float:
            return x
        fn = self.b.function([dtype], lambda c, v: [self.fit(c, v, dtype)])
        return self.b.emit(Map(fn, (x,), len(shape_of(x))))[0]

    def element(self, c: Builder, args: Sequence[Atom]) -> Atom:
        """A random scalar of some of `args`, with a branch or a loop now and then."""
        dtype = self.random.choice(DTYPES)
        x = self.fit(c, self.random.choice(args), dtype)
        y = self.fit(c, self.random.choice(args), dtype)
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
        if dtype is bool_:
            return self.random.choice(("and", "or", "xor"))
        return self.random.choice((*EXACT, "sub", "mul") if dtype in (f32, f64) else BINARY)

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

    def associative(self, dtype: DType, *, neutral: bool = False) -> tuple[Lambda, Atom]:
        """An operator whose operands may be grouped in any way, and a first element for it, which
        is always the neutral one if that is asked for."""
        if dtype.is_float:
            name = self.random.choice(EXACT)
            first = {"add": 0.0, "minimum": math.inf, "maximum": -math.inf}[name]
            any_ = self.random.choice((first, first, 1.5))
            return lambda_of(name, dtype), constant(first if neutral else any_, dtype)
        names = ("and", "or", "xor") if dtype is bool_ else ASSOCIATIVE
        name = self.random.choice(names)
        low = {"minimum": dtype.high, "maximum": dtype.low, "and": -1 if dtype is not bool_ else 1}
        return lambda_of(name, dtype), constant(NEUTRAL.get(name, low.get(name, 0)), dtype)


def is_float(x: Atom) -> bool:
    """Whether a scalar is a float."""
    return isinstance(x.type, DType) and x.type.is_float


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


def better(c: Builder, args: Sequence[Atom]) -> list[Atom]:
    """The greater value with its index; of equal ones the first."""
    x, i, y, j = args
    first = c.apply("ge", x, y)
    return [c.apply("select", first, x, y), c.apply("select", first, i, j)]
