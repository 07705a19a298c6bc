"""Rules of scalar work, of reads, and of operations that move elements: cotangents move back."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.gradients.modes import Back, Forward, Reverse
from flatweave.gradients.scalars import partials
from flatweave.gradients.values import (
    cast_tangent,
    chosen,
    dtype_of,
    generate,
    part,
    read,
    read_inside,
    shape_of,
    sum_all,
    zero_tangent,
)
from flatweave.ops import Concat, Filter, Index, Reshape, Scan, Scatter, Sort, SortRows, Weave
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Var, constant


def apply_forward(f: Forward, let: Let, op: Apply) -> None:
    """y = fn(a, b)  ==>  dy = da * fn'a + db * fn'b"""
    f.keep(let)
    (result,) = let.vars
    found = partials(op.fn, f.b, op.args, result)
    pairs = [(part, f.of(arg)) for part, arg in zip(found, op.args, strict=True)]
    parts = [part.apply(f.b, d) for part, d in pairs if part is not None and d is not None]
    f.set(result, sum_all(f.b, parts))


def apply_reverse(r: Reverse, let: Let, op: Apply) -> Back:
    """y = fn(a, b)  ==>  a' += y' * fn'a;  b' += y' * fn'b"""
    r.keep(let)
    (result,) = let.vars

    def back() -> None:
        given = r.cotangent(result)
        found = partials(op.fn, r.b, op.args, result)
        for partial, arg in zip(found, op.args, strict=True):
            if partial is not None and r.is_active(arg):
                r.add(arg, partial.apply(r.b, given))

    return back


def cast_forward(f: Forward, let: Let, op: Cast) -> None:
    """The tangent is cast as the value is; none goes through an integer."""
    f.keep(let)
    (result,) = let.vars
    tangent = f.of(op.arg)
    if tangent is not None and op.dtype.is_float:
        f.set(result, cast_tangent(f.b, tangent, op.dtype))


def cast_reverse(r: Reverse, let: Let, op: Cast) -> Back:
    """The cotangent is cast back."""
    r.keep(let)
    (result,) = let.vars
    return lambda: r.add(
        op.arg, cast_tangent(r.b, r.cotangent(result), dtype_of(op.arg.type))
    )


def index_forward(f: Forward, let: Let, op: Index) -> None:
    """y = xs[i]  ==>  dy = dxs[i]"""
    f.keep(let)
    tangent = f.of(op.xs)
    if tangent is not None:
        f.set(let.vars[0], read(f.b, tangent, op.indices))


def index_reverse(r: Reverse, let: Let, op: Index) -> Back:
    """y = xs[i]  ==>  xs'[i] += y'"""
    r.keep(let)
    return lambda: r.add_at(op.xs, op.indices, r.cotangent(let.vars[0]))


def reshape_forward(f: Forward, let: Let, op: Reshape) -> None:
    """The tangent under the same shape."""
    f.keep(let)
    f.set(let.vars[0], f.b.emit(op.replace(xs=f.dense(op.xs)))[0])


def joined_forward(f: Forward, let: Let, op: Concat | Weave) -> None:
    """Tangents joined, or woven, as the values are."""
    f.keep(let)
    f.set(let.vars[0], f.b.emit(op.replace(xs=tuple(map(f.dense, op.xs))))[0])


def _moving(f: Forward, xs: Sequence[Atom]) -> list[tuple[int, Atom]]:
    """The arrays that have tangents, by number."""
    found = [(k, f.of(x)) for k, x in enumerate(xs)]
    return [(k, dx) for k, dx in found if dx is not None]


def filter_forward(f: Forward, let: Let, op: Filter) -> None:
    """Tangents are kept where the values are."""
    moving = _moving(f, op.xs)
    vars_ = [let.vars[1 + k] for k, _ in moving]
    f.emit(let, op.replace(xs=(*op.xs, *(dx for _, dx in moving))), vars_)


def sort_forward(f: Forward, let: Let, op: Sort | SortRows) -> None:
    """Tangents move with the values; keys do not see them."""
    moving = _moving(f, op.xs)
    params = [f.b.var(f"d{op.fn.params[k].name}", dtype_of(dx.type)) for k, dx in moving]
    fn = Lambda((*op.fn.params, *params), op.fn.lets, op.fn.results)
    xs = (*op.xs, *(dx for _, dx in moving))
    f.emit(let, op.replace(fn=fn, xs=xs), [let.vars[k] for k, _ in moving])


def scatter_forward(f: Forward, let: Let, op: Scatter) -> None:
    """Tangents are written where the values are."""
    both = [(k, pair) for k, pair in enumerate(zip(op.dest, op.xs, strict=True))
            if any(f.of(x) is not None for x in pair)]
    dest = (*op.dest, *(f.dense(dest) for _, (dest, _) in both))
    xs = (*op.xs, *(f.dense(x) for _, (_, x) in both))
    f.emit(let, op.replace(dest=dest, xs=xs), [let.vars[k] for k, _ in both])


def reshape_reverse(r: Reverse, let: Let, op: Reshape) -> Back:
    """The cotangent under the shape that the array had."""
    r.keep(let)
    return lambda: r.add(
        op.xs, r.b.emit(Reshape(r.cotangent(let.vars[0]), shape_of(op.xs)))[0]
    )


def concat_reverse(r: Reverse, let: Let, op: Concat) -> Back:
    """Each array's part of the cotangent."""
    r.keep(let)

    def back() -> None:
        given = r.cotangent(let.vars[0])
        start: Atom = index(0)
        for x in op.xs:
            if r.is_active(x):
                r.add(x, part(r.b, given, start, shape_of(x)))
            start = r.b.add(start, shape_of(x)[0])

    return back


def weave_reverse(r: Reverse, let: Let, op: Weave) -> Back:
    """Every n-th element of the cotangent; those that were left out have none."""
    r.keep(let)

    def back() -> None:
        given = r.cotangent(let.vars[0])
        size = r.b.product(op.shape)
        (flat,) = r.b.emit(Reshape(given, (size,)))
        for k, x in enumerate(op.xs):
            if r.is_active(x):
                r.add(x, _every(r.b, flat, size, shape_of(x), k, len(op.xs)))

    return back


def _every(
    b: Builder, xs: Atom, size: Atom, shape: Sequence[Atom], first: int, step: int
) -> Atom:
    """Elements `first`, `first + step`, .. under a shape, 0 where there are no more."""
    nothing = constant(0.0, dtype_of(xs.type))

    def write(inner: Builder, at: list[Var]) -> list[Atom]:
        place = inner.add(inner.mul(inner.ravel(at, shape), index(step)), index(first))
        return [read_inside(inner, xs, place, size, nothing)]

    return generate(b, shape, write)[0]


def _positions(b: Builder, extent: Atom) -> Var:
    return generate(b, [extent], lambda _, at: [at[0]])[0]


def _put_back(r: Reverse, x: Atom, positions: Atom, cotangent: Atom) -> None:
    """Cotangents of elements that came from these positions; elsewhere there is 0."""
    if r.is_active(x):
        op = Scatter((zero_tangent(r.b, x),), positions, (cotangent,))
        r.add(x, r.b.emit(op)[0])


def filter_reverse(r: Reverse, let: Let, op: Filter) -> Back:
    """Each element that was kept reads what belongs to it; those that were left out have none."""
    r.keep(let)

    def back() -> None:
        ones = generate(r.b, shape_of(op.mask), lambda b, at: [b.cast(read(b, op.mask, at), i64)])
        (places,) = r.b.emit(Scan(lambda_of("add", i64), (index(0),), ones, exclusive=True))
        for x, var in zip(op.xs, let.vars[1:], strict=True):
            if r.is_active(x):
                r.add(x, _kept_parts(r.b, op.mask, places, r.cotangent(var)))

    return back


def _kept_parts(b: Builder, mask: Atom, places: Atom, given: Atom) -> Atom:
    """The cotangent of each selected element, 0 for the others."""
    nothing = constant(0.0, dtype_of(given.type))

    def write(inner: Builder, at: list[Var]) -> list[Atom]:
        return list(inner.choose(
            read(inner, mask, at), lambda c: [read(c, given, [read(c, places, at)])],
            lambda _: [nothing],
        ))  # fmt: skip

    return generate(b, shape_of(mask), write)[0]


def sort_reverse(r: Reverse, let: Let, op: Sort | SortRows) -> Back:
    """Back to where the elements were before they were sorted."""
    shape = shape_of(op.xs[0])
    positions = r.b.var("at", ArrayType(i64, shape))
    fn = Lambda((*op.fn.params, r.b.var("at", i64)), op.fn.lets, op.fn.results)
    more = op.replace(fn=fn, xs=(*op.xs, _positions(r.b, shape[0])))
    r.keep(Let((*let.vars, positions), more, let.where))

    def back() -> None:
        for x, var in zip(op.xs, let.vars, strict=True):
            if r.is_active(x):
                _put_back(r, x, positions, r.cotangent(var))

    return back


def scatter_reverse(r: Reverse, let: Let, op: Scatter) -> Back:
    """What was written over has none; of values that met, the last one was written."""
    r.keep(let)
    (count,), (size,) = shape_of(op.indices), shape_of(op.dest[0])

    def back() -> None:
        (nobody,) = generate(r.b, [size], lambda *_: [index(-1)])
        (writer,) = r.b.emit(Scatter((nobody,), op.indices, (_positions(r.b, count),)))
        for var, dest, x in zip(let.vars, op.dest, op.xs, strict=True):
            if not (r.is_active(dest) or r.is_active(x)):
                continue
            given = r.cotangent(var)
            if r.is_active(dest):
                r.add(dest, _kept(r.b, given, writer))
            if r.is_active(x):
                r.add(x, _written(r.b, given, writer, op.indices))

    return back


def _kept(b: Builder, given: Atom, writer: Atom) -> Atom:
    """The cotangents of what nobody wrote over."""
    nothing = constant(0.0, dtype_of(given.type))

    def write(inner: Builder, at: list[Var]) -> list[Atom]:
        is_kept = inner.apply("lt", read(inner, writer, at), index(0))
        return [chosen(inner, is_kept, read(inner, given, at), nothing)]

    return generate(b, shape_of(given), write)[0]


def _written(b: Builder, given: Atom, writer: Atom, indices: Atom) -> Atom:
    """The cotangents of what was written, of those that are still there."""
    (size,) = shape_of(given)
    nothing = constant(0.0, dtype_of(given.type))

    def write(inner: Builder, at: list[Var]) -> list[Atom]:
        place = read(inner, indices, at)
        who = read_inside(inner, writer, place, size, index(-1))
        value = read_inside(inner, given, place, size, nothing)
        return [chosen(inner, inner.apply("eq", who, at[0]), value, nothing)]

    return generate(b, shape_of(indices), write)[0]
