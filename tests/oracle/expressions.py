"""Element functions as data: written as Python over `fw`, and evaluated by NumPy.

    Function(("x",), (Call("add", (Name("x"), Literal(3))),))       lambda x: (x + 3)

Evaluation goes over whole columns at once: a name stands for the values of all elements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.oracle.scalars import SCALARS, cast

Env = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Name:
    """A parameter, a part of one (`a[0]`), or a value of the program."""

    text: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A Python number, which takes the dtype of what it meets."""

    value: int | float | bool


@dataclass(frozen=True, slots=True)
class Call:
    """A row of SCALARS on expressions."""

    function: str
    args: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Cast:
    """The value in another dtype."""

    dtype: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Either:
    """One of two values by fw.cond, of which only one is computed."""

    condition: Expression
    then: Expression
    other: Expression


@dataclass(frozen=True, slots=True)
class Repeat:
    """`count` iterations of `body`, where `number` is the iteration and `state` the value."""

    count: Expression
    number: str
    state: str
    body: Expression
    start: Expression
    counted: bool  # by fori_loop, else by while_loop


@dataclass(frozen=True, slots=True)
class Read:
    """The element of an array of the program at an index inside it."""

    array: str
    place: Expression


Expression = Name | Literal | Call | Cast | Either | Repeat | Read


@dataclass(frozen=True, slots=True)
class Function:
    """Parameters and results; one result stands alone, several are a tuple."""

    params: tuple[str, ...]
    results: tuple[Expression, ...]


# -- as Python -------------------------------------------------------------------------------------


def literal_text(value: Any) -> str:
    """A number as a program writes it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "fw.nan" if math.isnan(value) else "fw.inf" if value > 0 else "(-fw.inf)"
    text = repr(value)
    return f"({text})" if text.startswith("-") else text


def text(expression: Expression) -> str:
    """An expression as Python."""
    match expression:
        case Name(name):
            return name
        case Literal(value):
            return literal_text(value)
        case Call(function, args):
            return SCALARS[function].source.format(*map(text, args))
        case Cast(dtype, value):
            return f"fw.astype({text(value)}, np.{dtype})"
        case Either(condition, then, other):
            return f"fw.cond({text(condition)}, lambda: {text(then)}, lambda: {text(other)})"
        case Read(array, place):
            return f"fw.gather({array}, {text(place)})"
        case Repeat():
            return _loop_text(expression)


def _loop_text(loop: Repeat) -> str:
    count, start, body = text(loop.count), text(loop.start), text(loop.body)
    if loop.counted:
        # the iteration's number takes the dtype of the other operand; here it has a fixed one
        body = f"(lambda {loop.number}: {body})(fw.astype({loop.number}, np.int64))"
        return f"fw.fori_loop(0, {count}, lambda {loop.number}, {loop.state}: {body}, {start})"
    # the state of a while loop is a tuple: its parts are bound by a function of two parameters
    turn = f"(lambda {loop.number}, {loop.state}: ({loop.number} + 1, {body}))(*t)"
    return f"fw.while_loop(lambda t: t[0] < {count}, lambda t: {turn}, (np.int64(0), {start}))[1]"


def function_text(function: Function) -> str:
    """A function as a lambda."""
    return f"lambda {', '.join(function.params)}: {results_text(function.results)}"


def results_text(results: tuple[Expression, ...]) -> str:
    """One result alone, several as a tuple."""
    if len(results) == 1:
        return text(results[0])
    return f"({', '.join(map(text, results))})"


# -- as NumPy --------------------------------------------------------------------------------------


def evaluate(expression: Expression, env: Env) -> Any:
    """The values of an expression for all elements."""
    match expression:
        case Name(name):
            return env[name]
        case Literal(value):
            return value
        case Call(function, args):
            return SCALARS[function].meaning(*(evaluate(arg, env) for arg in args))
        case Cast(dtype, value):
            return cast(evaluate(value, env), np.dtype(dtype))
        case Either(condition, then, other):
            return np.where(
                evaluate(condition, env), evaluate(then, env), evaluate(other, env)
            )
        case Read(array, place):
            at = np.asarray(evaluate(place, env))
            return env[array][at] if at.size else env[array][:0]
        case Repeat():
            return _looped(expression, env)


def _looped(loop: Repeat, env: Env) -> Any:
    count, state = np.broadcast_arrays(evaluate(loop.count, env), evaluate(loop.start, env))
    for turn in range(int(count.max(initial=0))):
        inside = {**env, loop.number: np.int64(turn), loop.state: state}
        state = np.where(turn < count, evaluate(loop.body, inside), state)
    return state


def bound(params: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
    """The parameters' values; of a tuple its parts, as `x[0]`."""
    env: dict[str, Any] = {}
    for param, value in zip(params, values, strict=True):
        if isinstance(value, tuple):
            env |= {f"{param}[{k}]": part for k, part in enumerate(value)}
        else:
            env[param] = value
    return env


def call(function: Function, env: Env, *values: Any) -> Any:
    """What a function gives: one value, or a tuple."""
    inside = {**env, **bound(function.params, values)}
    results = tuple(evaluate(result, inside) for result in function.results)
    return results[0] if len(results) == 1 else results
