"""Reverse mode of loops: the state of each iteration is saved, and a loop goes back over it.

    s = for lo hi (i, s => in f(i, s)) s0
        ==>
    s, tape = for lo hi (i, s, tape => in f(i, s), tape with s at i - lo) s0 tape0
    s' = for 0 n (k, s' => s = tape[n - 1 - k], .. in f'(i, s) s') s'0

Only what the reverse pass reads is saved. A `while` is run once before to count its iterations.
So is a loop whose arrays change length, to count their elements: the way back reads the tape of
such an array from its end on.

The reverse loop's state holds sums of the contributions to outer variables. In an element function,
contributions to an array of the host are saved for each iteration, as rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import i64
from flatweave.gradients.control import Loop, as_shaped, state_params, with_state
from flatweave.gradients.modes import Back, Reverse, state_of
from flatweave.gradients.recomputed_states import Recorder, Strips, go_back, strips
from flatweave.gradients.sinks import Sink, carry, carry_rows, flat, gathered, is_plain, permuted
from flatweave.gradients.values import (
    add,
    dtype_of,
    live,
    owned,
    part_of,
    shape_of,
    type_of_tangents,
    with_part,
    zero,
)
from flatweave.ops import Index, Reshape
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, For, While
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Var
from flatweave.terms.traverse import Substitution, free_vars, needed_for

Run = Callable[[Builder, Sequence[Atom]], Sequence[Var]]
"""Emits a loop from the state that it begins with."""


def loop_reverse(r: Reverse, let: Let, op: For | While) -> Back:
    """A loop that saves its states, and one that goes back."""
    state = state_params(op)
    flags = state_of(op.body, state, op.init, r.active)
    way_back = WayBack(r, op, [k for k, flag in enumerate(flags) if flag])
    saved = way_back.saved()
    if not r.on_host and way_back.is_of_numbers():
        r.keep(let)
        return lambda: way_back.emit_in_slots(r, let, saved)
    growing = [k for k in saved if _varying(state[k], state)]
    count, totals = _counted(r.b, op, growing)
    if r.on_host and not any(_varying(param, state) for param in state):
        plan = strips(r.b, op, _counter, saved, count)
        if plan is not None:
            return way_back.in_strips(r, let, plan)
    tapes = _run_forward(r, let, op, count, saved, totals)
    way_back.read(count, tapes, totals)
    return lambda: way_back.emit(r, let)


def _varying(param: Var, state: Sequence[Var]) -> list[Var]:
    """The extents of a part of the state that are state themselves."""
    extents = dict.fromkeys(shape_of(param))
    return [var for var in extents if isinstance(var, Var) and var in state]


def _counted(b: Builder, op: Loop, growing: Sequence[int]) -> tuple[Atom, dict[int, Atom]]:
    """How often the body runs, and how many elements parts of its state have in all iterations:
    known of a `for` whose arrays keep their lengths, else counted by the loop itself."""
    if isinstance(op, For) and not growing:
        return _iterations(b, op), {}
    once = _copied(b, op)
    body, state, inner = once.body, state_params(once), _inside(b, once.body)
    counters = [inner.param("k", i64) for _ in (0, *growing)]
    steps = [index(1), *(inner.product(shape_of(state[k])) for k in growing)]
    more = [inner.add(k, step) for k, step in zip(counters, steps, strict=True)]
    made = inner.close((*body.params, *counters), (*body.results, *more))
    found = b.emit(with_state(b, once, made, [index(0) for _ in counters]))
    count, *totals = found[len(op.init) :]
    return count, dict(zip(growing, totals, strict=True))


def _copied(b: Builder, op: Loop) -> Loop:
    """The loop once more."""
    made: Loop = op.replace(body=b.copy(op.body))
    return made.replace(condition=b.copy(made.condition)) if isinstance(made, While) else made


def _inside(b: Builder, body: Lambda) -> Builder:
    """A builder that has a loop's body, and may add to it."""
    inner = b.inner(optional=True)
    for param in body.params:
        inner.bind(param, None)
    for each in body.lets:
        inner.append(each)
        inner.adopt(each)
    return inner


def _iterations(b: Builder, op: For) -> Atom:
    """How often the body runs."""
    span = b.sub(b.cast(op.hi, i64), b.cast(op.lo, i64))
    step = b.cast(op.step, i64)
    if step != index(1):
        span = b.ceil_div(span, step)
    return b.apply("maximum", span, index(0))


def _run_forward(
    r: Reverse, let: Let, op: Loop, count: Atom, saved: Sequence[int], totals: dict[int, Atom]
) -> dict[int, Var]:
    """Emit the loop with tapes of these parts of its state, by number."""
    state = state_params(op)
    inner = _inside(r.b, op.body)
    counters = [inner.param("k", i64) for _ in range(isinstance(op, While))]
    starts = {k: inner.param("k", i64) for k in totals}
    at = _number(inner, op, op.body.params[0]) if isinstance(op, For) else counters[0]
    tapes: list[Var] = []
    more = [inner.add(at, index(1)) for _ in counters]
    written: list[Atom] = []
    for k in saved:
        size = (inner if k in totals else r.b).product(shape_of(state[k]))
        total = totals[k] if k in totals else r.b.mul(count, size)
        tapes.append(inner.param("tape", ArrayType(dtype_of(state[k].type), (total,))))
        start = starts[k] if k in totals else inner.mul(at, size)
        written.append(with_part(inner, tapes[-1], start, state[k], size))
        if k in totals:
            more.append(inner.add(start, size))
    extra = (*counters, *starts.values(), *tapes)
    body = inner.close((*op.body.params, *extra), (*op.body.results, *more, *written))
    init = [*(index(0) for _ in more), *(zero(r.b, tape.type) for tape in tapes)]
    made = with_state(r.b, op, body, init)
    bound = [r.b.var(var.name, var.type) for var in extra]
    r.keep(Let((*let.vars, *bound), made, let.where))
    return dict(zip(saved, bound[len(more) :], strict=True))


def _number(b: Builder, op: For, i: Atom) -> Atom:
    """Which iteration it is, from 0."""
    ahead = b.sub(b.cast(i, i64), b.cast(op.lo, i64))
    step = b.cast(op.step, i64)
    return ahead if step == index(1) else b.apply("floordiv", ahead, step)


def _counter(b: Builder, op: Loop, at: Atom) -> Atom:
    """The counter of a `for` at an iteration."""
    assert isinstance(op, For)
    return b.add(op.lo, b.mul(b.cast(at, dtype_of(op.lo.type)), op.step))


def _first(lets: Sequence[Let], others: Sequence[Let]) -> dict[Let, None]:
    """Some lets and what they need of others, which were emitted before them, then the rest."""
    found: dict[Let, None] = {}
    for let in lets:
        found |= dict.fromkeys((*needed_for(others, [*free_vars(let.op)]), let))
    return found | dict.fromkeys(others)


class WayBack:
    """The body of a loop in reverse: cotangents of the state after it become those before it."""

    def __init__(self, r: Reverse, op: Loop, moving: Sequence[int]) -> None:
        self.op, self.moving, self.around = op, list(moving), r.b
        fn = r.b.copy(op.body)
        self.params, self.state = fn.params, state_params(op.replace(body=fn))
        body = self.body = r.inner(fn.params, optional=True)
        r.active.update(self.state[k] for k in self.moving)
        body.run(fn.lets)
        state = self.state
        self.given: list[Var] = []
        seeds: list[tuple[Atom, Atom]] = []
        for k in self.moving:
            extents = {extent: body.b.param("n", i64) for extent in _varying(state[k], state)}
            type_ = Substitution({**extents}).type(type_of_tangents(state[k]))
            self.given += [*extents.values(), body.b.param("c", type_)]
            seeds.append((fn.results[k], as_shaped(body.b, self.given[-1], fn.results[k])))
        body.pull(seeds)
        self.results: list[Atom] = []
        for k in self.moving:
            before = body.cotangent(state[k])
            self.results += [*_varying(state[k], state), owned(body.b, before)]
        self.k = body.b.param("k", i64)
        self.totals: dict[Var, Var] = {}
        self.rows: list[tuple[Var, Atom]] = []
        self.sinks: list[tuple[int, int, Callable[[Sequence[Atom]], Sink]]] = []
        self._row_atoms: list[tuple[Atom, Atom]] = []
        sums: dict[Var, Atom] = {}
        for sink in body.sinks:
            varies = any(extent in body.b.own for extent in sink.batch)
            if not shape_of(sink.target) or r.on_host or sink.target in r.own or varies:
                self._add_up(body.b, sink, sums)
            else:
                self._keep(body.b, sink)
        self.results += sums.values()
        self.lets = live(body.b.lets, [*self.results, *(atom for atom, _ in self._row_atoms)])

    def _add_up(self, b: Builder, sink: Sink, sums: dict[Var, Atom]) -> None:
        """Add contributions to a part of the state."""
        target = sink.target
        if target not in sums:
            self.totals[target] = b.param("s", type_of_tangents(target))
            sums[target] = self.totals[target]
        along = tuple(range(len(shape_of(target))))
        if sink.dims == along or (is_plain(sink) and sink.batch):
            sums[target] = add(b, sums[target], gathered(b, sink))
        else:
            sums[target] = permuted(b, sink, sums[target])

    def _keep(self, b: Builder, sink: Sink) -> None:
        """Keep the contributions of each iteration as rows of one length."""
        size = self.around.product(sink.batch) if sink.batch else index(1)
        sink = flat(b, sink) if sink.batch else sink
        carried = carry_rows(b, sink) if sink.batch else carry(b, sink, 1, {})
        start = len(self._row_atoms)
        self._row_atoms += [(atom, size) for atom in carried.results]
        self.sinks.append((start, len(carried.results), carried.rebuild))

    def saved(self) -> list[int]:
        """Which parts of the state the way back reads."""
        atoms = [*self.results, *(atom for atom, _ in self._row_atoms)]
        used = free_vars(Lambda((), self.lets, tuple(atoms)))
        return [k for k, param in enumerate(self.state) if param in used]

    def is_of_numbers(self) -> bool:
        """Whether the loop and its way back have numbers alone as their state."""
        state = (*self.state, *self.given, *self.totals.values())
        return not self._row_atoms and not any(shape_of(var) for var in state)

    def emit_in_slots(self, r: Reverse, let: Let, saved: Sequence[int]) -> None:
        """Go back over states that are kept in registers or computed again."""
        op, b = self.op, self.body.b
        before = len(b.lets)
        if isinstance(op, For):
            self._bind_counter(b, op, self.k)
        lets = live((*b.lets[before:], *self.lets), self.results)
        params = (self.k, *(self.state[k] for k in saved), *self.given, *self.totals.values())
        step = r.b.copy(Lambda(params, lets, tuple(self.results)))
        count = _iterations(r.b, op) if isinstance(op, For) else None
        given = [r.cotangent(let.vars[k]) for k in self.moving]
        given += [zero(r.b, var.type) for var in self.totals.values()]
        recorder = Recorder(op, lambda b, at: _counter(b, op, at), tuple(saved))
        made = go_back(r.b, recorder, count, step, given, len(self.moving))
        for k, c in zip(self.moving, made, strict=False):
            r.add(op.init[k], c)
        for target, c in zip(self.totals, made[len(self.moving) :], strict=True):
            r.add(target, c)

    def in_strips(self, r: Reverse, let: Let, plan: Strips) -> Back:
        """Emit the loop in chunks; what goes back over them."""
        made, width, b = plan.forward(r.b), len(let.vars), self.body.b
        bound = [r.b.var(var.name, var.type) for var in made.binders()[width:]]
        r.keep(Let((*let.vars, *bound), made, let.where))
        starts, tapes = bound[:width], bound[width:]
        base, length = b.param("i", i64), b.param("n", i64)
        here = [b.param("tape", tape.type) for tape in tapes]
        self.read(length, dict(zip(plan.saved, here, strict=True)), {}, base)

        def step(first: Atom, count: Atom, tape: Sequence[Atom]) -> Lambda:
            known = dict(zip((base, length, *here), (first, count, *tape), strict=True))
            return r.b.copy(Substitution(known).function(self.step))

        return lambda: self.emit(r, let, lambda b, state: plan.back(b, starts, tapes, state, step))

    def read(
        self, count: Atom, tapes: dict[int, Var], totals: dict[int, Atom], base: Atom | None = None
    ) -> None:
        """Have the body begin with reading what was saved; what changes length is read from the
        end of its tape on. The tape is that of `count` iterations from `base` on."""
        self.tape_ends = list(totals.values())
        b = self.body.b
        before = len(b.lets)
        self.count = count
        at = b.sub(b.sub(count, index(1)), self.k)
        if isinstance(self.op, For):
            self._bind_counter(b, self.op, at if base is None else b.add(base, at))
        ends: dict[Var, Atom] = {}
        for k, tape in sorted(tapes.items(), key=lambda item: len(shape_of(self.state[item[0]]))):
            param = self.state[k]
            shape = shape_of(param)
            if not shape:
                b.append(Let((param,), Index(tape, (at,), checked=False)))
                continue
            start = b.mul(at, b.product(shape))
            if k in totals:
                end = b.param("k", i64)
                start = ends[end] = b.sub(end, b.product(shape))
            b.append(Let((param,), Reshape(part_of(b, tape, start, shape), shape)))
        reads = b.lets[before:]
        self._write_rows(b, at)
        rows = b.lets[before + len(reads) :]
        rest = (*self.totals.values(), *(var for var, _ in self.rows))
        params = (self.k, *self.given, *rest, *ends)
        results = (*self.results, *(atom for _, atom in self.rows), *ends.values())
        lets = live((*_first(reads, b.lets[:before]), *rows), results)
        self.step = Lambda(params, lets, results)

    def _bind_counter(self, b: Builder, op: For, at: Atom) -> None:
        """The counter of the loop at an iteration."""
        ahead = b.mul(b.cast(at, dtype_of(op.lo.type)), op.step)
        b.append(Let(self.params[:1], Apply("add", (op.lo, ahead))))

    def _write_rows(self, b: Builder, at: Atom) -> None:
        for atom, size in self._row_atoms:
            type_ = ArrayType(dtype_of(atom.type), (self.around.mul(self.count, size),))
            tape = b.param("rows", type_)
            self.rows.append((tape, with_part(b, tape, b.mul(at, size), atom, size)))

    def emit(self, r: Reverse, let: Let, run: Run | None = None) -> None:
        """The loop that goes back; `run` says what it is, if not a single loop."""
        given: list[Atom] = []
        widths: list[int] = []
        for k in self.moving:
            shape = zip(shape_of(self.state[k]), shape_of(let.vars[k]), strict=True)
            extents = {here: there for here, there in shape if here in self.state}
            given += [*extents.values(), r.cotangent(let.vars[k])]
            widths.append(len(extents))
        totals = [zero(r.b, var.type) for var in self.totals.values()]
        rows = [zero(r.b, var.type) for var, _ in self.rows]
        state = (*given, *totals, *rows, *self.tape_ends)
        loop = For(index(0), self.count, index(1), r.b.copy(self.step), state)
        made = run(r.b, state) if run else r.b.emit(loop)
        number = 0
        for k, width in zip(self.moving, widths, strict=True):
            number += width
            r.add(self.op.init[k], as_shaped(r.b, made[number], self.op.init[k]))
            number += 1
        rest = made[number:]
        for target, c in zip(self.totals, rest, strict=False):
            r.add(target, c)
        rows_made = rest[len(totals) :]
        for start, number, rebuild in self.sinks:
            r.sink(rebuild(rows_made[start : start + number]))
