"""Reverse mode of an element's loop over numbers: a few states in registers, the others again.

    s = while p (s => f s) s0
        ==>
    n, last = while p (n, s, last => n + 1, f s, push last s) 0 s0       the last states
    first = for 0 (n - SLOTS) (k, s, first => .. push first s ..) s0     every d-th state before
    s' = while m > 0 (m, last, s' =>
        s' = for 0 m (s' => pop last; f' s')                             over the states at hand
        last = for .. (s, last => f s, push last s) (top first)          then the states before them
        in ..) s'0

An element function that stores a tape gives up lanes: each element runs alone. So the last SLOTS
states are state of the loop themselves. Of those before, one in d is, where d makes them SLOTS at
most, and the states from it on are computed again (Griewank and Walther, Evaluating Derivatives,
chapter 12). A loop of up to SLOTS iterations is run once; one of n computes about
n n / (2 SLOTS SLOTS) states again, which up to 10,000 takes less time than rows that run alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.gradients.control import Loop, with_state
from flatweave.gradients.values import chosen, dtype_of, times, zero
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For, While
from flatweave.terms.syntax import Atom, Lambda, Var, constant, types_of

SLOTS = 8
Atoms = Sequence[Atom]


@record
class Recorder:
    """A loop over numbers that can be run from any of its states, and records some of them."""

    op: Loop
    number: Callable[[Builder, Atom], Atom]  # the loop's counter at an iteration
    saved: tuple[int, ...]

    def nothing(self, b: Builder, every: bool) -> list[Atom]:
        """Slots before anything is recorded: of all parts of the state, or of those saved."""
        parts = range(len(self.op.init)) if every else self.saved
        return [zero(b, self.op.init[k].type) for k in parts for _ in range(SLOTS)]

    def push(self, slots: Atoms, state: Atoms, every: bool) -> list[Atom]:
        """The slots with a state as their first."""
        parts = range(len(self.op.init)) if every else self.saved
        return [
            atom for at, k in enumerate(parts)
            for atom in (state[k], *slots[at * SLOTS : (at + 1) * SLOTS - 1])
        ]  # fmt: skip

    def pop(self, slots: Atoms) -> list[Atom]:
        """The slots without their first states; the last ones stand for what comes up."""
        return [
            slots[min(k + 1, k // SLOTS * SLOTS + SLOTS - 1)] for k in range(len(slots))
        ]  # fmt: skip

    def whole(self, b: Builder, count: Atom | None) -> tuple[Atom, list[Atom]]:
        """Run the loop: how often its body runs, and the last states. None: its condition says."""
        width = len(self.op.init)
        slots = self.nothing(b, every=False)
        if count is not None:
            return count, self.steps(b, index(0), count, [*self.op.init], slots)
        op = self.op.replace(body=b.copy(self.op.body))
        assert isinstance(op, While)
        op = op.replace(condition=b.copy(op.condition))
        inner = b.inner(optional=True)
        for param in op.body.params:
            inner.bind(param, None)
        more = [inner.param("k", i64), *(inner.param("slot", slot.type) for slot in slots)]
        after = [inner.add(more[0], index(1)), *self.push(more[1:], op.body.params, every=False)]
        body = Lambda(
            (*op.body.params, *more), (*op.body.lets, *inner.lets), (*op.body.results, *after)
        )
        made = b.emit(with_state(b, op, body, [index(0), *slots]))
        return made[width], [*made[width + 1 :]]

    def steps(self, b: Builder, lo: Atom, hi: Atom, state: Atoms, slots: Atoms) -> list[Atom]:
        """The last states before iteration `hi`, from the one at `lo` on."""
        width = len(state)

        def step(inner: Builder, i: Var, *at: Var) -> Atoms:
            after = self._after(inner, i, at[:width])
            return [*after, *self.push(at[width:], at[:width], every=False)]

        fn = b.function([i64, *types_of((*state, *slots))], step, optional=True)
        return [*b.emit(For(lo, hi, index(1), fn, (*state, *slots)))[width:]]

    def starts(self, b: Builder, count: Atom, every: Atom) -> tuple[Atom, list[Atom]]:
        """The states at multiples of `every` below `count`, and the last multiple."""
        state, slots = self.op.init, self.nothing(b, every=True)
        width = len(state)

        def step(inner: Builder, i: Var, left: Var, last: Var, *at: Var) -> Atoms:
            is_start = inner.apply("eq", left, index(0))
            pushed = self.push(at[width:], at[:width], every=True)
            after = self._after(inner, i, at[:width])
            again = chosen(inner, is_start, inner.sub(every, index(1)), inner.sub(left, index(1)))
            kept = [
                chosen(inner, is_start, new, old)
                for new, old in zip(pushed, at[width:], strict=True)
            ]
            return [again, chosen(inner, is_start, i, last), *after, *kept]

        init = (index(0), index(0), *state, *slots)
        fn = b.function([i64, *types_of(init)], step, optional=True)
        found = b.emit(For(index(0), count, index(1), fn, init))
        return found[1], [*found[2 + width :]]

    def _after(self, b: Builder, at: Atom, state: Atoms) -> Atoms:
        """The state after an iteration."""
        counter = [self.number(b, at)] if isinstance(self.op, For) else []
        return b.inline(self.op.body, [*counter, *state])


def go_back(
    b: Builder, recorder: Recorder, count: Atom | None, step: Lambda, given: Atoms,
    moving: int,
) -> Atoms:  # fmt: skip
    """The cotangents before a loop, from those after it; `step` takes the number of an iteration,
    what is saved of the state before it, and the cotangents after it: of `moving` parts of the
    state, then sums for variables from around."""
    op, saved = recorder.op, recorder.saved
    count, last = recorder.whole(b, count)
    def over_slots(inner: Builder, end: Atom, m: Atom, slots: Atoms, sums: Atoms) -> Atoms:
        def pop(body: Builder, i: Var, *state: Var) -> Atoms:
            at = body.sub(body.sub(end, index(1)), i)
            tops = [state[k * SLOTS] for k in range(len(saved))]
            after = _applied(body, step, [at, *tops], state[len(slots) :], moving)
            return [*recorder.pop(state[: len(slots)]), *after]

        fn = inner.function([i64, *types_of((*slots, *sums))], pop, optional=True)
        return inner.emit(For(index(0), m, index(1), fn, (*slots, *sums)))[len(slots) :]

    here = b.apply("minimum", count, index(SLOTS))
    first = b.sub(count, here)  # how many states are not at hand
    if first == index(0):
        return over_slots(b, count, here, last, given)
    every = b.apply("maximum", b.ceil_div(first, index(SLOTS)), index(1))
    base, starts = recorder.starts(b, first, every)
    last_at, starts_at = 3, 3 + len(last)
    given_at = starts_at + len(starts)

    def block(inner: Builder, *state: Var) -> Atoms:
        end, m, base = state[:3]
        slots, starts = state[last_at:starts_at], state[starts_at:given_at]
        sums = over_slots(inner, end, m, slots, state[given_at:])
        end_ = inner.sub(end, m)
        is_passed = inner.apply("le", end_, base)
        base_ = chosen(inner, is_passed, inner.sub(base, every), base)
        passed = recorder.pop(starts)
        popped = [
            chosen(inner, is_passed, *pair) for pair in zip(passed, starts, strict=True)
        ]  # fmt: skip
        m_ = inner.apply("minimum", inner.sub(end_, base_), index(SLOTS))
        m_ = chosen(inner, inner.apply("eq", end_, index(0)), index(0), m_)
        tops = [popped[k * SLOTS] for k in range(len(op.init))]
        until = chosen(inner, inner.apply("eq", m_, index(0)), base_, end_)
        again = recorder.steps(inner, base_, until, tops, slots)
        return [end_, m_, base_, *again, *popped, *sums]

    init = (count, here, base, *last, *starts, *given)
    types = types_of(init)
    condition = b.function(types, lambda inner, _, m, *rest: [inner.apply("gt", m, index(0))])
    body = b.function(types, block, optional=True)
    return b.emit(While(condition, body, init))[given_at:]


def _applied(b: Builder, step: Lambda, at: Atoms, given: Atoms, moving: int) -> Atoms:
    """The step on cotangents. A single number is multiplied by a factor, so that each iteration
    waits for a product and not for the factor's computation."""
    if moving != 1:
        return b.inline(step, [*at, *given])
    c, *sums = given
    one, nothing = constant(1.0, dtype_of(c.type)), [zero(b, each.type) for each in sums]
    factors = b.inline(step, [*at, one, *nothing])
    after = [times(b, c, factor) for factor in factors]
    return [after[0], *map(b.add, sums, after[1:])]
