"""Parameters of a function that somebody picked, by name or position: static, or given away.

    picked = Picked(f, ("n", 2), "static")
    picked.holds(0, "n"), picked.holds(2, "ys")       True, True
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from flatweave.base import pretty
from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.call.python_values import python_value
from flatweave.frontend.elements.lambdas import name_of

P = inspect.Parameter
BY_POSITION = (P.POSITIONAL_ONLY, P.POSITIONAL_OR_KEYWORD)


class Picked:
    """Some parameters of a function; ArgumentError where it has no such one. `what` they are to be
    stands in the message."""

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
        return ArgumentError(
            f"{name_of(fn)} has {lacks} to be {what}.",
            where=user_location(),
            remedy=f"Its parameters are: {pretty.listed(self.order) or 'none'}.",
        )

    def refuse(self, static: Picked) -> None:
        """ArgumentError where a parameter is static, too."""
        for each in (*sorted(self.names & static.names), *sorted(self.numbers & static.numbers)):
            raise ArgumentError(
                f"{each} is static and cannot be given away.",
                where=user_location(), remedy="A static argument has no memory: leave it out.",
            )  # fmt: skip

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
        raise ArgumentError(
            f"jit has no option {option}.",
            where=user_location(),
            remedy=ELSEWHERE.get(option, f"Its options are {pretty.listed(OPTIONS)}."),
        )


def items_of(picked: Any, option: str) -> tuple[Any, ...]:
    """What an option of jit picks: one, or several; ArgumentError for what picks nothing."""
    types, what, example = WAYS[option]
    picked = python_value(picked)
    is_one = isinstance(picked, str) or not isinstance(picked, Iterable)
    found = (picked,) if is_one else tuple(picked)
    if any(isinstance(each, bool) or not isinstance(each, types) for each in found):
        raise ArgumentError(
            f"{option} of jit must be {what} of parameters, got {picked!r}.",
            where=user_location(), remedy=f"For instance {example}.",
        )  # fmt: skip
    return found
