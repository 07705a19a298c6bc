"""Both modes on a lambda, the rules of operators, and the table from operations to rules.

    derived = forward(b, fn, results, tangents)      the operations, and the tangents of results
    taped = reverse(b, fn)                           the operations; taped.back(b, cotangents)
    linear = linearized(b, fn, results)              the operations; linear.along(b, tangents)

    RULES[Map]      Rule(forward=map_forward, reverse=map_reverse)
    NONE["check"]   "It binds nothing."

Each operation has a rule in both modes, or a sentence says why not. Forward, an operator on values
becomes one on pairs of a value and its tangent, which is associative where the first one is. Where
tangents are combined without a look at the values, as sums are, they are combined in a separate
operation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

from flatweave.base.errors import Unsupported
from flatweave.base.records import record
from flatweave.gradients import bodies, control, custom, loops, moves
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
from flatweave.gradients.modes import (
    Back,
    Forward,
    Reverse,
    add_dependents,
    components,
    first_not_linear,
    is_active,
)
from flatweave.gradients.rewrites import as_loop, as_scan, as_segments, of_rank_one
from flatweave.gradients.values import (
    chosen,
    dtype_of,
    generate,
    live,
    read,
    read_inside,
    shape_of,
    tangent_type,
    zero,
)
from flatweave.ops import (
    Callback,
    CallKernel,
    Concat,
    Custom,
    Filter,
    Generate,
    Index,
    Map,
    Nest,
    Permute,
    Reduce,
    ReduceSegments,
    Reshape,
    Scan,
    Scatter,
    Sort,
    SortRows,
    Weave,
)
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var, constant
from flatweave.terms.traverse import Substitution, free_vars, needed_for


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


@record
class Rule:
    """What both modes do with an operation that reads something active."""

    forward: Callable[[Forward, Let, Any], None]
    reverse: Callable[[Reverse, Let, Any], Back | None]


RULES: MappingProxyType[type[Op], Rule] = MappingProxyType({
    Apply: Rule(moves.apply_forward, moves.apply_reverse),
    Cast: Rule(moves.cast_forward, moves.cast_reverse),
    Index: Rule(moves.index_forward, moves.index_reverse),
    Map: Rule(bodies.map_forward, bodies.map_reverse),
    Generate: Rule(bodies.generate_forward, bodies.generate_reverse),
    Nest: Rule(bodies.nest_forward, bodies.nest_reverse),
    Reduce: Rule(fold_forward, reduce_reverse),
    Scan: Rule(fold_forward, scan_reverse),
    ReduceSegments: Rule(fold_forward, segments_reverse),
    Permute: Rule(permute_forward, permute_reverse),
    Reshape: Rule(moves.reshape_forward, moves.reshape_reverse),
    Concat: Rule(moves.joined_forward, moves.concat_reverse),
    Weave: Rule(moves.joined_forward, moves.weave_reverse),
    Filter: Rule(moves.filter_forward, moves.filter_reverse),
    Sort: Rule(moves.sort_forward, moves.sort_reverse),
    SortRows: Rule(moves.sort_forward, moves.sort_reverse),
    Scatter: Rule(moves.scatter_forward, moves.scatter_reverse),
    Custom: Rule(custom.custom_forward, custom.custom_reverse),
    If: Rule(control.if_forward, control.if_reverse),
    For: Rule(control.loop_forward, loops.loop_reverse),
    While: Rule(control.loop_forward, loops.loop_reverse),
})  # fmt: skip

_INTEGERS = "It reads integers alone."
NONE: MappingProxyType[str, str] = MappingProxyType({
    "check": "It binds nothing.",
    "empty": "It reads extents alone.",
    "locate": _INTEGERS,
    "span": _INTEGERS,
    "suits": _INTEGERS,
    "by_row": "A pass makes it of a nest, after derivatives.",
    "pack_bits": "A pass makes it of a filter in rows, after derivatives.",
    "callback": "What a Python function computes is not known to the compiler.",
    "call_kernel": "What a kernel computes is not known to the compiler.",
})  # fmt: skip
"""Operations of traced programs that carry no derivative, and why."""


def rule_of(let: Let) -> Rule:
    """The rule of an operation that reads something active; Unsupported for one without."""
    op = let.op
    rule = RULES.get(type(op))
    if rule is None:
        is_foreign = isinstance(op, Callback | CallKernel)
        raise Unsupported(
            f"{op.name} has no derivative. {NONE.get(op.name, '')}".rstrip(),
            where=let.where,
            remedy="Call it in a function whose derivative fw.custom_vjp or fw.custom_jvp gives."
            if is_foreign else "Keep it away from what is differentiated.",
        )
    return rule


@record
class Derived:
    """Operations to emit, and the tangents or cotangents that they compute."""

    lets: tuple[Let, ...]
    atoms: list[Atom]


def forward(
    b: Builder, fn: Lambda, tangents: Sequence[Atom | None], results: Sequence[Atom]
) -> Derived:
    """The operations of a lambda with their tangents, given those of its parameters; None is zero.
    """
    f = Forward(_inner(b), rule_of)
    for param, tangent in zip(fn.params, tangents, strict=True):
        f.b.bind(param, None)
        f.set(param, tangent)
    f.run(fn.lets)
    found = [f.dense(atom) for atom in results]
    return Derived(tuple(f.b.lets), found)


@record
class Taped:
    """A lambda whose operations have been emitted, ready for its reverse."""

    lets: tuple[Let, ...]
    r: Reverse
    params: tuple[Var, ...]

    def is_linear(self, derived: Derived) -> bool:
        """Whether it is linear, and cotangents of the parameters do not depend on these."""
        active: set[Var] = set(self.params)
        if first_not_linear(self.lets, active) is not None:
            return False
        add_dependents(derived.lets, active)
        return not any(is_active(atom, active) for atom in derived.atoms)

    def back(self, b: Builder, seeds: Sequence[tuple[Atom, Atom]]) -> Derived:
        """The cotangents of the parameters, given those of some values."""
        inner = _inner(b)
        with self.r.emitting(inner):
            self.r.pull(seeds)
            found = [self.r.cotangent(param) for param in self.params]
        return Derived(live(inner.lets, found), found)


def reverse(b: Builder, fn: Lambda) -> Taped:
    """The operations of a lambda, all of whose parameters are active."""
    inner = _inner(b)
    r = Reverse(inner, rule_of, {param for param in fn.params if tangent_type(param.type)})
    r.bind(fn.params)
    r.run(fn.lets)
    return Taped(tuple(inner.lets), r, fn.params)


@record
class Linearized:
    """The operations of a lambda, and those that compute tangents of results given `tangents`."""

    lets: tuple[Let, ...]
    linear: tuple[Let, ...]
    tangents: tuple[Var, ...]
    results: list[Atom]

    def along(self, b: Builder, tangents: Sequence[Atom | None]) -> Derived:
        """The tangents of the results, given those of the parameters; None is zero."""
        inner = _inner(b)
        here = Substitution(fresh=lambda var, type_: b.var(var.name, type_))
        for param, tangent in zip(self.tangents, tangents, strict=True):
            here.mapping[param] = zero(inner, param.type) if tangent is None else tangent
        lets = (*inner.lets, *(here.let(let) for let in self.linear))
        found = [here.atom(atom) for atom in self.results]
        return Derived(live(lets, found), found)


def linearized(b: Builder, fn: Lambda, results: Sequence[Atom]) -> Linearized:
    """A lambda with its derivative. What depends on no tangent is computed with the lambda."""
    f = Forward(_inner(b), rule_of)
    for param in fn.params:
        f.b.bind(param, None)
    tangents = f.params(fn.params)
    f.run(fn.lets)
    found = [f.dense(atom) for atom in results]
    own = {var for let in fn.lets for var in let.vars}
    kept, moving = set(fn.lets), set(tangents)
    lets, linear = list(fn.lets), list[Let]()
    for let in f.b.lets:
        if let in kept:
            continue
        # results of the lambda that come with tangents are known from the lambda itself
        vars_ = tuple(b.var(var.name, var.type) if var in own else var for var in let.vars)
        depends = any(var in moving for var in free_vars(let.op))
        (linear if depends else lets).append(Let(vars_, let.op, let.where))
        moving.update(vars_ if depends else ())
    return Linearized(tuple(lets), tuple(linear), tuple(tangents), found)


def _inner(b: Builder) -> Builder:
    """A builder of operations that are moved to another one: all of them stay in it."""
    inner = b.inner()
    inner.hoists = False
    return inner
