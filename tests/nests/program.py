"""A random nest as a whole: arguments of some types, and a tree that reads them.

    nest = random_nest(7)
    source_of(nest)                     def nest(a1, a2): return fw.map(lambda r3: .., a1)
    draw(nest, 3)                       arguments, as plain lists
    expected(nest, arguments)           what it means
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

import numpy as np

import flatweave as fw
from tests.nests import control, data, grids, guards, moves, plain, rows, scalars, stencils
from tests.nests.data import Shape
from tests.nests.near import mapped, noticing
from tests.nests.tree import Budget, Made, Name, Node, TooMuch, evaluate, text_of
from tests.nests.types import Row, Type
from tests.nests.writer import Writer, node

# they enter their choices when imported
TOPICS = (scalars, rows, moves, control, grids, stencils, guards)

DRAWS = 6  # arguments that a nest is tried with


@dataclass(frozen=True)
class Nest:
    """Its seed, which its arguments are drawn by as well; their types and its body."""

    seed: int
    args: tuple[Name, ...]
    body: Made
    smooth: bool = False  # floats are any numbers; its derivatives are compared


@dataclass(frozen=True)
class Given:
    """Arguments of a nest: plain values, and the extents of the regular ones."""

    values: tuple[Any, ...]
    shape: Shape


def outer_types(w: Writer) -> list[Type]:
    """Types of arguments that are equally long along axis 0: what the nest goes through."""
    dtype = "float64" if w.smooth else w.number()
    kinds: list[Type] = [
        Row(Row(dtype), regular=True),
        Row(Row(dtype), regular=True),
        Row(Row(dtype)),
        Row(Row(dtype)),
        Row(Row(Row(dtype, regular=True), regular=True), regular=True),
        Row(Row(Row(dtype))),
        Row(Row(Row(Row(dtype)))),
        Row(dtype),
    ]
    first, more = w.random.choice(kinds), w.random.randrange(3)
    return [first, *(w.random.choice([*kinds, Row(w.number())]) for _ in range(more))]


def result_type(w: Writer) -> Type:
    """What the nest gives for each element."""
    def part() -> Type:
        dtype = w.number()
        some = [dtype, dtype, Row(dtype), Row(dtype), Row(dtype), Row(Row(dtype))]
        return Row(Row(Row(dtype))) if w.chance(0.07) else w.random.choice(some)

    return (part(), part()) if w.chance(0.2) else part()


def random_nest(seed: int, most: int = 30, smooth: bool = False) -> Nest:
    """The nest of a seed: the first one that some arguments do not make too great, or smooth."""
    for attempt in range(300):
        nest = _attempt(seed, Random(f"{seed} {attempt}"), most, smooth)
        try:
            for k in range(DRAWS):
                expected(nest, draw(nest, k))
        except TooMuch:
            continue
        if not smooth or (source_of(nest).count("fw.") > 2 and smooth_draws(nest)):
            return nest
    raise AssertionError(f"seed {seed} gives no nest")


def smooth_draws(nest: Nest) -> list[Given]:
    """Arguments at which no choice is close to another, and whose floats matter."""
    draws = [draw(nest, k) for k in range(DRAWS)]
    return [given for given in draws if is_smooth(nest, given) and _moves(nest, given)]


def _moves(nest: Nest, given: Given) -> bool:
    """Whether results depend on the floats among the arguments."""
    moved = tuple(mapped(lambda x: x + 1e-5, value) for value in given.values)
    one, other = expected(nest, given), expected(nest, replace(given, values=moved))
    return floats_in(one, nest.body.type) != floats_in(other, nest.body.type)


def is_smooth(nest: Nest, given: Given) -> bool:
    """Whether no choice is close to another one at some arguments."""
    values = tuple(map(noticing, given.values))
    try:
        expected(nest, replace(given, values=values))
    except TooMuch:
        return False
    return True


def floats_in(value: Any, type_: Type) -> list[float]:
    """The floats of a value, in order."""
    if isinstance(type_, tuple):
        return [x for part, t in zip(value, type_, strict=True) for x in floats_in(part, t)]
    if isinstance(type_, Row):
        return [x for part in value for x in floats_in(part, type_.of)]
    return [float(value)] if type_ == "float64" else []


def _attempt(seed: int, random: Random, most: int, smooth: bool) -> Nest:
    w = Writer(random, smooth)
    outer = [w.name(type_, "a") for type_ in outer_types(w)]
    beside = [w.name(type_, "a") for type_ in
              random.sample(["int64", w.number(), Row("int64"), Row(w.number())],
                            random.randrange(3))]  # fmt: skip
    w.scope = [*outer, *beside]
    fuel = random.randint(5, most)
    gives = result_type(w)
    if w.chance(0.2):
        parts = gives if isinstance(gives, tuple) else (gives,)
        body = w.make(Row(parts[0]), fuel)
    else:
        body = _over(w, outer, gives, fuel)
    return Nest(seed, (*outer, *beside), body, smooth)


def _over(w: Writer, outer: list[Name], gives: Type, fuel: int) -> Node:
    """map over all outer arguments."""
    parts = gives if isinstance(gives, tuple) else None
    made: Type = Row(gives) if parts is None else tuple(map(Row, parts))
    types = [name.type.of for name in outer if isinstance(name.type, Row)]
    fn = w.pure(types, gives, fuel)
    text = ", ".join(f"{{{k + 1}}}" for k in range(len(outer)))
    meaning = partial(plain.map_, None if parts is None else len(parts))
    return node(made, f"fw.map({{0}}, {text})", meaning, fn, *outer)


def source_of(nest: Nest) -> str:
    """The nest as Python."""
    names = ", ".join(name.name for name in nest.args)
    return f"def nest({names}):\n    return {text_of(nest.body)}\n"


def function_of(nest: Nest) -> Callable[..., Any]:
    """The nest as Flatweave's function."""
    scope: dict[str, Any] = {"fw": fw, "np": np}
    exec(compile(source_of(nest), "<nest>", "exec"), scope)
    return scope["nest"]


def draw(nest: Nest, number: int) -> Given:
    """Arguments for a nest: short rows, empty ones among them."""
    random = Random(f"arguments {nest.seed} {number}")
    shape = data.shape_of(random)
    values = tuple(
        data.value_of(arg.type, random, shape.extents) for arg in nest.args
    )
    if nest.smooth:
        values = tuple(mapped(lambda x: x / 4 + random.uniform(-0.12, 0.12), v) for v in values)
    return Given(values, shape)


def expected(nest: Nest, given: Given) -> Any:
    """What the nest means for some arguments."""
    env = {arg.name: value for arg, value in zip(nest.args, given.values, strict=True)}
    with np.errstate(all="ignore"):
        return evaluate(nest.body, env, Budget())


def passed(nest: Nest, given: Given) -> list[Any]:
    """The arguments as Flatweave takes them."""
    return [
        data.passed(value, arg.type, given.shape.extents)
        for value, arg in zip(given.values, nest.args, strict=True)
    ]


