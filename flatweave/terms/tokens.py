"""A text cut into tokens, and a place among them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from flatweave.base.dtypes import BY_NAME, DType, i64
from flatweave.base.errors import CompilerBug

_DTYPES = "|".join(name for name in BY_NAME if name != "bool")
_NUMBER = rf"-?(?:(?:inf|nan)(?=f\d)|\d+(?:\.\d*)?(?:e[+-]?\d+)?)(?:{_DTYPES})?(?!\w)"
_TOKEN = re.compile(
    rf'(?P<skip>\s+|#[^\n]*)|(?P<number>{_NUMBER})|(?P<name>\w+)|(?P<string>"(?:[^"]|"")*")'
    r"|(?P<anonymous><\w+>)|(?P<mark>=>|[()\[\],:=])"
)
_T = TypeVar("_T")


class Tokens:
    """A place among the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.at = 0

    @property
    def here(self) -> str:
        """The token to read next; "" at the end."""
        return self.tokens[self.at][1]

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    def ahead(self, by: int = 1) -> str:
        """A later token."""
        return self.tokens[min(self.at + by, len(self.tokens) - 1)][1]

    def take(self) -> str:
        token = self.here
        self.at = min(self.at + 1, len(self.tokens) - 1)
        return token

    def accept(self, token: str) -> bool:
        """Read the token if it comes next."""
        if self.here != token:
            return False
        self.take()
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            self.fail(f"expected {token or 'the end'!r}")

    def word(self) -> str:
        if self.kind != "name":
            self.fail("expected a name")
        return self.take()

    def fail(self, message: str) -> NoReturn:
        """Refuse the text, with the line where it goes wrong."""
        start = self.tokens[self.at][2]
        line = self.text[self.text.rfind("\n", 0, start) + 1 :].split("\n")[0].strip()
        number = self.text.count("\n", 0, start) + 1
        raise CompilerBug(f"line {number}: {message}, got {self.here!r} in: {line}")

    def several(self, item: Callable[[], _T], end: str) -> list[_T]:
        """Items with commas between them, up to the token `end`, which is read."""
        items: list[_T] = []
        while not self.accept(end):
            if items:
                self.expect(",")
            items.append(item())
        return items


def split_number(token: str) -> tuple[str, DType]:
    """The digits of a constant, and its dtype: 1.5f32, 3."""
    match = re.fullmatch(rf"(.*?)({_DTYPES})?", token)
    assert match is not None
    return match[1], BY_NAME[match[2]] if match[2] else i64


def _tokens(text: str) -> list[tuple[str, str, int]]:
    """Kind, text and place of every token, and an empty one at the end."""
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise CompilerBug(f"no token starts with {text[at : at + 20]!r}.")
        if match.lastgroup != "skip":
            tokens.append((str(match.lastgroup), match[0], at))
        at = match.end()
    return [*tokens, ("end", "", len(text))]
