"""The host lambda as Python closures, for devices without compiled host code.

    launch scale g [n, xs]       running.launch("scale", frame[3], [frame[0], frame[1]])

Variables and constants live in a list, a frame, at numbers given here, so that the runtime knows no
IR. Scalars are Python numbers; i64 arithmetic, most of what a host does, is done on them directly.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType, bool_, f64, i64, stored, u64
from flatweave.base.library_products import KINDS
from flatweave.base.plan import Plan, Status
from flatweave.codegen.c.dialect import scalar_type
from flatweave.codegen.c.host_frames import (
    Frame,
    Maker,
    Makers,
    Step,
    call_host,
    has_products,
    multiply,
)
from flatweave.kernel_ir import host as h
from flatweave.kernel_ir import syntax as k
from flatweave.runtime.devices.arrays import Stop
from flatweave.runtime.devices.programs import HostSteps, Running
from flatweave.scalar.function import evaluate_cast
from flatweave.scalar.ops import evaluate
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import atoms_in, lambdas_in, walk_lets

KEPT = 256  # combinations of extents whose sizes are known


def host_steps(unit: k.Unit, plan: Plan) -> HostSteps:
    """The function that runs a unit's host program."""
    host = unit.host
    makers: Makers = {**_MAKERS, h.CallHost: functools.partial(_call_host, plan)}
    maker = Maker(makers, _given_alone(host, plan))
    numbers = [maker.number(param) for param in host.params]
    pairs = zip(numbers, host.params, strict=True)
    extents = [number for number, param in pairs if param.type is i64]
    begin = len(maker.frame)
    sizes = _sizes(host)
    for let in sizes:
        maker.number(let.vars[0])
    end = len(maker.frame)
    compute = maker.steps(sizes)
    run = maker.steps([let for let in host.lets if let not in sizes])
    results = [maker.get(atom) for atom in host.results]
    rest = maker.frame[end:]
    known: dict[tuple[Any, ...], list[Any]] = {}

    def steps(running: Running, args: list[Any]) -> list[Any]:
        key = tuple([args[number] for number in extents])
        values = known.get(key)
        if values is None:
            frame: Frame = [*args, *maker.frame[begin:]]
            compute(running, frame)
            if len(known) >= KEPT:
                known.clear()
            known[key] = values = frame[begin:end]
        frame = args + values + rest
        run(running, frame)
        return [get(frame) for get in results]

    return steps


def _sizes(host: Lambda) -> list[Let]:
    """The numbers of a program that follow from its extents: they are the same in each call with
    the same ones, so that they are computed once."""
    known: set[Atom] = {param for param in host.params if param.type is i64}
    found = []
    for let in host.lets:
        atoms = atoms_in(let.op)
        if isinstance(let.op, Apply | Cast) and all(
            isinstance(atom, Const) or atom in known for atom in atoms
        ):
            known.update(let.vars)
            found.append(let)
    return found


def _given_alone(host: Lambda, plan: Plan) -> set[Atom]:
    """The numbers that a program gives and does not read itself: they stay on the device."""
    numbers: set[Atom] = set()
    read = {atom for let in walk_lets(host) for atom in atoms_in(let.op)}
    for let in walk_lets(host):
        read.update(atom for fn in lambdas_in(let.op) for atom in fn.results)
    rest = iter(host.results)
    for result in plan.results:
        value = next(rest)
        if result.extents is None:
            numbers.add(value)
        else:
            read.update(next(rest) for extent in result.extents if extent is None)
    return numbers - read


# -- scalars --------------------------------------------------------------------------------------

_WIDTH = 64
_WIDE = (i64, u64)
_OF_INTEGERS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul,
    "minimum": min, "maximum": max, "floordiv": lambda a, b: a // b if b else 0,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.invert,
    "shl": lambda a, b: a << b if 0 <= b < _WIDTH else 0,
    "shr": lambda a, b: a >> b if 0 <= b < _WIDTH else -(a < 0),
    "clz": lambda a: _WIDTH - a.bit_length() if a >= 0 else 0,
    "ctz": lambda a: (a & -a).bit_length() - 1 if a else _WIDTH,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt,
    "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
_OF_BOOLS: dict[str, Callable[..., Any]] = {
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.not_,
    "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip
_CASTS: dict[DType, Callable[..., Any]] = {i64: int, u64: int, bool_: bool, f64: float}


def direct(fn: str, types: Sequence[DType]) -> Callable[..., Any] | None:
    """What computes a scalar function on Python numbers, where its result is in the range of the
    dtype; None if NumPy has to."""
    if fn == "select":
        return lambda holds, a, b: a if holds else b
    table = _OF_BOOLS if types[0] is bool_ else _OF_INTEGERS if types[0] in _WIDE else {}
    return table.get(fn)


def _apply(maker: Maker, let: Let, op: Apply) -> Step:
    fn, types = op.fn, [scalar_type(arg.type) for arg in op.args]
    numpy_types = [dtype.numpy.type for dtype in types]

    def by_numpy(*values: Any) -> Any:
        typed = [type_(value) for type_, value in zip(numpy_types, values, strict=True)]
        return evaluate(fn, *typed).item()

    return _computed(maker, let, op.args, direct(fn, types), by_numpy)


def _cast(maker: Maker, let: Let, op: Cast) -> Step:
    source, dtype = scalar_type(op.arg.type), op.dtype
    cast = _CASTS.get(dtype) if source is bool_ or source in _WIDE else None

    def by_numpy(value: Any) -> Any:
        return evaluate_cast(source.numpy.type(value), dtype).item()

    return _computed(maker, let, [op.arg], cast, by_numpy)


def _computed(
    maker: Maker, let: Let, args: Sequence[Atom], quick: Callable[..., Any] | None,
    by_numpy: Callable[..., Any],
) -> Step:  # fmt: skip
    """A step that computes a scalar on Python numbers; by NumPy where that leaves its range."""
    numbers, number = [maker.number(arg) for arg in args], maker.number(let.vars[0])
    result = scalar_type(let.vars[0].type)
    low, high, compute = result.low, result.high, quick or by_numpy

    def step(running: Running, frame: Frame) -> None:
        values = [frame[arg] for arg in numbers]
        value = compute(*values)
        frame[number] = value if low <= value <= high else by_numpy(*values)

    return step


# -- control --------------------------------------------------------------------------------------


def _if(maker: Maker, let: Let, op: If) -> Step:
    condition = maker.get(op.condition)
    branches = []
    for fn in (op.other, op.then):
        run, results = maker.body(fn)
        branches.append((run, maker.move(let.vars, results)))

    def step(running: Running, frame: Frame) -> None:
        run, move = branches[bool(condition(frame))]
        run(running, frame)
        move(frame)

    return step


def _for(maker: Maker, let: Let, op: For) -> Step:
    lo, hi, stride = (maker.get(atom) for atom in (op.lo, op.hi, op.step))
    counter, *state = op.body.params
    number = maker.number(counter)
    begin, turn, end = _turns(maker, let, op, state)

    def step(running: Running, frame: Frame) -> None:
        begin(frame)
        for i in range(lo(frame), hi(frame), stride(frame)):
            frame[number] = i
            turn(running, frame)
        end(frame)

    return step


def _turns(
    maker: Maker, let: Let, op: For | While, state: Sequence[Var]
) -> tuple[Callable[[Frame], None], Step, Callable[[Frame], None]]:
    """What begins a loop, what an iteration does to the state, and what ends it."""
    begin = maker.move(state, [maker.get(atom) for atom in op.init])
    run, results = maker.body(op.body)
    move = maker.move(state, results)
    is_steady = maker.is_steady(op.body)

    def turn(running: Running, frame: Frame) -> None:
        if is_steady:
            running.turn(run, frame)
        else:
            run(running, frame)
        move(frame)

    return begin, turn, maker.move(let.vars, [maker.get(param) for param in state])


def _while(maker: Maker, let: Let, op: While) -> Step:
    state = op.body.params
    ask = maker.move(op.condition.params, [maker.get(param) for param in state])
    test, (holds,) = maker.body(op.condition)
    begin, turn, end = _turns(maker, let, op, state)

    def step(running: Running, frame: Frame) -> None:
        begin(frame)
        while True:
            ask(frame)
            test(running, frame)
            if not holds(frame):
                break
            turn(running, frame)
        end(frame)

    return step


# -- memory, launches, failures -------------------------------------------------------------------


def _alloc(maker: Maker, let: Let, op: h.Alloc) -> Step:
    count, dtype, site = maker.number(op.count), stored(op.dtype), op.site
    number = maker.number(let.vars[0])

    def step(running: Running, frame: Frame) -> None:
        frame[number] = running.allocate(dtype, frame[count], site)

    return step


def _adopt(maker: Maker, let: Let, op: h.Adopt) -> Step:
    """An array that was copied to the device is the program's in any case."""
    buffer, donated = maker.get(op.buffer), maker.get(op.donated)

    def adopted(running: Running, frame: Frame) -> Any:
        found = buffer(frame)
        if donated(frame):
            found.owners = 1
        return found

    return maker.bind(let.vars[0], adopted)


def _retain(maker: Maker, let: Let, op: h.Retain) -> Step:
    buffer = maker.get(op.buffer)

    def step(running: Running, frame: Frame) -> None:
        buffer(frame).owners += 1

    return step


def _free(maker: Maker, let: Let, op: h.Free) -> Step:
    number = maker.number(op.buffer)

    def step(running: Running, frame: Frame) -> None:
        buffer = frame[number]
        buffer.owners -= 1
        if not buffer.owners:
            buffer.memory.release()

    return step


def _is_unique(maker: Maker, let: Let, op: h.IsUnique) -> Step:
    buffer = maker.get(op.buffer)
    return maker.bind(let.vars[0], lambda running, frame: buffer(frame).owners == 1)


def _trim(maker: Maker, let: Let, _: Op) -> Step:
    """Memory after the end is freed with the buffer."""
    return lambda running, frame: None


def _load(maker: Maker, let: Let, op: k.Load) -> Step:
    buffer, index = maker.get(op.buffer), maker.get(op.index)
    if let.vars[0] in maker.given:
        return maker.bind(
            let.vars[0], lambda running, frame: running.keep(buffer(frame), index(frame))
        )
    convert: Callable[[Any], Any] = bool if let.vars[0].type is bool_ else lambda value: value
    return maker.bind(
        let.vars[0], lambda running, frame: convert(running.load(buffer(frame), index(frame)))
    )


def _store(maker: Maker, let: Let, op: k.Store) -> Step:
    buffer, index, value = (maker.get(atom) for atom in (op.buffer, op.index, op.value))
    return lambda running, frame: running.store(buffer(frame), index(frame), value(frame))


def _launch(maker: Maker, let: Let, op: h.Launch) -> Step:
    kernel, grid = op.kernel, maker.number(op.grid)
    variants = [(maker.number(each.condition), each.kernel) for each in op.variants]
    args = [(maker.number(atom), _kind(atom)) for atom in op.args]

    def step(running: Running, frame: Frame) -> None:
        chosen = kernel
        for holds, variant in variants:
            if frame[holds]:
                chosen = variant
                break
        running.launch(chosen, frame[grid], [kind(frame[number]) for number, kind in args])

    return step


def _kind(atom: Atom) -> Callable[[Any], Any]:
    """A buffer's memory, or a scalar as wide as the kernel takes it."""
    if not isinstance(atom.type, DType):
        return operator.attrgetter("memory")
    return np.uint8 if atom.type is bool_ else atom.type.numpy.type


def _fail(maker: Maker, let: Let, op: h.Fail) -> Step:
    condition, value, extent = (maker.get(a) for a in (op.condition, op.value, op.extent))
    code, site = op.code, op.site

    def step(running: Running, frame: Frame) -> None:
        if condition(frame):
            raise Stop(Status(code, site, -1, int(value(frame)), int(extent(frame))))

    return step


def _call_host(plan: Plan, maker: Maker, let: Let, op: h.CallHost) -> Step:
    args = [maker.get(atom) for atom in op.args]
    call, site = plan.calls[op.number]
    if call.fn in KINDS:
        return lambda running, frame: multiply(running, call, [get(frame) for get in args])
    return lambda running, frame: call_host(
        running, call, [get(frame) for get in args], plan.sites[site].where
    )


def _has_products(maker: Maker, let: Let, op: h.HasProducts) -> Step:
    wanted = maker.get(op.wanted)
    return maker.bind(
        let.vars[0], lambda running, frame: wanted(frame) and has_products(running.device)
    )


def _threads(maker: Maker, let: Let, _: Op) -> Step:
    return maker.bind(let.vars[0], lambda running, frame: 1)


_MAKERS: Makers = {
    Apply: _apply, Cast: _cast, If: _if, For: _for, While: _while,
    h.Adopt: _adopt, h.Alloc: _alloc, h.Retain: _retain, h.Free: _free, h.IsUnique: _is_unique,
    h.Trim: _trim, k.Load: _load, k.Store: _store, h.Launch: _launch, h.Fail: _fail,
    h.Threads: _threads, h.HasProducts: _has_products,
}  # fmt: skip
