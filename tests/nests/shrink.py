"""Make a failing nest small: parts instead of the whole, less of the arguments.

    smallest(failure)        a failure of the same kind, of the smallest nest found
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.nests import plain
from tests.nests.check import Failure, Prepared
from tests.nests.derivatives import PreparedDerivatives
from tests.nests.program import Given, Nest, source_of
from tests.nests.tree import Function, Made, Name, Node, TooMuch, free_names, nodes_of
from tests.nests.types import Row, Type
from tests.nests.writer import LET, literal, node

Fails = Callable[[Nest, Given], Failure | None]
SECONDS = 60.0


def smallest(failure: Failure, seconds: float = SECONDS) -> Failure:
    """A failure of the same kind that nothing can be left out of, as far as time allows."""
    end, run = time.monotonic() + seconds, failure.run

    def fails(nest: Nest, given: Given) -> Failure | None:
        if time.monotonic() > end:
            return None
        try:
            made = PreparedDerivatives if run.derivatives else Prepared
            found = made(nest, run.target).failure(given, run.threads)
        except (TooMuch, ValueError, IndexError, ZeroDivisionError):
            return None  # it has no meaning
        return found if found is not None and found.kind == failure.kind else None

    return shrunk(failure, fails)


def shrunk(failure: Failure, fails: Fails) -> Failure:
    """A failure that `fails` finds in the smallest nest, by single cuts."""
    found = failure
    while True:
        length = len(source_of(found.nest))
        bodies = candidates(found.nest.body, found.nest.args)
        smaller = (replace(found.nest, body=body) for body in bodies)
        short = (nest for nest in smaller if len(source_of(nest)) < length)
        better = next((f for nest in short if (f := fails(nest, found.given))), None)
        if better is None:
            return _less_data(_without_arguments(found, fails), fails)
        found = better


# -- smaller trees ---------------------------------------------------------------------------------


def candidates(made: Made | Function, scope: tuple[Name, ...] = ()) -> Iterator[Any]:
    """Trees of the same type with something left out, the greatest cuts first."""
    if isinstance(made, Function):
        for body in candidates(made.body, scope + made.params):
            yield Function(made.params, body)
        return
    if isinstance(made, Name):
        return
    yield from _in_its_place(made, scope)
    for k, part in enumerate(made.parts):
        for smaller in candidates(part, scope):
            yield replace(made, parts=(*made.parts[:k], smaller, *made.parts[k + 1 :]))


def _in_its_place(made: Node, scope: tuple[Name, ...]) -> Iterator[Made]:
    """What is shorter and has the same type."""
    names = {name.name for name in scope}
    yield from simplest(made.type)
    yield from (name for name in scope if name.type == made.type)
    for part in nodes_of(made):
        if part is not made and part.type == made.type and free_names(part) <= names:
            yield part
    if made.text == LET:
        value, function = made.parts
        assert isinstance(function, Function)
        yield put(function.body, function.params[0].name, value)
    if made.text.startswith("fw.map({0}, {1}, "):
        yield from _over_less(made)


def put(made: Any, name: str, value: Any) -> Any:
    """A tree with a value instead of a name, which is bound once."""
    if isinstance(made, Name):
        return value if made.name == name else made
    if isinstance(made, Function):
        return Function(made.params, put(made.body, name, value))
    return replace(made, parts=tuple(put(part, name, value) for part in made.parts))


def _over_less(made: Node) -> Iterator[Node]:
    """A map over one array less, where its function does not read the elements."""
    function, *arrays = made.parts
    assert isinstance(function, Function)
    read = free_names(function.body)
    for k, param in enumerate(function.params):
        if param.name not in read:
            params = (*function.params[:k], *function.params[k + 1 :])
            rest = (*arrays[:k], *arrays[k + 1 :])
            text = ", ".join(f"{{{place}}}" for place in range(len(rest) + 1))
            parts = (Function(params, function.body), *rest)
            yield replace(made, text=f"fw.map({text})", parts=parts)


def simplest(type_: Type) -> Iterator[Node]:
    """A number; a row of two numbers."""
    if isinstance(type_, Row) and isinstance(type_.of, str):
        if type_.of == "int64":
            yield node(type_, "fw.iota({0})", plain.iota, literal("int64", 2))
        elif type_.of != "bool":
            two = literal("int64", 2), literal(type_.of, 1)
            yield node(type_, "fw.full({0}, {1})", plain.full, *two)
    elif isinstance(type_, str) and type_ not in ("bool", "operator"):
        yield literal(type_, 1)


# -- smaller arguments -----------------------------------------------------------------------------


def _without_arguments(failure: Failure, fails: Fails) -> Failure:
    """Without the arguments that nothing reads."""
    nest, read = failure.nest, free_names(failure.nest.body)
    kept = [k for k, arg in enumerate(nest.args) if arg.name in read]
    if not kept:
        return failure
    fewer = replace(nest, args=tuple(nest.args[k] for k in kept))
    values = tuple(failure.given.values[k] for k in kept)
    return fails(fewer, replace(failure.given, values=values)) or failure


def _less_data(failure: Failure, fails: Fails) -> Failure:
    """Fewer rows of all arguments that have as many, then fewer elements of each."""
    found, changed = failure, True
    while changed:
        changed = False
        for given in fewer_elements(found.nest, found.given):
            better = fails(found.nest, given)
            if better is not None:
                found, changed = better, True
                break
    return found


def fewer_elements(nest: Nest, given: Given) -> Iterator[Given]:
    """The arguments without one row, and without one element of an irregular row."""
    rows = given.shape.rows
    for i in range(rows):
        values = [
            _without(value, i) if isinstance(arg.type, Row) else value
            for value, arg in zip(given.values, nest.args, strict=True)
        ]
        yield Given(tuple(values), replace(given.shape, rows=rows - 1))
    for k, arg in enumerate(nest.args):
        if not isinstance(arg.type, Row) or arg.type.regular or not isinstance(arg.type.of, Row):
            continue
        for i, row in enumerate(given.values[k]):
            for j in range(len(row)):
                shorter = [*given.values[k][:i], _without(row, j), *given.values[k][i + 1 :]]
                values = [*given.values[:k], shorter, *given.values[k + 1 :]]
                yield Given(tuple(values), given.shape)


def _without(row: Any, i: int) -> Any:
    """A row, or a matrix, without one of its elements."""
    made = type(row)
    rest = [*row[:i], *row[i + 1 :]]
    return made(rest, row.width) if hasattr(row, "width") else rest


