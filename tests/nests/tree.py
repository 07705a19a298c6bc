"""Nests as trees: each node has a text, which Flatweave runs, and a meaning, in plain Python.

    Node("int64", "({0} + {1})", operator.add, (x, Literal 3))        (x + 3)
    Function((x,), body)                                              lambda x: body

Values are NumPy scalars, lists of values, and tuples of values; of functions, Python functions.
A tuple of lists is an array of tuples, as in Flatweave.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.nests.types import Type

LONGEST, MOST, GREATEST = 150, 40_000, 2.0**50


@dataclass(frozen=True)
class Name:
    """A parameter of a function around, or an argument of the whole nest."""

    type: Type
    name: str


@dataclass(frozen=True)
class Function:
    """A function of some parameters."""

    params: tuple[Name, ...]
    body: Made


@dataclass(frozen=True)
class Node:
    """A tree of parts: `text` has a place {k} for the text of each."""

    type: Type
    text: str
    meaning: Callable[..., Any] = field(compare=False, repr=False)
    parts: tuple[Made | Function, ...] = ()


Made = Name | Node


class TooMuch(Exception):
    """A nest that computes too much, or floats that are not sure to be exact."""


class Budget:
    """What an evaluation may still do."""

    def __init__(self) -> None:
        self.left = MOST

    def spend(self, value: Any) -> None:
        """Take the cost of one value off."""
        size = len(value) if isinstance(value, list) else 1
        self.left -= size
        if self.left < 0 or size > LONGEST:
            raise TooMuch
        inexact = isinstance(value, float) and abs(value) > GREATEST
        if inexact:
            raise TooMuch


def evaluate(made: Made, env: dict[str, Any], budget: Budget) -> Any:
    """The value of a tree, its names being those of `env`."""
    if isinstance(made, Name):
        return env[made.name]
    value = made.meaning(*(_part(part, env, budget) for part in made.parts))
    budget.spend(value)
    return value


def _part(part: Made | Function, env: dict[str, Any], budget: Budget) -> Any:
    if isinstance(part, Function):
        names = [param.name for param in part.params]
        return lambda *args: evaluate(
            part.body, env | dict(zip(names, args, strict=True)), budget
        )
    return evaluate(part, env, budget)


def text_of(made: Made | Function) -> str:
    """A tree as Python."""
    if isinstance(made, Name):
        return made.name
    if isinstance(made, Function):
        names = ", ".join(param.name for param in made.params)
        return f"lambda {names}: {text_of(made.body)}" if names else f"lambda: {text_of(made.body)}"
    return made.text.format(*map(text_of, made.parts))


def nodes_of(made: Made | Function) -> Iterator[Made]:
    """Every node and name of a tree."""
    if isinstance(made, Function):
        yield from nodes_of(made.body)
        return
    yield made
    if isinstance(made, Node):
        for part in made.parts:
            yield from nodes_of(part)


def free_names(made: Made | Function) -> set[str]:
    """The names that a tree reads from around it."""
    if isinstance(made, Name):
        return {made.name}
    if isinstance(made, Function):
        return free_names(made.body) - {param.name for param in made.params}
    return set().union(*map(free_names, made.parts))
