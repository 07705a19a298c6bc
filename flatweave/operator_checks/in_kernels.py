"""Arrays that are known where they are read, and the operators of a kernel tried on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from flatweave.array_ir.syntax import Fault
from flatweave.base.config import config
from flatweave.base.dtypes import DType
from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir import host as h
from flatweave.kernel_ir.hierarchy import TryOperator, TryOverBlocks, tries_in
from flatweave.kernel_ir.syntax import Kernel, Load, Unit
from flatweave.operator_checks.laws import Broken, Laws
from flatweave.runtime.devices.arrays import Resident
from flatweave.simulator.control import Accessor
from flatweave.simulator.counts import Counter
from flatweave.simulator.memory import Buffer, Misuse
from flatweave.simulator.order import Agent
from flatweave.simulator.run import Failed, Host
from flatweave.simulator.schedules import InOrder
from flatweave.terms.batch import Env, Value, Values
from flatweave.terms.operators import is_lawful
from flatweave.terms.print import print_function
from flatweave.terms.syntax import Lambda, Let, Op

# -- lazy arrays ----------------------------------------------------------------------------------
#
# Arrays that are known element by element, as they are read.
#
#     xs = Lazy(f32, (None, 3), at)      xs.at(i, j)      the elements at these indices, one each
#
# Reading an element computes it. An extent that is known only at run time is None.


T = TypeVar("T")
Shape = tuple[int | None, ...]
At = Callable[..., Value]
MANY = 1 << 17
"""Arrays of more elements are never computed as a whole."""


class Unknown(Exception):
    """A value that is not known before the program runs, or that takes long to find."""


FAILED = (
    Unknown, Fault, CompilerBug, ValueError, IndexError, OverflowError, MemoryError, RecursionError,
)  # fmt: skip
"""What raises where values are not what the program's own checks make sure that they are."""


def once(f: Callable[..., T]) -> Callable[..., T]:
    """A function of indices that computes nothing again for those of the last call."""
    last: list[Any] = [None, None]

    def at(*indices: Value) -> T:
        key = tuple([i.tobytes() for i in indices])
        if last[0] != key:
            last[:] = key, f(*indices)
        return last[1]  # type: ignore[no-any-return]

    return at


class Lazy:
    """An array of which elements are computed as they are read: `at(i, j)` gives some of them,
    whose indices are given axis by axis, all of one length."""

    __slots__ = ("at", "dtype", "shape")

    def __init__(self, dtype: Any, shape: Shape, at: At) -> None:
        self.dtype = np.dtype(dtype)
        self.shape = shape
        self.at = at

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int | None:
        """The number of elements, where that is known."""
        known = [extent for extent in self.shape if extent is not None]
        return math.prod(known) if len(known) == len(self.shape) else None

    def whole(self) -> Value:
        """All elements, if they are few."""
        if self.size is None or self.size > MANY:
            raise Unknown
        shape = [extent for extent in self.shape if extent is not None]
        return self.at(*(axis.reshape(-1) for axis in np.indices(shape))).reshape(shape)

    def row(self, i: int) -> Lazy:
        """One element along axis 0 of an array of two axes or more."""
        return Lazy(
            self.dtype, self.shape[1:], lambda *at: self.at(np.full(len(at[0]), i), *at)
        )


Array = Value | Lazy


def read(array: Array, indices: Sequence[Value]) -> Value:
    """The elements at some indices; Unknown for those that are outside."""
    for i, extent in zip(indices, array.shape, strict=True):
        if (i < 0).any() or (extent is not None and (i >= extent).any()):
            raise Unknown
    return elements(array, indices)


def elements(array: Array, indices: Sequence[Value]) -> Value:
    """The elements at some indices that are inside, as those of a result are in its operands."""
    return array.at(*indices) if isinstance(array, Lazy) else np.asarray(array[tuple(indices)])


def row_of(array: Array, i: int) -> Array:
    """Element i along axis 0."""
    if isinstance(array, Lazy) and array.ndim == 1:
        return np.asarray(elements(array, [np.array([i])])[0])
    return array.row(i) if isinstance(array, Lazy) else np.asarray(array[i])


def raveled(shape: Shape, indices: Sequence[Value]) -> Value:
    """The number of an element in row-major order."""
    linear = np.zeros_like(indices[0])
    for i, extent in zip(indices, (1, *shape[1:]), strict=True):
        if extent is None:
            raise Unknown
        linear = linear * extent + i
    return linear


def unraveled(shape: Shape, linear: Value) -> list[Value]:
    """The indices of elements from their numbers in row-major order."""
    found: list[Value] = []
    for extent in reversed(shape[1:]):
        if extent is None:
            raise Unknown
        found.append(linear % max(extent, 1))
        linear = linear // max(extent, 1)
    return [linear, *reversed(found)]


# -- in kernels -----------------------------------------------------------------------------------
#
# The operators of a kernel, tried where the first block of each launch meets them.
#
# One that combines what blocks have, as `look_back` does, is tried on the first few blocks, unless
# the same operator was tried on elements.
#
#     FirstBlocks(tried, most).run(args)            whether all were tried on elements that count
#
# The kernel runs in the simulator until that holds, or until it exceeds its budget of lets.


FIRST = 8  # elements on which an operator is tried
BLOCKS = 4  # how many blocks run where an operator combines values of blocks
ONE_BY_ONE = (
    "Elements are grouped by lanes, warps and blocks; use fk.seq_reduce in a thread to combine them"
    " one by one, or say check=False where the operator keeps its law on all elements that it"
    " meets."
)
NEUTRAL = (
    "It is combined once for each part of the elements. Give the value that leaves the other"
    " operand as it is, and combine the result with what you start from."
)


class Enough(Exception):
    """All operators were tried, or it would take long."""


class KernelLaws(Laws):
    """Tries operators in code of a kernel, which may read memory."""

    way_out, neutral = ONE_BY_ONE, NEUTRAL

    def is_batched(self, fn: Lambda) -> bool:
        """Code of threads works on many elements at once."""
        return True

    def evaluate(self, env: Env, op: Op) -> Values:
        """What an op gives; a load what is in memory now."""
        if not isinstance(op, Load):
            return super().evaluate(env, op)
        buffer: Any = env[op.buffer]
        at = self.atom(env, op.index)
        found = buffer.load(np.atleast_1d(at), None)
        return (found if at.ndim else found.reshape(()),)


class FirstBlocks(Counter):
    """Tries the operators of a kernel; `spent` is how many lets were evaluated."""

    watches = False  # races are found where the kernel runs

    def __init__(self, tried: Unit, most: int) -> None:
        self.tried = tried
        self.pending = {id(let.op) for kernel in tried.kernels for let in tries_in(kernel.body)}
        self.over_blocks: dict[str, dict[int, str]] = {}  # in each kernel, with their text
        for kernel in tried.kernels:
            ops = [let.op for let in tries_in(kernel.body) if isinstance(let.op, TryOverBlocks)]
            if ops:
                self.over_blocks[kernel.name] = {id(op): _text(op.fn) for op in ops}
        self.met: dict[int, dict[int, Values]] = {}  # what each block has, for each operator
        self._alike: dict[int, str] = {}  # those of the launch that runs
        self.laws = KernelLaws()
        self.most, self.spent = most, 0

    def run(self, args: Sequence[Array]) -> bool:
        """Whether all were tried on elements that count; raises Broken."""
        try:
            _Host(self.tried, self).run(args)
        except Broken:
            raise
        except (Enough, Failed, Misuse, *FAILED):
            pass  # what is wrong, the run itself reports
        return not self.pending

    def lets(self, many: int) -> None:
        """So many lets are evaluated."""
        self.spent += many
        if self.spent > self.most and not config.debug:
            raise Enough

    def blocks(self, kernel: Kernel, blocks: int) -> int:
        """How many blocks of a launch run."""
        if config.debug:
            return blocks
        self._alike = self.over_blocks.get(kernel.name, {})
        return min(blocks, BLOCKS if self._alike.keys() & self.pending else 1)

    def operator(
        self, warp: Accessor, env: Env, let: Let, op: TryOperator | TryOverBlocks
    ) -> None:
        """Try an operator on the first elements of its array, or on what blocks have."""
        if id(op) not in self.pending and not config.debug:
            return
        self.spent += len(op.fn.lets)
        try:
            if isinstance(op, TryOperator):
                counts = self._elements(warp, env, op)
            else:
                counts = self._blocks(warp, env, op)
        except Broken as broken:
            broken.where = let.where
            raise
        if counts or is_lawful(op.fn):  # what associates by its own functions needs no more
            self.pending.discard(id(op))
            if self._alike:
                text = _text(op.fn)
                self.pending -= {key for key, other in self._alike.items() if other == text}
        if not self.pending and not config.debug:
            raise Enough

    def _elements(self, warp: Accessor, env: Env, op: TryOperator) -> bool:
        count = int(warp.atom(env, op.length))
        count = count if config.debug else min(count, FIRST)
        self.spent += len(op.element.lets)
        columns = warp.apply(env, op.element, (np.arange(count),))
        begins = np.arange(count) % (op.row or max(count, 1)) == 0
        counts = self.laws.associates(env, op.fn, columns, begins)
        if op.neutral:
            self.laws.is_neutral(env, op.fn, warp.atoms(env, op.neutral), columns)
        return counts

    def _blocks(self, warp: Accessor, env: Env, op: TryOverBlocks) -> bool:
        met = self.met.setdefault(id(op), {-1: warp.atoms(env, op.first)})
        block = int(warp.one(env, op.block, "the block"))
        met[block] = tuple(warp.one(env, x, "what a block has") for x in op.total)
        last = [met[k] for k in range(block - BLOCKS, block + 1) if k in met]
        columns = tuple(np.array(column) for column in zip(*last, strict=True))
        begins = np.arange(len(last)) == 0
        return self.laws.associates(env, op.fn, columns, begins, initial=block < BLOCKS)


def _text(fn: Lambda) -> str:
    return print_function("", fn, canonical=True)


class _Host(Host):
    """Runs of each launch the first block, or the first few."""

    counter: FirstBlocks

    def __init__(self, unit: Unit, tries: FirstBlocks) -> None:
        super().__init__(unit, 1, InOrder(), tries)

    def run(self, args: Sequence[Array]) -> None:
        """All of the host's code."""
        values = [
            np.asarray(arg, param.type.numpy) if isinstance(param.type, DType)
            else _Given.of_array(param.name, arg)
            for param, arg in zip(self.unit.host.params, args, strict=True)
        ]  # fmt: skip
        self.pure(Env(), self.unit.host, values)  # type: ignore[arg-type]

    def launch(self, kernel: Kernel, blocks: int, args: Values) -> None:
        """The first block of a launch, or the first few."""
        self.counter.met.clear()
        super().launch(kernel, self.counter.blocks(kernel, blocks), args)

    def alloc(self, let: Let, op: h.Alloc, count: int) -> Buffer:
        """Memory that costs nothing before it is written."""
        return Buffer(
            let.vars[0].name, np.zeros(count, op.dtype.numpy), np.zeros(count, np.bool_)
        )


class _Given(Buffer):
    """An array of the caller's, of which those elements are read that a kernel loads."""

    array: Array

    @classmethod
    def of_array(cls, name: str, array: Array) -> _Given:
        """A buffer that has all of it."""
        size = array.size
        if size is None:
            raise Unknown
        found = cls(
            name, np.broadcast_to(np.zeros((), array.dtype), (size,)),
            np.broadcast_to(np.True_, (size,)), kept_by_caller=True,
        )  # fmt: skip
        object.__setattr__(found, "array", array)
        return found

    def load(self, at: Value, by: Agent | None) -> Value:
        self.inside(at)
        return read(self.array, unraveled(self.array.shape, at))


def readable(arg: Any) -> Any:
    """An argument whose elements are read one by one; of an array on a device, the first ones."""
    if isinstance(arg, Resident):
        return _on_device(arg) if arg.shape else arg.values()[()]
    return arg


def _on_device(array: Resident) -> Array:
    """An array of which those elements are copied that are read, where they are close together."""
    if array.copied is not None:
        return array.copied

    def at(*indices: Value) -> Value:
        linear = raveled(array.shape, indices)
        begin, end = int(linear.min()), int(linear.max()) + 1
        if end - begin > MANY:
            raise Unknown
        return np.asarray(array.part(begin, end)[linear - begin])

    return Lazy(array.dtype, array.shape, at)
