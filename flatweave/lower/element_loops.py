"""Loops of an element function: those that end where a check fails, and folds by all lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flatweave.algorithms.loops import long_fold
from flatweave.base.dtypes import BY_NAME, bool_, i32, i64, u8
from flatweave.base.records import record, replace
from flatweave.kernel_ir.syntax import Lane, Lanes, Report
from flatweave.kernel_ir.warp_ops import ReduceLanes
from flatweave.lower.machine import Machine
from flatweave.lower.schedule.scan_levels import ScanRecord, in_bytes
from flatweave.lower.traverse.blocked_argmax import Stretches, stretches_of
from flatweave.ops import Fold
from flatweave.passes.nests.hard import may_fail
from flatweave.passes.operators import is_commutative, place_of
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import Apply, For, If, While
from flatweave.terms.operators import cast_each, choose_by_values, component_functions, put, without
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var, constant, scalar_type
from flatweave.terms.traverse import Substitution, lambdas_in, makers, walk_lets

# -- Loops that end where a check in them fails, as their exit condition may never hold then -------
#
#     while [s] (s => holds) (s => .. if outside (report ..) ..; t)
#     ==>
#     while [s, false] (s, failed => holds and not failed) (s, failed => .. ..; t, outside)
#
# After a report alone, evaluation of its element continues with another index. A condition with
# checks is evaluated before the loop and at the end of each iteration, so its failures are known.


FALSE, TRUE = Const(False, bool_), Const(True, bool_)
Found = tuple[tuple[Atom, ...], Atom]
"""The results of some code, and whether a check in it failed."""


class FailingLoops:
    """Emits the loops of a kernel; `_flags` are results that say whether a check failed."""

    def __init__(self) -> None:
        self._flags: set[Var] = set()

    def emit(self, b: Builder, loop: While) -> tuple[Atom, ...]:
        """A loop whose functions are written."""
        init, size = tuple(loop.init), len(loop.init)
        test, turn = b.inner(), b.inner()
        if self._fails(loop.condition):
            (holds,), failed = self._run(b, loop.condition, init)
            init = (*init, holds)
            state = [test.param("s", atom.type) for atom in (*init, FALSE)]
            holds = state[-2]
        elif self._fails(loop.body):
            failed = FALSE
            state = [test.param("s", atom.type) for atom in (*init, FALSE)]
            (holds,) = test.inline(loop.condition, state[:size])
        else:
            return b.emit(loop)
        on = test.apply("and", holds, test.apply("not", state[-1]))
        condition = test.close(state, [on])
        state = [turn.param("s", atom.type) for atom in (*init, FALSE)]
        after, fails = self._run(turn, loop.body, state[:size])
        if len(init) > size:
            again, fails_again = self._run(turn, loop.condition, after)
            after, fails = (*after, *again), turn.apply("or", fails, fails_again)
        body = turn.close(state, [*after, fails])
        found = b.emit(While(condition, body, (*init, failed), loop.through_memory))
        self._flags.add(found[-1])
        return found[:size]

    def _fails(self, fn: Lambda) -> bool:
        """Whether there are checks in a function."""
        return any(self._may_fail(let) for let in fn.lets)

    def _may_fail(self, let: Let) -> bool:
        if isinstance(let.op, Report) or not self._flags.isdisjoint(let.vars):
            return True
        return isinstance(let.op, If | For) and any(map(self._fails, lambdas_in(let.op)))

    def _run(
        self, b: Builder, fn: Lambda, args: Sequence[Atom], around: Substitution | None = None
    ) -> Found:
        """A function's code here."""
        renaming = b.inlining(fn, args)
        if around is not None:
            renaming.mapping = {**around.mapping, **renaming.mapping}
        fails: Atom = FALSE
        for let in fn.lets:
            if not self._may_fail(let) or isinstance(let.op, Report | While):
                b.inline_let(let, renaming)
                flag: Atom = TRUE if isinstance(let.op, Report) else FALSE
                for var in self._flags.intersection(let.vars):
                    flag = renaming.atom(var)
                    assert isinstance(flag, Var)
                    self._flags.add(flag)
            else:
                found, flag = self._control(b, let.op, renaming)
                renaming.mapping.update(zip(let.vars, found, strict=False))
            fails = b.apply("or", fails, flag)
        return tuple(renaming.atom(atom) for atom in fn.results), fails

    def _control(self, b: Builder, op: Op, around: Substitution) -> Found:
        """A branch or a counted loop with checks in it, whose flag is one result more."""
        if isinstance(op, If):
            condition, ways = around.atom(op.condition), []
            flags: list[Atom] = []
            for fn in (op.then, op.other):
                inside = b.inner()
                results, flag = self._run(inside, fn, (), around)
                flags.append(flag)
                ways.append((inside, results))
            if flags == [TRUE, FALSE]:  # a check: the flag is what it asks
                found = b.emit(If(condition, *(c.close([], results) for c, results in ways)))
                return found, condition
            closed = [c.close([], [*r, f]) for (c, r), f in zip(ways, flags, strict=True)]
            found = b.emit(If(condition, *closed))
            return found[:-1], found[-1]
        assert isinstance(op, For)
        lo, hi, step, *init = map(around.atom, (op.lo, op.hi, op.step, *op.init))
        inside = b.inner()
        params = [inside.param(param.name, param.type) for param in op.body.params]
        before = inside.param("failed", bool_)
        results, flag = self._run(inside, op.body, params, around)
        body = inside.close([*params, before], [*results, inside.apply("or", before, flag)])
        found = b.emit(For(lo, hi, step, body, (*init, FALSE)))
        return found[:-1], found[-1]


def fold_in_bytes(op: Fold) -> Fold:
    """The fold with the flags that it combines carried as bytes."""
    wide = in_bytes(ScanRecord(op.fn, op.neutral, ())).wide
    if wide is None:
        return op
    types = wide.fn.result_types()
    body = Builder().function([i64], lambda b, k: cast_each(b, b.inline(op.body, [k]), types))
    return replace(op, body=body, fn=wide.fn, neutral=wide.neutral)


# -- A fold in order whose operator chooses an element, a component of which is its position -------
#
#     for each chunk of the fold               chosen = 0
#         for k in first, first + 1, ..        vals, later = fn (vals, 0) (body k, 1)
#                                              chosen = select later (k - first + 1) chosen
#         position = first + chosen - 1        if chosen > 0
#
# Later elements have later positions, so 0 and 1 are enough to compare two. The state begins with
# the neutral element's values at position 0: Note [The chunk that is found] in blocked_argmax.py.
# Numbers are as wide as the values, so that masks of values select them as they are; a chunk has as
# many elements as they count. There is one chunk where folds of lanes differ in length.


@record
class Placed:
    """The component that is the position, and what is added to the fold's own to give it."""

    component: int
    offset: Atom = index(0)


def place_in_order(op: Fold) -> Placed | None:
    """How a fold gives the position of an element, if its operator chooses by the other components,
    then by it."""
    (position,) = op.body.params
    own = {position, *(var for let in op.body.lets for var in let.vars)}
    offsets: dict[Atom, Atom] = {position: index(0)}
    for let in op.body.lets:
        if isinstance(let.op, Apply) and let.op.fn == "add" and position in let.op.args:
            others = [arg for arg in let.op.args if arg not in own]
            offsets.update((var, other) for var in let.vars for other in others)
    found = place_of(op.fn, op.body.results, lambda atom: atom in offsets)
    return found and Placed(found[0], offsets[op.body.results[found[0]]])


def fold_in_order(
    calls: Calls, b: Builder, op: Fold, placed: Placed, extent: Atom, *, even: bool
) -> list[Atom]:
    """The fold over `extent` elements; `even` if it is as long in all lanes."""
    neutral, place = calls.atoms(op.neutral), placed.component
    values, (known, offset) = without(neutral, place), calls.atoms([op.extent, placed.offset])
    widest = max((scalar_type(atom).bytes for atom in values), default=i64.bytes)
    number = BY_NAME[f"u{8 * widest}"] if even and widest < i64.bytes else i64
    none, start, most = constant(0, number), (*values, index(0)), int(number.high)

    def call(c: Builder, atoms: Sequence[Atom]) -> Sequence[Atom]:
        return calls.call_separately(c, op.fn, atoms)

    def chunk(c: Builder, first: Atom, end: Atom, before: Sequence[Atom]) -> list[Atom]:
        """The state after a chunk: values, and the position of the last chosen element."""
        inside = c.inner()
        k = inside.param("k", i64, known)
        *best, chosen = (inside.param("s", atom.type) for atom in (*values, none))
        found = without(calls.call_separately(inside, op.body, [k]), place)
        after, is_later = choose_by_values(inside, call, place, number, best, found)
        mine = inside.cast(inside.add(inside.sub(k, first), index(1)), number)
        after = *after, inside.apply("select", is_later, mine, chosen)
        found = inside.close_loop(first, end, (*before[:-1], none), after)
        last = c.sub(c.add(first, c.cast(found[-1], i64)), index(1))
        return [*found[:-1], c.apply("select", c.apply("ne", found[-1], none), last, before[-1])]

    if number is i64:
        state: Sequence[Atom] = chunk(b, index(0), extent, start)
    else:
        loop, first, before = b.iteration("q", start)
        end = loop.apply("minimum", loop.add(first, index(most)), extent)
        state = loop.close_loop(index(0), extent, start, chunk(loop, first, end, before), most)
    *best, at = state
    some = b.apply("lt", index(0), extent)
    return [*put(best, place, b.apply("select", some, b.add(at, offset), neutral[place]))]


# -- The fold of one element, its steps spread over the lanes: whole steps, then one for the rest --
#
#     for k in 0, 8, ..       state = fn state (body (k + lane))       each lane separately
#     if 8 n < extent         the same once more, lanes past the end with the neutral element
#     reduce_lanes fn state
#
# A fold that a single element may decide asks every few steps whether one did.
#
# If the operator does not commute, the lanes of each step are joined in their order, and the state
# is one for all of them. An argmin or argmax compares positions only in the chunk that has the
# result (traverse/blocked_argmax.py).


class Calls(Protocol):
    """Emits the program's functions into a kernel."""

    def atoms(self, atoms: Sequence[Atom]) -> tuple[Atom, ...]:
        """The kernel's atoms for the program's."""
        ...

    def call_separately(self, b: Builder, fn: Lambda, args: Sequence[Atom]) -> tuple[Atom, ...]:
        """The results of a function on kernel atoms, in a separate body."""
        ...

    def function(self, b: Builder, fn: Lambda) -> Lambda:
        """A function as a lambda of the kernel IR."""
        ...


STEPS = 4
"""Steps of a chunk: of a row of 1,000 elements, an eighth is searched again. Steps after which a
fold asks whether it is decided: where nothing decides it, it takes up to 1.3 times as long.
"""
MOST = int(i32.high)
"""The most elements of such a fold: chunks are counted in 32 bits."""


def fold_in_lanes(
    calls: Calls, b: Builder, op: Fold, extent: Atom, width: int, machine: Machine | None
) -> tuple[Atom, ...]:
    """The results of a fold over `extent` elements, by `width` lanes."""
    alone = is_commutative(op.fn)
    start: Atom = index(0)
    steps: list[tuple[Atom, Atom]] = []
    if machine is not None:
        body, neutral = op.body, calls.atoms(op.neutral)
        made = stretches_of(
            machine, op.fn, neutral, body.lets, body.results, body.params[0], MOST, width
        )
        if made is not None:
            made = replace(made, steps=STEPS)
            first, last, start = _by_stretches(calls, b, op, made, extent)
            steps.append((first, last))
    left = b.sub(extent, start)
    whole = b.add(start, b.round_down(left, index(width)))
    region = b.inner()
    stops = stopping(calls, op) if machine is not None and machine.tiles else None
    if stops is None:
        state = _turns(calls, region, op, alone, [*steps, (start, whole)], width)
    else:
        state = stops.whole_steps(region, whole, width)
    known, some = state, region.apply("lt", whole, extent)
    if stops is not None:
        some = region.apply("and", some, stops.not_yet(region, state))
    state = region.choose(
        some, lambda c: _rest(calls, c, op, alone, known, whole, extent), lambda _: known
    )
    if alone:
        state = region.emit(ReduceLanes(calls.function(region, op.fn), state))
    return b.emit(Lanes(width, region.close([], state)))


@record
class Stopping:
    """A fold whose state no later element changes once it is other than `neutral` is."""

    calls: Calls
    op: Fold

    def not_yet(self, b: Builder, state: Sequence[Atom]) -> Atom:
        """Whether no lane has met an element that decides."""
        same = b.apply("eq", *state, *self.calls.atoms(self.op.neutral))
        return b.emit(ReduceLanes(lambda_of("and", bool_), (same,)))[0]

    def whole_steps(self, b: Builder, whole: Atom, width: int) -> tuple[Atom, ...]:
        """The state after the steps from 0 to `whole`, or after some that decide."""

        def holds(c: Builder, state: tuple[Atom, ...]) -> Atom:
            i, *known = state
            return c.apply("and", c.apply("lt", i, whole), self.not_yet(c, known))

        def step(c: Builder, state: tuple[Atom, ...]) -> Sequence[Atom]:
            first, *known = state
            after = c.apply("minimum", c.add(first, index(STEPS * width)), whole)
            inside, i, now = c.iteration("i", known)
            values = self.calls.call_separately(inside, self.op.body, [inside.emit(Lane(i))[0]])
            joined = _join(self.calls, inside, self.op, True, now, values)
            return after, *inside.close_loop(first, after, known, joined, width)

        return b.repeat([index(0), *self.calls.atoms(self.op.neutral)], holds, step, "i s")[1:]


def stopping(calls: Calls, op: Fold) -> Stopping | None:
    """A fold by `and` or `or` of truth values, or by `minimum` of the indices for which a condition
    holds and the neutral element. No element may fail: those after the one that decides are not
    evaluated."""
    functions, (neutral, *others) = component_functions(op.fn) or [], op.neutral
    if others or any(may_fail(let.op) for let in walk_lets(op.body)):
        return None
    if functions == ["minimum"]:
        chosen = makers(op.body.lets).get(op.body.results[0])
        if not (isinstance(chosen, Apply) and chosen.fn == "select"):
            return None
        return Stopping(calls, op) if {*chosen.args[1:]} == {*op.body.params, neutral} else None
    is_known = (functions, neutral) in ((["and"], Const(1, u8)), (["or"], Const(0, u8)))
    return Stopping(calls, op) if is_known else None


def _turns(
    calls: Calls, b: Builder, op: Fold, alone: bool, spans: Sequence[tuple[Atom, Atom]],
    width: int,
) -> tuple[Atom, ...]:
    """The whole steps of one span, or of two, folded."""
    neutral = calls.atoms(op.neutral)

    def span(c: Builder, first: Atom, last: Atom, init: Sequence[Atom]) -> tuple[Atom, ...]:
        inside, i, known = c.iteration("i", neutral)
        values = calls.call_separately(inside, op.body, [inside.emit(Lane(i))[0]])
        after = _join(calls, inside, op, alone, known, values)
        if tuple(init) != neutral:
            return inside.close_loop(first, last, init, after, width)
        body = inside.close([i, *known], after)
        return long_fold(
            c, first, last, width, body, neutral, op.fn,
            lambda d, operands: calls.call_separately(d, op.fn, operands),
        )  # fmt: skip

    if len(spans) == 1:
        return span(b, *spans[0], neutral)
    turn, t, state = b.iteration("t", neutral)
    found = turn.apply("eq", t, index(0))
    ends = [turn.apply("select", found, x, y) for x, y in zip(*spans, strict=True)]
    return turn.close_loop(index(0), index(2), neutral, span(turn, ends[0], ends[1], state))


def _by_stretches(
    calls: Calls, b: Builder, op: Fold, stretches: Stretches, extent: Atom
) -> tuple[Atom, ...]:
    """The bounds of the elements that decide, and the end of the whole steps."""

    def call(c: Builder, atoms: Sequence[Atom]) -> Sequence[Atom]:
        return calls.call_separately(c, op.fn, atoms)

    def values(c: Builder, base: Atom, width: int) -> Sequence[Atom]:
        return calls.call_separately(c, op.body, [c.emit(Lane(base))[0]])

    is_long = b.apply("and", b.apply("ge", extent, index(2 * stretches.length)),
                      b.apply("le", extent, index(MOST)))  # fmt: skip

    def bounds(c: Builder) -> tuple[Atom, ...]:
        whole = stretches.whole(c, index(0), extent)
        return *stretches.find(c, index(0), whole, call, values), whole

    return b.choose(is_long, bounds, lambda _: [index(0)] * 3)


def _rest(
    calls: Calls, b: Builder, op: Fold, alone: bool, state: Sequence[Atom], whole: Atom,
    extent: Atom,
) -> Sequence[Atom]:
    """The state with one step from `whole` on, some of whose lanes are idle."""
    lane = b.emit(Lane(whole))[0]
    values = b.choose(
        b.apply("lt", lane, extent), lambda c: calls.call_separately(c, op.body, [lane]),
        lambda _: calls.atoms(op.neutral),
    )  # fmt: skip
    return _join(calls, b, op, alone, state, values)


def _join(
    calls: Calls, b: Builder, op: Fold, alone: bool, state: Sequence[Atom], values: Sequence[Atom]
) -> Sequence[Atom]:
    """The state with the values of one step: each lane separately, or all of them in order."""
    if not alone:
        values = b.emit(ReduceLanes(calls.function(b, op.fn), tuple(values)))
    return calls.call_separately(b, op.fn, [*state, *values])
