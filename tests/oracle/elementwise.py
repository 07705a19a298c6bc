"""Operations element by element: map, zip and its parts, whole-array expressions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle.expressions import Call, Function, Name, call, evaluate, function_text, text
from tests.oracle.folding import columns_of
from tests.oracle.program import OPERATIONS, Meaningless, Operation
from tests.oracle.scalars import SCALARS
from tests.oracle.writer import Known, NoChoice, Writer, evaluate_quietly


def length_of(*values: Any) -> int:
    """The one length of some arrays."""
    lengths = {len(column) for value in values for column in columns_of(value)}
    if len(lengths) != 1:
        raise Meaningless(f"lengths {lengths}")
    return lengths.pop()


def filled(values: Any, n: int) -> Any:
    """Columns of `n` elements, of which some may be one number so far."""
    if isinstance(values, tuple):
        return tuple(filled(value, n) for value in values)
    return np.broadcast_to(np.asarray(values), (n,)).copy()


# -- map -------------------------------------------------------------------------------------------


def map_source(*xs: str, function: Function) -> str:
    return f"fw.map({function_text(function)}, {', '.join(xs)})"


def map_meaning(env: Any, *xs: Any, function: Function) -> Any:
    return filled(call(function, env, *xs), length_of(*xs))


def choose_map(w: Writer) -> Known:
    first = w.one_of(lambda x: x.rank == 1 or x.is_tuple)
    others = [w.as_long(first) for _ in range(w.random.randrange(2))] if first.rank == 1 else []
    xs = [first, *others]
    params = tuple(zip(("x", "y", "z"), xs, strict=False))
    function = w.function(params)
    if w.chance(0.15):
        function = Function(function.params, (*function.results, *w.function(params).results))
    return w.emit("map", *xs, length=first.length, function=function)


def choose_rounded(w: Writer) -> Known:
    """A function whose results may differ by some ulp."""
    x = w.vector("f")
    name = w.random.choice([name for name, row in SCALARS.items() if row.rounded])
    args = (Name("x"),) * SCALARS[name].arity
    function = Function(("x",), (Call(name, args),))
    return w.emit("rounded map", x, length=x.length, function=function)


# -- zip and its parts -----------------------------------------------------------------------------


def zip_source(*xs: str) -> str:
    return f"({', '.join(xs)})"


def zip_meaning(env: Any, *xs: Any) -> Any:
    length_of(*xs)
    return xs


def choose_zip(w: Writer) -> Known:
    first = w.vector()
    return w.emit("zip", first, w.as_long(first), length=first.length)


def part_source(x: str, *, k: int) -> str:
    return f"{x}[{k}]"


def part_meaning(env: Any, x: Any, *, k: int) -> Any:
    return x[k]


def choose_part(w: Writer) -> Known:
    x = w.one_of(lambda x: x.is_tuple)
    return w.emit("part", x, length=x.length, k=w.random.randrange(len(x.sample)))


# -- expressions of whole arrays -------------------------------------------------------------------


def whole_source(*xs: str, expression: Any) -> str:
    return text(expression)


def whole_meaning(env: Any, *xs: Any, expression: Any) -> Any:
    n = length_of(*(x for x in xs if np.ndim(x)))
    return filled(evaluate(expression, env), n)


def choose_whole(w: Writer) -> Known:
    first = w.vector()
    xs = {x.name: x for x in (first, w.as_long(first))}
    env = w.element_env(*xs.items())
    expression = w.expression(env, w.random.choice([1, 2, 3]), control=False)
    if np.ndim(evaluate_quietly(expression, env)) == 0:
        raise NoChoice
    inputs = [x for x in w.known if x.name in env]
    return w.emit("whole", *inputs, length=first.length, expression=expression)


# -- over rank 2 -----------------------------------------------------------------------------------


def beside_source(x: str, y: str, *, function: str, column: bool) -> str:
    other = f"fw.expand_dims({y}, 1)" if column else y
    return SCALARS[function].source.format(x, other)


def beside_meaning(env: Any, x: Any, y: Any, *, function: str, column: bool) -> Any:
    if len(y) != x.shape[0 if column else 1]:
        raise Meaningless("extents differ")
    return SCALARS[function].meaning(x, y[:, None] if column else y)


def choose_beside(w: Writer) -> Known:
    """A matrix with a vector made of it, by broadcasting."""
    x = w.matrix()
    column = w.chance(0.5) and x.sample.shape[1] > 0 and " by " in x.length
    if column:
        y = w.emit("shape", x, length=x.length, shape="first of each")
    else:
        y = w.emit("named", x, length="", name="any", axis=0)
    name = w.random.choice(["add", "mul", "minimum", "eq", "lt"])
    return w.emit("beside", x, y, length=x.length, function=name, column=column)


OPERATIONS |= {
    "map": Operation(map_source, map_meaning),
    "elements": Operation(map_source, map_meaning),  # for an operator: left as they are
    "rounded map": Operation(map_source, map_meaning, rounded=True),
    "zip": Operation(zip_source, zip_meaning),
    "part": Operation(part_source, part_meaning),
    "whole": Operation(whole_source, whole_meaning),
    "beside": Operation(beside_source, beside_meaning),
}
CHOICES = {choose_map: 10, choose_rounded: 1, choose_zip: 1, choose_part: 1, choose_whole: 4,
           choose_beside: 1}  # fmt: skip
