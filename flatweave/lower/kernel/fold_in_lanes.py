"""The fold of one element, its steps spread over the lanes: whole steps, then one for the rest.

    for k in 0, 8, ..       state = fn state (body (k + lane))       each lane by itself
    if 8 n < extent         the same once more, lanes behind the end with the neutral element
    reduce_lanes fn state

If the operator does not commute, the lanes of each step are joined in their order, and the state is
one for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flatweave.base.dtypes import i64
from flatweave.kernel_ir.collectives import ReduceLanes
from flatweave.kernel_ir.syntax import Lane, Lanes
from flatweave.ops import Fold
from flatweave.passes.operators import is_commutative
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For, If
from flatweave.terms.syntax import Atom, Lambda


class Calls(Protocol):
    """What emits the program's functions into a kernel."""

    def atoms(self, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        """The kernel's atoms for the program's."""
        ...

    def apart(self, b: Builder, fn: Lambda, args: Sequence[Atom]) -> tuple[Atom, ...]:
        """The results of a function on kernel atoms, in a body of its own."""
        ...

    def function(self, b: Builder, fn: Lambda) -> Lambda:
        """A function as a lambda of the kernel IR."""
        ...


def fold_in_lanes(
    calls: Calls, b: Builder, op: Fold, extent: Atom, width: int
) -> tuple[Atom, ...]:
    """The results of a fold over `extent` elements, by so many lanes."""
    whole = b.mul(b.apply("floordiv", extent, index(width)), index(width))
    neutral, region = calls.atoms(op.neutral), b.inner()
    alone = is_commutative(op.fn)
    inside = region.inner()
    i = inside.param("i", i64)
    known = [inside.param("s", atom.type) for atom in neutral]
    values = calls.apart(inside, op.body, [inside.emit(Lane(i))[0]])
    body = inside.close([i, *known], _join(calls, inside, op, alone, known, values))
    state = region.emit(For(index(0), whole, index(width), body, neutral))
    rest, none = region.inner(), region.inner()
    left = rest.close([], _rest(calls, rest, op, alone, state, whole, extent))
    state = region.emit(If(region.apply("lt", whole, extent), left, none.close([], state)))
    if alone:
        state = region.emit(ReduceLanes(calls.function(region, op.fn), state))
    return b.emit(Lanes(width, region.close([], state)))


def _rest(
    calls: Calls, b: Builder, op: Fold, alone: bool, state: Sequence[Atom], whole: Atom,
    extent: Atom,
) -> Sequence[Atom]:
    """The state with one step from `whole` on, some of whose lanes are idle."""
    lane = b.emit(Lane(whole))[0]
    there, idle = b.inner(), b.inner()
    some = there.close([], calls.apart(there, op.body, [lane]))
    none = idle.close([], calls.atoms(op.neutral))
    values = b.emit(If(b.apply("lt", lane, extent), some, none))
    return _join(calls, b, op, alone, state, values)


def _join(
    calls: Calls, b: Builder, op: Fold, alone: bool, state: Sequence[Atom], values: Sequence[Atom]
) -> Sequence[Atom]:
    """The state with the values of one step: each lane alone, or all of them in order."""
    if not alone:
        values = b.emit(ReduceLanes(calls.function(b, op.fn), tuple(values)))
    return calls.apart(b, op.fn, [*state, *values])
