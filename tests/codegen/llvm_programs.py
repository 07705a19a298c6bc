"""Kernels and host programs written by hand and run on NumPy arrays, for the tests of codegen."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import BY_NAME, DType, as_dtype, i64
from flatweave.codegen.llvm.isa import InstructionSet, here
from flatweave.codegen.llvm.unit import emit
from flatweave.kernel_ir.host import Launch
from flatweave.kernel_ir.syntax import Kernel, Lane, Lanes, Load, Store, Unit
from flatweave.runtime.native import compile_text
from flatweave.terms.build import Builder, index
from flatweave.terms.control import For, If, While
from flatweave.terms.syntax import Atom, BufferType, Lambda, Op, Type, Var

Entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
HOST = here()
PORTABLE = InstructionSet()


class Writer(Builder):
    """A Builder with a word for every op, so that kernels read as text."""

    def inner(self) -> Writer:
        return Writer(outer=self)

    def do(self, op: Op) -> Any:
        """Emit an op; its only result, or all of them."""
        out = self.emit(op)
        return out[0] if len(out) == 1 else out

    def load(self, buffer: Var, at: Atom) -> Var:
        return self.do(Load(buffer, at))

    def store(self, buffer: Var, at: Atom, value: Atom, streaming: bool = False) -> None:
        self.do(Store(buffer, at, value, streaming))

    def lane(self, base: Atom, reverse: bool = False) -> Var:
        return self.do(Lane(base, reverse))

    def fn(self, types: Sequence[Type], body: Callable[..., Any]) -> Lambda:
        """A lambda; `body` takes a writer and the parameters and may return nothing or an atom."""
        inside = self.inner()
        params = [inside.var("p", type_) for type_ in types]
        return inside.close(params, _atoms(body(inside, *params)))

    def lanes(self, width: int, body: Callable[[Writer], Any]) -> Any:
        return self.do(Lanes(width, self.fn([], body)))

    def loop(
        self, lo: Atom, hi: Atom, step: Atom, init: Sequence[Atom], body: Callable[..., Any]
    ) -> Any:
        types = [lo.type, *(atom.type for atom in init)]
        return self.do(For(lo, hi, step, self.fn(types, body), tuple(init)))

    def repeat(
        self, init: Sequence[Atom], condition: Callable[..., Any], body: Callable[..., Any]
    ) -> Any:
        types = [atom.type for atom in init]
        return self.do(While(self.fn(types, condition), self.fn(types, body), tuple(init)))

    def choose(
        self, condition: Atom, then: Callable[[Writer], Any], other: Callable[[Writer], Any]
    ) -> Any:
        return self.do(If(condition, self.fn([], then), self.fn([], other)))

    def when(self, condition: Atom, then: Callable[[Writer], Any]) -> None:
        self.choose(condition, then, lambda w: ())


def _atoms(result: Any) -> tuple[Atom, ...]:
    if result is None:
        return ()
    return tuple(result) if isinstance(result, tuple | list) else (result,)


def for_each(
    w: Writer, n: Atom, width: int, body: Callable[[Writer, Var], None]
) -> None:
    """Run `body(w, i)` for 0 <= i < n: whole warps of `width` lanes, then single lanes."""
    whole = w.mul(w.apply("floordiv", n, index(width)), index(width))

    def run(of: int) -> Callable[..., None]:
        return lambda w, i: w.lanes(of, lambda w: body(w, w.lane(i)))

    w.loop(index(0), whole, index(width), (), run(width))
    w.loop(whole, n, index(1), (), run(1))


def buffer(dtype: DType | str) -> BufferType:
    return BufferType(BY_NAME[dtype] if isinstance(dtype, str) else dtype)


def type_of(arg: Any) -> Type:
    """The parameter type of an argument: arrays become buffers, Python ints i64."""
    if isinstance(arg, np.ndarray):
        return buffer(as_dtype(arg.dtype))
    return i64 if isinstance(arg, int) and not isinstance(arg, bool) else as_dtype(type(arg))


class Outcome:
    """What a run of `fw_main` left: its return value, the context's slots and the result slots."""

    def __init__(self, status: int, context: np.ndarray, slots: np.ndarray, first: int) -> None:
        self.status = status
        self.report = tuple(int(x) for x in context[:5])
        self.live = int(context[6])
        self.slots = slots
        self.first = first

    def scalar(self, number: int, dtype: DType = i64) -> Any:
        raw = self.slots[self.first + number : self.first + number + 1].tobytes()
        return np.frombuffer(raw, dtype.numpy, 1)[0]

    def array(self, number: int, dtype: DType, count: int) -> np.ndarray:
        address = int(self.slots[self.first + number])
        raw = ctypes.string_at(address, count * dtype.bytes)
        return np.frombuffer(raw, dtype.numpy, count)


def run_host(
    host: Lambda,
    kernels: Sequence[Kernel],
    args: Sequence[Any],
    isa: InstructionSet = HOST,
    cancel: bool = False,
) -> Outcome:
    """Compile a unit and call it; `cancel` sets the cancel flag beforehand."""
    code = compile_text(emit(Unit(host, tuple(kernels)), isa))
    context = np.zeros(32, np.int64)
    context[7], context[8], context[23] = 1, cancel, 1
    slots = np.zeros(len(args) + 16, np.int64)
    for number, arg in enumerate(args):
        if isinstance(arg, np.ndarray):
            slots[number] = arg.ctypes.data
        else:
            dtype = type_of(arg)
            assert isinstance(dtype, DType)
            raw = np.array([arg], dtype.numpy).tobytes().ljust(8, b"\0")
            slots[number] = np.frombuffer(raw, np.int64)[0]
    status = Entry(code.address("fw_main"))(context.ctypes.data, slots.ctypes.data)
    return Outcome(status, context, slots, len(args))


def kernel_unit(types: Sequence[Type], body: Callable[..., None]) -> Unit:
    """A kernel `body(w, *params)` and a host that launches it; the host's last parameter: grid."""
    w = Writer()
    fn = w.fn(types, body)
    kernel = Kernel("test", fn.params, Lambda((), fn.lets, ()))

    def start(w: Writer, *params: Var) -> None:
        w.do(Launch("test", params[-1], params[:-1]))

    return Unit(w.fn([*types, i64], start), (kernel,))


def run_kernel(
    body: Callable[..., None], *args: Any, grid: int = 1, isa: InstructionSet = HOST
) -> Outcome:
    """Run `body(w, *params)` as a kernel on these arguments, which it may write."""
    unit = kernel_unit([type_of(arg) for arg in args], body)
    return run_host(unit.host, unit.kernels, [*args, grid], isa)


