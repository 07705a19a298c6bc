"""What several passes ask of a sweep."""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.ops import Index, Prefix, Sweep
from flatweave.passes.operators import is_commutative
from flatweave.terms.build import Names
from flatweave.terms.syntax import Atom, Lambda, Let, Var
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in, walk_lets

STREAMS = 20
"""One sweep may read and write this many arrays."""


def is_ordered(op: Sweep) -> bool:
    """Whether the direction of the sweep shows in its results."""
    reductions = filter(None, (sink.reduction() for sink in op.sinks))
    return (
        any(isinstance(let.op, Prefix) for let in op.body.lets)
        or any(sink.forward or sink.filters for sink in op.sinks)
        or not all(map(is_commutative, reductions))
    )


def read_elsewhere(op: Sweep) -> set[Var]:
    """The variables with a use other than a read at the sweep's own position."""
    found = set(free_vars(op.sinks))
    for let in walk_lets(op.body):
        if isinstance(let.op, Index) and let.op.indices == op.body.params:
            continue
        found.update(value for value in let.op.values() if isinstance(value, Var))
    return found


def stored_by(let: Let) -> dict[Var, Atom]:
    """Each array that a sweep stores, with the result of the body that it stores; arrays at a
    barrier are not among them."""
    assert isinstance(let.op, Sweep)
    groups = let.op.binders_by_sink(let.vars)
    parts = zip(let.op.sinks, groups, let.op.portions(), strict=True)
    return {group[0]: taken[0] for sink, group, taken in parts if sink.is_open}


def atoms_used(fn: Lambda) -> Iterator[Atom]:
    """The atoms named in a function and in those inside it; extents in types are not included."""
    for let in fn.lets:
        yield from atoms_in(let.op)
        for inner in lambdas_in(let.op):
            yield from atoms_used(inner)
    yield from fn.results


class LocalNames(Names):
    """Names for a body that is part of a program whose names are not known here."""

    mark = "m"
