"""@jit: a Python function compiled once for each signature of its arguments, then only run.

    @fw.jit
    def total(xs):
        return fw.sum(xs * xs)

    total(np.arange(10.0))            traced, compiled, run
    total(np.arange(99.0))            run: the signature, f64 of rank 1, is known
    total.stages(np.arange(10.0))     what happened on the way
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Program
from flatweave.base import pretty
from flatweave.base.config import config
from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.compiled import Compiled, Entry, Executable, Marks
from flatweave.frontend.eager import COMPILER
from flatweave.frontend.operation import OPERATIONS
from flatweave.frontend.scope import STATE
from flatweave.frontend.signature import flat_of, key_of, leaves_of, plain, quick
from flatweave.frontend.trace import trace
from flatweave.frontend.tree import LEAF, Tree, flatten, paths, unflatten

P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class Interpreted:
    """A program that is interpreted: the reference meaning."""

    program: Program
    text: dict[str, str] = field(default_factory=dict)
    kernels: int = 0
    manifest: tuple[Any, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    def run(self, args: list[Any]) -> list[Any]:
        """The results for flat arguments."""
        return interp.run(self.program, args)


def build(program: Program, target: str, checks: bool) -> Executable:
    """The program ready to run on a target."""
    return Interpreted(program)


COMPILER.append(build)
