"""Runs a nest, and compares what it gives with what it means.

    failure(nest, seed, Run("cpu", 3))      None, or what went wrong
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import flatweave as fw
from flatweave.base.config import config
from tests.nests.program import Given, Nest, draw, expected, function_of, passed
from tests.nests.types import Type, scalar_of

THREADS = (1, 2, 3, 7)
REFUSED = (fw.Unsupported, fw.NestingError)


@dataclass(frozen=True)
class Run:
    """How a nest is called."""

    target: str = "cpu"
    threads: int = 1
    derivatives: bool = False


@dataclass(frozen=True)
class Failure:
    """What went wrong: the nest, its arguments, and how it differs or what was raised."""

    nest: Nest
    given: Given
    run: Run
    said: str
    kind: str  # "difference", or the class that was raised

    @property
    def refused(self) -> bool:
        """Whether the compiler said that it cannot do this."""
        return self.kind in {refused.__name__ for refused in REFUSED}


def plain_of(value: Any) -> Any:
    """A result as Python's numbers, lists and tuples."""
    if isinstance(value, tuple):
        return tuple(map(plain_of, value))
    if isinstance(value, list):
        return list(map(plain_of, value))
    return value.item() if isinstance(value, np.generic) else value.tolist()


def dtypes_of(value: Any) -> Any:
    """The dtypes of a result of Flatweave's."""
    if isinstance(value, tuple):
        return tuple(map(dtypes_of, value))
    while isinstance(value, fw.Ragged):
        value = value.values
    return str(np.asarray(value).dtype)


def dtypes_in(type_: Type) -> Any:
    """The dtypes that a type says."""
    return tuple(map(dtypes_in, type_)) if isinstance(type_, tuple) else scalar_of(type_)


def difference(nest: Nest, found: Any, wanted: Any) -> str:
    """How a result differs from what is expected; "" where it does not."""
    values, dtypes = plain_of(found), dtypes_of(found)
    if values != plain_of(wanted):
        return f"found {values}"
    if dtypes != dtypes_in(nest.body.type):
        return f"found dtype {dtypes} instead of {dtypes_in(nest.body.type)}"
    return ""


class Prepared:
    """A nest with its function, compiled when it is first called."""

    def __init__(self, nest: Nest, target: str) -> None:
        self.nest = nest
        self.target = target
        self.jitted: Callable[..., Any] = fw.jit(function_of(nest), target=target)

    def failure(self, given: Given, threads: int) -> Failure | None:
        """What is wrong with one call, if anything."""
        wanted, run = expected(self.nest, given), Run(self.target, threads)
        try:
            with config.scoped(threads=threads), np.errstate(all="ignore"):
                found = self.jitted(*passed(self.nest, given))
            said, kind = difference(self.nest, found, wanted), "difference"
        except Exception as raised:
            said, kind = f"{type(raised).__name__}: {raised}", type(raised).__name__
        return Failure(self.nest, given, run, said, kind) if said else None


def first_failure(
    nest: Nest, target: str, threads: tuple[int, ...] = THREADS, draws: int = 4
) -> Failure | None:
    """The first call that goes wrong, of some arguments and numbers of threads."""
    prepared = Prepared(nest, target)
    calls = ((draw(nest, k), threads[k % len(threads)]) for k in range(draws))
    return next((f for given, count in calls if (f := prepared.failure(given, count))), None)
