"""Operations rewritten with simpler ones, which have rules.

    permute op dest at xs           sort by `at`, scan of segments, the last element of each
    reduce_segments op ne starts    scan op ne starts, the last element of each
    reduce op ne rows               for i (s => op s rows[i]) ne

The rewritten operations bind the variables of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import bool_, i64, u64
from flatweave.gradients.values import (
    chosen,
    dtype_of,
    element,
    generate,
    owned,
    read,
    shape_of,
    with_part,
    zero,
)
from flatweave.ops import (
    Concat,
    Filter,
    Generate,
    Permute,
    Reduce,
    ReduceSegments,
    Reshape,
    Scan,
    Sort,
)
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Var, constant

Lets = tuple[Let, ...]


def _written(b: Builder, write: Callable[[Builder], None]) -> Lets:
    """The operations that a function emits."""
    inner = b.inner()
    inner.hoists = False
    write(inner)
    return tuple(inner.lets)


def of_rank_one(b: Builder, let: Let, op: Reduce | Scan) -> Lets:
    """The same over all elements in row-major order."""

    def write(inner: Builder) -> None:
        size = inner.product(shape_of(op.xs[0]))
        xs = tuple(inner.emit(Reshape(x, (size,)))[0] for x in op.xs)
        if isinstance(op, Reduce):
            inner.append(Let(let.vars, op.replace(xs=xs), let.where))
            return
        starts = tuple(inner.emit(Reshape(flags, (size,)))[0] for flags in op.starts)
        made = inner.emit(op.replace(xs=xs, starts=starts))
        for var, flat in zip(let.vars, made, strict=True):
            inner.append(Let((var,), Reshape(flat, shape_of(var)), let.where))

    return _written(b, write)


def as_loop(b: Builder, let: Let, op: Reduce | Scan) -> Lets:
    """Rows combined sequentially; a scan writes each state to its position."""
    half, extent = len(op.xs), shape_of(op.xs[0])[0]

    def write(inner: Builder) -> None:
        sizes = [inner.product(shape_of(ne)) for ne in op.neutral]
        results = [
            zero(inner, ArrayType(dtype_of(ne.type), (inner.mul(extent, size),)))
            for ne, size in zip(op.neutral, sizes, strict=True) if isinstance(op, Scan)
        ]  # fmt: skip
        init = (*op.neutral, *results)

        def step(body: Builder, i: Var, *state: Var) -> Sequence[Atom]:
            backward = isinstance(op, Scan) and op.reverse
            at = body.sub(body.sub(extent, index(1)), i) if backward else i
            before: Sequence[Atom] = state[:half]
            for flags in op.starts if isinstance(op, Scan) else ():
                anew = read(body, flags, [at])
                before = [
                    _either(body, anew, ne, s) for ne, s in zip(op.neutral, before, strict=True)
                ]
            rows = [element(body, x, [at]) for x in op.xs]
            pair = [*rows, *before] if backward else [*before, *rows]
            after = [owned(body, atom) for atom in body.inline(op.fn, pair)]
            if isinstance(op, Reduce):
                return after
            kept = before if op.exclusive else after
            return [*after, *(
                with_part(body, result, body.mul(at, size), value, size)
                for result, size, value in zip(state[half:], sizes, kept, strict=True)
            )]  # fmt: skip

        fn = inner.function([i64, *(atom.type for atom in init)], step, optional=True)
        loop = For(index(0), extent, index(1), fn, init)
        if isinstance(op, Reduce):
            inner.append(Let(let.vars, loop, let.where))
            return
        for var, flat in zip(let.vars, inner.emit(loop)[half:], strict=True):
            inner.append(Let((var,), Reshape(flat, shape_of(var)), let.where))

    return _written(b, write)


def _either(b: Builder, condition: Atom, one: Atom, other: Atom) -> Atom:
    """One of two arrays of one shape."""
    return generate(b, shape_of(one), lambda inner, at: [
        chosen(inner, condition, read(inner, one, at), read(inner, other, at))
    ])[0]  # fmt: skip


def as_scan(b: Builder, let: Let, op: ReduceSegments) -> Lets:
    """Segments as a scan, of which the last elements are kept."""

    def write(inner: Builder) -> None:
        scanned = inner.emit(Scan(inner.copy(op.fn), op.neutral, op.xs, starts=(op.starts,)))
        is_last = ends_of_segments(inner, op.starts, shape_of(op.starts)[0])
        inner.append(Let(let.vars, Filter(is_last, scanned), let.where))

    return _written(b, write)


def next_of(b: Builder, i: Atom, extent: Atom, *, down: bool) -> tuple[Atom, Atom]:
    """The index after this one, or below it, of those in an array; and the last one that way."""
    if down:
        return b.apply("maximum", b.sub(i, index(1)), index(0)), index(0)
    end = b.sub(extent, index(1))
    return b.apply("minimum", b.add(i, index(1)), end), end


def ends_of_segments(
    b: Builder, starts: Atom, extent: Atom, *, reverse: bool = False
) -> Atom:
    """Where the next element starts a segment, and at the last element; in reverse the other way
    round."""

    def write(inner: Builder, at: list[Var]) -> list[Atom]:
        near, end = next_of(inner, at[0], extent, down=reverse)
        return [inner.apply("or", inner.apply("eq", at[0], end), read(inner, starts, [near]))]

    return generate(b, [extent], write)[0]


def as_segments(b: Builder, let: Let, op: Permute) -> Lets:
    """Elements sorted by index, the destination's own element first: one segment for each index,
    then the elements that are dropped."""

    def write(inner: Builder) -> None:
        size, (count,) = shape_of(op.dest[0])[0], shape_of(op.indices)
        total = inner.add(size, count)

        def key(body: Builder, at: list[Var]) -> list[Atom]:
            place = read(body, op.indices, at)
            inside = body.apply("ge", place, index(0)), body.apply("lt", place, size)
            return [body.apply("select", body.apply("and", *inside), place, size)]

        (given,) = generate(inner, [count], key)
        (own,) = generate(inner, [size], lambda _, at: [at[0]])
        (keys,) = inner.emit(Concat(total, (own, given)))
        both = [inner.emit(Concat(total, pair))[0] for pair in zip(op.dest, op.xs, strict=True)]
        dtypes = [dtype_of(x.type) for x in both]
        by_place = inner.function(
            [i64, *dtypes], lambda body, place, *_: [body.cast(place, u64)]
        )
        places, *ordered = inner.emit(Sort(by_place, (keys, *both)))

        def starts(body: Builder, at: list[Var]) -> list[Atom]:
            before = body.apply("maximum", body.sub(at[0], index(1)), index(0))
            differs = body.apply("ne", read(body, places, at), read(body, places, [before]))
            return [body.apply("or", body.apply("eq", at[0], index(0)), differs)]

        (first,) = generate(inner, [total], starts)
        zeros = [constant(0.0 if d.is_float else 0, d) for d in dtypes]
        fn = _begun_anew(inner, op.fn)
        scanned = inner.emit(Scan(fn, (constant(False, bool_), *zeros), (first, *ordered)))[1:]
        is_last = ends_of_segments(inner, first, total)
        _, *totals = inner.emit(Filter(is_last, scanned))
        body = inner.inner()
        i = body.param("i", i64, size)
        made = body.close([i], [read(body, array, [i]) for array in totals])
        inner.append(Let(let.vars, Generate((size,), made), let.where))

    return _written(b, write)


def _begun_anew(b: Builder, fn: Lambda) -> Lambda:
    """An operator on pairs of a flag and an element, which forgets what is left of a flag: it needs
    no neutral element."""
    half = len(fn.params) // 2
    types = [param.type for param in fn.params[:half]]

    def combine(inner: Builder, *params: Var) -> Sequence[Atom]:
        flag, left = params[0], params[1 : 1 + half]
        other, right = params[1 + half], params[2 + half :]
        joined = inner.inline(fn, [*left, *right])
        chosen = [
            inner.apply("select", other, new, both)
            for new, both in zip(right, joined, strict=True)
        ]  # fmt: skip
        return [inner.apply("or", flag, other), *chosen]

    return b.function([bool_, *types, bool_, *types], combine)
