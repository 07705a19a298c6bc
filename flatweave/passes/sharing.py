"""Which arrays are computed where they are read, and which are stored: the choice behind `fuse`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flatweave.array_ir.syntax import Program
from flatweave.ops import Fold, Index, Prefix, Store, Sweep
from flatweave.passes.cost import INNER_LOOP, cost_of_body, cost_of_result, reads_memory
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import atoms_in, lambdas_in, needed_for

STORING = 24
"""What storing an element and reading it again costs, in units of one addition."""


@dataclass
class Uses:
    """How an array is read: element reads, weighted by loops, and uses as a whole."""

    reads: int = 0
    whole: int = 0
    elsewhere: bool = False
    identity: bool = True


def choose_pulls(program: Program) -> dict[Var, int]:
    """The arrays that need not be stored, each with its position among its sweep's results."""
    uses: dict[Var, Uses] = {}
    _count(program.fn, uses, None, 1)
    chosen: dict[Var, int] = {}
    for fn in _host_bodies(program.fn):
        home = {var for let in fn.lets for var in let.vars}
        for let in fn.lets:
            if not isinstance(let.op, Sweep):
                continue
            alone = is_pull(let.op)
            for var, k in _stored(let, let.op):
                if var not in uses:
                    continue
                if _pays(let.op, k, uses[var], var in home) if alone else _is_free(let.op, k):
                    chosen[var] = k
    return chosen


def _stored(let: Let, op: Sweep) -> Iterator[tuple[Var, int]]:
    """Each array that a sweep stores, and which of the body's results it is."""
    position = 0
    for sink, vars_ in zip(op.sinks, op.binders_by_sink(let.vars), strict=True):
        if isinstance(sink, Store):
            yield vars_[0], position
        position += sink.arity


def _is_free(op: Sweep, position: int) -> bool:
    """Whether a result, an iota for instance, costs next to nothing and reads nothing."""
    needed = Lambda(op.body.params, needed_for(op.body.lets, op.body.results[position:][:1]), ())
    return cost_of_body(needed) <= STORING // 8 and not reads_memory(needed)


def _host_bodies(fn: Lambda) -> list[Lambda]:
    """The lambda and all bodies of host control inside it."""
    bodies = [fn]
    for let in fn.lets:
        if isinstance(let.op, If | While | For):
            for inner in lambdas_in(let.op):
                bodies.extend(_host_bodies(inner))
    return bodies


def is_pull(op: Sweep) -> bool:
    """Whether a sweep does nothing but store elements that do not depend on one another."""
    stores = all(isinstance(sink, Store) for sink in op.sinks)
    return stores and not any(isinstance(let.op, Prefix) for let in op.body.lets)


def _pays(producer: Sweep, position: int, uses: Uses, same_body: bool) -> bool:
    """See Note [What a read may cost]."""
    cost = cost_of_result(producer.body, position)
    if uses.whole:
        return uses.reads > 0 and _is_free(producer, position)
    if uses.elsewhere and cost > STORING // 4:
        return False
    if uses.reads == 1 and uses.identity:
        return True
    return (uses.reads - 1) * cost <= STORING and (uses.identity or cost <= STORING)


def _count(
    fn: Lambda, uses: dict[Var, Uses], sweep: Sweep | None, weight: int,
    space: tuple[tuple[Var, Atom], ...] = (),
) -> None:  # fmt: skip
    """Count how each array is used below `fn`; `sweep` is the sweep whose body this is.

    `space` are the indices of the sweep and of the folds around, each with its extent: a read that
    uses every one of them once, on an array of those extents, visits each element once.
    """
    for let in fn.lets:
        match let.op:
            case Index(xs=Var() as xs, indices=indices):
                use = uses.setdefault(xs, Uses())
                once = _visits_once(xs, indices, space)
                use.reads += 1 if once else weight
                use.elsewhere |= sweep is None
                use.identity &= once
            case Sweep(shape=shape, body=body):
                for atom in atoms_in((shape, let.op.sinks)):
                    _whole(uses, atom)
                _count(body, uses, let.op, 1, tuple(zip(body.params, shape, strict=True)))
            case _:
                _count_other(let.op, uses, sweep, weight, space)
    for atom in fn.results:
        if sweep is None or atom not in sweep.body.results:
            _whole(uses, atom)


def _count_other(
    op: Op, uses: dict[Var, Uses], sweep: Sweep | None, weight: int,
    space: tuple[tuple[Var, Atom], ...],
) -> None:  # fmt: skip
    for atom in atoms_in(op):
        _whole(uses, atom)
    loop = INNER_LOOP if isinstance(op, Fold | While | For) and sweep is not None else 1
    for inner in lambdas_in(op):
        within = space
        if isinstance(op, Fold) and inner is op.body:
            within = (*space, (inner.params[0], op.extent))
        _count(inner, uses, sweep, weight * loop, within)


def _whole(uses: dict[Var, Uses], atom: Atom) -> None:
    if isinstance(atom, Var):
        uses.setdefault(atom, Uses()).whole += 1


def _visits_once(
    xs: Var, indices: Sequence[Atom], space: Sequence[tuple[Var, Atom]]
) -> bool:
    """Whether the reads at `indices` over the whole space touch each element at most once."""
    extents = dict(space)
    shape = getattr(xs.type, "shape", ())
    if len(indices) != len(space) or set(indices) != set(extents):
        return False
    return all(extents[i] == e for i, e in zip(indices, shape, strict=True) if isinstance(i, Var))


def explain(program: Program) -> list[str]:
    """For each producer that is read more than once or stays stored: what was chosen, and why."""
    uses: dict[Var, Uses] = {}
    _count(program.fn, uses, None, 1)
    chosen = choose_pulls(program)
    lines = []
    for fn in _host_bodies(program.fn):
        for let in fn.lets:
            if not isinstance(let.op, Sweep) or not is_pull(let.op):
                continue
            for k, var in enumerate(let.vars):
                if var in uses:
                    cost = cost_of_result(let.op.body, k)
                    lines.append(_reason(var, uses[var], cost, var in chosen))
    return [line for line in lines if line]


def _reason(var: Var, use: Uses, cost: int, pulled: bool) -> str:
    if not use.reads or (pulled and use.reads == 1):
        return ""
    if pulled:
        return f"{var}: computed at each of {use.reads} reads (cost {cost}) rather than stored"
    why = "needed whole" if use.whole else f"{use.reads} reads at cost {cost} would cost more"
    if use.elsewhere and not use.whole:
        why = "also read on the host or in a loop"
    return f"{var}: stored, {why}"


# Note [What a read may cost]
#
# An element that is stored and read again costs about as much as two dozen additions. Computing it
# anew at r reads instead of one costs (r - 1) times its body. A single read in the same position
# never costs more. A read inside a loop of an element function counts INNER_LOOP times. An array
# that must be stored anyway (a result, a destination) is computed again only if it is almost free
# and reads no memory, as an iota is.
