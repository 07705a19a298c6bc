"""Reverse mode of loops that store some of their states, and compute the others again.

A loop of the host whose states would not fit into memory runs in chunks:

    s = for 0 n (i, s => f i s) s0
        ==>
    s, starts, tape = for 0 chunks (c, s, starts, tape =>      starts = starts with s at c
        s, tape = for 0 (length c) (j, s, tape => .. f (c chunk + j) s, tape with s at j) s
        in s, starts, tape) s0
    s' = for 0 chunks (q, s', tape =>                          c = chunks - 1 - q
        tape = for 0 (if q == 0 then 0 else length c) (..) starts[c]
        s' = for 0 (length c) (k, s' => s = tape[length c - 1 - k], .. f' s') s'
        in s', tape) s'0

Where all states fit, there is one chunk: nothing is computed again. Where they do not, there are
as many chunks as a chunk has iterations, and the tape is that of one chunk: two levels of
strip-mining (Griewank and Walther, Evaluating Derivatives, chapter 12). The last chunk's tape is
still there when the way back begins.

An element's loop over numbers keeps a few states in registers:

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

from collections.abc import Callable, Iterable, Sequence

from flatweave.base.config import config
from flatweave.base.dtypes import f64, i64
from flatweave.base.records import record
from flatweave.gradients.control import Loop, state_params, with_state
from flatweave.gradients.values import (
    chosen,
    dtype_of,
    owned,
    part_of,
    shape_of,
    times,
    with_part,
    zero,
)
from flatweave.runtime.systems import system
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Var, constant, types_of

Atoms = Sequence[Atom]
Counter = Callable[[Builder, Loop, Atom], Atom]


def most_bytes() -> int:
    """What a tape may take: a quarter of memory, unless the schedule says it. A power of two, so
    that machines of about one size have one program."""
    if config.schedule.tape is not None:
        return config.schedule.tape
    return 1 << (system().memory() // 4).bit_length() - 1


@record
class Strips:
    """A loop of `count` iterations in chunks; the tape holds the states of one chunk."""

    op: Loop
    counter: Counter
    saved: tuple[int, ...]
    count: Atom
    chunk: Atom
    chunks: Atom
    sizes: tuple[Atom, ...]  # of each part of the state

    def length(self, b: Builder, base: Atom) -> Atom:
        """How many iterations the chunk has that begins at one."""
        return b.apply("minimum", b.sub(self.count, base), self.chunk)

    def room(self, b: Builder, parts: Iterable[int], count: Atom) -> list[Atom]:
        """Zeroed arrays for parts of `count` states."""
        dtypes = [dtype_of(atom.type) for atom in self.op.init]
        return [zero(b, ArrayType(dtypes[k], (b.mul(count, self.sizes[k]),))) for k in parts]

    def run(self, b: Builder, base: Atom, count: Atom, state: Atoms, tapes: Atoms) -> Sequence[Var]:
        """The state after some iterations from `base` on, and the tape with those before them."""
        width = len(state)

        def step(inner: Builder, j: Var, *at: Var) -> Atoms:
            written = [
                with_part(inner, tape, inner.mul(j, self.sizes[k]), at[k], self.sizes[k])
                for k, tape in zip(self.saved, at[width:], strict=True)
            ]
            i = inner.add(base, j)
            counter = [self.counter(inner, self.op, i)] if isinstance(self.op, For) else []
            after = inner.inline(self.op.body, [*counter, *at[:width]])
            return [*(owned(inner, atom) for atom in after), *written]

        fn = b.function([i64, *types_of((*state, *tapes))], step, optional=True)
        return b.emit(For(index(0), count, index(1), fn, (*state, *tapes)))

    def forward(self, b: Builder) -> For:
        """The loop: its state, the states before chunks, and the last chunk's tape."""
        width = len(self.op.init)
        starts = self.room(b, range(width), self.chunks)
        tapes = self.room(b, self.saved, self.chunk)

        def step(inner: Builder, c: Var, *at: Var) -> Atoms:
            base = inner.mul(c, self.chunk)
            state, rest = at[:width], at[width:]
            begun = [
                with_part(inner, tape, inner.mul(c, size), value, size)
                for tape, size, value in zip(rest, self.sizes, state, strict=False)
            ]
            made = self.run(inner, base, self.length(inner, base), state, rest[len(begun) :])
            return [*made[:width], *begun, *made[width:]]

        init = (*self.op.init, *starts, *tapes)
        fn = b.function([i64, *types_of(init)], step, optional=True)
        return For(index(0), self.chunks, index(1), fn, init)

    def start(self, b: Builder, c: Atom, starts: Atoms) -> list[Atom]:
        """The state before a chunk."""
        each = zip(starts, self.sizes, self.op.init, strict=True)
        return [part_of(b, tape, b.mul(c, size), shape_of(like)) for tape, size, like in each]

    def back(
        self, b: Builder, starts: Atoms, tapes: Atoms, given: Atoms,
        step: Callable[[Atom, Atom, Atoms], Lambda],
    ) -> Sequence[Var]:  # fmt: skip
        """The cotangents before the loop. `step` takes a chunk's first iteration, its length and
        its tape, and gives the reverse step of one iteration."""
        width = len(given)

        def turn(inner: Builder, q: Var, *at: Var) -> Atoms:
            c = inner.sub(inner.sub(self.chunks, index(1)), q)
            base = inner.mul(c, self.chunk)
            length = self.length(inner, base)
            again = chosen(inner, inner.apply("eq", q, index(0)), index(0), length)
            state = self.start(inner, c, starts)
            tape = self.run(inner, base, again, state, at[width:])[len(state) :]
            loop = For(index(0), length, index(1), step(base, length, tape), at[:width])
            return [*inner.emit(loop), *tape]

        init = (*given, *tapes)
        fn = b.function([i64, *types_of(init)], turn, optional=True)
        return b.emit(For(index(0), self.chunks, index(1), fn, init))


def strips(
    b: Builder, op: Loop, counter: Counter, saved: Sequence[int], count: Atom
) -> Strips | None:
    """How to divide a loop; None where its states are known to fit."""
    sizes = tuple(b.product(shape_of(param)) for param in state_params(op))
    each: Atom = index(0)
    for k in saved:
        each = b.add(each, b.mul(sizes[k], index(dtype_of(op.init[k].type).bytes)))
    room = b.apply("floordiv", index(most_bytes()), b.apply("maximum", count, index(1)))
    fits = b.apply("le", each, room)
    if not saved or (isinstance(fits, Const) and fits.value):
        return None
    root = b.cast(b.apply("ceil", b.apply("sqrt", b.cast(count, f64))), i64)
    chunk = b.apply("maximum", chosen(b, fits, count, root), index(1))
    chunks = b.ceil_div(count, chunk)
    return Strips(op, counter, tuple(saved), count, chunk, chunks, sizes)


SLOTS = 8


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
