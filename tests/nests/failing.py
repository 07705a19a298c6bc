"""Random nests of which some rows fail: they read outside, or have what cannot be.

    made = random_failing(7)
    made.failing(draw(made.nest, 3))        the numbers of the rows that fail, in plain Python

Every row has one piece of work that may fail, alone, in a branch that some rows take, in
a loop, or for each element of a row; what a row does not do there must not fail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import numpy as np

from tests.nests import plain
from tests.nests.program import Given, Nest, draw, outer_types
from tests.nests.rows import is_row
from tests.nests.tree import Budget, Function, Made, Name, TooMuch, evaluate
from tests.nests.types import Row
from tests.nests.writer import Writer, cast, literal, node, tupled

DRAWS = 4
FAILED = (IndexError, ValueError)


@dataclass(frozen=True)
class Failing:
    """A nest, the function of its rows, and in what the work that may fail stands."""

    nest: Nest
    fn: Function
    around: str

    def failing(self, given: Given) -> list[int]:
        """The rows that fail."""
        env = {arg.name: value for arg, value in zip(self.nest.args, given.values, strict=True)}
        count = len(given.values[0])
        return [i for i in range(count) if self._fails(env, [v[i] for v in given.values])]

    def _fails(self, env: dict[str, Any], row: list[Any]) -> bool:
        names = [param.name for param in self.fn.params]
        try:
            with np.errstate(all="ignore"):
                evaluate(self.fn.body, env | dict(zip(names, row, strict=True)), Budget())
        except FAILED:
            return True
        return False


# -- work that may fail: a number of type int64 ----------------------------------------------------


def read(w: Writer, row: Made) -> Made:
    """An element at any small number."""
    element = node(row.type.of, "{0}[{1}]", lambda xs, k: xs[k], row, w.small(4))
    return cast(element, "int64")


def greatest(w: Writer, row: Made) -> Made:
    """The greatest of what a filter leaves, if it leaves any."""
    p = w.pure([row.type.of], "bool", 4)
    kept = node(row.type, "fw.filter({0}, {1})", plain.filter_, p, row)
    return cast(node(row.type.of, "fw.max({0})", max, kept), "int64")


def lengthened(w: Writer, row: Made) -> Made:
    """As many elements as a number says, which may be negative."""
    def iota(n: Any) -> list[Any]:
        if n < 0:
            raise ValueError("a negative length")
        return plain.iota(n)

    made = node(Row("int64"), "fw.cumsum(fw.iota({0}))",
                lambda n: list(np.cumsum(iota(n), dtype=np.int64)), w.small(4))  # fmt: skip
    return node("int64", "fw.sum({0})", lambda xs: np.int64(sum(xs)), made)


def paired(w: Writer, row: Made) -> Made:
    """Two rows element by element, which may be of different lengths."""
    first, second = cast(row, "int64"), w.row("int64", 5)
    both = node(Row("int64"), "fw.map(lambda a, b: a * b, {0}, {1})",
                lambda xs, ys: [x * y for x, y in zip(xs, ys, strict=True)], first, second)
    return node("int64", "fw.sum({0})", lambda xs: sum(xs, np.int64(0)), both)


WORK = (read, greatest, lengthened, paired)

# -- where it stands -------------------------------------------------------------------------------


def alone(w: Writer, work: Callable[[], Made]) -> Made:
    return work()


def in_a_branch(w: Writer, work: Callable[[], Made]) -> Made:
    """Rows for which a condition does not hold do nothing there."""
    condition = w.make("bool", 4)
    there = w.function([], lambda _: work(), deeper=False)
    other = w.function([], lambda _: literal("int64", 1), deeper=False)
    return node("int64", "fw.cond({0}, {1}, {2})", plain.cond, condition, there, other)


def in_a_loop(w: Writer, work: Callable[[], Made]) -> Made:
    """A number of iterations that the row gives, also none."""
    body = w.function(["int64", "int64"], lambda _: work(), deeper=False)

    def turns(n: Any, f: Callable[..., Any]) -> Any:
        state = np.int64(0)
        for i in range(int(n)):
            state = f(np.int64(i), state)
        return state

    return node("int64", "fw.fori_loop(0, {0}, {1}, 0)", turns, w.size(3), body)


def in_elements(w: Writer, work: Callable[[], Made]) -> Made:
    """For each element of an array that the row makes."""
    f = w.function(["int64"], lambda names: node(
        "int64", "({0} + {1})", lambda a, b: a + b, names[0], work()))  # fmt: skip
    each = node(Row("int64"), "fw.map({0}, fw.iota({1}))",
                lambda f, n: [f(np.int64(i)) for i in range(n)], f, w.size(3))
    return node("int64", "fw.sum({0})", lambda xs: sum(xs, np.int64(0)), each)


AROUND = {"alone": alone, "branch": in_a_branch, "loop": in_a_loop, "elements": in_elements}


def random_failing(seed: int) -> Failing:
    """The nest of a seed: the first that some rows fail of, and others do not."""
    for attempt in range(200):
        made = _attempt(seed, Random(f"failing {seed} {attempt}"))
        try:
            found = [made.failing(draw(made.nest, k)) for k in range(DRAWS)]
        except TooMuch:
            continue
        if any(found) and not all(found):
            return made
    raise AssertionError(f"seed {seed} gives no nest")


def _attempt(seed: int, random: Random) -> Failing:
    w = Writer(random)
    outer: list[Name] = [w.name(type_, "a") for type_ in outer_types(w)]
    w.scope = list(outer)
    around = random.choice(list(AROUND))

    def work() -> Made:
        row = w.one_known(lambda type_: is_row(type_) and type_.of != "bool")
        return random.choice(WORK)(w, row if row is not None else w.row("int64", 3))

    def body(_: Any) -> Made:
        other = w.make(random.choice(["int64", Row("int64"), Row("float64")]), 8)
        return tupled([AROUND[around](w, work), other])

    types = [name.type.of for name in outer if isinstance(name.type, Row)]
    fn = w.function(types, body)
    text = ", ".join(f"{{{k + 1}}}" for k in range(len(outer)))
    assert isinstance(fn.body.type, tuple)
    gives = tuple(map(Row, fn.body.type))
    over = node(gives, f"fw.map({{0}}, {text})", partial(plain.map_, len(gives)), fn, *outer)
    return Failing(Nest(seed, tuple(outer), over), fn, around)
