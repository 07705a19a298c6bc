"""Rules of operators: reduce, scan, segments, permute.

Forward, an operator on values becomes one on pairs of a value and its tangent, which is associative
where the first one is. Where tangents are combined without a look at the values, as sums are, they
are combined in a separate operation.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.gradients.activity import components
from flatweave.gradients.chains import Chain, ChainReverse
from flatweave.gradients.known import (
    EXTREMES,
    extreme_permute,
    extreme_reduce,
    extreme_scan,
    function_of,
    is_sum,
    product_reverse,
    sum_scan,
)
from flatweave.gradients.modes import Back, Forward, Reverse
from flatweave.gradients.rewrites import as_loop, as_scan, as_segments, of_rank_one
from flatweave.gradients.values import chosen, dtype_of, generate, read, read_inside, shape_of
from flatweave.ops import Permute, Reduce, ReduceSegments, Scan
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Var, constant
from flatweave.terms.traverse import free_vars, needed_for


def fold_forward(f: Forward, let: Let, op: Reduce | Scan | ReduceSegments) -> None:
    """reduce op ne xs  ==>  reduce (a, da, b, db => ..) (ne, dne) (xs, dxs)"""
    flags = components(op.fn, op.neutral, op.xs, set(f.tangents))
    moving = [k for k, flag in enumerate(flags) if flag]
    fn, tangents = dual(f, op.fn, flags)
    neutral = tuple(f.dense(op.neutral[k]) for k in moving)
    xs = tuple(f.dense(op.xs[k]) for k in moving)
    skipped = len(let.vars) - len(flags)  # the number of segments
    vars_ = [let.vars[skipped + k] for k in moving]
    if tangents is None:
        f.emit(let, op.replace(fn=fn, neutral=(*op.neutral, *neutral), xs=(*op.xs, *xs)), vars_)
        return
    f.keep(let)
    found = f.b.emit(op.replace(fn=tangents, neutral=neutral, xs=xs))[skipped:]
    for var, tangent in zip(vars_, found, strict=True):
        f.set(var, tangent)


def dual(f: Forward, fn: Lambda, flags: Sequence[bool]) -> tuple[Lambda, Lambda | None]:
    """An operator on values and tangents; and that on tangents alone, if it reads no values."""
    half = len(flags)
    lefts, rights = fn.params[:half], fn.params[half:]
    with f.inside(fn.params) as inner:
        das = f.params([a for a, flag in zip(lefts, flags, strict=True) if flag])
        dbs = f.params([b for b, flag in zip(rights, flags, strict=True) if flag])
        f.run(fn.lets)
        found = [f.dense(atom) for atom, flag in zip(fn.results, flags, strict=True) if flag]
        lets = tuple(inner.lets)
    both = Lambda((*lefts, *das, *rights, *dbs), lets, (*fn.results, *found))
    alone = Lambda((*das, *dbs), needed_for(lets, found), tuple(found))
    reads = any(var in fn.params for var in free_vars(alone))
    return both, None if reads else f.b.copy(alone)


def reduce_reverse(r: Reverse, let: Let, op: Reduce) -> Back | None:
    """The cotangents of all partial results, then those of elements; `neutral` is the first."""
    if _is_rewritten(r, let, op):
        return None
    name = function_of(op.fn)
    if name in EXTREMES:
        return extreme_reduce(r, let, op, name)
    if name == "mul" and r.on_host:
        return product_reverse(r, let, op)
    r.keep(let)

    def back() -> None:
        states = r.b.emit(Scan(r.b.copy(op.fn), op.neutral, op.xs, exclusive=True))
        chain = ChainReverse(r, Chain(op.fn, op.neutral, op.xs, states))
        given = r.known_among(let.vars)
        chain.finish(chain.of_result(given), None)
        is_empty = r.b.apply("eq", shape_of(op.xs[0])[0], index(0))
        for k, c in given.items():
            r.add(op.neutral[k], chosen(r.b, is_empty, c, constant(0.0, dtype_of(c.type))))

    return back


def scan_reverse(r: Reverse, let: Let, op: Scan) -> Back | None:
    """A linear recurrence the other way."""
    if _is_rewritten(r, let, op):
        return None
    if is_sum(op.fn):
        return sum_scan(r, let, op)
    name = function_of(op.fn)
    if name in EXTREMES and not op.exclusive:
        return extreme_scan(r, let, op)
    if name == "mul" and r.on_host and not op.starts:
        return product_reverse(r, let, op)
    r.keep(let)

    def back() -> None:
        made = Chain(
            op.fn, op.neutral, op.xs, let.vars, op.reverse, op.starts, op.exclusive
        )
        chain = ChainReverse(r, made)
        given = r.known_among(let.vars)
        states = chain.of_all(given, op.exclusive)
        chain.finish(states, given if op.exclusive else None)

    return back


def segments_reverse(r: Reverse, let: Let, op: ReduceSegments) -> Back | None:
    """A scan of the segments, of which the last elements are kept."""
    r.run(as_scan(r.b, let, op))
    return None


def permute_forward(f: Forward, let: Let, op: Permute) -> None:
    """A sum of tangents where values are added; else elements are sorted by where they go."""
    if not is_sum(op.fn):
        f.run(as_segments(f.b, let, op))
        return
    f.keep(let)
    moving = [k for k, pair in enumerate(zip(op.dest, op.xs, strict=True))
              if any(f.of(x) is not None for x in pair)]  # fmt: skip
    for k in moving:
        dtype = dtype_of(op.dest[k].type)
        made = Permute(
            lambda_of("add", dtype), (constant(0.0, dtype),), (f.dense(op.dest[k]),), op.indices,
            (f.dense(op.xs[k]),),
        )  # fmt: skip
        f.set(let.vars[k], f.b.emit(made)[0])


def permute_reverse(r: Reverse, let: Let, op: Permute) -> Back | None:
    """A gather where values are added; else elements are sorted by where they go."""
    name = function_of(op.fn)
    if name in EXTREMES:
        return extreme_permute(r, let, op)
    if name == "mul" and r.on_host:
        return product_reverse(r, let, op)
    if not is_sum(op.fn):
        r.run(as_segments(r.b, let, op))
        return None
    r.keep(let)
    (size,) = shape_of(op.dest[0])

    def back() -> None:
        for k, given in r.known_among(let.vars).items():
            r.add(op.dest[k], given)
            if r.is_active(op.xs[k]):
                r.add(op.xs[k], _gather(r.b, given, op.indices, size))

    return back


def _gather(b: Builder, xs: Atom, indices: Atom, size: Atom) -> Atom:
    """The elements at these indices, 0 for those outside."""
    nothing = constant(0.0, dtype_of(xs.type))

    def write(inner: Builder, at: list[Var]) -> list[Atom]:
        return [read_inside(inner, xs, read(inner, indices, at), size, nothing)]

    return generate(b, shape_of(indices), write)[0]


def _is_rewritten(r: Reverse, let: Let, op: Reduce | Scan) -> bool:
    """Whether it was rewritten: to a loop where rows are combined, else to arrays of rank 1."""
    if any(isinstance(param.type, ArrayType) for param in op.fn.params):
        r.run(as_loop(r.b, let, op))
    elif any(len(shape_of(x)) > 1 for x in op.xs):
        r.run(of_rank_one(r.b, let, op))
    else:
        return False
    return True
