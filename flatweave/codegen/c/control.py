"""Scalar functions, control and position in C: what every kernel has.

    y: f32 = apply mul x 2.0f32      const float y = (x * 2.0f);
    for 0i64 n 1i64 [t=0] (i t => ..)    int64_t t = 0; for (int64_t i = 0; i < n; i += 1) { .. }
    lanes 32 (() => .. lane i ..)        { .. i + fw_lane .. }
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, i64
from flatweave.codegen.c.emitter import CEmitter, Handlers
from flatweave.codegen.c.values import scalar_type
from flatweave.kernel_ir import syntax as k
from flatweave.kernel_ir.hierarchy import LEVELS, THREAD, WARP
from flatweave.scalar.cast import c_cast
from flatweave.scalar.ops import TABLE
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Atom, BufferType, Const, Let, Var
from flatweave.terms.traverse import atoms_in, walk_lets

# -- scalar work ----------------------------------------------------------------------------------


def emit_apply(e: CEmitter, let: Let) -> None:
    """z = x + y, as the scalar table spells it for the operands' dtype."""
    op: Apply = let.op  # type: ignore[assignment]
    dtype = scalar_type(op.args[1 if op.fn == "select" else 0].type)
    e.define(let.vars[0], e.spell(TABLE[op.fn].c(dtype), [e.atom(arg) for arg in op.args]))


def emit_cast(e: CEmitter, let: Let) -> None:
    """A conversion, as the scalar table spells it."""
    op: Cast = let.op  # type: ignore[assignment]
    e.define(let.vars[0], e.spell(c_cast(scalar_type(op.arg.type), op.dtype), [e.atom(op.arg)]))


# -- control --------------------------------------------------------------------------------------


def emit_if(e: CEmitter, let: Let) -> None:
    """if (p) { .. } else { .. }"""
    op: If = let.op  # type: ignore[assignment]
    e.declare(let.vars)
    targets, dtypes = _targets(e, let.vars)
    e.open(f"if ({e.atom(op.condition)}) {{")
    e.assign(targets, e.run(op.then), dtypes)
    if op.other.lets or op.other.results:
        e.close("} else {")
        e.depth += 1
        e.assign(targets, e.run(op.other), dtypes)
    e.close()


def emit_for(e: CEmitter, let: Let) -> None:
    """for (i = lo; i < hi; i += step) { .. }; narrow counters run in an i64, which cannot wrap."""
    op: For = let.op  # type: ignore[assignment]
    counter, *state = op.body.params
    targets, dtypes = _begin_state(e, let.vars, state, op.init)
    dtype = scalar_type(counter.type)
    wide = dtype if dtype.bits == 64 else i64
    i = e.names.fresh(counter.name) if wide is not dtype else e.names.of(counter)
    lo, hi, step = (f"({wide.c}){e.atom(x)}" if wide is not dtype else e.atom(x)
                    for x in (op.lo, op.hi, op.step))  # fmt: skip
    if _keeps_registers(op):
        e.line("#pragma unroll")
    e.open(f"for ({wide.c} {i} = {lo}; {i} < {hi}; {i} += {step}) {{")
    if wide is not dtype:
        e.define(counter, f"({dtype.c}){i}")
    e.assign(targets, e.body(op.body), dtypes)
    e.close()


def _keeps_registers(op: For) -> bool:
    """Whether a loop of a known number of turns uses memory of its thread: where it is written out,
    that is in registers."""
    bounds = all(isinstance(atom, Const) for atom in (op.lo, op.hi, op.step))
    return bounds and any(
        isinstance(atom.type, BufferType) and atom.type.space == THREAD.space
        for let in walk_lets(op.body) for atom in atoms_in(let.op)
    )  # fmt: skip


def emit_while(e: CEmitter, let: Let) -> None:
    """for (;;) { if (!condition) break; .. }"""
    op: While = let.op  # type: ignore[assignment]
    targets, dtypes = _begin_state(e, let.vars, op.body.params, op.init)
    e.open("for (;;) {")
    holds = e.run(op.condition, targets)[0]
    e.line(f"if (!{holds}) break;")
    e.assign(targets, e.body(op.body), dtypes)
    e.close()


def _begin_state(
    e: CEmitter, bound: Sequence[Var], params: Sequence[Var], init: Sequence[Atom]
) -> tuple[list[str], list[DType]]:
    """Variables for a loop's state, which are also its results."""
    dtypes = [scalar_type(param.type) for param in params]
    first = [e.atom(atom) for atom in init]
    for var, param, dtype, value in zip(bound, params, dtypes, first, strict=True):
        name = e.names.share(var, param)
        e.line(f"{dtype.c} {name} = {value};")
    return [e.names.of(param) for param in params], dtypes


def _targets(e: CEmitter, variables: Sequence[Var]) -> tuple[list[str], list[DType]]:
    return [e.names.of(v) for v in variables], [scalar_type(v.type) for v in variables]


# -- position -------------------------------------------------------------------------------------


def emit_lanes(e: CEmitter, let: Let) -> None:
    """A region that all lanes of a warp run; `lanes 1` is uniform code."""
    op: k.Lanes = let.op  # type: ignore[assignment]
    e.declare(let.vars)
    outside, e.in_lanes = e.in_lanes, op.width > 1
    e.open("{")
    e.assign(*_assignment(e, let.vars, e.run(op.body)))
    e.close()
    e.in_lanes = outside


def _assignment(
    e: CEmitter, variables: Sequence[Var], values: list[str]
) -> tuple[list[str], list[str], list[DType]]:
    targets, dtypes = _targets(e, variables)
    return targets, values, dtypes


def emit_lane(e: CEmitter, let: Let) -> None:
    """base + the number of this lane, or base minus it."""
    op: k.Lane = let.op  # type: ignore[assignment]
    sign = "-" if op.reverse else "+"
    e.define(let.vars[0], f"{e.atom(op.base)} {sign} fw_lane")


def emit_block_index(e: CEmitter, let: Let) -> None:
    """The block's number: as the machine gives it, or claimed where blocks wait for each other."""
    e.define(let.vars[0], "fw_block")


def emit_warp_index(e: CEmitter, let: Let) -> None:
    """The warp's number in its block."""
    e.define(let.vars[0], "fw_warp")


def emit_sync(e: CEmitter, let: Let) -> None:
    """A barrier for all threads of the block, or of the warp."""
    op: k.Sync = let.op  # type: ignore[assignment]
    of_warp = LEVELS[op.level] is WARP
    e.line(e.dialect.warp_barrier if of_warp else e.dialect.barrier)


def emit_backoff(e: CEmitter, let: Let) -> None:
    """A pause, the longer the more attempts there were; others may run meanwhile."""
    op: k.Backoff = let.op  # type: ignore[assignment]
    e.line(e.dialect.pause.format(attempt=e.atom(op.attempt)))


HANDLERS: Handlers = {
    Apply: emit_apply,
    Cast: emit_cast,
    If: emit_if,
    For: emit_for,
    While: emit_while,
    k.Lanes: emit_lanes,
    k.Lane: emit_lane,
    k.BlockIndex: emit_block_index,
    k.WarpIndex: emit_warp_index,
    k.Sync: emit_sync,
    k.Backoff: emit_backoff,
}
