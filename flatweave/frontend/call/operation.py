"""Public functions: recorded when called inside a trace, run at once outside of every one.

    @operation(static="axis keepdims")
    def sum(xs, axis=None, keepdims=False): ..       written for traced arrays alone

`static` names the parameters that decide what the program is: a call outside a trace compiles anew
for each of their values, while every other number, an extent too, is an argument at run time.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from flatweave.base.source import user_location
from flatweave.frontend.values.scope import innermost
from flatweave.frontend.values.sugar import METHODS

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Operation:
    """A public function as the evaluator sees it: its body, and which parameters are static."""

    name: str
    body: Callable[..., Any]
    positional: tuple[str, ...]  # names of the parameters before *args
    rest: str  # the name of *args, or ""
    static: frozenset[str]
    host: Callable[..., Any] | None  # a short cut for host arrays; NotImplemented: not this call


Evaluator = Callable[[Operation, tuple[Any, ...], dict[str, Any]], Any]
# the one slot through which calls outside a trace run; eager.py fills it when it is imported
EVALUATOR: list[Evaluator] = []


def operation(
    *, static: str = "", host: Callable[..., Any] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare a public function by its meaning inside a trace."""

    def declare(body: Callable[P, R]) -> Callable[P, R]:
        parameters = inspect.signature(body).parameters.values()
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        rest = [p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL]
        known = Operation(
            body.__name__,
            body,
            tuple(p.name for p in parameters if p.kind in kinds),
            rest[0] if rest else "",
            frozenset(static.split()),
            host,
        )

        @functools.wraps(body)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            scope = innermost()
            if scope is None:
                return EVALUATOR[0](known, args, kwargs)  # type: ignore[no-any-return]
            trace = scope.trace
            around, trace.where = trace.where, user_location()
            result = body(*args, **kwargs)
            trace.where = around  # what this was called in goes on, perhaps an operation itself
            return result

        OPERATIONS[call] = known
        METHODS[known.name] = call
        return call

    return declare


# every public function that `operation` declared: their results depend on nothing but arguments
OPERATIONS: dict[Callable[..., Any], Operation] = {}
