"""Writes random nests: what is in scope, how much is still to be written, what can be chosen.

    w = Writer(Random(7)); w.make(Row("int64"), 20)     a row, of about twenty nodes
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from random import Random
from typing import Any

import numpy as np

from tests.nests import plain
from tests.nests.tree import Function, Made, Name, Node, free_names
from tests.nests.types import INTEGERS, NUMBERS, Row, Type, scalar_of

Choice = Callable[["Writer", Any, int], Made | None]
DEEPEST = 4
LET = "({1})({0})"  # a value, and a function of it
# what gives scalars, rows of scalars, and rows of rows; with how often each is chosen
SCALARS: dict[Choice, int] = {}
ROWS: dict[Choice, int] = {}
GRIDS: dict[Choice, int] = {}


def chosen(table: dict[Choice, int], weight: int) -> Callable[[Choice], Choice]:
    """Enter a choice in a table."""

    def enter(choice: Choice) -> Choice:
        table[choice] = weight
        return choice

    return enter
CURVED: dict[str, Callable[..., Any]] = {
    "({0} * {1})": operator.mul,
    "fw.sin({0})": lambda x: like(x, math.sin(x)),
    "fw.tanh({0})": lambda x: like(x, math.tanh(x)),
    "fw.exp(fw.cos({0}))": lambda x: like(x, math.exp(math.cos(x))),
    "fw.log(fw.hypot({0}, 1.5))": lambda x: like(x, math.log(math.hypot(x, 1.5))),
    "({0} / fw.sqrt(2.0 + fw.sin({1})))": lambda x, y: x / like(y, math.sqrt(2 + math.sin(y))),
    "fw.abs({0})": abs,
}  # fmt: skip


def like(x: Any, value: float) -> Any:
    """A number of the type of another: literals are constants."""
    return type(x)(value) if isinstance(x, np.float64) else np.float64(value)


class Writer:
    """Makes trees of a wanted type, from names in scope."""

    def __init__(self, random: Random, smooth: bool = False) -> None:
        self.random = random
        self.smooth = smooth  # floats are any numbers, and mostly what is computed
        self.scope: list[Name] = []
        self.depth = 0
        self.count = 0

    # -- what is random ----------------------------------------------------------------------------

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    @property
    def is_deep(self) -> bool:
        """Whether this function may contain no other element function."""
        return self.depth >= DEEPEST

    def number(self) -> str:
        """A dtype of numbers."""
        if self.smooth and self.chance(0.75):
            return "float64"
        return self.random.choice([*NUMBERS, "int64", "int64", "int64"])

    def integer(self) -> str:
        """A dtype of indices."""
        return self.random.choice([*INTEGERS, "int64", "int64", "int64"])

    def shares(self, fuel: int, n: int) -> list[int]:
        """How much of the fuel each of `n` parts gets."""
        weights = [self.random.random() for _ in range(n)]
        whole = sum(weights) + 1e-9
        return [int((fuel - 1) * weight / whole) for weight in weights]

    # -- names -------------------------------------------------------------------------------------

    def name(self, type_: Type, word: str = "") -> Name:
        """A fresh name."""
        self.count += 1
        letter = word or ("t" if isinstance(type_, tuple) else "r" if isinstance(type_, Row) else
                          "x")  # fmt: skip
        return Name(type_, f"{letter}{self.count}")

    @contextmanager
    def within(self, names: Sequence[Name], deeper: bool = True) -> Iterator[None]:
        """Names in scope; in a function that runs for each element they are one nest deeper."""
        self.scope += names
        self.depth += deeper
        yield
        self.depth -= deeper
        del self.scope[len(self.scope) - len(names) :]

    def function(
        self, types: Sequence[Type], body: Callable[[Sequence[Name]], Made], deeper: bool = True
    ) -> Function:
        """A function of parameters of some types."""
        params = [self.name(type_) for type_ in types]
        with self.within(params, deeper):
            return Function(tuple(params), body(params))

    def pure(self, types: Sequence[Type], gives: Type, fuel: int, deeper: bool = True) -> Function:
        """A function whose body is anything of a type."""
        return self.function(types, lambda _: self.make(gives, fuel), deeper)

    def known(self, wanted: Callable[[Type], bool]) -> list[Made]:
        """The names in scope of wanted types, and parts of tuples; what is nearest twice."""
        found: list[Made] = []
        for name in self.scope:
            if isinstance(name.type, tuple):
                found += [pick(name, k) for k, part in enumerate(name.type) if wanted(part)]
            elif wanted(name.type):
                found.append(name)
        return found + found[len(found) // 2 :]

    def one_known(self, wanted: Callable[[Type], bool]) -> Made | None:
        found = self.known(wanted)
        return self.random.choice(found) if found else None

    # -- what is made ------------------------------------------------------------------------------

    def make(self, type_: Type, fuel: int) -> Made:
        """Anything of a type."""
        if isinstance(type_, tuple):
            parts = [self.make(t, f) for t, f in zip(type_, self.shares(fuel, len(type_)))]
            return tupled(parts)
        if fuel <= 0 or self.chance(0.06):
            return self.leaf(type_)
        if self.smooth and type_ == "float64" and self.chance(0.3):
            return curved(self, fuel)
        table = SCALARS if isinstance(type_, str) else ROWS if isinstance(type_.of, str) else GRIDS
        for _ in range(20):
            (choice,) = self.random.choices(list(table), list(table.values()))
            before = self.count
            made = choice(self, type_ if isinstance(type_, str) else type_.of, fuel)
            if made is not None:
                return made
            self.count = before
        return self.leaf(type_)

    def row(self, dtype: str, fuel: int) -> Made:
        return self.make(Row(dtype), fuel)

    def leaf(self, type_: Type) -> Made:
        """What is at hand: a name, or what needs few words."""
        if isinstance(type_, str):
            return self._leaf_scalar(type_)
        assert isinstance(type_, Row)
        found = self.one_known(lambda t: t == type_)
        if found is not None and self.chance(0.95):
            return found
        if isinstance(type_.of, str):
            return self._leaf_row(type_.of)
        f = self.pure(["int64"], type_.of, 0)
        inner = node(Row(f.body.type), "fw.map({0}, {1})", partial(plain.map_, None), f,
                     self._leaf_row("int64"))  # fmt: skip
        return inner

    def _leaf_scalar(self, dtype: str) -> Made:
        found = self.one_known(lambda t: t == dtype)
        if found is not None and self.chance(0.85):
            return found
        if dtype == "bool":
            return node("bool", "({0} > {1})", lambda a, b: a > b, self._leaf_scalar("int64"),
                        self.literal("int64"))  # fmt: skip
        rows = self.one_known(lambda t: isinstance(t, Row) and t.of in NUMBERS)
        if dtype == "int64" and rows is not None and self.chance(0.6):
            return length(rows)
        other = self.one_known(lambda t: t in NUMBERS)
        if other is not None and self.chance(0.7):
            return cast(other, dtype)
        return self.literal(dtype)

    def literal(self, dtype: str, low: int = -3, high: int = 5) -> Node:
        """A small number."""
        return literal(dtype, self.random.randint(low, high))

    def _leaf_row(self, dtype: str) -> Made:
        other = self.one_known(lambda t: isinstance(t, Row) and t.of in NUMBERS)
        if other is not None and dtype != "bool" and self.chance(0.8):
            return cast(other, dtype)
        if dtype == "int64":
            n = literal("int64", self.random.randint(0, 3))
            return node(Row("int64"), "fw.iota({0})", plain.iota, n)
        value = self._leaf_scalar(dtype)
        n = literal("int64", self.random.randint(0, 3))
        return node(Row(dtype), "fw.full({0}, {1})", plain.full, n, value)

    def size(self, fuel: int, most: int = 4) -> Made:
        """A number of elements that are computed, 0 among them."""
        return modulo(self.make("int64", fuel), most)

    def small(self, fuel: int) -> Made:
        """A number from -3 to 4: a bound of a slice."""
        number = modulo(self.make("int64", fuel), 8)
        return node("int64", "({0} - 3)", lambda n: n - np.int64(3), number)

    def any_row(self, fuel: int) -> Made:
        """A row of any numbers."""
        return self.row(self.number(), fuel)


# -- nodes that many need --------------------------------------------------------------------------


def node(type_: Type, text: str, meaning: Callable[..., Any], *parts: Made | Function) -> Node:
    return Node(type_, text, meaning, parts)


def pick(made: Made, k: int) -> Node:
    assert isinstance(made.type, tuple)
    return node(made.type[k], f"{{0}}[{k}]", itemgetter(k), made)


def tupled(parts: Sequence[Made]) -> Node:
    text = ", ".join(f"{{{k}}}" for k in range(len(parts)))
    return node(tuple(part.type for part in parts), f"({text})", lambda *values: values, *parts)


def literal(dtype: str, value: int) -> Node:
    """A number; dtypes that a Python number does not have are said."""
    number = np.dtype(dtype).type(value % 256 if dtype == "uint8" else value)
    text = repr(number.item()) if dtype in ("int64", "float64") else f"np.{dtype}({number})"
    return node(dtype, f"({text})" if value < 0 and dtype != "uint8" else text, lambda: number)


def length(row: Made) -> Node:
    return node("int64", "{0}.shape[0]", lambda xs: np.int64(len(xs)), row)


def curved(w: Writer, fuel: int) -> Node:
    """A smooth function of numbers that are not far from 0."""
    text = w.random.choice(list(CURVED))
    parts = [w.make("float64", share) for share in w.shares(fuel, text.count("{"))]
    return node("float64", text, CURVED[text], *parts)


def modulo(made: Made, n: int) -> Node:
    return node("int64", f"({{0}} % {n})", lambda x: x % np.int64(n), made)


def cast(made: Made, dtype: str) -> Made:
    """The same numbers in another dtype."""
    type_ = made.type
    if scalar_of(type_) == dtype:
        return made

    def meaning(value: Any) -> Any:
        return [meaning(x) for x in value] if isinstance(value, list) else plain.cast(dtype, value)

    return node(dtype if isinstance(type_, str) else Row(dtype), f"fw.astype({{0}}, np.{dtype})",
                meaning, made)  # fmt: skip


def bound(w: Writer, value: Made, body: Callable[[Name], Made]) -> Made:
    """A value with a name, read as often as its body wishes."""
    f = w.function([value.type], lambda names: body(names[0]), deeper=False)
    if f.params[0].name not in free_names(f.body):
        return f.body
    return node(f.body.type, LET, plain.let, value, f)
