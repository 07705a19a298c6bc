"""Derivatives of a nest: both modes next to each other and to central differences of plain Python.

    <jvp v, u> = <v, vjp u>        (f(x + h v) - f(x - h v)) / 2 h = jvp v

The differences are taken with two steps; how much they differ is how far they can be trusted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import flatweave as fw
from flatweave.base.config import config
from tests.gradients.laws import floats_of, inner
from tests.gradients.laws import mapped as floats_mapped
from tests.nests.check import THREADS, Failure, Run
from tests.nests.near import mapped
from tests.nests.program import (
    Given,
    Nest,
    expected,
    floats_in,
    function_of,
    is_smooth,
    passed,
    smooth_draws,
)

STEPS = (1e-5, 2e-6)


class PreparedDerivatives:
    """A nest with the program of its derivatives, compiled when it is first called."""

    def __init__(self, nest: Nest, target: str) -> None:
        self.nest = nest
        self.target = target
        f = function_of(nest)
        self.value: Callable[..., Any] = fw.jit(f, target="interp")

        def derivatives(directions: Any, args: Any, cotangents: Any) -> Any:
            along = fw.jvp(f, args, directions)[1]
            return along, fw.vjp(f, *args)[1](cotangents)

        self.jitted: Callable[..., Any] = fw.jit(derivatives, target=target)

    def failure(self, given: Given, threads: int) -> Failure | None:
        """What is wrong with the derivatives at some arguments, if anything."""
        run = Run(self.target, threads, derivatives=True)
        given_to = partial(Failure, self.nest, given, run)
        if not is_smooth(self.nest, given):
            return None
        random = np.random.default_rng(self.nest.seed)
        directions = tuple(
            mapped(lambda x: np.float64(random.normal()), value) for value in given.values
        )
        wanted, doubt = self._differences(given, directions)
        try:
            with config.scoped(threads=threads), np.errstate(all="ignore"):
                said = self._difference(given, directions, wanted, doubt, random)
        except Exception as raised:
            return given_to(f"{type(raised).__name__}: {raised}", type(raised).__name__)
        return given_to(said, "difference") if said else None

    def _differences(self, given: Given, directions: Any) -> tuple[np.ndarray, np.ndarray]:
        """The derivative along a direction, in plain Python, and what it may be wrong by."""
        found = []
        for step in STEPS:
            ahead, behind = (
                expected(self.nest, replace(given, values=tuple(
                    _moved(x, v, by) for x, v in zip(given.values, directions, strict=True)
                )))
                for by in (step, -step)
            )  # fmt: skip
            type_ = self.nest.body.type
            pair = [np.array(floats_in(value, type_)) for value in (ahead, behind)]
            found.append((pair[0] - pair[1]) / (2 * step))
        return found[0], 1e-6 * (1 + np.abs(found[0])) + 3 * np.abs(found[0] - found[1])

    def _difference(
        self, given: Given, directions: Any, wanted: np.ndarray, doubt: np.ndarray,
        random: np.random.Generator,
    ) -> str:  # fmt: skip
        """How the modes differ; "" where they do not."""
        args = tuple(passed(self.nest, given))
        moved = passed(self.nest, replace(given, values=directions))
        along_args = tuple(floats_mapped(x, lambda x: x) for x in moved)
        cotangents = floats_mapped(
            self.value(*args), lambda x: random.normal(size=x.shape) if x.ndim else random.normal()
        )
        along, back = self.jitted(along_args, args, cotangents)
        found = np.concatenate([x.ravel() for x in floats_of(along)] or [np.zeros(0)])
        if not np.all(np.abs(found - wanted) <= doubt):
            return f"forward {found.tolist()} instead of {wanted.tolist()}"
        pairs = (along, cotangents), (along_args, back)
        one, other = (inner(*pair) for pair in pairs)
        size = sum(inner(*(_sizes(x) for x in pair)) for pair in pairs)
        if not abs(one - other) <= 1e-10 * (1 + size):
            return f"reverse {other} instead of {one}: {[x.tolist() for x in floats_of(back)]}"
        return self._bits_differ(along_args, args, cotangents)

    def _bits_differ(self, *given: Any) -> str:
        """Whether numbers of threads differ."""
        if self.target == "interp":
            return ""
        found = set()
        for threads in THREADS:
            with config.scoped(threads=threads):
                made = self.jitted(*given)
            found.add(b"|".join(np.asarray(x).tobytes() for x in floats_of(made)))
        return f"{len(found)} results for {THREADS} threads" if len(found) > 1 else ""


def _sizes(value: Any) -> list[np.ndarray]:
    return [np.abs(x) for x in floats_of(value)]


def _moved(value: Any, direction: Any, by: float) -> Any:
    """An argument moved along a direction."""
    if isinstance(value, list):
        rows = [_moved(x, v, by) for x, v in zip(value, direction, strict=True)]
        return type(value)(rows, value.width) if hasattr(value, "width") else rows
    return value + by * direction if isinstance(value, np.floating) else value


def first_failure(nest: Nest, target: str, draws: int = 1) -> Failure | None:
    """What is wrong with the derivatives at some arguments, if anything is."""
    prepared = PreparedDerivatives(nest, target)
    calls = smooth_draws(nest)[:draws]
    return next((f for given in calls if (f := prepared.failure(given, 1))), None)
