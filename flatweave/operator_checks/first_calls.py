"""Operators tried in the first calls of a program, until each has met elements that say something.

    checks = FirstCalls(program)
    checks(args)        before a call; raises Broken

That all is well is remembered on disk, for the next process.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.array_ir.syntax import Program, print_program
from flatweave.base.config import config
from flatweave.operator_checks.in_kernels import MANY, Array, Lazy, Unknown, raveled
from flatweave.operator_checks.laws import Broken
from flatweave.operator_checks.lazy_interp import STEPS
from flatweave.operator_checks.sample import Sampler, Untried
from flatweave.runtime.cache import facts, process_cache
from flatweave.runtime.devices.arrays import Resident
from flatweave.terms.batch import Value

FOR_EVER = 2**62  # calls


class FirstCalls:
    """What is left to try of a program's operators.

    Until tries have evaluated as many lets as one may, every call makes one; then those calls whose
    number is a power of two. `untried` is how many calls go by before the next try: whoever makes
    one of these counts it.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._calls = self._spent = 0
        self.untried = ctypes.c_int64(0)
        self.is_done = False
        if not program.unproven:
            self._finish()
        self._name = ""
        self._untried: Untried | None = None

    def __call__(self, args: Sequence[Any]) -> None:
        """Try the operators on a call's arguments; raises Broken."""
        if self.untried.value > 0:
            self.untried.value -= 1
            return
        self._calls += 1
        if self._calls == 1 and self._is_remembered():
            self._finish()
            return
        try:
            is_done = self._try(args)
        except Broken:
            self._calls = self._spent = 0  # the next call with these elements fails as well
            raise
        if is_done:
            self._finish()
            self._remember()
        elif self._spent > STEPS:
            number = (1 << self._calls.bit_length()) - 1  # the last call before the next try
            self.untried.value = number - self._calls
            self._calls = number

    def _finish(self) -> None:
        """Try nothing any more."""
        self.is_done, self.untried.value = True, FOR_EVER

    def _try(self, args: Sequence[Any]) -> bool:
        """Try the operators that have not met elements that count; whether none is left."""
        if self._untried is None:
            self._untried = Untried(self._program)
        sampler = Sampler(self._program, [_readable(arg) for arg in args], self._untried)
        sampler.run()
        self._spent += sampler.spent
        return sampler.is_done

    def _is_remembered(self) -> bool:
        if config.no_cache or not facts():
            return False
        text = f"operators hold\0{facts()}\0{print_program(self._program)}"
        self._name = hashlib.sha256(text.encode()).hexdigest()
        return process_cache().get(self._name) is not None

    def _remember(self) -> None:
        if self._name:
            process_cache().put(self._name, b"1")


def _readable(arg: Any) -> Any:
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
