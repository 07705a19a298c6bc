"""Functions of their own in C: an operator that several places of a kernel call.

    s = call (a, b => add a b) x y      float s;  fw_call_a_7(fw_status, x, y, &s);

A copy of a loop's body calls the same function with other captured variables: they name it, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType
from flatweave.codegen.c.emitter import CEmitter, Handlers
from flatweave.codegen.c.values import buffer_dtype, scalar_type, stored
from flatweave.kernel_ir.syntax import Call
from flatweave.terms.syntax import Lambda, Let, Var
from flatweave.terms.traverse import free_vars


def emit_call(e: CEmitter, let: Let) -> None:
    """A call of a function that is not inlined; captured variables are arguments."""
    op: Call = let.op  # type: ignore[assignment]
    captured = tuple(free_vars(op.fn))
    symbol = "_".join(["fw_call", op.fn.params[0].name, *(var.name for var in captured)])
    e.helpers.setdefault(_function(e, op.fn, captured, symbol))
    e.declare(let.vars)
    args = [e.atom(atom) for atom in (*op.args, *captured)]
    results = [f"&{e.names.of(var)}" for var in let.vars]
    e.line(f"{symbol}({', '.join(('fw_status', *args, *results))});")


def _function(e: CEmitter, fn: Lambda, captured: Sequence[Var], symbol: str) -> str:
    inner = CEmitter(e.dialect, e.handlers, e.helpers, e.threads, e.width)
    params = [f"{e.dialect.global_pointer.format(type='int64_t')}fw_status"]
    params += [_param(inner, var) for var in (*fn.params, *captured)]
    inner.state_position()
    for number, (text, atom) in enumerate(zip(inner.body(fn), fn.results, strict=True)):
        params.append(f"{scalar_type(atom.type).c} *fw_result{number}")
        inner.line(f"*fw_result{number} = {text};")
    head = e.dialect.function.format(name=symbol, params=", ".join(params))
    return "\n".join([f"{head} {{", *inner.lines, "}", ""])


def _param(e: CEmitter, var: Var) -> str:
    if isinstance(var.type, DType):
        return f"const {var.type.c} {e.names.of(var)}"
    return f"{e.dialect.global_pointer.format(type=stored(buffer_dtype(var)).c)}{e.names.of(var)}"


HANDLERS: Handlers = {
    Call: emit_call,
}
