"""A swept program becomes a host program and its kernels: the driver of `lower/`.

Scalars of the program are host scalars, arrays are buffers. Sweeps become launches (`sweep.py`,
`executor.py`), control stays control on the host, checks become failures, reshapes cost nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from flatweave.algorithms.loops import long_fold
from flatweave.array_ir.syntax import Program as ArrayProgram
from flatweave.base.dtypes import DType, bool_, i64, u64
from flatweave.base.plan import CHECK_ERROR, INDEX_ERROR, Param, Plan, Result, Site
from flatweave.base.pretty import Note
from flatweave.base.records import record
from flatweave.base.schedule import CHOSEN, Schedule
from flatweave.kernel_ir.host import Fail, Free, Retain
from flatweave.kernel_ir.syntax import Load, Unit
from flatweave.lower import calls
from flatweave.lower.context import Lowering, Program, buffer_type, name_of
from flatweave.lower.in_place import adopt, given_to, reads_first, rewritten, tell_unused
from flatweave.lower.kernel_builder import HostArray, HostScope, param_of
from flatweave.lower.machine import Machine
from flatweave.lower.scatter import choose
from flatweave.lower.scatter.plans import planned, refuse_unknown
from flatweave.lower.schedule.facts import SweepFacts
from flatweave.lower.schedule.plan import SweepPlan
from flatweave.lower.schedule.split_folds import split_folds
from flatweave.lower.sort import radix, short_rows
from flatweave.lower.sweep.launches import lower_sweep
from flatweave.lower.sweep.sinks import lowered_sinks
from flatweave.lower.traverse import row_lookup
from flatweave.ops import (
    ByRow,
    Callback,
    CallKernel,
    Check,
    Empty,
    Fold,
    Index,
    Locate,
    RadixSort,
    Reshape,
    SortRow,
    SortRows,
    Suits,
    Sweep,
)
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import ArrayType, Atom, BufferType, Const, Lambda, Let, Var
from flatweave.terms.traverse import find_last_uses, free_vars, lambdas_in

NOTHING_HELD: Mapping[Let, set[Var]] = {}


@record
class Lowered:
    """The program with its folds split, the unit for the code generator, what the runtime must know
    of it, and what to tell users."""

    program: ArrayProgram
    unit: Unit
    plan: Plan
    sweeps: Mapping[str, SweepPlan]
    notes: Sequence[Note]


def lower(
    program: ArrayProgram, machine: Machine, *, checks: bool = True, schedule: Schedule = CHOSEN,
    plans: Mapping[str, SweepPlan] | None = None,
) -> Lowered:  # fmt: skip
    """Lower a program in swept form to the given machine, by the variants that are wished for.

    A sweep that `plans` names follows that plan; CompilerBug if it cannot.
    """
    program = split_folds(reads_first(program, schedule.donated), machine)
    shared = Program(machine, checks, lower_lets, schedule, dict(plans or {}))
    versions = (let.op for let in Suits.all_in(program.fn))
    shared.tuned = dict(zip(versions, schedule.tuned, strict=False))
    host = Builder(shared.names)
    lowering = Lowering(shared, host, HostScope())
    params = bind_params(lowering, program.fn.params)
    if machine.shares_memory:  # others copy them, and own what they copied
        shared.kept_by_caller = frozenset(params)
    given = adopt(lowering, program.fn, schedule.donated)
    results = lower_body(lowering, program.fn, owned=False, held=given.held)
    refuse_unknown(shared)
    tell_unused(lowering)
    flat, described = _results(lowering, program.fn.results, results)
    params = [*params, *given.flags]
    unit = Unit(host.close(params, flat), tuple(shared.kernels), tuple(shared.later))
    described_params = [param_of(param.type) for param in program.fn.params]
    described_params += [Param(bool_, False)] * len(given.flags)
    plan = Plan(tuple(described_params), described, shared.sites.rows, tuple(shared.calls))
    return Lowered(program, unit, plan, shared.plans, shared.notes)


def _results(
    lowering: Lowering, atoms: Sequence[Atom], hosts: Sequence[Atom]
) -> tuple[list[Atom], tuple[Result, ...]]:
    """The host's results: each array is followed by its extents that are not constant."""
    flat: list[Atom] = []
    described: list[Result] = []
    for atom, host in zip(atoms, hosts, strict=True):
        flat.append(host)
        if not isinstance(atom.type, ArrayType):
            assert isinstance(atom.type, DType)
            described.append(Result(atom.type, None))
            continue
        shape = lowering.scope.array(atom).shape
        flat.extend(extent for extent in shape if isinstance(extent, Var))
        known = tuple(int(e.value) if isinstance(e, Const) else None for e in shape)
        described.append(Result(atom.type.dtype, known))
    return flat, tuple(described)


def bind_params(lowering: Lowering, params: Sequence[Var]) -> list[Var]:
    """Host parameters: a scalar stays one, an array is its buffer."""
    hosts = []
    for param in params:
        host = lowering.host.param(param.name, buffer_type(param.type))
        hosts.append(host)
        lowering.scope.bind_host(param, host)
    return hosts


def lower_body(
    lowering: Lowering, fn: Lambda, *, owned: bool, held: Mapping[Let, set[Var]] = NOTHING_HELD,
    given: Sequence[Var] = (),
) -> tuple[Atom, ...]:  # fmt: skip
    """Lower a body, whose results carry owned references. `owned`: so do its parameters; it owns
    what it is `given` from outside. Variables that are `held` until after a let are freed there."""
    for var in given:
        lowering.scope.bind(var, lowering.scope.array(var))
    lowering.last_uses = find_last_uses(fn, given)
    for let, vars_ in held.items():
        lowering.last_uses[let] = lowering.last_uses.get(let, set()) | vars_
    _release_unused(lowering, fn, (*fn.params, *given), owned)
    lower_lets(lowering, fn)
    return _hand_over(lowering, fn)


def lower_lets(lowering: Lowering, fn: Lambda) -> None:
    for let in fn.lets:
        lowering.where = lowering.host.where = let.where or lowering.where
        _lower_let(lowering, let)
        for var in sorted(lowering.last_uses.get(let, ()), key=lambda var: var.name):
            lowering.scope.ended.add(var)
            if var not in lowering.given_up:
                lowering.host.emit(Free(lowering.scope.array(var).buffer))
        if let is lowering.program.until:
            lowering.program.until = None


def _release_unused(lowering: Lowering, fn: Lambda, own: Sequence[Var], owned: bool) -> None:
    used = {var for vars_ in lowering.last_uses.values() for var in vars_} | set(fn.results)
    for param in own:
        if isinstance(param.type, ArrayType) and param not in used:
            buffer = lowering.scope.array(param).buffer
            if owned or buffer in lowering.program.donated:
                lowering.host.emit(Free(buffer))


def _hand_over(lowering: Lowering, fn: Lambda) -> tuple[Atom, ...]:
    """The results as host values; an array that is not this body's, or comes twice, is shared."""
    out: list[Atom] = []
    handed: set[Var] = set()
    for result in fn.results:
        value = lowering.scope.find(result)
        if not isinstance(value, HostArray):
            out.append(value)
            continue
        assert isinstance(result, Var)
        if result in handed or not lowering.scope.owns(result):
            lowering.host.emit(Retain(value.buffer))
        lowering.program.taken.add(value.buffer)
        handed.add(result)
        out.append(value.buffer)
    return tuple(out)


def _lower_let(lowering: Lowering, let: Let) -> None:
    bind, scalar = lowering.scope.bind, lowering.scope.scalar
    match let.op:
        case Apply(fn=fn, args=args):
            bind(let.vars[0], lowering.host.apply(fn, *(scalar(arg) for arg in args)))
        case Cast(dtype=dtype, arg=arg):
            bind(let.vars[0], lowering.host.cast(scalar(arg), dtype))
        case Sweep():
            _lower_sweep(lowering, let, let.op)
        case Index():
            bind(let.vars[0], _read(lowering, let.op))
        case Locate(ends=ends, skip=skip, position=position):
            held = lowering.scope.array(ends)
            rows = row_lookup.Rows(held.buffer, skip, lowering.host.sub(held.shape[0], index(skip)))
            found = rows.search(lowering.host, scalar(position))
            for var, result in zip(let.vars, found, strict=True):
                bind(var, result)
        case Reshape(xs=xs, shape=shape):
            held = lowering.scope.array(xs)
            lowering.host.emit(Retain(held.buffer))
            bind(let.vars[0], HostArray(held.buffer, tuple(scalar(e) for e in shape)))
        case Empty(dtype=dtype, shape=shape):
            extents = tuple(scalar(extent) for extent in shape)
            buffer = lowering.alloc(dtype, lowering.host.product(extents))
            bind(let.vars[0], HostArray(buffer, extents))
        case Suits():
            bind(let.vars[0], calls.suits(lowering, let.op))
        case ByRow():
            calls.lower_by_row(lowering, let, let.op, partial(lower_body, owned=False))
        case Callback() | CallKernel():
            calls.lower_call(lowering, let, let.op)
        case RadixSort():
            radix.lower_radix_sort(lowering, let)
        case SortRow():
            short_rows.lower_sort_row(lowering, let, let.op)
        case SortRows():
            short_rows.lower_sort_rows(lowering, let, let.op)
        case Check():
            _check(lowering, let.op)
        case If() | While() | For():
            _control(lowering, let, let.op)
        case Fold():
            _fold(lowering, let, let.op)
        case _:
            raise NotImplementedError(f"{let.op.name} on the host")


def _lower_sweep(lowering: Lowering, let: Let, op: Sweep) -> None:
    """Lower a sweep by its plan; a scatter may be divided among blocks."""
    facts = SweepFacts(op)
    plan = planned(lowering.program, name_of(let), facts, let.where)
    if plan.scatter and choose.is_divided(plan.scatter):
        choose.lower_scatter(lowering, let, facts, plan)
    else:
        lower_sweep(lowering, let, facts, plan, lowered_sinks(op, let))


def _check(lowering: Lowering, op: Check) -> None:
    """Up to two values go with the failure; the message has room for them."""
    failed = lowering.host.apply("not", lowering.scope.scalar(op.condition))
    values = [lowering.host.cast(lowering.scope.scalar(v), i64) for v in op.values_[:2]]
    values += [index(0)] * (2 - len(values))
    site = lowering.sites.add(Site(op.kind, lowering.where, op.message, len(op.values_)))
    lowering.host.emit(Fail(failed, CHECK_ERROR, site, *values))


def _read(lowering: Lowering, op: Index) -> Atom:
    """One element on the host."""
    held = lowering.scope.array(op.xs)
    indices = [lowering.scope.scalar(i) for i in op.indices]
    for axis, (i, extent) in enumerate(zip(indices, held.shape, strict=True)):
        if op.checked and lowering.checks:
            place, end = (lowering.host.cast(atom, u64) for atom in (i, extent))
            outside = lowering.host.apply("ge", place, end)
            site = lowering.sites.add(Site("index", lowering.where, axis=axis))
            lowering.host.emit(Fail(outside, INDEX_ERROR, site, i, extent))
    return lowering.host.emit(Load(held.buffer, lowering.host.ravel(indices, held.shape)))[0]


def _control(lowering: Lowering, let: Let, op: If | While | For) -> None:
    scalar = lowering.scope.scalar
    match op:
        case If(condition=condition, then=then, other=other):
            known, given = scalar(condition), given_to(lowering, let)
            lowering.given_up.update(given)
            if isinstance(known, Const):
                chosen = Lowering(lowering.program, lowering.host, lowering.scope.inner())
                chosen.may_not_run, chosen.in_loop = lowering.may_not_run, lowering.in_loop
                fn = then if known.value else other
                results = lower_body(chosen, fn, owned=True, given=given)
                return _bind_results(lowering, let.vars, results)
            first = _branch(lowering, then, given, holds=known)
            second = _branch(lowering, other, given)
            results = lowering.host.emit(If(known, first, second))
        case While(condition=holds, body=body, init=init):
            state = _initial(lowering, let, init, body)
            loop = While(_condition(lowering, holds), _turn(lowering, body), state)
            results = lowering.host.emit(loop)
        case For(lo=lo, hi=hi, step=step, body=body, init=init):
            state = _initial(lowering, let, init, body)
            counted = For(scalar(lo), scalar(hi), scalar(step), _turn(lowering, body), state)
            results = lowering.host.emit(counted)
    _bind_results(lowering, let.vars, results)


def _fold(lowering: Lowering, let: Let, op: Fold) -> None:
    """A fold of an operator that the host itself applies, to what blocks or chunks left."""
    scalar, inside = lowering.scope.scalar, lowering.inner()
    k = inside.host.param("k", i64)
    state = [inside.host.param("s", atom.type) for atom in op.neutral]
    values = inside.call(inside.host, op.body, [k])
    body = inside.host.close([k, *state], inside.call(inside.host, op.fn, [*state, *values]))
    neutral = tuple(scalar(atom) for atom in op.neutral)
    folded = long_fold(
        lowering.host, index(0), scalar(op.extent), 1, body, neutral, op.fn,
        lambda b, operands: inside.call(b, op.fn, operands),
    )  # fmt: skip
    _bind_results(lowering, let.vars, folded)


def _bind_results(lowering: Lowering, vars_: Sequence[Var], results: Sequence[Atom]) -> None:
    """Scalars come first: arrays have them for extents."""
    pairs = zip(vars_, results, strict=True)
    for var, result in sorted(pairs, key=lambda pair: isinstance(pair[0].type, ArrayType)):
        lowering.scope.bind_host(var, result)


def _branch(
    lowering: Lowering, fn: Lambda, given: Sequence[Var], holds: Atom | None = None
) -> Lambda:
    """A body that may not run: it owns what it is given and gives away its results. What runs only
    where a value equals a constant knows it."""
    inside = lowering.inner(optional=True)
    if holds is not None:
        inside.host.assume_condition(holds, True)
    return inside.host.close([], lower_body(inside, fn, owned=True, given=given))


def _turn(lowering: Lowering, fn: Lambda) -> Lambda:
    """The body of a loop, which owns its state; see `rewritten`."""
    return _closed(lowering.inner(), fn, rewritten(fn), is_loop=True)


def _closed(
    inside: Lowering, fn: Lambda, sole: Collection[int] = (), *, is_loop: bool = False
) -> Lambda:
    params = bind_params(inside, fn.params)
    inside.sole = {params[len(params) - len(fn.results) + k] for k in sole}
    inside.in_loop = inside.in_loop or is_loop
    inside.state = {param for param in params if is_loop and isinstance(param.type, BufferType)}
    results = lower_body(inside, fn, owned=True)
    return inside.host.close(params, results)


def _condition(lowering: Lowering, fn: Lambda) -> Lambda:
    """A loop's test borrows the state."""
    inside = lowering.inner()
    params = bind_params(inside, fn.params)
    inside.last_uses = {
        let: {v for v in vars_ if v not in fn.params}
        for let, vars_ in find_last_uses(fn).items()
    }
    lower_lets(inside, fn)
    return inside.host.close(params, [inside.scope.scalar(fn.results[0])])


def _initial(
    lowering: Lowering, let: Let, init: Sequence[Atom], body: Lambda
) -> tuple[Atom, ...]:
    """The state that a loop takes over: each array with an owned reference."""
    out: list[Atom] = []
    moved: set[Var] = set()
    sole = rewritten(body)
    for k, atom in enumerate(init):
        value = lowering.scope.find(atom)
        if not isinstance(value, HostArray):
            out.append(value)
            continue
        assert isinstance(atom, Var)
        last = atom in lowering.last_uses.get(let, ())
        if last and atom not in moved and not _captured(let, atom):
            lowering.given_up.add(atom)
            lowering.take(value.buffer)
            moved.add(atom)
        else:
            lowering.host.emit(Retain(value.buffer))
        out.append(lowering.alone(atom, value) if k in sole else value.buffer)
    return tuple(out)


def _captured(let: Let, var: Var) -> bool:
    """Whether a loop's body also reads the variable from outside."""
    return any(var in free_vars(fn) for fn in lambdas_in(let.op))
