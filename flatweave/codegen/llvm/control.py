"""Branches, calls of functions, and polls for cancellation."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType
from flatweave.codegen.llvm.emitter import Emitter, Handlers, Held, scalar_type
from flatweave.codegen.llvm.module import STOPPED, Code
from flatweave.codegen.llvm.scalars import Agreement, agreement
from flatweave.codegen.llvm.shapes import UNIFORM, VARYING, Shape, is_short
from flatweave.kernel_ir.memory_ops import LoadWord
from flatweave.kernel_ir.syntax import Call, Report
from flatweave.scalar.ops import TABLE
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Const, Lambda, Let, Type, Var
from flatweave.terms.traverse import free_vars, walk_lets

# Cancellation inside of loops: a loop polls for it each time its fuel is used up.
#
#     %left = load fuel; %less = %left - cost of the body; store %less, fuel
#     br borrow, %look, %go                       look: refill; br fw_look(ctx), %stopped, %go
#
# A function has one fuel counter for all of its loops, in a register, so that about the same work
# separates two polls however loops are nested: some 0.1 to 30 ms. `fw_look` preserves the general
# registers; vector registers are spilled in the cold block alone. (`preserve_allcc` would
# preserve those, too, but LLVM zeroes their upper halves on return.)


CANCEL_BYTES = 64  # where a context has the flag of its call
TANK = 1 << 19  # how much work goes between two looks, in lets


def look(e: Emitter, cost: int) -> None:
    """Take the cost of some work off the fuel; if none is left, poll, and leave if cancelled."""
    code, pair = e.code, "{ i64, i1 }"
    code.declare("preserve_mostcc i64 @fw_look(ptr) cold nounwind willreturn "
                 "memory(argmem: readwrite, inaccessiblemem: readwrite)")  # fmt: skip
    fuel = code.fuel(TANK)
    left = code.let(f"load i64, ptr {fuel}")
    spent = code.call(pair, "@llvm.usub.with.overflow.i64", f"i64 {left}", f"i64 {cost}")
    code.line(f"store i64 {code.let(f'extractvalue {pair} {spent}, 0')}, ptr {fuel}")
    empty, go = code.names("look", "go")
    code.branch(code.let(f"extractvalue {pair} {spent}, 1"), empty, go)
    code.label(empty)
    code.line(f"store i64 {TANK}, ptr {fuel}")
    cancel = code.let("call preserve_mostcc i64 @fw_look(ptr %ctx)")
    code.branch(code.let(f"icmp ne i64 {cancel}, 0"), code.stop(), go)
    code.label(go)


def leave_if_stopped(e: Emitter) -> None:
    """After a call of a function that polls: leave if the call of the program is cancelled."""
    code = e.code
    at = code.let(f"getelementptr i8, ptr %ctx, i64 {CANCEL_BYTES}")
    flag = code.let(f"load atomic i64, ptr {at} monotonic, align 8")
    (go,) = code.names("go")
    code.branch(code.let(f"icmp ne i64 {flag}, 0"), code.stop(), go)
    code.label(go)


# If: a branch where all lanes agree, masks and selects where they may differ.
#
#     if p f g     p uniform:                   br p, f, g; phis
#                  p varying, f and g cheap:    f; g; select p
#                  p varying, g reports:        if no lane runs where not p: f; else as below
#                  p of linear numbers:         if p in all lanes: f; if in none: g; else as below
#                  p varying:                   if any (mask & p): f under mask & p
#                                               if any (mask & ~p): g under mask & ~p
#                                               select p
#
# At least one lane runs wherever a body under a mask is reached.


# Up to this many additions, computing a body for nothing is cheaper than asking who needs it.
CHEAP = 24


def emit_if(e: Emitter, let: Let, op: If) -> Sequence[Held]:
    """One of two bodies, or each for its lanes."""
    condition = e.hold(op.condition)
    if isinstance(op.condition, Const):
        return e.run(op.then if op.condition.value else op.other)
    if condition.shape is UNIFORM:
        return _branch(e, let.vars, condition.text, op)
    if cost(op.then) + cost(op.other) <= CHEAP:
        arms = e.run(op.then), e.run(op.other)
        return _selected(e, let.vars, condition.text, *arms)
    known: Agreement | None = None
    if not e.is_rare and reports(op.other):
        lost = e.any(e.masked(e.negated(condition.text)))
        known = Agreement(e.code.let(f"xor i1 {lost}, true"))
    elif not e.is_rare and let.vars and not _loops(op):
        known = agreement(e, op.condition)
    if known is not None:
        return _where_lanes_agree(e, let.vars, condition.text, op, known)
    return _masked(e, let.vars, condition.text, op)


def _where_lanes_agree(
    e: Emitter, out: Sequence[Var], condition: str, op: If, known: Agreement
) -> list[Held]:
    """One body for all lanes where they agree; else each for its lanes."""
    code, (after,) = e.code, e.code.names("end")
    arms: list[tuple[list[str], str]] = []

    def arm(inner: Emitter, held: Sequence[Held]) -> None:
        pairs = zip(held, out, strict=True)
        arms.append(([inner.lanes(each, scalar_type(var.type)) for each, var in pairs], code.block))
        code.jump(after)

    for test, body in ((known.all, op.then), (known.none, op.other)):
        if test:
            agree, differ = code.names("agree", "differ")
            code.branch(test, agree, differ)
            code.label(agree)
            inner = e.inside()
            arm(inner, inner.run(body))
            code.label(differ)
    rare = e.inside()
    rare.is_rare = True
    arm(rare, _masked(rare, out, condition, op))
    code.label(after)
    return [
        Held(VARYING, code.phi(kind, [(texts[k], block) for texts, block in arms]))
        for k, kind in enumerate(e.held_type(var.type, VARYING) for var in out)
    ]


def _loops(op: If) -> bool:
    """Whether a body is too long to be written twice: it loops."""
    return any(
        isinstance(let.op, For | While) for fn in (op.then, op.other) for let in walk_lets(fn)
    )


def _masked(e: Emitter, out: Sequence[Var], condition: str, op: If) -> list[Held]:
    """Each body for its lanes."""
    then = _guarded(e, op.then, e.masked(condition))
    other = _guarded(e, op.other, e.masked(e.negated(condition)))
    return _selected(e, out, condition, then, other)


def reports(body: Lambda) -> bool:
    """Whether a body records an error."""
    return any(isinstance(let.op, Report) for let in walk_lets(body))


def _branch(e: Emitter, out: Sequence[Var], condition: str, op: If) -> Sequence[Held]:
    """br condition, then, other; the results meet in phis."""
    code = e.code
    then, other, after = code.names("then", "else", "end")
    code.branch(condition, then, other)
    shapes = [e.shape(var) for var in out]
    ends: list[tuple[str, list[Held]]] = []
    for label, body in ((then, op.then), (other, op.other)):
        code.label(label)
        inner = e.inside()
        arms = zip(inner.run(body), out, shapes, strict=True)
        ends.append((label, [inner.convert(held, var.type, s) for held, var, s in arms]))
        ends[-1] = (code.block, ends[-1][1])
        code.jump(after)
    code.label(after)
    (a, first), (b, second) = ends
    return [
        _meet(e, var.type, shape, (x, a), (y, b))
        for var, shape, x, y in zip(out, shapes, first, second, strict=True)
    ]


def _meet(
    e: Emitter, type_: Type, shape: Shape, a: tuple[Held, str], b: tuple[Held, str]
) -> Held:
    """A phi of the values of both branches."""
    arms = (a, b)
    text = e.code.phi(e.held_type(type_, shape), [(held.text, block) for held, block in arms])
    if not a[0].owner:
        return Held(shape, text)
    return Held(shape, text, e.code.phi("ptr", [(held.owner, block) for held, block in arms]))


def _guarded(e: Emitter, body: Lambda, mask: str) -> list[Held]:
    """A body run by the lanes of a mask if there are any; zeros where it is skipped."""
    if not body.lets:
        return [e.hold(atom) for atom in body.results]
    code = e.code
    run, after = code.names("masked", "end")
    running = e.any(mask)
    before = code.block
    code.branch(running, run, after)
    code.label(run)
    inner = e.inside(mask)
    texts = [
        inner.lanes(held, scalar_type(atom.type))
        for held, atom in zip(inner.run(body), body.results, strict=True)
    ]
    end = code.block
    code.enter(after)
    return [
        Held(VARYING, code.phi(
            e.held_type(atom.type, VARYING), [(text, end), ("zeroinitializer", before)]
        ))
        for text, atom in zip(texts, body.results, strict=True)
    ]  # fmt: skip


def _selected(
    e: Emitter, out: Sequence[Var], condition: str, then: Sequence[Held], other: Sequence[Held]
) -> list[Held]:
    """The results of two bodies, chosen lane by lane."""
    chosen = []
    for var, a, b in zip(out, then, other, strict=True):
        dtype = scalar_type(var.type)
        texts = e.lanes(a, dtype), e.lanes(b, dtype)
        chosen.append(Held(VARYING, e.select(condition, dtype, *texts)))
    return chosen


def cost(body: Lambda) -> int:
    """What running a body speculatively costs, in additions; very much if it must not be."""
    total = 0
    for let in body.lets:
        match let.op:
            case Apply(fn=fn):
                total += TABLE[fn].cost
            case Cast():
                total += 1
            case If(then=then, other=other):
                total += cost(then) + cost(other) + 1
            case LoadWord():
                total += 8
            case _:
                return 1 << 30
    return total


HANDLERS: Handlers = {
    If: emit_if,
}


# Separate LLVM functions: an operator that a kernel calls more than once.
#
#     s = call (a, b => add a b) x y      %r = call float @fw.call.a_7(ptr %ctx, float %x, float %y)
#
# The function is defined at the first call; what its body reads from outside it is passed, too.


def emit_call(e: Emitter, let: Let, op: Call) -> Sequence[Held]:
    """A call of a function that is not inlined."""
    captured = tuple(free_vars(op.fn))
    symbol = f"@fw.call.{op.fn.params[0].name}"
    results = [scalar_type(var.type) for var in let.vars]
    kind = _struct(results)
    if not e.code.module.defines(symbol):
        _define(e, op.fn, captured, symbol, results)
    symbol = e.code.module.name_of(symbol)  # an equal one may stand for it
    given = zip((*op.fn.params, *captured), (*op.args, *captured), strict=True)
    args = ["ptr %ctx", *(f"{_kind(p.type)} {e.uniform(atom)}" for p, atom in given)]
    found = e.code.let(f"call {kind} {symbol}({', '.join(args)})")
    if _polls(op.fn):
        leave_if_stopped(e)
    return [
        Held(UNIFORM, e.code.let(f"extractvalue {kind} {found}, {k}"))
        for k in range(len(results))
    ]


def _polls(fn: Lambda) -> bool:
    """Whether a function has a loop that may be long."""
    lets = list(walk_lets(fn))
    made = {let.vars[0]: let.op for let in lets if isinstance(let.op, Apply)}
    return any(isinstance(let.op, While) or (isinstance(let.op, For) and not is_short(made, let.op))
               for let in lets)  # fmt: skip


def _define(
    e: Emitter, fn: Lambda, captured: Sequence[Var], symbol: str, results: Sequence[DType]
) -> None:
    code = Code(e.code.module)
    params = {var: f"%p{k}" for k, var in enumerate((*fn.params, *captured))}
    held = {var: Held(UNIFORM, name) for var, name in params.items()}
    inner = Emitter(code, e.isa, e.handlers, held)
    inner.depth = 1  # its loops are not those of a block
    found = inner.run(fn, [held[param] for param in fn.params])
    kind, whole = _struct(results), "poison"
    for k, (result, dtype) in enumerate(zip(found, results, strict=True)):
        whole = code.let(f"insertvalue {kind} {whole}, {dtype.llvm} {result.text}, {k}")
    code.line(f"ret {kind} {whole}")
    if code.can_stop:
        code.label(STOPPED)
        code.line(f"ret {kind} zeroinitializer")
    listed = ", ".join(("ptr %ctx", *(f"{_kind(v.type)} {n}" for v, n in params.items())))
    head = f"define internal {kind} {{name}}({listed}) noinline #0 {{"
    e.code.module.define_once(symbol, head, code)


def _struct(dtypes: Sequence[DType]) -> str:
    return f"{{ {', '.join(dtype.llvm for dtype in dtypes)} }}"


def _kind(type_: Type) -> str:
    return type_.llvm if isinstance(type_, DType) else "ptr"


CALL_HANDLERS: Handlers = {
    Call: emit_call,
}
