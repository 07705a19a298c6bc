"""Branches, loops and calls of Python functions in every row.

    i => if p (then i) (other i)      ys = nest over the rows where p holds; zs = over the others
                                      i => if p ys[how many before i hold] zs[how many do not]

    i => for lo hi f s       where all rows have the same range: one loop over all rows

    i => while c body s      left = all rows
                             while there are any left:
                                 those for which c does not hold any more give their state back
                                 the others run an iteration, and are left

Flat arrays hold the state of the rows that are left. A row's final state is written to the results;
rows of varying lengths are appended in the order in which they finish. A Python function is called
for all rows by one step of the host, by the method that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.ops import Argument, Callback, Filter, Index, Returned, Scan
from flatweave.passes.nests.distribute import distribute, rule
from flatweave.passes.nests.hard import is_array
from flatweave.passes.nests.loop_state import Slot, slots_of
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.segments import array_of, at, each
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Var, array_type, scalar_type
from flatweave.terms.traverse import Substitution, free_vars

Numbers = Callable[[Builder, Atom], Atom]
"""The number of a row, given its position in a subset."""


def where(b: Builder, extent: Atom, holds: Callable[[Builder, Atom], Atom]) -> tuple[Atom, Atom]:
    """How many, and which, indices below an extent a condition holds for."""
    mask = each(b, extent, holds)
    numbers = each(b, extent, lambda inside, i: i)
    count, found = b.emit(Filter(mask, (numbers,)))
    return count, found


def over_some(
    rows: Rows, b: Builder, count: Atom, number: Numbers, fn: Lambda,
    args: Callable[[Builder, Atom, Substitution], Sequence[Atom]] = lambda inside, k, renaming: (),
) -> tuple[Rows, list[Atom]]:
    """A function inside the rows' function, for `count` of the rows, distributed in `b`.

    `number` maps a position among these to a row; `args` gives the function's arguments there.
    The function does not run for other rows.
    """
    rows.settle_checks()
    inside = b.inner()
    k = inside.param("k", i64, count)
    row = inside.unravel(number(inside, k), rows.shape)
    renaming = rows.inlined(inside, row, free_vars(fn))
    results = inside.inline(fn, args(inside, k, renaming), renaming)
    return distribute(b, (count,), inside.close([k], results), optional=True)


Read = Callable[..., Atom]
"""Emits a read, given a builder, a row's position among the rows of a body, and indices."""


@record(eq=True)
class Side:
    """The results of one body for its rows, and the position of the current row among them."""

    rows: Rows
    results: list[Atom]
    place: Atom


@rule(If)
def lift_branch(rows: Rows, op: If) -> Sequence[Atom]:
    """Both bodies, each over its own rows; each row reads what its body gave."""
    rows.settle([op.condition, *free_vars(op.then), *free_vars(op.other)])
    (mask,) = rows.column([op.condition])
    condition = rows.scalar(mask)
    before = _counted_before(rows, mask)
    own = rows.body.emit(Index(before, (rows.row,), checked=False))[0]
    sides = [
        _side(rows, op.then, lambda b, i: at(b, mask, i), own),
        _side(rows, op.other, lambda b, i: b.apply("not", at(b, mask, i)),
              rows.body.sub(rows.row, own)),
    ]  # fmt: skip
    bound: list[Atom] = []
    made = {var for let in op.then.lets for var in let.vars}
    for k, result in enumerate(op.then.results):
        if is_array(result):
            shape = bound[len(bound) - array_type(result).rank :]
            bound.append(_array(rows, condition, sides, k, shape))
        elif result == op.other.results[k] and result not in made:
            bound.append(result)
        else:
            bound.append(_scalar(rows, condition, sides, k))
    return bound


def _side(rows: Rows, fn: Lambda, holds: Callable[[Builder, Atom], Atom], place: Atom) -> Side:
    count, numbers = where(rows.b, rows.count, holds)
    some, results = over_some(rows, rows.b, count, lambda b, k: at(b, numbers, k), fn)
    return Side(some, results, place)


def _counted_before(rows: Rows, mask: Atom) -> Atom:
    """For each row how many rows before it have the flag."""
    ones = each(rows.b, rows.count, lambda b, i: b.cast(at(b, mask, i), i64))
    op = Scan(lambda_of("add", i64), (index(0),), (ones,), exclusive=True)
    return rows.b.emit(op)[0]


def _scalar(rows: Rows, condition: Atom, sides: Sequence[Side], k: int) -> Atom:
    columns = [side.rows.column([side.results[k]])[0] for side in sides]
    return _chosen(rows.body, condition, sides, [_from(column) for column in columns])


def _from(column: Atom) -> Read:
    return lambda b, row: at(b, column, row)


def _chosen(
    b: Builder, condition: Atom, sides: Sequence[Side], reads: Sequence[Read], *place: Atom
) -> Atom:
    """The results of the body that the row chose; of arrays the element at `place`."""
    bodies = []
    for side, read in zip(sides, reads, strict=True):
        inside = b.inner(optional=True)
        bodies.append(inside.close([], [read(inside, side.place, *place)]))
    return b.emit(If(condition, *bodies))[0]


def _array(
    rows: Rows, condition: Atom, sides: Sequence[Side], k: int, shape: Sequence[Atom]
) -> Atom:
    def value(b: Builder, place: Sequence[Atom]) -> Atom:
        return _chosen(b, condition, sides, reads, *place)

    reads = [_reader(side, k) for side in sides]
    return array_of(rows.body, shape, value, hint="row")


def _reader(side: Side, k: int) -> Read:
    """Reads an element of a body's result for the row at some position among its rows."""
    result = side.results[k]
    (flat,) = side.rows.flat([result])
    own = array_type(result).shape
    lead = side.rows.lead(own)
    columns = [side.rows.column([extent])[0] for extent in own[:lead]]

    def read(b: Builder, row: Atom, *place: Atom) -> Atom:
        if flat.segments is None:
            return at(b, flat.array, row, *place)
        start = flat.segments.span(b, row)[0]
        extents = [at(b, column, row) for column in columns]
        return at(b, flat.array, b.add(start, b.ravel(place[:lead], extents)), *place[lead:])

    return read


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


def _state_of(
    slots: Sequence[Slot], state: Sequence[Sequence[Var]], c: Builder, k: Atom,
    renaming: Substitution,
) -> list[Atom]:  # fmt: skip
    """The state of one row."""
    found: list[Atom] = []
    for slot, group in zip(slots, state, strict=True):
        found.append(slot.read(c, group, k, found, renaming))
    return found


def _entered(slots: Sequence[Slot], rows: Rows, values: Sequence[Atom]) -> list[Atom]:
    """The state of all rows, as it enters an iteration."""
    pairs = zip(slots, values, strict=True)
    return [atom for slot, value in pairs for atom in slot.entered(rows, value)]


def _host_loop(rows: Rows, op: While, slots: Sequence[Slot], init: Sequence[Atom]) -> list[Atom]:
    b = rows.b
    turn = b.inner(optional=True)
    count = turn.param("left", i64)
    numbers = turn.param("rows", ArrayType(i64, (count,)))
    state = [slot.bind(turn, count) for slot in slots]
    results = [slot.bind_results(turn, rows.count) for slot in slots]
    params = [count, numbers, *(v for group in (*state, *results) for v in group)]

    own = partial(_state_of, slots, state)
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
    numbers_after = each(turn, left, lambda c, q: at(c, numbers, at(c, stays, q)))
    body = turn.close(params, [left, numbers_after, *_entered(slots, going, after), *given])
    test = b.inner()
    left, *rest = test.params_like(params, Substitution())
    any_left = test.close([left, *rest], [test.apply("gt", left, index(0))])
    return list(b.emit(While(any_left, body, tuple(init))))


@rule(For)
def lift_for(rows: Rows, op: For) -> Sequence[Atom]:
    """A loop over a range: if that may be another one for every row, as a while loop."""
    if not any(map(rows.varies, (op.lo, op.hi, op.step))):
        return _in_step(rows, op)
    dtype = scalar_type(op.lo)
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
    init = _entered(slots, rows, op.init)
    turn = b.inner(optional=True)
    i = turn.params_like([index_], Substitution())[0]
    state = [slot.bind(turn, rows.count) for slot in slots]
    going, results = over_some(
        rows, turn, rows.count, lambda c, k: k, op.body,
        lambda c, k, renaming: [i, *_state_of(slots, state, c, k, renaming)],
    )  # fmt: skip
    params = [i, *(var for group in state for var in group)]
    body = turn.close(params, _entered(slots, going, results))
    any_rows = b.apply("gt", rows.count, index(0))
    stop = b.apply("select", any_rows, op.hi, op.lo)
    made = list(b.emit(For(op.lo, stop, op.step, body, tuple(init))))
    bound: list[Atom] = []
    for slot, group in zip(slots, state, strict=True):
        bound.append(slot.kept(rows, made[: len(group)], bound))
        made = made[len(group) :]
    return bound


@rule(Callback)
def lift_callback(rows: Rows, op: Callback) -> Sequence[Atom]:
    """callback fn [x]   ==>   callback fn rows [xs], the rows of each operand one after another"""
    rows.settle_checks()
    varying = [extent for extent in op.extents() if rows.varies(extent)]
    columns = dict(zip(varying, rows.column(varying), strict=True)) if varying else {}

    def extents(shape: Sequence[Atom]) -> tuple[Atom, ...]:
        return tuple(columns.get(extent, extent) for extent in shape)

    operands = tuple(
        Argument(_value(rows, each.value), extents(each.shape), each.seen, True)
        if rows.varies(each.value) else each
        for each in op.operands
    )  # fmt: skip
    segments = [rows.segments(each.shape) for each in op.results]
    results = tuple(
        Returned(each.dtype, extents(each.shape), each.seen, (cut.total,))
        for each, cut in zip(op.results, segments, strict=True)
    )
    number = tuple(rows.column(op.row)) if all(map(rows.varies, op.row)) else ()
    found = rows.b.emit(Callback(op.fn, op.method, (rows.count,), operands, results, number))
    return [
        rows.bind_line(cut, array, each.shape) if each.shape else rows.scalar(array)
        for array, each, cut in zip(found, op.results, segments, strict=True)
    ]


def _value(rows: Rows, value: Atom) -> Atom:
    """An operand for all rows under one axis."""
    if isinstance(value.type, ArrayType):
        return rows.line([value])[1][0]
    return rows.column([value])[0]
