"""Host programs in Python: frames that hold variables, and calls of Python functions in between."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from flatweave.base.errors import CompilerBug
from flatweave.base.library_products import KINDS
from flatweave.base.plan import HostCall
from flatweave.base.recording import OPEN, watched
from flatweave.base.source import Location
from flatweave.kernel_ir import syntax as k
from flatweave.kernel_ir.host import CallHost
from flatweave.runtime.devices.cuda_libraries import Matrix, Product
from flatweave.runtime.devices.device import Device
from flatweave.runtime.devices.launches import note
from flatweave.runtime.devices.programs import Buffer, Running
from flatweave.terms.control import For, While
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import walk_lets

# Frames of a host program in Python: where its variables are, and closures that read and set
# them.
#
# maker.number(n)                      3: the index of n in every frame
# maker.bind(m, compute)               a step: frame[4] = compute(running, frame)


Frame = list[Any]
Step = Callable[[Running, Frame], None]
Get = Callable[[Frame], Any]
Makers = Mapping[type[Op], Callable[["Maker", Let, Any], Step]]
"""What makes a step of a let, by its op."""


class Maker:
    """Builds closures from lets, by a table. `frame` is the initial frame of each call; `given` are
    variables that this code does not read."""

    def __init__(self, makers: Makers, given: Collection[Atom] = ()) -> None:
        self.makers = makers
        self.frame: Frame = []
        self.given = given
        self._numbers: dict[Var, int] = {}

    def number(self, atom: Atom) -> int:
        """The index of an atom in the frame."""
        if isinstance(atom, Const):
            self.frame.append(atom.value)
            return len(self.frame) - 1
        if atom not in self._numbers:
            self._numbers[atom] = len(self.frame)
            self.frame.append(None)
        return self._numbers[atom]

    def get(self, atom: Atom) -> Get:
        """How to read an atom."""
        return operator.itemgetter(self.number(atom))

    def body(self, fn: Lambda) -> tuple[Step, list[Get]]:
        """A body as one step, and how to read its results."""
        return self.steps(fn.lets), [self.get(atom) for atom in fn.results]

    def steps(self, lets: Sequence[Let]) -> Step:
        """Some lets as one step."""
        steps = [self.step(let) for let in lets]

        def run(running: Running, frame: Frame) -> None:
            for step in steps:
                step(running, frame)

        return run

    def step(self, let: Let) -> Step:
        """One let."""
        make = self.makers.get(type(let.op))
        if make is None:
            raise CompilerBug(f"{let.op.name} cannot stand on the host", where=let.where)
        return make(self, let, let.op)

    def is_steady(self, body: Lambda) -> bool:
        """Whether a loop's body has no loop in it, and reads nothing that kernels have written."""
        return not any(
            isinstance(let.op, For | While | CallHost)
            or (isinstance(let.op, k.Load) and let.vars[0] not in self.given)
            for let in walk_lets(body)
        )

    def bind(self, var: Var, compute: Callable[[Running, Frame], Any]) -> Step:
        """A step that sets a variable."""
        number = self.number(var)

        def run(running: Running, frame: Frame) -> None:
            frame[number] = compute(running, frame)

        return run

    def move(self, variables: Sequence[Var], values: Sequence[Get]) -> Callable[[Frame], None]:
        """Set variables all at once."""
        numbers = [self.number(var) for var in variables]

        def run(frame: Frame) -> None:
            for number, value in zip(numbers, [get(frame) for get in values], strict=True):
                frame[number] = value

        return run


# Python functions called in the midst of a device's program: operands and results are copied.


Values = np.ndarray[Any, np.dtype[Any]]


def call_host(
    running: Running, call: HostCall, args: Sequence[Any], where: Location | None
) -> None:
    """Make a call when its operands are there; the last of `args` are buffers for the results."""
    running.check()
    running.device.driver.end()  # the function may change what this thread calls

    def read(buffer: Buffer, dtype: np.dtype[Any], count: int) -> Values:
        values = np.empty(count, dtype)
        if count:
            running.device.read(buffer.memory, values)
        return values

    count = len(args) - len(call.results)
    for buffer, found in zip(args[count:], call.run(args[:count], read, where), strict=True):
        memory = running.taken(running.device.upload(np.ascontiguousarray(found).view(np.uint8)))
        buffer.memory.release()
        buffer.memory = memory


def has_products(device: Device) -> bool:
    """Whether a device has a library of matrix products, which is opened when that is asked."""
    with device.alone():
        return device.driver.products is not None and bool(device.driver.products.is_there)


def multiply(running: Running, call: HostCall, args: Sequence[Any]) -> None:
    """A product of matrices by the device's library: `args` are both with their extents, the
    extents of the result, and the buffer for that."""
    given = iter(args)
    buffers: list[Buffer] = []
    extents: list[list[int]] = []
    for each in (*call.operands, *call.results):
        if len(buffers) < len(call.operands):
            buffers.append(next(given))
        extents.append([next(given) for _ in each.varying or ()])
    left, right, _, *conjugated = KINDS[call.fn]
    dtype = call.results[0].dtype
    shapes = [tuple(each[:-1] if dtype.startswith("c") else each) for each in extents]
    one, other = (
        Matrix(shape, turned, conjugates)
        for shape, turned, conjugates in zip(shapes, (left, right), conjugated, strict=False)
    )
    product = Product(dtype, one, other, math.prod(shapes[-1][:-2]))
    launched = product, 1, 1, [each.memory for each in (*buffers, next(given))]
    watching = watched() if OPEN else None
    if watching is None:
        running.device.launch(*launched)
    else:
        device = running.device
        note(watching, device, call.called, 1, device.launch_timed(*launched))
