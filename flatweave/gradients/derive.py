"""Both modes on a lambda, and the table from operations to rules.

    derived = forward(b, fn, results, tangents)      the operations, and the tangents of results
    taped = reverse(b, fn)                           the operations; taped.back(b, cotangents)
    linear = linearized(b, fn, results)              the operations; linear.along(b, tangents)

    RULES[Map]      Rule(forward=map_forward, reverse=map_reverse)
    NONE["check"]   "It binds nothing."

Each operation has a rule in both modes, or a sentence says why not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

from flatweave.base.errors import Unsupported
from flatweave.base.records import record
from flatweave.gradients import bodies, control, custom, folds, loops, moves
from flatweave.gradients.activity import first_not_linear, is_active, spread
from flatweave.gradients.modes import Back, Forward, Reverse
from flatweave.gradients.values import live, tangent_type, zero
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
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import Substitution, free_vars


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
    Reduce: Rule(folds.fold_forward, folds.reduce_reverse),
    Scan: Rule(folds.fold_forward, folds.scan_reverse),
    ReduceSegments: Rule(folds.fold_forward, folds.segments_reverse),
    Permute: Rule(folds.permute_forward, folds.permute_reverse),
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
        spread(derived.lets, active)
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
