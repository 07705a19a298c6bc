"""Rules of operators that are known: sums, products and extremes of numbers.

    y = reduce max ne xs        p = the first index of the greatest;  xs'[i] = y' if i is p, else 0
    ys = scan max ne xs         xs'[i] = the sum of ys' from i on to the next greater element
    y = reduce mul ne xs        xs'[i] = y' (y / xs[i]), where y can be divided
    ys = scan mul ne xs         xs'[i] = (the sum of ys' ys from i on) / xs[i], where ys can
    ys = scan add ne xs         xs' = scan add 0 ys', the other way

A product of which a factor is zero or infinite has the derivative of any operator (`chains.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from flatweave.base.dtypes import DType, bool_, f32, i64
from flatweave.gradients.control import either
from flatweave.gradients.modes import Back, Reverse
from flatweave.gradients.rewrites import ends_of_segments, next_of
from flatweave.gradients.sinks import whole
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
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var, constant

EXTREMES = {"minimum": "le", "maximum": "ge"}
NOWHERE = 2**63 - 1


def function_of(fn: Lambda) -> str:
    """The scalar function of floats that an operator is; "" for any other."""
    names = component_functions(fn) or []
    is_one = len(names) == 1 and dtype_of(fn.results[0].type).is_float
    return names[0] if is_one else ""


def is_sum(fn: Lambda) -> bool:
    """Whether an operator adds each component."""
    names = component_functions(fn)
    return names is not None and all(name == "add" for name in names)


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
            place, end = next_of(b, i, extent, down=not op.reverse)
            first = b.apply("eq", i, end)
            for flags in op.starts:
                first = b.apply("or", first, read(b, flags, [i]))
            near = read(b, ys, [place])
            before, here = chosen(b, first, ne, near), read(b, ys, [i])
            chosen_here = b.apply("and", b.apply("ne", before, here), b.apply("eq", before, before))
            if ne == identity("minimum", dtype) or ne == identity("maximum", dtype):
                chosen_here = b.apply("or", chosen_here, first)
            return chosen_here, b.apply("or", chosen_here, first)

        def is_last(b: Builder, at: list[Var]) -> list[Atom]:
            near, end = next_of(b, at[0], extent, down=op.reverse)
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


def product_reverse(r: Reverse, let: Let, op: Reduce | Scan | Permute) -> Back:
    """The cotangent times the quotient of the product and the factor, where no product is zero,
    tiny, infinite or NaN; else the rule of any operator."""
    r.keep(let)
    (y,) = let.vars

    def back() -> None:
        given = r.cotangent(y)
        quick, general = r.inner((), optional=True), r.inner((), optional=True)
        for target, value in _quotients(quick.b, op, y, given):
            if r.is_active(target) and isinstance(target, Var):
                quick.sink(whole(target, value()))
        general.on_host = False  # as in an element function, which has no such test
        again = r.b.var(y.name, y.type)
        general.run([Let((again,), op.replace(fn=r.b.copy(op.fn)), let.where)])
        general.pull([(again, given)])
        either(r, _divides(r.b, op, y), quick, general)

    return back


def _divides(b: Builder, op: Reduce | Scan | Permute, y: Atom) -> Atom:
    """Whether all products may be divided by their factors. What is zero, infinite or NaN makes
    what follows in a scan so, too: its last product tells."""
    if isinstance(op, Reduce):
        return is_plain_number(b, y)
    (size,) = shape_of(y)
    if isinstance(op, Scan):
        end = index(0) if op.reverse else b.sub(size, index(1))
        return is_plain_number(b, read_inside(b, y, end, size, constant(1.0, dtype_of(y.type))))
    plain = generate(b, [size], lambda b, at: [is_plain_number(b, read(b, y, at))])
    return b.emit(Reduce(lambda_of("and", bool_), (constant(True, bool_),), plain))[0]


def is_plain_number(b: Builder, x: Atom) -> Atom:
    """Whether a number is neither zero nor subnormal, and finite."""
    dtype = dtype_of(x.type)
    tiny = constant(2.0**-126 if dtype is f32 else 2.0**-1022, dtype)
    return b.apply("and", b.apply("isfinite", x), b.apply("ge", b.apply("abs", x), tiny))


def _quotients(
    b: Builder, op: Reduce | Scan | Permute, y: Atom, given: Atom
) -> Sequence[tuple[Atom, Callable[[], Atom]]]:
    """Factors, and functions that emit their cotangents."""
    (x,), nothing = op.xs, constant(0.0, dtype_of(y.type))

    def each(like: Atom, of: Callable[[Builder, list[Var]], Atom]) -> Callable[[], Atom]:
        return lambda: generate(b, shape_of(like), lambda b, at: [of(b, at)])[0]

    def by(b: Builder, c: Atom, product: Atom, factor: Atom) -> Atom:
        return times(b, c, b.apply("truediv", product, factor))

    match op:
        case Reduce(neutral=(ne,)):
            return [
                (x, each(x, lambda b, at: by(b, given, y, read(b, x, at)))),
                (ne, lambda: by(b, given, y, ne)),
            ]
        case Scan(neutral=(ne,)):
            (parts,) = generate(b, shape_of(y), lambda b, at: [
                times(b, read(b, given, at), read(b, y, at))
            ])  # fmt: skip
            add_ = lambda_of("add", dtype_of(y.type))
            (sums,) = b.emit(Scan(add_, (nothing,), (parts,), op.exclusive, not op.reverse))
            return [
                (x, each(x, lambda b, at: times(
                    b, read(b, sums, at), read(b, x, at), "truediv"
                ))),
                (ne, lambda: times(b, total(b, parts), ne, "truediv")),
            ]  # fmt: skip
    assert isinstance(op, Permute)
    (dest,), (size,) = op.dest, shape_of(y)

    def mine(b: Builder, at: list[Var]) -> Atom:
        place = read(b, op.indices, at)
        return if_inside(b, place, size, lambda then: by(
            then, read(then, given, [place]), read(then, y, [place]), read(then, x, at)
        ), nothing)  # fmt: skip

    return [
        (x, each(x, mine)),
        (dest, each(dest, lambda b, at: by(b, *(read(b, a, at) for a in (given, y, dest))))),
    ]


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
