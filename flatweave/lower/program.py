"""A swept program becomes a host program and its kernels: the driver of `lower/`.

Scalars of the program are host scalars, arrays are buffers. Sweeps become launches (`sweep.py`,
`place.py`), control stays control on the host, checks become failures, reshapes cost nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flatweave.array_ir.syntax import Program as ArrayProgram
from flatweave.base.dtypes import DType, i64, u64
from flatweave.base.plan import CHECK_ERROR, INDEX_ERROR, Param, Plan, Result, Site
from flatweave.base.schedule import CHOSEN, Schedule
from flatweave.kernel_ir.host import Alloc, Fail, Free, Retain
from flatweave.kernel_ir.syntax import Load, Unit
from flatweave.lower.host.context import Lowering, Program, buffer_type
from flatweave.lower.kernel.scope import HostArray, HostScope
from flatweave.lower.machine.machine import Machine
from flatweave.lower.scatter.choose import lower_scatter
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import SweepPlan
from flatweave.lower.schedule.scatter_variants import UPDATES
from flatweave.lower.sinks.table import lowered_sinks
from flatweave.lower.sort.radix import lower_order
from flatweave.lower.sweep.launches import lower_sweep
from flatweave.lower.traverse.row_of_position import Rows
from flatweave.ops import Check, Empty, Index, Locate, Order, Reshape, Sweep
from flatweave.passes.liveness import find_last_uses
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Var
from flatweave.terms.traverse import free_vars, lambdas_in


@dataclass(frozen=True, eq=False)
class Lowered:
    """The unit for the code generator and what the runtime must know of it."""

    unit: Unit
    plan: Plan
    sweeps: Mapping[str, SweepPlan]


def lower(
    program: ArrayProgram, machine: Machine, *, checks: bool = True, schedule: Schedule = CHOSEN,
    plans: Mapping[str, SweepPlan] | None = None,
) -> Lowered:  # fmt: skip
    """Lower a program in swept form to the given machine, by the variants that are wished for.

    A sweep that `plans` names follows that plan; CompilerBug if it cannot.
    """
    shared = Program(machine, checks, lower_lets, schedule, dict(plans or {}))
    host = Builder(shared.names)
    low = Lowering(shared, host, HostScope())
    params = bind_params(low, program.fn.params)
    if machine.shares_memory:  # others copy them, and own what they copied
        shared.kept_by_caller = frozenset(params)
    results = lower_body(low, program.fn, owned=False)
    flat, described = _results(low, program.fn.results, results)
    unit = Unit(host.close(params, flat), tuple(shared.kernels), tuple(shared.later))
    described_params = tuple(_param(param) for param in program.fn.params)
    return Lowered(unit, Plan(described_params, described, shared.sites.rows), shared.plans)


def _param(param: Var) -> Param:
    if isinstance(param.type, ArrayType):
        return Param(param.type.dtype, True)
    assert isinstance(param.type, DType)
    return Param(param.type, False)


def _results(
    low: Lowering, atoms: Sequence[Atom], hosts: Sequence[Atom]
) -> tuple[list[Atom], tuple[Result, ...]]:
    """The host's results: behind each array the extents that are not constant."""
    flat: list[Atom] = []
    described: list[Result] = []
    for atom, host in zip(atoms, hosts, strict=True):
        flat.append(host)
        if not isinstance(atom.type, ArrayType):
            assert isinstance(atom.type, DType)
            described.append(Result(atom.type, None))
            continue
        shape = low.scope.array(atom).shape
        flat.extend(extent for extent in shape if isinstance(extent, Var))
        known = tuple(int(e.value) if isinstance(e, Const) else None for e in shape)
        described.append(Result(atom.type.dtype, known))
    return flat, tuple(described)


def bind_params(low: Lowering, params: Sequence[Var]) -> list[Var]:
    """Host parameters: a scalar stays one, an array is its buffer."""
    hosts = []
    for param in params:
        host = low.host.param(param.name, buffer_type(param.type))
        hosts.append(host)
        if isinstance(param.type, ArrayType):
            shape = tuple(low.scope.scalar(extent) for extent in param.type.shape)
            low.scope.bind(param, HostArray(host, shape))
        else:
            low.scope.bind(param, host)
    return hosts


def lower_body(low: Lowering, fn: Lambda, *, owned: bool) -> tuple[Atom, ...]:
    """Lower a body; its results carry a reference of their own. `owned`: so do its parameters."""
    low.last_uses = find_last_uses(fn)
    if owned:
        _release_unused(low, fn)
    lower_lets(low, fn)
    return _hand_over(low, fn)


def lower_lets(low: Lowering, fn: Lambda) -> None:
    for let in fn.lets:
        low.where = low.host.where = let.where or low.where
        _lower_let(low, let)
        for var in sorted(low.last_uses.get(let, ()), key=lambda var: var.name):
            if var not in low.given_up:
                low.host.emit(Free(low.scope.array(var).buffer))


def _release_unused(low: Lowering, fn: Lambda) -> None:
    used = {var for vars_ in low.last_uses.values() for var in vars_} | set(fn.results)
    for param in fn.params:
        if isinstance(param.type, ArrayType) and param not in used:
            low.host.emit(Free(low.scope.array(param).buffer))


def _hand_over(low: Lowering, fn: Lambda) -> tuple[Atom, ...]:
    """The results as host values; an array that is not this body's, or comes twice, is shared."""
    out: list[Atom] = []
    handed: set[Var] = set()
    for result in fn.results:
        value = low.scope.find(result)
        if not isinstance(value, HostArray):
            out.append(value)
            continue
        assert isinstance(result, Var)
        if result in handed or not low.scope.owns(result):
            low.host.emit(Retain(value.buffer))
        handed.add(result)
        out.append(value.buffer)
    return tuple(out)


def _lower_let(low: Lowering, let: Let) -> None:
    bind, scalar = low.scope.bind, low.scope.scalar
    match let.op:
        case Apply(fn=fn, args=args):
            bind(let.vars[0], low.host.apply(fn, *(scalar(arg) for arg in args)))
        case Cast(dtype=dtype, arg=arg):
            bind(let.vars[0], low.host.cast(scalar(arg), dtype))
        case Sweep():
            _lower_sweep(low, let, let.op)
        case Index():
            bind(let.vars[0], _read(low, let.op))
        case Locate(ends=ends, skip=skip, position=position):
            held = low.scope.array(ends)
            rows = Rows(held.buffer, skip, low.host.sub(held.shape[0], index(skip)))
            for var, result in zip(let.vars, rows.search(low.host, scalar(position)), strict=True):
                bind(var, result)
        case Reshape(xs=xs, shape=shape):
            held = low.scope.array(xs)
            low.host.emit(Retain(held.buffer))
            bind(let.vars[0], HostArray(held.buffer, tuple(scalar(e) for e in shape)))
        case Empty(dtype=dtype, shape=shape):
            extents = tuple(scalar(extent) for extent in shape)
            count = low.host.product(extents)
            buffer = low.host.emit(Alloc(dtype, count, low.site()))[0]
            bind(let.vars[0], HostArray(buffer, extents))
        case Order():
            lower_order(low, let)
        case Check():
            _check(low, let.op)
        case If() | While() | For():
            _control(low, let, let.op)
        case _:
            raise NotImplementedError(f"{let.op.name} on the host")


def _lower_sweep(low: Lowering, let: Let, op: Sweep) -> None:
    """By its plan: on its own, or, where it writes to computed places, divided among blocks."""
    facts = SweepFacts.of(op)
    plan = low.program.plan(let, facts)
    if plan.scatter and plan.scatter[0].name not in UPDATES:
        lower_scatter(low, let, facts, plan)
    else:
        lower_sweep(low, let, facts, plan, lowered_sinks(op, let))


def _check(low: Lowering, op: Check) -> None:
    """Up to two values go with the failure; the message has room for them."""
    failed = low.host.apply("not", low.scope.scalar(op.condition))
    values = [low.host.cast(low.scope.scalar(v), i64) for v in op.values_[:2]]
    values += [index(0)] * (2 - len(values))
    site = low.sites.add(Site(op.kind, low.where, op.message, len(op.values_)))
    low.host.emit(Fail(failed, CHECK_ERROR, site, *values))


def _read(low: Lowering, op: Index) -> Atom:
    """One element on the host."""
    held = low.scope.array(op.xs)
    indices = [low.scope.scalar(i) for i in op.indices]
    for axis, (i, extent) in enumerate(zip(indices, held.shape, strict=True)):
        if op.checked and low.checks:
            outside = low.host.apply("ge", low.host.cast(i, u64), low.host.cast(extent, u64))
            site = low.sites.add(Site("index", low.where, axis=axis))
            low.host.emit(Fail(outside, INDEX_ERROR, site, i, extent))
    return low.host.emit(Load(held.buffer, low.host.ravel(indices, held.shape)))[0]


def _control(low: Lowering, let: Let, op: If | While | For) -> None:
    scalar = low.scope.scalar
    match op:
        case If(condition=condition, then=then, other=other):
            ways = [_branch(low, way, optional=True) for way in (then, other)]
            made = If(scalar(condition), *ways)
            results = low.host.emit(made)
        case While(condition=holds, body=body, init=init):
            state = _initial(low, let, init)
            loop = While(_condition(low, holds), _branch(low, body), state)
            results = low.host.emit(loop)
        case For(lo=lo, hi=hi, step=step, body=body, init=init):
            state = _initial(low, let, init)
            counted = For(scalar(lo), scalar(hi), scalar(step), _branch(low, body), state)
            results = low.host.emit(counted)
    _bind_results(low, let.vars, results)


def _bind_results(low: Lowering, vars_: Sequence[Var], results: Sequence[Atom]) -> None:
    for var, result in zip(vars_, results, strict=True):
        if not isinstance(var.type, ArrayType):
            low.scope.bind(var, result)
    for var, result in zip(vars_, results, strict=True):
        if isinstance(var.type, ArrayType):
            assert isinstance(result, Var)
            shape = tuple(low.scope.scalar(extent) for extent in var.type.shape)
            low.scope.bind(var, HostArray(result, shape))


def _branch(low: Lowering, fn: Lambda, *, optional: bool = False) -> Lambda:
    """A body of control: it owns its array parameters and gives away its results."""
    inside = low.inner(optional=optional)
    params = bind_params(inside, fn.params)
    results = lower_body(inside, fn, owned=True)
    return inside.host.close(params, results)


def _condition(low: Lowering, fn: Lambda) -> Lambda:
    """A loop's test borrows the state."""
    inside = low.inner()
    params = bind_params(inside, fn.params)
    inside.last_uses = {
        let: {v for v in vars_ if v not in fn.params}
        for let, vars_ in find_last_uses(fn).items()
    }
    lower_lets(inside, fn)
    return inside.host.close(params, [inside.scope.scalar(fn.results[0])])


def _initial(low: Lowering, let: Let, init: Sequence[Atom]) -> tuple[Atom, ...]:
    """The state that a loop takes over: each array with a reference of its own."""
    out: list[Atom] = []
    moved: set[Var] = set()
    for atom in init:
        value = low.scope.find(atom)
        if not isinstance(value, HostArray):
            out.append(value)
            continue
        assert isinstance(atom, Var)
        if atom in low.last_uses.get(let, ()) and atom not in moved and not _captured(let, atom):
            low.given_up.add(atom)
            moved.add(atom)
        else:
            low.host.emit(Retain(value.buffer))
        out.append(value.buffer)
    return tuple(out)


def _captured(let: Let, var: Var) -> bool:
    """Whether a loop's body also reads the variable from outside."""
    return any(var in free_vars(fn) for fn in lambdas_in(let.op))
