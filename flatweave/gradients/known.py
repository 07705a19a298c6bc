"""Rules of operators that are known: sums, products and extremes of numbers.

    y = reduce max ne xs        p = the first index of the greatest;  xs'[i] = y' if i is p, else 0
    ys = scan max ne xs         xs'[i] = the sum of ys' from i on to the next greater element
    y = reduce mul ne xs        xs'[i] = y' times the product of the others
    ys = scan add ne xs         xs' = scan add 0 ys', the other way

The product of the others is that of all, divided by an element that is neither 0 nor infinite. Such
elements are left out, and counted: where there are none among the others, or one, nothing else is
needed. Derivatives of these derivatives are right, too, since what is left out is added up as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from flatweave.base.dtypes import DType, bool_, i64
from flatweave.base.records import record
from flatweave.gradients.reverse import Back, Reverse
from flatweave.gradients.rewrites import ends_of_segments
from flatweave.gradients.values import (
    chosen,
    dtype_of,
    generate,
    if_inside,
    read,
    read_inside,
    shape_of,
    times,
    total,
)
from flatweave.ops import Permute, Reduce, Scan
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import Apply, If
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var, constant

EXTREMES = {"minimum": "le", "maximum": "ge"}
NOWHERE = 2**63 - 1


def function_of(fn: Lambda) -> str:
    """The scalar function that an operator is; "" for any other."""
    if len(fn.lets) != 1 or len(fn.params) != 2 or len(fn.lets[0].vars) != 1:
        return ""
    (result,), op = fn.lets[0].vars, fn.lets[0].op
    if not isinstance(op, Apply) or not dtype_of(result.type).is_float:
        return ""
    return op.fn if fn.results == (result,) and set(op.args) == set(fn.params) else ""


def identity(name: str, dtype: DType) -> Const:
    """The neutral element of an extreme."""
    return constant(float("inf") if name == "minimum" else float("-inf"), dtype)


# -- extremes --------------------------------------------------------------------------------------


def extreme_reduce(r: Reverse, let: Let, op: Reduce, name: str) -> Back:
    """The index of the chosen element is saved; `ne` is chosen where no element is beyond it."""
    r.keep(let)
    (x,), (ne,) = op.xs, op.neutral
    (extent,) = shape_of(x)
    best, place = _winner(r.b, name, x)

    def back() -> None:
        b, c = r.b, r.cotangent(let.vars[0])
        nothing = constant(0.0, dtype_of(c.type))
        if ne != identity(name, dtype_of(x.type)):
            first = b.apply("or", b.apply(EXTREMES[name], ne, best), b.apply("isnan", ne))
            r.add(ne, chosen(b, first, c, nothing))
            c = chosen(b, first, nothing, c)
        if r.is_active(x):
            r.add(x, generate(b, [extent], lambda inner, at: [
                chosen(inner, inner.apply("eq", at[0], place), c, nothing)
            ])[0])  # fmt: skip

    return back


def _winner(b: Builder, name: str, x: Atom) -> Sequence[Var]:
    """The extreme and its first index, or that of the first NaN."""
    dtype = dtype_of(x.type)

    def combine(inner: Builder, a: Var, i: Var, other: Var, j: Var) -> Sequence[Atom]:
        def both(fn: str, p: Atom, q: Atom) -> Atom:
            return inner.apply(fn, p, q)

        beyond = inner.apply("not", both("ge" if name == "minimum" else "le", other, a))
        beyond = both("and", beyond, both("eq", a, a))
        nan = both("and", inner.apply("isnan", other), inner.apply("isnan", a))
        equal = both("or", both("eq", other, a), nan)
        later = both("or", beyond, both("and", equal, both("lt", j, i)))
        return [chosen(inner, later, other, a), chosen(inner, later, j, i)]

    (places,) = generate(b, shape_of(x), lambda _, at: [at[0]])
    fn = b.function([dtype, i64, dtype, i64], combine)
    return b.emit(Reduce(fn, (identity(name, dtype), index(NOWHERE)), (x, places), known=True))


def extreme_scan(r: Reverse, let: Let, op: Scan) -> Back:
    """Cotangents are added up between elements that are greater than all before them."""
    r.keep(let)
    (x,), (ne,), (ys,) = op.xs, op.neutral, let.vars
    (extent,) = shape_of(x)

    def back() -> None:
        given, dtype = r.cotangent(ys), dtype_of(x.type)
        nothing = constant(0.0, dtype)

        def flags_at(b: Builder, i: Atom) -> tuple[Atom, Atom]:
            """Whether an element is chosen, and whether sums end with it."""
            end = b.sub(extent, index(1)) if op.reverse else index(0)
            step, bound = ("add", "minimum") if op.reverse else ("sub", "maximum")
            first = b.apply("eq", i, end)
            for flags in op.starts:
                first = b.apply("or", first, read(b, flags, [i]))
            near = read(b, ys, [b.apply(bound, b.apply(step, i, index(1)), end)])
            before, here = chosen(b, first, ne, near), read(b, ys, [i])
            chosen_here = b.apply("and", b.apply("ne", before, here), b.apply("eq", before, before))
            if ne == identity("minimum", dtype) or ne == identity("maximum", dtype):
                chosen_here = b.apply("or", chosen_here, first)
            return chosen_here, b.apply("or", chosen_here, first)

        def is_last(b: Builder, at: list[Var]) -> list[Atom]:
            end = index(0) if op.reverse else b.sub(extent, index(1))
            step, bound = ("sub", "maximum") if op.reverse else ("add", "minimum")
            near = b.apply(bound, b.apply(step, at[0], index(1)), end)
            return [b.apply("or", b.apply("eq", at[0], end), flags_at(b, near)[1])]

        last = generate(r.b, [extent], is_last)
        sums = Scan(lambda_of("add", dtype), (nothing,), (given,), False, not op.reverse, last)
        (found,) = r.b.emit(sums)

        def mine(b: Builder, at: list[Var], *, of_ne: bool) -> list[Atom]:
            wins, begins = flags_at(b, at[0])
            flag = b.apply("and", begins, b.apply("not", wins)) if of_ne else wins
            return [chosen(b, flag, read(b, found, at), nothing)]

        if r.is_active(x):
            r.add(x, generate(r.b, [extent], partial(mine, of_ne=False))[0])
        if r.is_active(ne):
            r.add(ne, total(r.b, generate(r.b, [extent], partial(mine, of_ne=True))[0]))

    return back


def sum_scan(r: Reverse, let: Let, op: Scan) -> Back:
    """Sums the other way; each result has `ne` in it once."""
    r.keep(let)
    (extent,) = shape_of(op.xs[0])

    def back() -> None:
        last = tuple(
            ends_of_segments(r.b, flags, extent, reverse=op.reverse) for flags in op.starts
        )
        for k, c in r.known_among(let.vars).items():
            dtype = dtype_of(c.type)
            if r.is_active(op.xs[k]):
                fn, nothing = lambda_of("add", dtype), constant(0.0, dtype)
                made = Scan(fn, (nothing,), (c,), op.exclusive, not op.reverse, last)
                r.add(op.xs[k], r.b.emit(made)[0])
            if r.is_active(op.neutral[k]):
                r.add(op.neutral[k], total(r.b, c))

    return back


# -- products --------------------------------------------------------------------------------------


@record
class Factors:
    """Of some factors the product of those that are neither 0 nor infinite, the number and the sum
    of the others, and the product of all."""

    product: Atom
    count: Atom
    rest: Atom
    every: Atom

    def others(self, b: Builder, x: Atom, at: Sequence[Atom] = ()) -> Atom:
        """The product of all factors but this one; of arrays of factors, of those at an index."""
        then, other = b.inner(optional=True), b.inner(optional=True)
        then.hoists = False
        here = [read(then, each, at) for each in (self.product, self.count, self.rest)]
        rare = then.close((), [self.without_special(then, x, *here)])
        plain = other.close((), [other.apply("truediv", self.every, x)])
        return b.emit(If(is_special(b, x), rare, plain))[0]

    def without_special(self, b: Builder, x: Atom, product: Atom, count: Atom, rest: Atom) -> Atom:
        """The product of all factors but this one, which nothing can be divided by."""
        one, two = (constant(value, dtype_of(x.type)) for value in (1.0, 2.0))
        pair = times(b, b.apply("sub", rest, x), product)
        single = chosen(b, b.apply("eq", count, two), pair, self.every)
        return chosen(b, b.apply("eq", count, one), product, single)


def is_special(b: Builder, x: Atom) -> Atom:
    """Whether nothing can be divided by a number."""
    is_zero = b.apply("eq", x, constant(0.0, dtype_of(x.type)))
    return b.apply("or", is_zero, b.apply("not", b.apply("isfinite", x)))


def parted(b: Builder, x: Atom) -> list[Atom]:
    """A factor as three: to multiply, to count, to add up. A float counts none, one and more."""
    special = is_special(b, x)
    one, nothing = constant(1.0, dtype_of(x.type)), constant(0.0, dtype_of(x.type))
    return [chosen(b, special, *pair) for pair in ((one, x), (one, nothing), (x, nothing))]


def product_reduce(r: Reverse, let: Let, op: Reduce) -> Back:
    """The cotangent times the product of the others."""
    r.keep(let)
    (x,), (ne,), (y,) = op.xs, op.neutral, let.vars
    dtype = dtype_of(x.type)
    starts = constant(1.0, dtype), constant(0.0, dtype), constant(0.0, dtype)

    def back() -> None:
        b, c = r.b, r.cotangent(y)
        every = y if ne == starts[0] else b.emit(op.replace(neutral=starts[:1]))[0]
        r.add(ne, times(b, c, every))
        if not r.is_active(x):
            return
        parts = generate(b, shape_of(x), lambda inner, at: parted(inner, read(inner, x, at)))
        product, count, rest = (
            b.emit(Reduce(lambda_of(fn, dtype_of(part.type)), (start,), (part,)))[0]
            for fn, part, start in zip(("mul", "add", "add"), parts, starts, strict=True)
        )
        factors = Factors(product, count, rest, every)
        scaled = times(b, c, ne)
        r.add(x, generate(b, shape_of(x), lambda inner, at: [
            times(inner, scaled, factors.others(inner, read(inner, x, at)))
        ])[0])  # fmt: skip

    return back


# -- by index --------------------------------------------------------------------------------------


def extreme_permute(r: Reverse, let: Let, op: Permute) -> Back:
    """The whole cotangent goes to the first that has the result, the destination's own first."""
    r.keep(let)
    (dest,), (x,), (y,) = op.dest, op.xs, let.vars
    (size,), (count,) = shape_of(dest), shape_of(x)
    nobody = index(NOWHERE)

    def same(b: Builder, one: Atom, other: Atom) -> Atom:
        nan = b.apply("and", b.apply("isnan", one), b.apply("isnan", other))
        return b.apply("or", b.apply("eq", one, other), nan)

    def back() -> None:
        given, nothing = r.cotangent(y), constant(0.0, dtype_of(x.type))

        def own(b: Builder, at: list[Var]) -> list[Atom]:
            return [chosen(b, same(b, read(b, dest, at), read(b, y, at)), index(-1), nobody)]

        def candidate(b: Builder, at: list[Var]) -> list[Atom]:
            there = read_inside(b, y, read(b, op.indices, at), size, nothing)
            return [chosen(b, same(b, read(b, x, at), there), at[0], nobody)]

        (first,), (candidates,) = generate(r.b, [size], own), generate(r.b, [count], candidate)
        least = Permute(lambda_of("minimum", i64), (nobody,), (first,), op.indices, (candidates,))
        (winner,) = r.b.emit(least)
        if r.is_active(dest):
            r.add(dest, generate(r.b, [size], lambda b, at: [
                chosen(
                    b, b.apply("eq", read(b, winner, at), index(-1)), read(b, given, at), nothing
                )
            ])[0])  # fmt: skip
        if not r.is_active(x):
            return

        def write(b: Builder, at: list[Var]) -> list[Atom]:
            place = read(b, op.indices, at)
            won = b.apply("eq", read_inside(b, winner, place, size, nobody), at[0])
            return [chosen(b, won, read_inside(b, given, place, size, nothing), nothing)]

        r.add(x, generate(r.b, [count], write)[0])

    return back


def _special_tables(b: Builder, op: Permute) -> Sequence[Atom]:
    """For each index the product of what can be divided by, where something cannot; the number and
    the sum of what cannot."""
    (dest,), (x,), (size,), (count,) = op.dest, op.xs, shape_of(op.dest[0]), shape_of(op.indices)
    dtype = dtype_of(x.type)
    nothing, one = constant(0.0, dtype), constant(1.0, dtype)
    into = generate(b, [size], lambda b, at: parted(b, read(b, dest, at)))
    parts = generate(b, [count], lambda b, at: parted(b, read(b, x, at)))
    both = b.function([dtype] * 4, lambda b, m, s, n, t: [b.add(m, n), b.add(s, t)])

    def at_if(condition: Callable[[Builder, Atom, Atom], Atom]) -> Atom:
        def write(b: Builder, at: list[Var]) -> list[Atom]:
            place = read(b, op.indices, at)
            return [chosen(b, condition(b, place, read(b, x, at)), place, index(-1))]

        return generate(b, [count], write)[0]

    # few elements are special, so few are written
    special = at_if(lambda b, _, value: is_special(b, value))
    number, rest = b.emit(Permute(both, (nothing, nothing), into[1:], special, parts[1:]))
    near = at_if(lambda b, place, _: b.apply(
        "lt", nothing, read_inside(b, number, place, size, nothing)
    ))  # fmt: skip
    made = Permute(lambda_of("mul", dtype), (one,), into[:1], near, parts[:1])
    return *b.emit(made), number, rest


def product_permute(r: Reverse, let: Let, op: Permute) -> Back:
    """The cotangent times the product of the others with the same index."""
    r.keep(let)
    (dest,), (x,), (y,) = op.dest, op.xs, let.vars
    (size,), (count,) = shape_of(dest), shape_of(x)
    dtype = dtype_of(x.type)
    nothing = constant(0.0, dtype)

    def back() -> None:
        given = r.cotangent(y)
        (special,) = generate(r.b, [size], lambda b, at: [is_special(b, read(b, y, at))])
        some = Reduce(lambda_of("or", bool_), (constant(False, bool_),), (special,))
        then, other = r.b.inner(optional=True), r.b.inner(optional=True)
        tables = _special_tables(then, op), generate(other, [size], lambda *_: [nothing] * 3)
        branches = [
            b.close((), [atom for table in found for atom in (size, table)])
            for b, found in zip((then, other), tables, strict=True)
        ]
        product, number, rest = r.b.emit(If(r.b.emit(some)[0], *branches))[1::2]

        def scaled(b: Builder, place: Atom, value: Atom) -> Atom:
            factors = Factors(product, number, rest, read(b, y, [place]))
            return times(b, read(b, given, [place]), factors.others(b, value, [place]))

        if r.is_active(dest):
            r.add(dest, generate(r.b, [size], lambda b, at: [
                scaled(b, at[0], read(b, dest, at))
            ])[0])  # fmt: skip
        if not r.is_active(x):
            return

        def write(b: Builder, at: list[Var]) -> list[Atom]:
            place, value = read(b, op.indices, at), read(b, x, at)
            return [if_inside(b, place, size, lambda then: scaled(then, place, value), nothing)]

        r.add(x, generate(r.b, [count], write)[0])

    return back
