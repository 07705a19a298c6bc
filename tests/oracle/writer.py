"""Writes random programs: each step is chosen knowing what its inputs are.

A value's dtype, rank and structure are known from a sample: the oracle runs along on
some elements while a program is written. Values of one `length` are equally long in every run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import numpy as np

from tests.oracle.data import Rows
from tests.oracle.expressions import (
    Call,
    Cast,
    Either,
    Expression,
    Function,
    Literal,
    Name,
    Repeat,
    bound,
    evaluate,
)
from tests.oracle.program import OPERATIONS, Block, Input, Program, Step, arguments, entered
from tests.oracle.scalars import SCALARS

SAMPLE = 7  # elements of a sample
MOST_GROWTH = 8.0


class NoChoice(Exception):
    """A step cannot be chosen here; another is."""


@dataclass(frozen=True)
class Known:
    """A value while a program is written."""

    name: str
    sample: Any
    length: str
    growth: float = 1.0
    rounded: bool = False

    @property
    def rank(self) -> int:
        """The rank of an array; -1 for tuples and rows."""
        return self.sample.ndim if isinstance(self.sample, np.ndarray | np.generic) else -1

    @property
    def dtype(self) -> str:
        """The name of an array's dtype."""
        return str(self.sample.dtype)

    @property
    def kind(self) -> str:
        """The kind of an array's dtype."""
        return self.sample.dtype.kind

    @property
    def is_tuple(self) -> bool:
        """Whether this is an array of tuples."""
        return isinstance(self.sample, tuple)


@dataclass
class Writer:
    """A program so far."""

    random: Random
    known: list[Known] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    env: dict[str, Any] = field(default_factory=dict)
    prefix: str = "v"
    exact: bool = True  # floats are combined so that no grouping shows
    last_number: int = 1

    # -- entering ---------------------------------------------------------------------------------

    def enter(self, known: Known) -> Known:
        """A value from now on."""
        self.known.append(known)
        self.env |= entered(known.name, known.sample)
        return known

    def emit(
        self, operation: str, *inputs: Known, length: str = "", growth: float = 0.0, **details: Any
    ) -> Known:
        """A step, and the value that it gives; with a new length unless one is given."""
        name = f"{self.prefix}{len(self.known)}"
        if operation in ("map", "elements"):
            details = {"function": self.tidied(details["function"], inputs)}
        step = Step(name, operation, tuple(x.name for x in inputs), details)
        with np.errstate(all="ignore"):
            found = OPERATIONS[operation].meaning(
                self.env, *(x.sample for x in inputs), **details
            )
        if any(part.dtype == np.float16 for part in flat(found)):
            raise NoChoice
        size = growth or max([x.growth for x in inputs], default=1.0)
        if size > MOST_GROWTH:
            raise NoChoice
        self.steps.append(step)
        rounded = OPERATIONS[operation].rounded
        return self.enter(Known(name, found, length or f"of {name}", size, rounded))

    # -- picking ----------------------------------------------------------------------------------

    def chance(self, share: float) -> bool:
        """True for a share of the cases."""
        return self.random.random() < share

    def one_of(self, where: Callable[[Known], bool]) -> Known:
        """Some value of which a condition holds; later ones more often."""
        found = [x for x in self.known if not x.rounded and where(x)]
        if not found:
            raise NoChoice
        return self.random.choice([*found, *found[-2:]])

    def vector(self, kinds: str = "biuf") -> Known:
        """An array of rank 1."""
        return self.one_of(lambda x: x.rank == 1 and x.kind in kinds)

    def matrix(self) -> Known:
        """An array of rank 2: one that is there, or rows of a vector's elements."""
        if any(x.rank == 2 for x in self.known) and self.chance(0.7):
            return self.one_of(lambda x: x.rank == 2)
        x, k = self.vector(), self.random.choice([1, 2, 3, 5, 7])
        return self.emit("rows", x, length=f"{x.length} by {k}", k=k)

    def as_long(self, x: Known, kinds: str = "biuf") -> Known:
        """An array of rank 1 as long as another."""
        return self.one_of(lambda y: y.rank == 1 and y.length == x.length and y.kind in kinds)

    def scalars(self) -> list[Known]:
        """The numbers that element functions may read from outside."""
        return [x for x in self.known if x.rank == 0 and not x.rounded]

    # -- expressions ------------------------------------------------------------------------------

    def element_env(self, *params: tuple[str, Known]) -> dict[str, Any]:
        """Samples of an element function's parameters, and of a number from outside."""
        env: dict[str, Any] = {}
        for name, x in params:
            if isinstance(x.sample, tuple):
                env |= {f"{name}[{k}]": part for k, part in enumerate(x.sample)}
            else:
                env[name] = x.sample
        if self.scalars() and self.chance(0.3):
            outside = self.random.choice(self.scalars())
            env[outside.name] = outside.sample
        return env

    def expression(self, env: Mapping[str, Any], depth: int, control: bool = True) -> Expression:
        """An expression over names."""
        if depth <= 0:
            return Name(self.random.choice(list(env)))
        if control and self.chance(0.12):
            return self._control(env, depth)
        for _ in range(20):
            made = self._call(env, depth, control)
            if made is not None:
                return made
        return Name(self.random.choice(list(env)))

    def _call(self, env: Mapping[str, Any], depth: int, control: bool) -> Expression | None:
        name = self.random.choice(EXACT)
        row = SCALARS[name]
        if name == "where":
            branches = [self.expression(env, depth - 1, control) for _ in range(2)]
            return self.typed(Call(name, (self.boolean(env), *branches)), env)
        first = self.expression(env, self.random.randrange(depth), control)
        dtype = self.dtype_of(first, env)
        if dtype.kind not in row.kinds:
            return None
        if name == "clip":
            low, high = sorted([self.number(dtype), self.number(dtype)])
            return self.typed(Call(name, (first, Literal(low), Literal(high))), env)
        args = [first]
        if row.arity == 2:
            if self.chance(0.5):
                args.append(Literal(self.number(dtype)))
            else:
                args.append(self.expression(env, self.random.randrange(depth), control))
                if self.dtype_of(args[1], env).kind not in row.kinds:
                    return None
            if self.chance(0.2) and name not in ("shl", "shr"):
                args.reverse()
        return self.typed(Call(name, tuple(args)), env)

    def typed(self, made: Expression, env: Mapping[str, Any]) -> Expression | None:
        """The expression, if it has a dtype that there is."""
        try:
            return made if self.dtype_of(made, env) != np.float16 else None
        except (TypeError, OverflowError):
            return None

    def _control(self, env: Mapping[str, Any], depth: int) -> Expression:
        start = self.expression(env, depth - 1)
        dtype = str(self.dtype_of(start, env))
        if self.chance(0.5):
            other = self.cast(self.expression(env, depth - 1), env, dtype)
            return Either(self.boolean(env), start, other)
        depth_name = sum("i_" in name for name in env)
        number, state = f"i_{depth_name}", f"s_{depth_name}"
        inside = {**env, number: np.int64(1), state: evaluate_quietly(start, env)}
        body = self.cast(self.expression(inside, depth), inside, dtype)
        return Repeat(self.count(env, 3), number, state, body, start, self.chance(0.6))

    def dtype_of(self, made: Expression, env: Mapping[str, Any]) -> np.dtype:
        """The dtype of an expression."""
        return np.asarray(evaluate_quietly(made, env)).dtype

    def number(self, dtype: np.dtype) -> Any:
        """A number that fits a dtype."""
        if dtype.kind == "b":
            return self.chance(0.5)
        if dtype.kind == "f":
            return self.random.choice([0.0, -0.0, 0.5, 1.0, -1.5, 3.0, 7.25, float("inf")])
        if self.chance(0.3) and self.last_number <= int(np.iinfo(dtype).max):
            return self.last_number  # the same number again, as in (x % 7) // 7
        low = -1 if dtype.kind == "i" else 0
        big = [int(np.iinfo(dtype).max), 8 * dtype.itemsize - 1, 8 * dtype.itemsize]
        found = self.random.choice([low, 0, 1, 2, 3, 5, 7, 13, 100, *big])
        self.last_number = max(found, 0)
        return found

    def tidied(self, function: Function, inputs: tuple[Known, ...]) -> Function:
        """The function without casts to the dtype that a value has."""
        env = self.env | bound(function.params, tuple(x.sample for x in inputs))
        return Function(function.params, tuple(without_casts(r, env) for r in function.results))

    def cast(self, made: Expression, env: Mapping[str, Any], dtype: str) -> Expression:
        """An expression of a wanted dtype."""
        found = np.asarray(evaluate_quietly(made, env))
        return made if str(found.dtype) == dtype and found.ndim else Cast(dtype, made)

    def boolean(self, env: Mapping[str, Any]) -> Expression:
        """A condition."""
        name = self.random.choice(list(env))
        dtype = np.asarray(env[name]).dtype
        if dtype.kind == "b":
            return Name(name)
        if dtype.kind == "f" and self.chance(0.2):
            return Call(self.random.choice(["isnan", "isfinite"]), (Name(name),))
        if self.chance(0.4):
            return Call("eq", (self.count(env, self.random.choice([1, 3, 7])), Literal(0)))
        compare = self.random.choice(["eq", "ne", "lt", "le", "gt", "ge"])
        return Call(compare, (Name(name), Literal(self.number(dtype))))

    def count(self, env: Mapping[str, Any], most: int) -> Expression:
        """A whole number from 0 to `most`, which is one less than a power of two."""
        name = self.random.choice(list(env))
        return Call("and", (Cast("int64", Name(name)), Literal(most)))

    def function(self, params: tuple[tuple[str, Known], ...], dtype: str = "") -> Function:
        """An element function of one result."""
        env = self.element_env(*params)
        made = self.expression(env, self.random.choice([1, 2, 2, 3]))
        if dtype or not np.asarray(evaluate_quietly(made, env)).ndim:
            first = np.asarray(next(iter(env.values()))).dtype
            made = self.cast(made, env, dtype or str(first))
        return Function(tuple(name for name, _ in params), (made,))

    # -- blocks -----------------------------------------------------------------------------------

    def block(self, params: Mapping[str, Known], write: Callable[[Writer], Known]) -> Block:
        """Lines over some parameters; they may read numbers from outside."""
        outside = [replace(x) for x in self.scalars()]
        prefix = f"{self.prefix}{len(self.known)}_"
        inside = Writer(self.random, outside, [], dict(self.env), prefix, self.exact)
        for name, x in params.items():
            inside.enter(replace(x, name=name))
        result = write(inside)
        return Block(tuple(params), tuple(inside.steps), result.name)


EXACT = [name for name, row in SCALARS.items() if not row.rounded]


def flat(value: Any) -> list[np.ndarray]:
    """The arrays of a value."""
    if isinstance(value, tuple):
        return list(value)
    return flat(value.values) if isinstance(value, Rows) else [np.asarray(value)]


def without_casts(made: Expression, env: Mapping[str, Any]) -> Expression:
    """The expression without casts that change nothing; loops and branches stay as they are."""
    match made:
        case Call(function, args):
            return Call(function, tuple(without_casts(arg, env) for arg in args))
        case Cast(dtype, value):
            inner = without_casts(value, env)
            found = np.asarray(evaluate_quietly(inner, env))
            return inner if str(found.dtype) == dtype and found.ndim else Cast(dtype, inner)
    return made


def evaluate_quietly(made: Expression, env: Mapping[str, Any]) -> Any:
    """The values of an expression; floating-point exceptions are no news."""
    with np.errstate(all="ignore"):
        return evaluate(made, env)


def inputs_for(random: Random, dtypes: tuple[str, ...], rows: bool) -> tuple[Input, ...]:
    """Some columns, one of another length now and then, a number, and rows if wanted."""
    lengths = ["n"] * random.choice([1, 2, 2, 3]) + ["m"] * (random.random() < 0.4)
    lengths += ["scalar"] * (random.random() < 0.25) + ["rows"] * rows
    return tuple(
        Input(f"v{k}", random.choice(dtypes), length) for k, length in enumerate(lengths)
    )


def sampled(writer: Writer, inputs: tuple[Input, ...]) -> None:
    """The inputs as values."""
    program = Program(inputs, (), ())
    for given, value in zip(inputs, arguments(program, SAMPLE, 4, 1), strict=True):
        writer.enter(Known(given.name, value, given.length))
