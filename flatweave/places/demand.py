"""What a call asks of a machine, how fast each machine is, and whether all give the same bits."""

from __future__ import annotations

import functools
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flatweave.array_ir.syntax import Program
from flatweave.base.config import config
from flatweave.base.dtypes import DType, i64
from flatweave.base.recording import unseen
from flatweave.base.records import fields, record
from flatweave.frontend.values.elsewhere import DeviceArray
from flatweave.jit import jit
from flatweave.ops import Callback, CallKernel, Generate, Map, Sort
from flatweave.runtime.devices.arrays import ARRAYS
from flatweave.runtime.devices.device import Device
from flatweave.runtime.tuned import keep_rates, kept_rates, key_of_rates
from flatweave.scalar.ops import TABLE, evaluate
from flatweave.terms.control import Apply, For, While
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import atoms_in, lambdas_in, walk_lets

# What a call asks of a machine: operations, bytes, launches, as far as sizes tell before it runs.
#
#     f(n = 1000, xs): map (a => add (mul a 2) 1) [xs]     Demand(operations=2000, moved=16000, ..)
#
# Sizes that come from the data are taken to be those of the largest argument.


TURNS = 16
"""The assumed number of iterations of a loop, if it is unknown."""
Sizes = dict[Var, Any]


@record(eq=True)
class Demand:
    """Scalar operations in units of one addition, bytes of arguments and results, bytes of the
    results alone, and how often a loop of the host begins anew."""

    operations: float
    moved: float
    given: float
    turns: float


def demand_of(program: Program, args: Sequence[Any]) -> Demand:
    """The demand of a call with these flat arguments."""
    sizes: Sizes = {
        param: int(arg)
        for param, arg in zip(program.fn.params, args, strict=True)
        if param.type is i64 and isinstance(arg, int | np.integer)
    }
    arrays = [arg for arg in args if isinstance(arg, ARRAYS)]
    count = _Count(max((arg.size for arg in arrays), default=1))
    count.body(program.fn, sizes, 1)
    given = sum(count.bytes_of(result, sizes) for result in program.fn.results)
    taken = sum(arg.nbytes for arg in arrays)
    return Demand(count.operations, taken + given, given, count.turns)


class _Count:
    """Adds up what the lets of a program take."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self.operations = 0.0
        self.turns = 1.0

    def body(self, fn: Lambda, sizes: Sizes, times: float) -> None:
        """A body that runs `times` times."""
        for let in fn.lets:
            self.let(let, sizes, times)

    def let(self, let: Let, sizes: Sizes, times: float) -> None:
        """One let of such a body."""
        op = let.op
        if isinstance(op, Apply):
            self.operations += times * TABLE[op.fn].cost
            self._evaluate(let, op, sizes)
            return
        is_host_loop = times == 1 and isinstance(op, For | While)
        turns = self._turns(op, let, sizes)
        if is_host_loop and any(isinstance(var.type, ArrayType) for var in let.vars):
            self.turns += turns
        for fn in lambdas_in(op):
            self.body(fn, sizes, times * turns)
        if not isinstance(op, For | While):
            self.operations += times * self.elements(let, sizes) * _depth(op, self.largest)

    def _turns(self, op: Op, let: Let, sizes: Mapping[Var, Any]) -> float:
        """How often the lambdas of an op run."""
        if isinstance(op, For):
            lo, hi, step = (_value(atom, sizes) for atom in (op.lo, op.hi, op.step))
            known = None not in (lo, hi, step)
            return max(0, -(-(hi - lo) // step)) if known and step else TURNS
        if isinstance(op, While):
            return TURNS
        if isinstance(op, Map | Generate):
            shape = op.shape() if isinstance(op, Map) else op.shape
            return self.extent(shape, sizes)
        return self.elements(let, sizes)

    def elements(self, let: Let, sizes: Mapping[Var, Any]) -> float:
        """The elements of the largest array that an op reads or makes; 1 for scalars."""
        atoms: list[Atom] = [*atoms_in(let.op), *let.vars]
        shapes = [atom.type.shape for atom in atoms if isinstance(atom.type, ArrayType)]
        return max((self.extent(shape, sizes) for shape in shapes), default=1)

    def extent(self, shape: Sequence[Atom], sizes: Mapping[Var, Any]) -> float:
        """How many elements a shape has."""
        known = [_value(atom, sizes) for atom in shape]
        return self.largest if None in known else math.prod(known)

    def bytes_of(self, atom: Atom, sizes: Mapping[Var, Any]) -> float:
        """The memory that a result takes."""
        if isinstance(atom.type, ArrayType):
            return self.extent(atom.type.shape, sizes) * atom.type.dtype.bytes
        return atom.type.bytes if isinstance(atom.type, DType) else 0

    def _evaluate(self, let: Let, op: Apply, sizes: Sizes) -> None:
        """An extent that is computed from others."""
        values = [_value(arg, sizes) for arg in op.args]
        if let.vars[0].type is i64 and None not in values:
            typed = [np.int64(value) for value in values]
            if all(arg.type is i64 for arg in op.args):
                sizes[let.vars[0]] = int(evaluate(op.fn, *typed))


def _value(atom: Atom, sizes: Mapping[Var, Any]) -> Any:
    return atom.value if isinstance(atom, Const) else sizes.get(atom)


def _depth(op: Op, largest: int) -> float:
    """How often an op passes over its elements."""
    return max(1, largest.bit_length()) if isinstance(op, Sort) else 1


# How fast a target is: measured once for each device, and kept with what else was measured.
#
# rates("cpu", ..)       Rates(call=3e-06, there=0.0, back=0.0, memory=2.1e+10, arithmetic=8e+10)


ELEMENTS = 1 << 22  # f32
FEW = 64
STEPS = 32  # of a polynomial: a product and a sum each
RUNS = 5


@record(eq=True)
class Rates:
    """Seconds of a call on few elements; bytes that go there and come back in a second, 0 where
    memory is the host's; bytes that kernels read and write, and additions, in a second."""

    call: float
    there: float
    back: float
    memory: float
    arithmetic: float


def rates(target: str, device: Device | None) -> Rates:
    """The rates of a target's device, measured if nobody has."""
    key = key_of_rates(_named(device))
    found = kept_rates(key)
    if len(found) != len(fields(Rates)):
        with unseen():
            measured = _measured(target)
        found = tuple(getattr(measured, field.name) for field in fields(Rates))
        keep_rates(key, found)
    return Rates(*found)


def _named(device: Device | None) -> str:
    """The measured machine: a device with its driver, or the CPU with its number of threads."""
    if device is None:
        return f"cpu {config.threads or os.cpu_count()} {config.cpu}"
    return f"{device.kind} {device.name} {device.driver.compiler}"


def _measured(target: str) -> Rates:
    """The fastest of several runs counts: what else the machine does makes a run slower."""
    scaled = jit(lambda xs: xs * 2, target=target)
    given = jit(lambda *arrays: arrays, target=target)
    many, few = (given(np.ones(n, np.float32))[0] for n in (ELEMENTS, FEW))
    call = _seconds(lambda: scaled(few))
    back = there = 0.0
    if isinstance(many, DeviceArray):
        host = np.ones(ELEMENTS, np.float32)
        there = host.nbytes / _beyond(call, _seconds(lambda: given(host)))
        back = host.nbytes / _beyond(call, _fetched(lambda: scaled(many)))
    memory = 2 * many.nbytes / _beyond(call, _seconds(lambda: scaled(many)))
    computed = jit(_polynomial, target=target)
    operations = 2.0 * STEPS * ELEMENTS
    arithmetic = operations / _beyond(call, _seconds(lambda: computed(many)))
    return Rates(call, there, back, memory, arithmetic)


def _polynomial(xs: Any) -> Any:
    return functools.reduce(lambda ys, k: ys * xs + k, range(1, STEPS + 1), xs)


def _beyond(call: float, seconds: float) -> float:
    """What a call took because of its elements."""
    return max(seconds - call, seconds / 10, 1e-9)


def _seconds(work: Callable[[], Any]) -> float:
    """How long a call takes, until it is done."""
    found = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        _finish(work())
        found.append(time.perf_counter() - begin)
    return min(found)


def _fetched(work: Callable[[], Any]) -> float:
    """How long it takes to bring a result back."""
    found = []
    for _ in range(RUNS):
        result = _finish(work())
        begin = time.perf_counter()
        np.asarray(result)
        found.append(time.perf_counter() - begin)
    return min(found)


def _finish(result: Any) -> Any:
    """A result that has been computed."""
    arrays = result if isinstance(result, tuple) else (result,)
    for array in arrays:
        if isinstance(array, DeviceArray):
            array.resident.device.wait()
    return result


# Whether a program gives the same bits on every target.
#
# map (a => mul a 2.0) [xs]         the same: products are rounded alike
# reduce (maximum f32) -inf [xs]    the same: nothing is rounded, in any order
# reduce (add f32) 0.0 [xs]         not: each target groups the elements in its own way
# map (exp f32) [xs]                not: each has another exp


CHOOSING = frozenset({"minimum", "maximum", "select", "lt", "le", "gt", "ge", "eq", "ne", "and",
                      "or", "not"})  # fmt: skip
"""Scalar functions that give one of their operands, or compare: nothing is rounded."""


def agrees(program: Program) -> bool:
    """Whether all targets give the same bits."""
    return all(_is_exact(let.op) for let in walk_lets(program.fn))


def _is_exact(op: Op) -> bool:
    match op:
        case Apply(fn=name, args=args):
            return TABLE[name].ulps == 0 or not any(_is_float(arg) for arg in args)
        case Callback() | CallKernel():
            return False
    operator: Lambda | None = getattr(op, "fn", None)
    folded = (*getattr(op, "neutral", ()), *getattr(op, "dest", ()))  # in a target's order
    if operator is None or not any(_is_float(atom) for atom in folded):
        return True
    return all(isinstance(let.op, Apply) and let.op.fn in CHOOSING for let in operator.lets)


def _is_float(atom: Atom) -> bool:
    dtype = atom.type.dtype if isinstance(atom.type, ArrayType) else atom.type
    return isinstance(dtype, DType) and dtype.is_float
