"""Kernels as C at the level of one thread: dispatch, scalar functions, control and calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flatweave.base.dtypes import DType, i32, i64, stored, u32
from flatweave.base.errors import CompilerBug
from flatweave.codegen.c.dialect import Dialect, VariableNames, literal, scalar_type
from flatweave.codegen.c.index_width import QUOTIENTS, WIDE, Narrowed, is_modular
from flatweave.kernel_ir import dtype_in
from flatweave.kernel_ir import syntax as k
from flatweave.kernel_ir.hierarchy import LEVELS, THREAD, WARP
from flatweave.kernel_ir.syntax import Call
from flatweave.scalar.function import CText, c_cast
from flatweave.scalar.ops import TABLE
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Atom, BufferType, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import atoms_in, free_vars, walk_lets

# Kernels as C at the level of one thread: what CUDA C and OpenCL C have in common.
#
#     kernel scale(n: i64, xs: global f32) warps 8 =>      void scale(int64_t n, float *xs, ..) {
#         lanes 32 (() =>                                      {
#             j: i64 = lane i                                      const int64_t j = i + fw_lane;
#             x: f32 = load xs j                                   const float x = xs[j];
#             y: f32 = apply mul x 2.0f32                          const float y = (x * 2.0f);
#             store ys j y))                                       ys[j] = y; }
#
# Uniform code is run by every thread of a warp alike; what it stores, one lane stores. Structured
# control is C's own. What each op becomes is said in the files around this one.


PLAIN = {"add": "+", "sub": "-", "mul": "*"}
"""Of integers that do not wrap, as C may assume: then an address is known from its neighbour's."""
BY_WIDTH = ("clz", "ctz", "popcount", "not", "shl", "mul_hi")
"""The result depends on how many bits the operand has."""
Handler = Callable[["CEmitter", Let, Any], None]
Handlers = Mapping[type[Op], Handler]


class CEmitter:
    """One kernel under emission: its lines, what it needs declared before them, where it stands."""

    def __init__(
        self, dialect: Dialect, handlers: Handlers, helpers: dict[str, None],
        threads: int, width: int, narrowed: Narrowed = WIDE,
    ) -> None:  # fmt: skip
        self.dialect = dialect
        self.handlers = handlers
        self.helpers = helpers
        self.threads = threads
        self.width = width
        self.narrowed = narrowed
        self.names = VariableNames()
        self.lines: list[str] = []
        self.shared: dict[str, str] = {}
        self.in_lanes = False
        self.depth = 1

    # -- lines ------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Append a statement, or several lines of them."""
        for part in text.splitlines():
            self.lines.append("    " * self.depth + part)

    def open(self, text: str) -> None:
        """Begin a compound statement."""
        self.line(text)
        self.depth += 1

    def close(self, text: str = "}") -> None:
        """End it."""
        self.depth -= 1
        self.line(text)

    def state_position(self) -> None:
        """Define the number of the thread, of its lane and of its warp, at a function's head."""
        self.line(f"const int fw_thread = {self.dialect.thread};")
        lane = f"fw_lane = fw_thread % {self.width}, fw_warp = fw_thread / {self.width}"
        self.line(f"const int {lane};")

    def declare_shared(self, name: str, dtype: DType, count: int) -> str:
        """Memory of the block, stated once at the kernel's head."""
        self.shared[name] = f"{self.dialect.shared} {stored(dtype).c} {name}[{count}];"
        return name

    # -- values -----------------------------------------------------------------------------------

    def atom(self, atom: Atom) -> str:
        """An atom as an expression."""
        return literal(atom) if isinstance(atom, Const) else self.names.of(atom)

    def wide(self, atom: Atom) -> str:
        """An atom in the type that it has in the kernel."""
        return f"(int64_t){self.atom(atom)}" if self.is_narrow(atom) else self.atom(atom)

    def narrow(self, atom: Atom) -> str:
        """The low 32 bits of an integer."""
        if isinstance(atom, Const):
            return literal(Const((int(atom.value) + (1 << 31)) % (1 << 32) - (1 << 31), i32))
        return self.atom(atom) if self.is_narrow(atom) else f"(int32_t){self.atom(atom)}"

    def index(self, atom: Atom) -> str:
        """A position in memory: where the kernel takes 32 bits for any, so do all."""
        return self.narrow(atom) if self.narrowed.fits is not None else self.atom(atom)

    def is_narrow(self, atom: Atom) -> bool:
        """Whether an integer of 64 bits is computed in 32."""
        return isinstance(atom, Var) and atom in self.narrowed.all

    def is_bounded(self, atom: Atom) -> bool:
        """Whether an integer has 32 bits and is the value, not only its low bits."""
        if isinstance(atom, Const):
            return atom.dtype is i64 and abs(int(atom.value)) < 1 << 31
        return atom in self.narrowed.bounded

    def is_natural(self, atom: Atom) -> bool:
        """Whether a bounded integer is never negative."""
        return int(atom.value) >= 0 if isinstance(atom, Const) else atom in self.narrowed.natural

    def dtype(self, var: Var) -> DType:
        """The type that a scalar variable has in the text."""
        return i32 if self.is_narrow(var) else scalar_type(var.type)

    def define(self, var: Var, expression: str) -> None:
        """Bind a variable to the value of an expression."""
        self.line(f"const {self.dtype(var).c} {self.names.of(var)} = {expression};")

    def declare(self, variables: Sequence[Var]) -> None:
        """State variables that are assigned later."""
        for var in variables:
            self.line(f"{self.dtype(var).c} {self.names.of(var)};")

    def temporary(self, dtype: DType, expression: str, hint: str = "fw_t") -> str:
        """A new named variable that holds a value."""
        name = self.names.fresh(hint)
        self.line(f"{dtype.c} {name} = {expression};")
        return name

    def spell(self, text: CText, operands: Sequence[str]) -> str:
        """A spelling from the scalar table on operands; its helpers are kept for the head."""
        for helper in text.helpers:
            self.helpers.setdefault(helper)
        return text.template.format(*operands)

    # -- bodies -----------------------------------------------------------------------------------

    def run(self, fn: Lambda, args: Sequence[str] = ()) -> list[str]:
        """Emit a body whose parameters are the values of these expressions; its results."""
        for param, arg in zip(fn.params, args, strict=True):
            self.define(param, arg)
        return self.body(fn)

    def body(self, fn: Lambda) -> list[str]:
        """Emit a body whose parameters are bound already; its results."""
        for let in fn.lets:
            handler = self.handlers.get(type(let.op))
            if handler is None:
                raise CompilerBug(
                    f"{let.op.name} cannot stand in a kernel for {self.dialect.name}",
                    where=let.where,
                )
            handler(self, let, let.op)
        return [self.atom(atom) for atom in fn.results]

    def assign(
        self, targets: Sequence[str], values: Sequence[str], dtypes: Sequence[DType]
    ) -> None:
        """Assign all at once: a value that is itself assigned here is read first."""
        changed = [n for n in range(len(targets)) if targets[n] != values[n]]
        early = {n for n in changed if values[n] in targets and len(changed) > 1}
        read = {n: self.temporary(dtypes[n], values[n]) for n in sorted(early)}
        for n in changed:
            self.line(f"{targets[n]} = {read.get(n, values[n])};")

    def one_lane(self, statement: str) -> None:
        """A statement that in uniform code one lane of each warp runs."""
        self.line(statement if self.in_lanes else f"if (fw_lane == 0) {{ {statement} }}")


# Scalar functions, control and position in C: what every kernel has.
#
# y: f32 = apply mul x 2.0f32      const float y = (x * 2.0f);
# for 0i64 n 1i64 [t=0] (i t => ..)    int64_t t = 0; for (int64_t i = 0; i < n; i += 1) { .. }
# lanes 32 (() => .. lane i ..)        { .. i + fw_lane .. }


# -- scalar work ----------------------------------------------------------------------------------


def emit_apply(e: CEmitter, let: Let, op: Apply) -> None:
    """z = x + y, as the scalar table spells it for the operands' dtype."""
    var, args = let.vars[0], [arg for arg in op.args if arg.type is i64]
    is_bounded = bool(args) and all(map(e.is_bounded, args))
    if is_bounded and var in e.narrowed.bounded and op.fn in PLAIN:
        return e.define(var, f"({e.narrow(args[0])} {PLAIN[op.fn]} {e.narrow(args[1])})")
    if (e.is_narrow(var) and is_modular(op)) or (
        is_bounded and op.fn not in BY_WIDTH and (var.type is not i64 or e.is_narrow(var))
    ):
        dtype = u32 if op.fn in QUOTIENTS and all(map(e.is_natural, args)) else i32
        texts = [e.narrow(arg) if arg.type is i64 else e.atom(arg) for arg in op.args]
    else:
        dtype = scalar_type(op.args[1 if op.fn == "select" else 0].type)
        texts = [e.wide(arg) for arg in op.args]
    e.define(var, e.spell(TABLE[op.fn].c(dtype), texts))


def emit_cast(e: CEmitter, let: Let, op: Cast) -> None:
    """A conversion, as the scalar table spells it."""
    e.define(let.vars[0], e.spell(c_cast(scalar_type(op.arg.type), op.dtype), [e.wide(op.arg)]))


# -- control --------------------------------------------------------------------------------------


def emit_if(e: CEmitter, let: Let, op: If) -> None:
    """if (p) { .. } else { .. }"""
    e.declare(let.vars)
    targets, dtypes = _targets(e, let.vars)
    e.open(f"if ({e.atom(op.condition)}) {{")
    e.assign(targets, e.run(op.then), dtypes)
    if op.other.lets or op.other.results:
        e.close("} else {")
        e.depth += 1
        e.assign(targets, e.run(op.other), dtypes)
    e.close()


def emit_for(e: CEmitter, let: Let, op: For) -> None:
    """for (i = lo; i < hi; i += step) { .. }; narrow counters run in an i64, which cannot wrap."""
    counter, *state = op.body.params
    targets, dtypes = _begin_state(e, let.vars, state, op.init)
    dtype = e.dtype(counter)
    wide = dtype if dtype.bits == 64 or e.is_narrow(counter) else i64
    i = e.names.fresh(counter.name) if wide is not dtype else e.names.of(counter)
    spell = e.narrow if e.is_narrow(counter) else e.wide
    lo, hi, step = (f"({wide.c}){e.atom(x)}" if wide is not dtype else spell(x)
                    for x in (op.lo, op.hi, op.step))  # fmt: skip
    if _keeps_registers(op):
        e.line("#pragma unroll")
    e.open(f"for ({wide.c} {i} = {lo}; {i} < {hi}; {i} += {step}) {{")
    if wide is not dtype:
        e.define(counter, f"({dtype.c}){i}")
    e.assign(targets, e.body(op.body), dtypes)
    e.close()


def _keeps_registers(op: For) -> bool:
    """Whether a loop of a known trip count uses memory of its thread: unrolling the loop puts that
    memory in registers."""
    bounds = all(isinstance(atom, Const) for atom in (op.lo, op.hi, op.step))
    return bounds and any(
        isinstance(atom.type, BufferType) and atom.type.space == THREAD.space
        for let in walk_lets(op.body) for atom in atoms_in(let.op)
    )  # fmt: skip


def emit_while(e: CEmitter, let: Let, op: While) -> None:
    """for (;;) { if (!condition) break; .. }"""
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
    return [e.names.of(v) for v in variables], [e.dtype(v) for v in variables]


# -- position -------------------------------------------------------------------------------------


def emit_lanes(e: CEmitter, let: Let, op: k.Lanes) -> None:
    """A region that all lanes of a warp run; `lanes 1` is uniform code."""
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


def emit_lane(e: CEmitter, let: Let, op: k.Lane) -> None:
    """base + the number of this lane, or base minus it."""
    sign, var = "-" if op.reverse else "+", let.vars[0]
    if not e.is_narrow(var) or (var in e.narrowed.bounded and e.is_bounded(op.base)):
        return e.define(var, f"{e.atom(op.base)} {sign} fw_lane")
    e.define(var, f"(int32_t)((uint32_t){e.narrow(op.base)} {sign} (uint32_t)fw_lane)")


def emit_block_index(e: CEmitter, let: Let, _: Op) -> None:
    """The block's number: as the machine gives it, or claimed where blocks wait for each other."""
    e.define(let.vars[0], "fw_block")


def emit_warp_index(e: CEmitter, let: Let, _: Op) -> None:
    """The warp's number in its block."""
    e.define(let.vars[0], "fw_warp")


def emit_sync(e: CEmitter, let: Let, op: k.Sync) -> None:
    """A barrier for all threads of the block, or of the warp."""
    of_warp = LEVELS[op.level] is WARP
    e.line(e.dialect.warp_barrier if of_warp else e.dialect.barrier)


def emit_backoff(e: CEmitter, let: Let, op: k.Backoff) -> None:
    """A pause, the longer the more attempts there were; others may run meanwhile."""
    e.line(e.dialect.pause.format(attempt=e.atom(op.attempt)))


# Separate C functions: an operator that a kernel calls more than once.
#
#     s = call (a, b => add a b) x y      float s;  fw_call_a_7(fw_status, x, y, &s);
#
# A copy of a loop's body calls the same function with other captured variables: they name it,
# too.


def emit_call(e: CEmitter, let: Let, op: Call) -> None:
    """A call of a function that is not inlined; captured variables are arguments."""
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
    return f"{e.dialect.global_pointer.format(type=stored(dtype_in(var)).c)}{e.names.of(var)}"


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
    Call: emit_call,
}
