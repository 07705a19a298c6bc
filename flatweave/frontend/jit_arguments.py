"""Arguments of jitted functions: which are static or donated, and the leaves of the others.

    picked = Picked(f, ("n", 2), "static")
    picked.holds(0, "n"), picked.holds(2, "ys")       True, True
    f(xs, n=3)       static {1: 3}, values [xs]; `body` puts both together again for the trace
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from flatweave.base import pretty
from flatweave.base.config import config
from flatweave.base.errors import ArgumentError
from flatweave.base.schedule import Schedule
from flatweave.frontend.call.options import given_of
from flatweave.frontend.call.signature import identity, key_of, plain, stand_in
from flatweave.frontend.elements.lambdas import name_of
from flatweave.frontend.values.arguments import python_value
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.tree import Tree, flatten, paths, portions, unflatten
from flatweave.runtime.calls import Argument

P = inspect.Parameter
R = TypeVar("R")
BY_POSITION = (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD)


class Picked:
    """Some parameters of a function; ArgumentError where it has no such one. `what` describes them
    in the message."""

    def __init__(self, fn: Callable[..., Any], picked: Iterable[str | int], what: str) -> None:
        try:
            known = list(inspect.signature(fn).parameters.values())
        except (TypeError, ValueError):  # a function written in C
            known = []
        kinds = {parameter.kind for parameter in known}
        self.order = [p.name for p in known if p.kind is not P.VAR_KEYWORD]
        places = [p.name for p in known if p.kind in BY_POSITION]
        self.names: set[str] = set()
        self.numbers: set[int] = set()
        for each in picked:
            if isinstance(each, str):
                if each not in self.order and P.VAR_KEYWORD not in kinds:
                    raise self._unknown(fn, f"no parameter {each!r}", what)
                self.names.add(each)
                continue
            number = each + len(places) if each < 0 else each
            if number < 0 or (number >= len(places) and P.VAR_POSITIONAL not in kinds):
                raise self._unknown(fn, f"no argument at position {each}", what)
            self.numbers.add(number)
            self.names.update(places[number : number + 1])

    def _unknown(self, fn: Callable[..., Any], lacks: str, what: str) -> ArgumentError:
        return ArgumentError.here(
            f"{name_of(fn)} has {lacks} to be {what}.",
            f"Its parameters are: {pretty.listed(self.order) or 'none'}.",
        )

    def refuse(self, static: Picked) -> None:
        """ArgumentError where a parameter is static, too."""
        for each in (*sorted(self.names & static.names), *sorted(self.numbers & static.numbers)):
            raise ArgumentError.here(
                f"{each} is static and cannot be donated.",
                "A static argument has no memory: leave it out.",
            )

    def __bool__(self) -> bool:
        return bool(self.names or self.numbers)

    def holds(self, position: int, name: str) -> bool:
        """Whether an argument was picked: its position, -1 for one by name, and its parameter."""
        return name in self.names or position in self.numbers

    def has_at(self, position: int) -> bool:
        """Whether the argument at a position was picked."""
        return self.holds(position, self.name_at(position))

    def name_at(self, position: int) -> str:
        """The parameter that a positional argument is given to."""
        return self.order[position] if position < len(self.order) else ""

    @property
    def items(self) -> tuple[str | int, ...]:
        """What was picked."""
        return (*sorted(self.names), *sorted(self.numbers))


WAYS = {
    "static_argnames": ((str,), "names", 'static_argnames=("n",), or static_argnums=(1,)'),
    "static_argnums": ((int,), "positions", 'static_argnums=(1,), or static_argnames=("n",)'),
    "donate": ((str, int), "names or positions", 'donate="xs", or donate=(0, 2)'),
}
"""How each option of jit picks parameters: by what, in words, for example."""

ELSEWHERE = dict.fromkeys(
    ("donate_argnums", "donate_argnames"), "Write donate=(0, 2): it takes positions and names."
)
"""Options of others' jit: what they are here."""
OPTIONS = ("target", "checks", "deterministic", "devices", *WAYS)


def expect_none(unknown: Iterable[str]) -> None:
    """Refuse options that jit does not have."""
    for option in unknown:
        raise ArgumentError.here(
            f"jit has no option {option}.",
            ELSEWHERE.get(option, f"Its options are {pretty.listed(OPTIONS)}."),
        )


def items_of(picked: Any, option: str) -> tuple[Any, ...]:
    """What an option of jit picks: one, or several; ArgumentError for what picks nothing."""
    types, what, example = WAYS[option]
    picked = python_value(picked)
    is_one = isinstance(picked, str) or not isinstance(picked, Iterable)
    found = (picked,) if is_one else tuple(picked)
    if any(isinstance(each, bool) or not isinstance(each, types) for each in found):
        raise ArgumentError.here(
            f"{option} of jit must be {what} of parameters, got {picked!r}.",
            f"For instance {example}.",
        )
    return found


OBJECTS = ("self", "cls")
OF_OBJECTS = (
    'Say static_argnames="{0}" for an object that does not change: what is read of it is taken when'
    " the function is traced. Or make its class a dataclass, whose fields are arguments."
)


def called(fn: Any) -> str:
    """What messages and stages call a jitted function."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return getattr(fn, "__name__", type(fn).__name__)


def check_gives_values(fn: Any) -> None:
    """Refuse functions that give nothing when they are called, but a generator or a coroutine."""
    for is_one, what, remedy in (
        (inspect.isgeneratorfunction(fn), "a generator", "Return a list of what it yields."),
        (inspect.iscoroutinefunction(fn), "a coroutine", "Write it with def."),
    ):
        if is_one:
            raise ArgumentError.here(
                f"jit needs a function that returns arrays, but {name_of(fn)} gives {what}.", remedy
            )


class Call:
    """One decomposed call: the leaves of its arguments, and its static values."""

    def __init__(
        self, who: str, static: Picked, args: tuple[Any, ...], kwargs: dict[str, Any],
        donated: Picked | None = None, target: str = "",
    ) -> None:  # fmt: skip
        self.who = who
        self.parameters = static
        self.args: list[Any] = list(args)
        self.keywords = tuple(sorted(kwargs))
        self.args += [kwargs[name] for name in self.keywords]
        self.static: dict[int, Any] = {}
        leaves: list[Any] = []
        given: set[int] = set()
        self.trees: list[Tree] = []
        self.names: list[tuple[str, str]] = []
        for i, value in enumerate(self.args):
            name = self._name(i, len(args))
            position = i if i < len(args) else -1
            if static.holds(position, name):
                self.static[i] = value
                continue
            found, tree = flatten(value)
            if donated and donated.holds(position, name):
                given.update(range(len(leaves), len(leaves) + len(found)))
            leaves += found
            self.trees.append(tree)
            which = f"argument {i + 1}" if i < len(args) else f"argument {name!r}"
            for path in paths(tree, name):
                self.names.append((path, f"{which} of {who}"))
        if any(type(leaf) is Chunked for leaf in leaves):
            target = ""  # none of its programs takes views
        self.values = [
            plain(
                leaf, f"{name} ({origin})", OF_OBJECTS.format(name) if name in OBJECTS else "",
                "" if k in given else target,
            )
            for k, (leaf, (name, origin)) in enumerate(zip(leaves, self.names, strict=True))
        ]  # fmt: skip
        self.given = given_of(leaves, self.values, given) if given else []

    def _name(self, i: int, positional: int) -> str:
        if i >= positional:
            return self.keywords[i - positional]
        return self.parameters.name_at(i) or f"args{i}"

    def arguments(self) -> list[Argument]:
        """The arguments as machine code may know them."""
        return [
            Argument(value, name, i in self.static)
            for i, (value, name) in enumerate(zip(self.args, self._names_given(), strict=True))
        ]

    def _names_given(self) -> list[str]:
        return [""] * (len(self.args) - len(self.keywords)) + list(self.keywords)

    def key(self, target: str, schedule: Schedule) -> tuple[object, ...]:
        """The signature of the call; ArgumentError when a static argument cannot be a key."""
        static = tuple((i, _kept(value)) for i, value in self.static.items())
        dynamic = tuple(part for value in self.values for part in key_of(value))
        trees = tuple((tree, tree.orders) for tree in self.trees)
        key = (target, config.cpu, schedule, self.keywords, trees, static, dynamic)
        try:
            hash(key)
        except TypeError:
            raise ArgumentError.here(
                f"a static argument of {self.who} cannot be hashed: "
                + pretty.listed(repr(value) for value in self.static.values()),
                "Static arguments are compared from call to call: pass a tuple for a list.",
            ) from None
        return key

    def forget_values(self) -> None:
        """Keep dtypes and shapes of the arrays alone, so that their memory can be freed; and of
        static objects a weak reference, which a later call with the same object can follow."""
        self.values = [stand_in(value) for value in self.values]
        self.given = [(None, number) for _, number in self.given]
        self.args = [None] * len(self.args)
        self.static = {i: _kept(value, whole=True) for i, value in self.static.items()}

    def when_gone(self, then: Callable[[], object]) -> None:
        """Do something when a static object of this call is freed."""
        for value in self.static.values():
            if type(value) is Weakly:
                weakref.finalize(value.value(), then).atexit = False

    def body(self, fn: Callable[..., R], tracers: list[Tracer]) -> R:
        """Call the function on traced arguments."""
        parts = iter(portions(self.trees, tracers))
        trees = iter(self.trees)
        values = [
            _taken(self.static[i]) if i in self.static else unflatten(next(trees), next(parts))
            for i in range(len(self.args))
        ]
        count = len(values) - len(self.keywords)
        named = dict(zip(self.keywords, values[count:], strict=True))
        return fn(*values[:count], **named)


class Weakly:
    """An object that is compared as itself, which a signature does not keep alive."""

    __slots__ = ("_hash", "value")

    def __init__(self, value: Any) -> None:
        self.value = weakref.ref(value)
        self._hash = hash(value)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return type(other) is Weakly and self.value == other.value


def _kept(value: Any, whole: bool = False) -> object:
    """A static argument as part of a key, or `whole`; an object that is equal to itself alone is
    referred to weakly."""
    cls: Any = type(value)
    is_itself = cls.__eq__ is object.__eq__ and cls.__hash__ is object.__hash__
    if is_itself and cls.__weakrefoffset__ and not isinstance(value, type):
        return Weakly(value)
    return value if whole else identity(value)


def _taken(value: Any) -> object:
    """A static argument again."""
    return value.value() if type(value) is Weakly else value
