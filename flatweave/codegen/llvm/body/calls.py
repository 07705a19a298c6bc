"""Functions of their own in LLVM: an operator that several places of a kernel call.

    s = call (a, b => add a b) x y      %r = call float @fw.call.a_7(ptr %ctx, float %x, float %y)

The function is defined at the first call; what its body reads from outside it is passed, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType
from flatweave.codegen.llvm.body.emitter import Emitter, Handlers, Held, scalar_type
from flatweave.codegen.llvm.body.look import leave_if_stopped
from flatweave.codegen.llvm.body.shapes import UNIFORM
from flatweave.codegen.llvm.body.trip_count import is_short
from flatweave.codegen.llvm.text.code import STOPPED, Code
from flatweave.kernel_ir.syntax import Call
from flatweave.terms.control import Apply, For, While
from flatweave.terms.syntax import Lambda, Let, Type, Var
from flatweave.terms.traverse import free_vars, walk_lets


def emit_call(e: Emitter, let: Let) -> Sequence[Held]:
    """A call of a function that is not inlined."""
    op: Call = let.op  # type: ignore[assignment]
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


HANDLERS: Handlers = {
    Call: emit_call,
}
