"""Random programs of nested control mean the same at every width: masks change nothing."""

from __future__ import annotations

import random

import numpy as np
import pytest

from flatweave.base.dtypes import bool_, f64, i64
from flatweave.terms.build import index
from flatweave.terms.control import Cast
from flatweave.terms.syntax import Atom, Const, constant
from tests.codegen.llvm_programs import PORTABLE, Writer, for_each, run_kernel
from tests.quick import every

N = 131
PLACES = 8
INTEGERS = ("add", "sub", "mul", "minimum", "maximum", "and", "xor")
COMPARISONS = ("lt", "le", "eq", "ne")


class Random:
    """Writes statements at random over the values in scope."""

    def __init__(self, seed: int, xs, ys, i: Atom, n: Atom) -> None:
        self.random = random.Random(seed)
        self.xs, self.ys, self.i, self.n = xs, ys, i, n

    def value(self, scope: list[Atom]) -> Atom:
        if self.random.random() < 0.2:
            return index(self.random.randint(-5, 9))
        return self.random.choice(scope[-6:] if self.random.random() < 0.6 else scope)

    def flag(self, w: Writer, scope: list[Atom]) -> Atom:
        a, b = self.value(scope), w.apply("and", self.value(scope), index(7))
        test = w.apply(self.random.choice(COMPARISONS), w.apply("and", a, index(7)), b)
        if self.random.random() < 0.2:
            test = w.apply("or", test, self.flag(w, scope))
        return test

    def small(self, w: Writer, scope: list[Atom], below: int) -> Atom:
        return w.apply("mod", self.value(scope), index(below))

    def arithmetic(self, w: Writer, scope: list[Atom], depth: int) -> list[Atom]:
        x = w.apply(self.random.choice(INTEGERS), self.value(scope), self.value(scope))
        return [x]

    def floats(self, w: Writer, scope: list[Atom], depth: int) -> list[Atom]:
        x, y = (w.do(Cast(f64, self.small(w, scope, 1000))) for _ in range(2))
        z = w.apply("truediv", x, w.add(y, constant(1, f64)))
        return [w.do(Cast(i64, w.mul(z, constant(16, f64))))]

    def load(self, w: Writer, scope: list[Atom], depth: int) -> list[Atom]:
        at = self.random.choice([lambda: self.i, lambda: w.apply("mod", self.value(scope), self.n)])
        return [w.load(self.xs, at())]

    def store(self, w: Writer, scope: list[Atom], depth: int) -> list[Atom]:
        place = self.small(w, scope, PLACES) if self.random.random() < 0.3 else index(3)
        at = w.add(w.mul(place, self.n), self.i)
        w.store(self.ys, at, w.apply("xor", w.load(self.ys, at), self.value(scope)))
        return []

    def branch(self, w: Writer, scope: list[Atom], depth: int) -> list[Atom]:
        def arm(w: Writer) -> list[Atom]:
            inside = self.body(w, scope, depth - 1)
            return [self.value(inside), self.value(inside)]

        return list(w.choose(self.flag(w, scope), arm, arm))

    def loop(self, w: Writer, scope: list[Atom], depth: int) -> list[Atom]:
        def turn(w: Writer, i: Atom, a: Atom, b: Atom) -> list[Atom]:
            inside = self.body(w, [*scope, i, a, b], depth - 1)
            return [self.value(inside), self.value(inside)]

        lo = self.random.choice([index(0), self.small(w, scope, 3), self.i])
        length = self.random.choice([index(2), index(30), self.small(w, scope, 6)])
        if length == index(30) and depth < 2:
            length = index(3)
        step = self.random.choice([index(1), index(3)])
        init = [self.value(scope), self.value(scope)]
        return list(w.loop(lo, w.add(lo, length), step, init, turn))

    def repeat(self, w: Writer, scope: list[Atom], depth: int) -> list[Atom]:
        bound = self.random.choice([index(3), self.small(w, scope, 5)])

        def going(w: Writer, t: Atom, a: Atom) -> Atom:
            extra = self.flag(w, [*scope, t, a]) if self.random.random() < 0.5 else true
            return w.apply("and", w.apply("lt", t, bound), extra)

        def turn(w: Writer, t: Atom, a: Atom) -> list[Atom]:
            return [w.add(t, index(1)), self.value(self.body(w, [*scope, t, a], depth - 1))]

        true = Const(True, bool_)
        return list(w.repeat([index(0), self.value(scope)], going, turn))

    def body(self, w: Writer, scope: list[Atom], depth: int) -> list[Atom]:
        scope = list(scope)
        plain = [self.arithmetic] * 4 + [self.load, self.store, self.floats]
        nested = [self.branch, self.branch, self.loop, self.repeat] if depth > 0 else []
        for _ in range(self.random.randint(1, 5)):
            scope += self.random.choice(plain + nested)(w, scope, depth)
        return scope


@pytest.mark.sampled
@pytest.mark.parametrize("seed", every(3, range(60)))
def test_every_width_gives_the_same(seed: int) -> None:
    """The same statements on 1, 4, 16 and 64 lanes, and for a CPU without AVX-512."""
    xs = np.random.default_rng(seed).integers(-100, 100, N)
    found = []
    for width, chosen in ((1, None), (4, None), (16, None), (64, None), (8, PORTABLE)):
        ys = np.zeros(N * PLACES, np.int64)

        def body(w, n, xs, ys, width=width):
            def each(w, i):
                writer = Random(seed, xs, ys, i, n)
                scope = writer.body(w, [i, n, w.load(xs, i)], depth=3)
                w.store(ys, i, writer.value(scope))

            for_each(w, n, width, each)

        more = {} if chosen is None else {"isa": chosen}
        run_kernel(body, N, xs, ys, **more)
        found.append(ys)
    for ys in found[1:]:
        np.testing.assert_array_equal(ys, found[0])
