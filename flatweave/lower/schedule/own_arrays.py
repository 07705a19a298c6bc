"""Arrays that one sweep alone reads and that cost little: it may compute them where it reads them.

    re: f32[n], im: f32[n] = sweep [n] (i => index xs [i, 0], neg (index xs [i, 1])) [store, store]
    ==>
    own_arrays(b, [re, im])     re: sweep [n] (i => index xs [i, 0]) [store], im: ..
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeGuard

from flatweave.ops import HOST_BODIES, Index, Sweep
from flatweave.passes.cost import STORING, cost_of_body
from flatweave.passes.fusion.sharing import is_pull
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Lambda, Op, Var
from flatweave.terms.traverse import free_vars, lambdas_in, needed_for


def own_arrays(b: Builder, arrays: Iterable[Atom]) -> dict[Var, Sweep]:
    """Of arrays that have one reader those that cost little, each with its sweep. If a sweep stores
    several, all of them must be among these."""
    only = {x for x in arrays if isinstance(x, Var) and isinstance(b.own.get(x), Sweep)}
    found: dict[Var, Sweep] = {}
    for maker in b.lets if only else ():
        if _is_cheap(maker.op) and only.issuperset(maker.vars):
            found.update(zip(maker.vars, _each(maker.op), strict=True))
    return found


def readers(fn: Lambda) -> Counter[Var]:
    """How many operations of host bodies read each array."""
    found: Counter[Var] = Counter(atom for atom in fn.results if isinstance(atom, Var))
    for let in fn.lets:
        found.update(list(free_vars(let.op)))
        if isinstance(let.op, HOST_BODIES):
            for inner in lambdas_in(let.op):
                found.update(readers(inner))
    return found


def _is_cheap(op: Op | None) -> TypeGuard[Sweep]:
    """Whether a sweep only stores arrays, each element of a little scalar work and reads."""
    if not isinstance(op, Sweep) or not is_pull(op):
        return False
    plain = all(isinstance(let.op, Apply | Cast | Index) for let in op.body.lets)
    effects = any(let.op.effect for let in op.body.lets)
    return plain and not effects and cost_of_body(op.body) <= STORING


def _each(op: Sweep) -> Iterator[Sweep]:
    """A sweep that only stores, once for each of its arrays."""
    params, lets = op.body.params, op.body.lets
    for result, sink in zip(op.body.results, op.sinks, strict=True):
        needed = needed_for(lets, [result] if isinstance(result, Var) else [])
        yield Sweep(op.shape, Lambda(params, needed, (result,)), (sink,))
