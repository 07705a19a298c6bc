"""Loops: plain where all lanes agree on the iterations, else masked; what they read ahead."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.access.analyse import kernel_values
from flatweave.base.dtypes import DType
from flatweave.codegen.llvm.control import CHEAP, cost, look
from flatweave.codegen.llvm.emitter import Emitter, Handlers, Held, Loop, prefetch, scalar_type
from flatweave.codegen.llvm.math.scalar import emit_scalar
from flatweave.codegen.llvm.shapes import (
    UNIFORM,
    VARYING,
    Shape,
    cost_of,
    counter_shape,
    is_counted,
    is_short,
)
from flatweave.kernel_ir.memory_ops import Prefetch
from flatweave.kernel_ir.syntax import Lane, Load
from flatweave.terms.bounds import Sum
from flatweave.terms.build import index
from flatweave.terms.control import For, While
from flatweave.terms.syntax import BufferType, Const, Let, Op, Var
from flatweave.terms.traverse import lambdas_in, walk_lets

# Reading ahead: a loop that only reads, or does much work, prefetches for later iterations.
#
#     for i = lo, lo + W, ..:    prefetch xs[i] + 2 KiB, a line at a time
#                                x = load xs (lane i)          or xs (lane i + n)
#
# A CPU's own prefetcher begins anew at each page, and it runs ahead of itself by a few hundred
# instructions: unless it is asked, memory idles there, and wherever a step takes that many. Where
# little is computed and stored again, writing takes that time.


LEAST = 12
"""An iteration of at least this many lets is much work."""


def read_ahead(e: Emitter, op: For, i: str) -> None:
    """Prefetch what an iteration some KiB ahead loads, from position `i` of its counter on."""
    if e.width == 1 or not e.isa.read_ahead:
        return
    stores = any(let.op.effect for let in walk_lets(op.body))
    if stores and cost_of(e.made, op.body) < LEAST:
        return
    for buffer, (size, shift) in _runs(op).items():
        first = i if shift is None else e.code.let(f"add i64 {i}, {e.uniform(shift)}")
        prefetch(e, e.held[buffer].text, size, first, e.isa.read_ahead, e.width * size)


def _runs(op: For) -> dict[Var, tuple[int, Var | None]]:
    """The buffers from which a loop loads neighbours at its counter, the bytes of an element, and
    the offset, which is loop-invariant; without those that the loop prefetches itself."""
    lets, counter, values = list(walk_lets(op.body)), op.body.params[0], kernel_values(op.body)
    lanes = {let.vars[0] for let in lets if _counts_from(let.op, counter)}
    asked = {let.op.buffer for let in lets if isinstance(let.op, Prefetch)}
    params = (var for let in lets for fn in lambdas_in(let.op) for var in fn.params)
    bound = {counter, *params, *(var for let in lets for var in let.vars)}
    found: dict[Var, tuple[int, Var | None]] = {}
    for load in (let.op for let in reversed(lets) if isinstance(let.op, Load)):
        assert isinstance(load.buffer.type, BufferType)
        for lane in lanes:
            shift = values.atom(values.of(load.index).plus(Sum({lane: 1}), -1))
            if shift == index(0) or isinstance(shift, Var) and shift not in bound:
                asked |= {load.buffer} if load.ahead else set()
                found[load.buffer] = (
                    load.buffer.type.dtype.bytes, shift if isinstance(shift, Var) else None
                )  # fmt: skip
    return {buffer: run for buffer, run in found.items() if buffer not in asked | bound}


def _counts_from(op: Op, counter: Var) -> bool:
    """Whether this numbers the lanes from the counter on."""
    return isinstance(op, Lane) and op.base is counter and not op.reverse


# While and For: plain loops where all lanes take the same iterations, masked loops where they may
# differ.
#
#     while p f xs    p uniform:        head: xs = phi; br p xs, body, done      body: f xs
#                     p varying:        head: if any (live &= p xs)
#                                       body: xs = select live (f xs) xs         lanes that are done
#                     p and f cheap:    head: xs = select (p xs) (f xs) xs;      keep their values
#                                             br any (p xs), head, done
#     for lo hi s f   equal counts:     head: i = phi; br i < hi, body, done
#                     differing:        head: if any (mask & i < hi)
#                     few and short:    written out
#
# At least one lane runs wherever a body under a mask is reached, but those that are cheap.


# Loops of about this many lets over all iterations are unrolled.
UNROLLED = 24

class _State:
    """A loop with the state that it carries, and more that it carries before that."""

    def __init__(
        self,
        e: Emitter,
        params: Sequence[Var],
        init: Sequence[Held],
        shapes: Sequence[Shape],
        *more: tuple[str, str],
    ) -> None:
        self.params = params
        self.shapes = shapes
        self.init = self.converted(e, init)
        carried = list(more)
        for param, held in zip(params, self.init, strict=True):
            carried.append((e.held_type(param.type, held.shape), held.text))
            if held.owner:
                carried.append(("ptr", held.owner))
        self.loop = Loop(e.code, "state", *carried)
        self.more, names = self.loop.names[: len(more)], iter(self.loop.names[len(more) :])
        self.held = [
            Held(held.shape, next(names), next(names) if held.owner else "") for held in self.init
        ]

    def converted(self, e: Emitter, held: Sequence[Held]) -> list[Held]:
        """An iteration's results in the shapes of the state."""
        triples = zip(held, self.params, self.shapes, strict=True)
        return [e.convert(h, param.type, shape) for h, param, shape in triples]

    def frozen(self, e: Emitter, live: str, held: Sequence[Held]) -> list[Held]:
        """An iteration's results for the lanes that ran it, the old state for the others."""
        kept = []
        for param, old, new in zip(self.params, self.held, held, strict=True):
            dtype = scalar_type(param.type)
            text = e.select(live, dtype, e.lanes(new, dtype), old.text)
            kept.append(Held(VARYING, text))
        return kept

    def again(self, last: Sequence[Held], *more: str, until: str | None = None) -> None:
        """End an iteration by what it leaves."""
        texts = list(more)
        for old, new in zip(self.held, last, strict=True):
            texts += [new.text, new.owner] if old.owner else [new.text]
        self.loop.again(*texts, until=until)


# -- while ----------------------------------------------------------------------------------------


def emit_while(e: Emitter, let: Let, op: While) -> Sequence[Held]:
    """Iterate while the condition holds: in all lanes alike, or in any active lane."""
    more: tuple[tuple[str, str], ...]
    if _is_uniform(e, op):
        emit, more = _plain_while, ()
    elif cost(op.condition) + cost(op.body) <= CHEAP:
        emit, more = _selecting_while, ()
    else:
        emit, more = _masked_while, ((e.mask_type, e.mask or "splat (i1 true)"),)
    init = [e.hold(atom) for atom in op.init]
    state = _State(e, op.body.params, init, [e.shape(param) for param in op.body.params], *more)
    emit(e, op, state)
    return state.held


def _is_uniform(e: Emitter, op: While) -> bool:
    """Whether all lanes agree on the condition."""
    test = op.condition.results[0]
    return e.width == 1 or isinstance(test, Const) or e.shape(test) is UNIFORM


def _plain_while(e: Emitter, op: While, state: _State) -> None:
    state.loop.goes_on(e.inside().run(op.condition, state.held)[0].text)
    inner = e.turn()
    if not op.through_memory:
        look(inner, 1 + cost_of(e.made, op.condition, op.body))
    state.again(state.converted(inner, inner.run(op.body, state.held)))


def _masked_while(e: Emitter, op: While, state: _State) -> None:
    (live,) = state.more
    tester = e.inside(live)
    test = tester.run(op.condition, state.held)[0]
    running = tester.masked(tester.lanes(test, scalar_type(op.condition.results[0].type)))
    state.loop.goes_on(e.any(running))
    inner = e.turn(running)
    look(inner, 1 + cost_of(e.made, op.condition, op.body))
    state.again(state.frozen(inner, running, inner.run(op.body, state.held)), running)


def _selecting_while(e: Emitter, op: While, state: _State) -> None:
    """One block, which is left after an iteration that no lane took. Lanes that are done compute
    their flag anew, so that no flag needs a phi: on x86 without AVX-512, LLVM packs flags that go
    from block to block, and unpacks them, in some 20 instructions."""
    inner = e.turn()
    look(inner, 1 + cost_of(e.made, op.condition, op.body))
    test = inner.run(op.condition, state.held)[0]
    running = inner.masked(inner.lanes(test, scalar_type(op.condition.results[0].type)))
    last = state.frozen(inner, running, inner.inside(running).run(op.body, state.held))
    state.again(last, until=e.code.let(f"xor i1 {inner.any(running)}, true"))


# -- for ------------------------------------------------------------------------------------------


def emit_for(e: Emitter, let: Let, op: For) -> Sequence[Held]:
    """Turns for i = lo, lo + step, .. below hi."""
    init = [e.hold(atom) for atom in op.init]
    turns = _few_turns(op)
    if turns is not None:
        return _written_out(e, op, turns, init)
    lo, hi, step = (e.hold(atom) for atom in (op.lo, op.hi, op.step))
    dtype = scalar_type(op.body.params[0].type)
    if e.width == 1 or is_counted(lo.shape, hi.shape, step.shape):
        return _counted(e, op, init)
    return _masked_for(e, op, dtype, init)


def _few_turns(op: For) -> range | None:
    """The counter's values where they are known and few enough to write the loop out."""
    match op:
        case For(lo=Const(value=int(lo)), hi=Const(value=int(hi)), step=Const(value=int(step))):
            lets = max(1, sum(1 for _ in walk_lets(op.body)))
            if step > 0 and (hi - lo) * lets <= UNROLLED * step:
                return range(lo, hi, step)
    return None


def _written_out(e: Emitter, op: For, turns: range, state: list[Held]) -> list[Held]:
    """The body once for each iteration, the counter a literal."""
    for i in turns:
        state = e.run(op.body, [Held(UNIFORM, str(i)), *state])
    return state


def _counted(e: Emitter, op: For, init: Sequence[Held]) -> Sequence[Held]:
    """All lanes have one trip count: a scalar counter, the base of the linear one."""
    code = e.code
    lo, hi, step = (e.hold(atom) for atom in (op.lo, op.hi, op.step))
    params = op.body.params
    dtype = scalar_type(params[0].type)
    shapes = [lo.shape, *(e.shape(param) for param in params[1:])]
    state = _State(e, params, [lo, *init], shapes)
    i = state.held[0].text
    less = "slt" if dtype.is_signed else "ult"
    state.loop.goes_on(code.let(f"icmp {less} {dtype.llvm} {i}, {hi.text}"))
    inner = e.turn()
    if not (is_short(e.made, op) or _is_of_block(e, op)):
        look(inner, 1 + cost_of(e.made, op.body))
    read_ahead(inner, op, i)
    results = state.converted(inner, [lo, *inner.run(op.body, state.held)])
    following = code.let(f"add{' nsw' if dtype.is_signed else ''} {dtype.llvm} {i}, {step.text}")
    state.again([Held(lo.shape, following), *results[1:]])
    return state.held[1:]


def _is_of_block(e: Emitter, op: For) -> bool:
    """Whether a loop goes over the elements of a block, which are few, and has no loop inside."""
    return e.depth == 0 and not any(isinstance(let.op, For | While) for let in walk_lets(op.body))


def _masked_for(e: Emitter, op: For, dtype: DType, init: Sequence[Held]) -> Sequence[Held]:
    """Iterate while any lane is active; lanes that are done count on, masked off."""
    lo, hi, step = (e.hold(atom) for atom in (op.lo, op.hi, op.step))
    counting = counter_shape(lo.shape, step.shape)
    first = e.convert(lo, op.body.params[0].type, counting)
    more = (e.held_type(dtype, counting), first.text)
    state = _State(e, op.body.params[1:], init, [VARYING] * len(init), more)
    i = Held(counting, state.more[0])
    below = emit_scalar(e.code, "lt", dtype, e.width, [e.lanes(i, dtype), e.lanes(hi, dtype)])
    running = e.masked(below)
    state.loop.goes_on(e.any(running))
    inner = e.turn(running)
    if not is_short(e.made, op):
        look(inner, 1 + cost_of(e.made, op.body))
    last = state.frozen(inner, running, inner.run(op.body, [i, *state.held]))
    state.again(last, _next(inner, dtype, i, step))
    return state.held


def _next(e: Emitter, dtype: DType, i: Held, step: Held) -> str:
    if i.shape is not VARYING:
        return emit_scalar(e.code, "add", dtype, 1, [i.text, step.text])
    return emit_scalar(e.code, "add", dtype, e.width, [i.text, e.lanes(step, dtype)])


HANDLERS: Handlers = {
    While: emit_while,
    For: emit_for,
}
