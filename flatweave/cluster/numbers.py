"""Arrays of numbers of rows, such as `iota`, that chunks make for themselves.

    n = sub m 4;  is = generate [n] (i => i);  ys = map (i => .. index xs [i + 4] ..) is

That n is an extent of chunks is known behind `is`, because of what `ys` reads; so a program is
gone through once more, with `is` in chunks, which otherwise would be an array of the client.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from flatweave.cluster.needs import reads_own_row
from flatweave.cluster.rules.rule import Rule
from flatweave.ops import Generate, Index, Map
from flatweave.passes.cost import cost_of_body
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Lambda, Let, Var
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in, walk_lets

CHEAP = 8
"""Up to this cost (`passes/cost.py`) an element is computed again; storing it, and reading it once
more, takes about as long as so many additions."""


class Placed(Protocol):
    """A program whose lets have their places."""

    @property
    def lets(self) -> Sequence[Let]:
        """All of them."""

    @property
    def split(self) -> Collection[Var]:
        """The arrays in chunks."""

    @property
    def spaces(self) -> Collection[Atom]:
        """The extents along which arrays are in chunks."""

    def space_of(self, let: Let) -> Atom | None:
        """The extent that a let goes over, row by row."""

    def rule(self, let: Let) -> Rule | None:
        """What chunks do of a let."""


def numbers_of_rows(placed: Placed, results: Collection[Atom]) -> frozenset[Var]:
    """The arrays of cheap numbers that were taken for whole, of an extent of chunks, which nothing
    reads but row by row."""
    found = frozenset[Var]()
    for let in placed.lets:
        op = let.op
        if isinstance(op, Generate) and op.shape[0] in placed.spaces and is_cheap(let):
            is_whole = not any(v in placed.split for v in (*let.vars, *free_vars(op)))
            if is_whole and len(op.shape) == 1 and isinstance(op.shape[0], Var):
                unread = (v for v in let.vars if v not in results)
                found |= {v for v in unread if _is_read_by_row(placed, v, op.shape[0])}
    return found


def _is_read_by_row(placed: Placed, var: Var, space: Atom) -> bool:
    """Whether only chunks of a space read an array, each its own rows."""
    for let in placed.lets:
        op = let.op
        if var not in free_vars(op):
            continue
        rule = placed.rule(let)
        row = op.fn.params[0] if isinstance(op, Generate) else None
        fed = op.xs if isinstance(op, Map) else rule.fed(op) if rule else ()
        inner = [v for fn in lambdas_in(op) for v in read_elsewhere(fn, row, space)]
        beside = [atom for atom in atoms_in(op) if atom not in fed]
        if placed.space_of(let) != space or var in inner or var in beside:
            return False
    return True


def read_elsewhere(fn: Lambda, row: Atom | None, space: Atom) -> Iterator[Var]:
    """The arrays that a function reads but at its own row; `row` is that one's number."""
    for let in fn.lets:
        op = let.op
        own = op.xs if isinstance(op, Index) and reads_own_row(op, row, space) else None
        yield from (x for x in atoms_in(op) if isinstance(x, Var) and x is not own)
        for inner in lambdas_in(op):
            yield from read_elsewhere(inner, row, space)


def is_cheap(let: Let) -> bool:
    """Whether computing a row's elements again takes less than keeping them."""
    fns = lambdas_in(let.op)
    plain = all(isinstance(each.op, Apply | Cast | Index) for fn in fns for each in walk_lets(fn))
    return isinstance(let.op, Map | Generate) and plain and sum(map(cost_of_body, fns)) <= CHEAP
