"""Operators tried in the first calls of a program, until each has met elements that say something.

    checks = FirstCalls(program, build)
    checks(args)        before a call; raises Broken

What needs more than a look at the arguments, such as a sorted array, a small program computes: the
first elements of it (`corners`). That all is well is remembered on disk, for the next process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from flatweave.array_ir.fault import Fault
from flatweave.array_ir.syntax import Program
from flatweave.array_ir.text import print_program
from flatweave.base.config import config
from flatweave.base.dtypes import i64
from flatweave.base.errors import UserError
from flatweave.operator_checks.laws import Broken
from flatweave.operator_checks.lazy_arrays import (
    MANY,
    NARROW,
    Array,
    Lazy,
    Unknown,
    corner,
    raveled,
)
from flatweave.operator_checks.sample import Sampler
from flatweave.ops import Generate, Index
from flatweave.runtime.cache import process_cache
from flatweave.runtime.devices.arrays import Resident
from flatweave.runtime.origin import facts
from flatweave.terms.batch import Value
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Var
from flatweave.terms.traverse import Substitution

SPENT = 1000
"""Every call tries operators until so many lets have been evaluated for it in all, about 20 ms;
then those whose number is a power of two."""
RUNS = (1, 8)  # the calls that may run a program for it


class Runs(Protocol):
    """A program ready to run."""

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments."""


class FirstCalls:
    """What is left to try of a program's operators."""

    def __init__(
        self, program: Program, build: Callable[[Program], Runs] | None = None
    ) -> None:
        self._program = program
        self._build = build
        self._calls = self._spent = 0
        self.is_done = not program.unproven
        self._name = ""
        self._built: dict[tuple[Var, ...], Runs] = {}

    def __call__(self, args: Sequence[Any]) -> None:
        """Try the operators on a call's arguments; raises Broken."""
        self._calls += 1
        number = self._calls
        if self.is_done or (self._spent > SPENT and number & (number - 1)):
            return
        if number == 1 and self._is_remembered():
            self.is_done = True
            return
        try:
            self.is_done = self._try(args, with_a_run=number in RUNS)
        except Broken:
            self._calls = self._spent = 0  # the next call with these elements fails as well
            raise
        if self.is_done:
            self._built = {}
            self._remember()

    def _try(self, args: Sequence[Any], with_a_run: bool) -> bool:
        """Try the operators that have not met elements that count; whether none is left."""
        sampler = Sampler(self._program, [_readable(arg) for arg in args])
        sampler.run()
        if not sampler.is_done and self._build is not None and with_a_run:
            wanted = sampler.wanted()
            if wanted:
                sampler.know(self._told_by_a_run(wanted, args))
                sampler.run()
        self._spent += sampler.spent
        return sampler.is_done

    def _told_by_a_run(self, wanted: Sequence[Var], args: Sequence[Any]) -> dict[Var, Array]:
        """Numbers, and the first elements of arrays, that the program computes."""
        assert self._build is not None
        try:
            key = tuple(wanted)
            if key not in self._built:
                self._built[key] = self._build(corners(self._program, wanted))
            results = self._built[key].run(list(args))
        except (Fault, UserError):  # the run itself tells of it
            return {}
        values = [np.asarray(result) for result in results]
        return {
            var: corner(value, _open_shape(var.type)) if isinstance(var.type, ArrayType) else value
            for var, value in zip(wanted, values, strict=True)
        }

    def _is_remembered(self) -> bool:
        if config.no_cache or not facts():
            return False
        text = f"operators hold\0{facts()}\0{print_program(self._program)}"
        self._name = hashlib.sha256(text.encode()).hexdigest()
        return process_cache().get(self._name) is not None

    def _remember(self) -> None:
        if self._name:
            process_cache().put(self._name, b"1")


def corners(program: Program, wanted: Sequence[Var]) -> Program:
    """A program with the same parameters that gives these variables: numbers, and of arrays the
    first elements along each axis."""
    b = Builder()
    renaming = Substitution(fresh=lambda var, type_: b.var(var.name, type_))
    fn = renaming.function(program.fn)
    for let in fn.lets:
        b.append(let)
    results: list[Atom] = []
    for var in (renaming.mapping[var] for var in wanted):
        if not isinstance(var.type, ArrayType):
            results.append(var)
            continue
        shape = tuple(b.apply("minimum", extent, index(NARROW)) for extent in var.type.shape)
        inner = b.inner()
        at = tuple(inner.param("i", i64) for _ in shape)
        element = inner.emit(Index(var, at, checked=False))
        results += b.emit(Generate(shape, inner.close(at, element)))
    return Program(f"{program.name}_operators", Lambda(fn.params, tuple(b.lets), tuple(results)))


def _open_shape(type_: ArrayType) -> tuple[int | None, ...]:
    """What is known of a shape without the program."""
    return tuple(None if isinstance(e, Var) else int(e.value) for e in type_.shape)


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
