"""Reverse mode of loops: the state of each iteration is saved, and a loop goes back over it.

    s = for lo hi (i, s => in f(i, s)) s0
        ==>
    s, tape = for lo hi (i, s, tape => in f(i, s), tape with s at i - lo) s0 tape0
    s' = for 0 n (k, s' => s = tape[n - 1 - k], .. in f'(i, s) s') s'0

What the way back does not read is not saved. A `while` is run once before to count its iterations.
The reverse loop's state holds sums of the contributions to outer variables. In an element function,
contributions to an array of the host are saved for each iteration, as rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.base.dtypes import i64
from flatweave.base.errors import Unsupported
from flatweave.gradients.activity import state_of
from flatweave.gradients.reverse import Back, Reverse
from flatweave.gradients.sinks import Sink, carry, carry_rows, flat, gathered, is_plain, permuted
from flatweave.gradients.values import (
    add,
    dtype_of,
    generate,
    live,
    owned,
    read,
    shape_of,
    tangent_type,
    zero,
)
from flatweave.ops import Generate, Index, Reshape, Scatter
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, For, While
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Type, Var
from flatweave.terms.traverse import free_vars

Loop = For | While


def loop_reverse(r: Reverse, let: Let) -> Back:
    """A loop that saves its states, and one that goes back."""
    op = let.op
    assert isinstance(op, For | While)
    first = int(isinstance(op, For))
    state = op.body.params[first:]
    if any(extent in state for param in state for extent in shape_of(param)):
        raise Unsupported(
            "reverse mode of a loop whose arrays change length.",
            where=let.where,
            remedy="Keep the arrays at one length and say in the state how much of them counts.",
        )
    flags = state_of(op.body, state, op.init, r.active)
    way_back = WayBack(r, op, [k for k, flag in enumerate(flags) if flag])
    count = _iterations(r.b, op)
    tapes = _run_forward(r, let, op, count, way_back.saved())
    way_back.read(count, tapes)
    return lambda: way_back.emit(r, let)


def _iterations(b: Builder, op: Loop) -> Atom:
    """How often the body runs."""
    if isinstance(op, For):
        span = b.sub(b.cast(op.hi, i64), b.cast(op.lo, i64))
        step = b.cast(op.step, i64)
        whole = span if step == index(1) else b.apply(
            "floordiv", b.add(span, b.sub(step, index(1))), step
        )  # fmt: skip
        return b.apply("maximum", whole, index(0))
    condition, body = b.copy(op.condition), b.copy(op.body)
    following = b.function([i64], lambda one, k: [one.add(k, index(1))], optional=True)
    lets = (*body.lets, *following.lets)
    made = Lambda((*body.params, *following.params), lets, (*body.results, *following.results))
    test = Lambda((*condition.params, b.var("k", i64)), condition.lets, condition.results)
    return b.emit(While(test, made, (*op.init, index(0)), op.through_memory))[-1]


def _run_forward(
    r: Reverse, let: Let, op: Loop, count: Atom, saved: Sequence[int]
) -> dict[int, Var]:
    """Emit the loop with tapes of these parts of its state, by number."""
    first = int(isinstance(op, For))
    state = op.body.params[first:]
    sizes = {k: r.b.product(shape_of(state[k])) for k in saved}
    inner = r.b.inner(optional=True)
    for param in op.body.params:
        inner.bind(param, None)
    for each in op.body.lets:
        inner.append(each)
        inner.adopt(each)
    types = [
        ArrayType(dtype_of(state[k].type), (r.b.mul(count, sizes[k]),)) for k in saved
    ]  # fmt: skip
    counters = [] if first else [inner.param("k", i64)]
    if isinstance(op, For):
        at = _number(inner, op, op.body.params[0])
    else:
        (at,) = counters
    tapes = [inner.param("tape", type_) for type_ in types]
    written = [
        _written(inner, tape, at, state[k], sizes[k]) for k, tape in zip(saved, tapes, strict=True)
    ]  # fmt: skip
    more = [inner.add(at, index(1)) for _ in counters]
    body = inner.close(
        (*op.body.params, *counters, *tapes), (*op.body.results, *more, *written)
    )
    init = (*op.init, *(index(0) for _ in counters), *(zero(r.b, type_) for type_ in types))
    if isinstance(op, For):
        made: Loop = op.replace(body=body, init=init)
    else:
        extra = [r.b.var(var.name, var.type) for var in (*counters, *tapes)]
        test = op.condition
        condition = Lambda((*test.params, *extra), test.lets, test.results)
        made = op.replace(condition=condition, body=body, init=init)
    bound = [r.b.var(var.name, var.type) for var in (*counters, *tapes)]
    r.keep(Let((*let.vars, *bound), made, let.where))
    return dict(zip(saved, bound[len(counters) :], strict=True))


def _number(b: Builder, op: For, i: Atom) -> Atom:
    """Which iteration it is, from 0."""
    ahead = b.sub(b.cast(i, i64), b.cast(op.lo, i64))
    step = b.cast(op.step, i64)
    return ahead if step == index(1) else b.apply("floordiv", ahead, step)


def _written(b: Builder, tape: Var, at: Atom, value: Atom, size: Atom) -> Atom:
    """A tape with the value of an iteration."""
    if not shape_of(value):
        places, values = generate(b, [index(1)], lambda *_: [at, value])
        return b.emit(Scatter((tape,), places, (values,)))[0]
    start = b.mul(at, size)
    (places,) = generate(b, [size], lambda inner, p: [inner.add(start, p[0])])
    flat_ = value if len(shape_of(value)) == 1 else b.emit(Reshape(value, (size,)))[0]
    return b.emit(Scatter((tape,), places, (flat_,)))[0]


class WayBack:
    """The body of a loop in reverse: cotangents of the state after it become those before it."""

    def __init__(self, r: Reverse, op: Loop, moving: Sequence[int]) -> None:
        self.op, self.moving = op, list(moving)
        self.first = int(isinstance(op, For))
        fn = r.b.copy(op.body)
        self.params = fn.params
        body = self.body = r.inner(fn.params, optional=True)
        r.active.update(fn.params[self.first + k] for k in self.moving)
        body.run(fn.lets)
        self.given = [body.b.param("c", _tangent(fn.params[self.first + k])) for k in self.moving]
        body.pull([(fn.results[k], c) for k, c in zip(self.moving, self.given, strict=True)])
        before = [body.cotangent(fn.params[self.first + k]) for k in self.moving]
        self.results: list[Atom] = [owned(body.b, c) for c in before]
        self.k = body.b.param("k", i64)
        self.totals: dict[Var, Var] = {}
        self.rows: list[tuple[Var, Atom]] = []
        self.sinks: list[tuple[int, int, Callable[[Sequence[Atom]], Sink]]] = []
        self._row_atoms: list[tuple[Atom, Atom]] = []
        sums: dict[Var, Atom] = {}
        for sink in body.sinks:
            if not shape_of(sink.target) or r.on_host or sink.target in r.own:
                self._add_up(body.b, sink, sums)
            else:
                self._keep(body.b, sink)
        self.results += sums.values()
        self.lets = live(body.b.lets, [*self.results, *(atom for atom, _ in self._row_atoms)])

    def _add_up(self, b: Builder, sink: Sink, sums: dict[Var, Atom]) -> None:
        """Add contributions to a part of the state."""
        target = sink.target
        if target not in sums:
            self.totals[target] = b.param("s", _tangent(target))
            sums[target] = self.totals[target]
        along = tuple(range(len(shape_of(target))))
        if sink.dims == along or (is_plain(sink) and sink.batch):
            sums[target] = add(b, sums[target], gathered(b, sink))
        else:
            sums[target] = permuted(b, sink, sums[target])

    def _keep(self, b: Builder, sink: Sink) -> None:
        """Keep the contributions of each iteration as rows of one length."""
        if any(extent in b.own for extent in sink.batch):
            raise Unsupported(
                "reverse mode of a loop in an element function, whose body reads an outer array at"
                " a number of places that varies.",
                where=b.where,
                remedy="Pass what it reads as elements, or loop on the host.",
            )
        sink = flat(b, sink) if sink.batch else sink
        carried = carry_rows(b, sink) if sink.batch else carry(b, sink, 1, {})
        size = sink.batch[0] if sink.batch else index(1)
        start = len(self._row_atoms)
        self._row_atoms += [(atom, size) for atom in carried.results]
        self.sinks.append((start, len(carried.results), carried.rebuild))

    def saved(self) -> list[int]:
        """Which parts of the state the way back reads."""
        atoms = [*self.results, *(atom for atom, _ in self._row_atoms)]
        used = free_vars(Lambda((), self.lets, tuple(atoms)))
        return [k for k, param in enumerate(self.params[self.first :]) if param in used]

    def read(self, count: Atom, tapes: dict[int, Var]) -> None:
        """Have the body begin with reading what was saved."""
        b = self.body.b
        before = len(b.lets)
        self.count = count
        at = b.sub(b.sub(count, index(1)), self.k)
        if isinstance(self.op, For):
            self._bind_counter(b, self.op, at)
        for k, tape in tapes.items():
            param = self.params[self.first + k]
            shape = shape_of(param)
            if not shape:
                b.append(Let((param,), Index(tape, (at,), checked=False)))
                continue
            start = b.mul(at, b.product(shape))
            inner = b.inner()
            indices = [inner.param("i", i64, extent) for extent in shape]
            place = inner.add(start, inner.ravel(indices, shape))
            made = inner.close(indices, [read(inner, tape, [place])])
            b.append(Let((param,), Generate(shape, made)))
        reads = b.lets[before:]
        self._write_rows(b, at)
        rows = b.lets[before + len(reads) :]
        params = (self.k, *self.given, *self.totals.values(), *(var for var, _ in self.rows))
        results = (*self.results, *(atom for _, atom in self.rows))
        lets = live((*reads, *self.lets, *rows), results)
        self.step = Lambda(params, lets, results)

    def _bind_counter(self, b: Builder, op: For, at: Atom) -> None:
        """The counter of the loop at an iteration."""
        counter = self.params[0]
        dtype = dtype_of(counter.type)
        ahead = Apply("mul", (b.cast(at, dtype), op.step))
        moved = b.var("i", dtype)
        b.append(Let((moved,), ahead))
        b.append(Let((counter,), Apply("add", (op.lo, moved))))

    def _write_rows(self, b: Builder, at: Atom) -> None:
        for atom, size in self._row_atoms:
            type_ = ArrayType(dtype_of(atom.type), (b.mul(self.count, size),))
            tape = b.param("rows", type_)
            self.rows.append((tape, _written(b, tape, at, atom, size)))

    def emit(self, r: Reverse, let: Let) -> None:
        """The loop that goes back."""
        given = [r.cotangent(let.vars[k]) for k in self.moving]
        totals = [zero(r.b, var.type) for var in self.totals.values()]
        rows = [zero(r.b, var.type) for var, _ in self.rows]
        loop = For(index(0), self.count, index(1), r.b.copy(self.step), (*given, *totals, *rows))
        made = r.b.emit(loop)
        for k, c in zip(self.moving, made, strict=False):
            r.add(self.op.init[k], c)
        rest = made[len(self.moving) :]
        for target, c in zip(self.totals, rest, strict=False):
            r.add(target, c)
        rows_made = rest[len(totals) :]
        for start, number, rebuild in self.sinks:
            r.sink(rebuild(rows_made[start : start + number]))


def _tangent(var: Var) -> Type:
    found = tangent_type(var.type)
    assert found is not None
    return found
