"""A loop in every row: iterations over the rows that are not finished, until all are.

    i => for lo hi f s       where all rows have the same range: one loop over all rows

    i => while c body s      left = all rows
                             while there are any left:
                                 those for which c does not hold any more give their state back
                                 the others run an iteration, and are left

Flat arrays hold the state of the rows that are left. A row's final state is written to the results;
rows of varying lengths are appended in the order in which they finish.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.passes.nests.arrays import at, each
from flatweave.passes.nests.distribute import rule
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.rules.state import Slot, slots_of
from flatweave.passes.nests.rules.subset import over_some, where
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For, While
from flatweave.terms.syntax import ArrayType, Atom
from flatweave.terms.traverse import Substitution, free_vars


@rule(While)
def lift_while(rows: Rows, op: While) -> Sequence[Atom]:
    """One loop of the host in place of a loop in every row."""
    rows.settle([*free_vars(op.condition), *free_vars(op.body)])
    slots = slots_of(rows, op.body.params)
    state = [rows.count, each(rows.b, rows.count, lambda b, i: i)]
    for slot, init in zip(slots, op.init, strict=True):
        state += slot.entered(rows, init)
    given = [atom for slot in slots for atom in slot.results_before(rows.b, rows.count)]
    made = _host_loop(rows, op, slots, [*state, *given])
    left = made[len(state) :]
    bound: list[Atom] = []
    for slot in slots:
        own, left = left[: slot.result_width], left[slot.result_width :]
        bound.append(slot.left(rows, own, bound))
    return bound


def _host_loop(rows: Rows, op: While, slots: Sequence[Slot], init: Sequence[Atom]) -> list[Atom]:
    b = rows.b
    turn = b.inner(optional=True)
    count = turn.param("left", i64)
    numbers = turn.param("rows", ArrayType(i64, (count,)))
    state = [slot.bind(turn, count) for slot in slots]
    results = [slot.bind_results(turn, rows.count) for slot in slots]
    params = [count, numbers, *(v for group in (*state, *results) for v in group)]

    def own(c: Builder, k: Atom, renaming: Substitution) -> list[Atom]:
        found: list[Atom] = []
        for slot, group in zip(slots, state, strict=True):
            found.append(slot.read(c, group, k, found, renaming))
        return found

    some, (holds,) = over_some(
        rows, turn, count, lambda c, k: at(c, numbers, k), op.condition, own
    )
    (mask,) = some.column([holds])
    done, gone = where(turn, count, lambda c, k: c.apply("not", at(c, mask, k)))
    left, stays = where(turn, count, lambda c, k: at(c, mask, k))
    given: list[Atom] = []
    for slot, group, result in zip(slots, state, results, strict=True):
        given += slot.give(turn, group, result, done, gone, numbers)
    going, after = over_some(
        rows, turn, left, lambda c, q: at(c, numbers, at(c, stays, q)), op.body,
        lambda c, q, renaming: own(c, at(c, stays, q), renaming),
    )  # fmt: skip
    state_after = [left, each(turn, left, lambda c, q: at(c, numbers, at(c, stays, q)))]
    for slot, value in zip(slots, after, strict=True):
        state_after += slot.entered(going, value)
    body = turn.close(params, [*state_after, *given])
    test = b.inner()
    left, *rest = test.params_like(params, Substitution())
    any_left = test.close([left, *rest], [test.apply("gt", left, index(0))])
    return list(b.emit(While(any_left, body, tuple(init))))


@rule(For)
def lift_for(rows: Rows, op: For) -> Sequence[Atom]:
    """A loop over a range: if that may be another one for every row, as a while loop."""
    if not any(map(rows.varies, (op.lo, op.hi, op.step))):
        return _in_step(rows, op)
    dtype = op.lo.type
    assert isinstance(dtype, DType)
    b = rows.body
    test = b.inner()
    counter = test.param("i", dtype)
    rest = test.params_like(op.body.params[1:], Substitution())
    condition = test.close([counter, *rest], [test.apply("lt", counter, op.hi)])
    turn = b.inner(optional=True)
    i = turn.param("i", dtype)
    state = turn.params_like(op.body.params[1:], Substitution())
    after = turn.inline(op.body, [i, *state])
    body = turn.close([i, *state], [turn.apply("add", i, op.step), *after])
    return lift_while(rows, While(condition, body, (op.lo, *op.init)))[1:]


def _in_step(rows: Rows, op: For) -> Sequence[Atom]:
    """A loop over a range that all rows share: its index stays a scalar, and all rows finish in
    the same iteration. Without rows there are no iterations."""
    rows.settle(free_vars(op.body))
    b, (index_, *params) = rows.b, op.body.params
    slots = slots_of(rows, params)
    init = [
        atom for slot, value in zip(slots, op.init, strict=True)
        for atom in slot.entered(rows, value)
    ]  # fmt: skip
    turn = b.inner(optional=True)
    i = turn.params_like([index_], Substitution())[0]
    state = [slot.bind(turn, rows.count) for slot in slots]

    def own(c: Builder, k: Atom, renaming: Substitution) -> list[Atom]:
        found: list[Atom] = []
        for slot, group in zip(slots, state, strict=True):
            found.append(slot.read(c, group, k, found, renaming))
        return [i, *found]

    going, results = over_some(rows, turn, rows.count, lambda c, k: k, op.body, own)
    after = [
        atom for slot, value in zip(slots, results, strict=True)
        for atom in slot.entered(going, value)
    ]  # fmt: skip
    body = turn.close([i, *(var for group in state for var in group)], after)
    any_rows = b.apply("gt", rows.count, index(0))
    stop = b.apply("select", any_rows, op.hi, op.lo)
    made = list(b.emit(For(op.lo, stop, op.step, body, tuple(init))))
    bound: list[Atom] = []
    for slot, group in zip(slots, state, strict=True):
        bound.append(slot.kept(rows, made[: len(group)], bound))
        made = made[len(group) :]
    return bound
