"""Tags of HTML and SVG, with what goes into them escaped, and the files that they are written to.

    tag("a", "x < y", href="#k")          <a href="#k">x &lt; y</a>

`Markup` is text that is markup already; everything else is text of people's.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from pathlib import Path

from flatweave.base.errors import ArgumentError

EMPTY = frozenset({"br", "img", "input"})


class Markup(str):
    """Markup, which goes into other markup as it is."""


def text(thing: object) -> str:
    """A thing as markup."""
    return thing if isinstance(thing, Markup) else html.escape(str(thing))


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """An element; `class_` is class, `data_of` is data-of; an attribute None is left out."""
    words = [name]
    for key, value in attributes.items():
        if value is not None:
            words.append(f'{key.rstrip("_").replace("_", "-")}="{html.escape(str(value))}"')
    if name in EMPTY:
        return Markup(f"<{' '.join(words)}>")
    return Markup(f"<{' '.join(words)}>{''.join(map(text, content))}</{name}>")


def joined(parts: Iterable[object], between: str = "") -> Markup:
    """Parts concatenated."""
    return Markup(text(between).join(map(text, parts)))


def table(head: Iterable[object], rows: Iterable[Iterable[object]]) -> Markup:
    """A table with a line for its head; on narrow screens it scrolls separately."""
    top = tag("tr", *(tag("th", cell, scope="col") for cell in head))
    body = [tag("tr", *(tag("td", cell) for cell in row)) for row in rows]
    whole = tag("table", tag("thead", top), tag("tbody", *body))
    return tag("div", whole, class_="scroll")


def more(summary: object, *content: object, **attributes: object) -> Markup:
    """What opens when somebody asks for it."""
    return tag("details", tag("summary", summary), *content, **attributes)


# -- Texts that users ask to be written to a file --------------------------------------------------


REMEDY = "Name a file in a folder that there is, and that you may write to."


def check_folder(path: Path, what: str) -> None:
    """Refuse a file in a folder that is not there, before much work is done for it."""
    if not path.parent.is_dir():
        raise ArgumentError.here(
            f"{what} cannot be written: there is no folder {path.parent}.", REMEDY
        )


def write(path: Path, text: str, what: str) -> Path:
    """Write a text; ArgumentError that names the folder where that cannot be."""
    check_folder(path, what)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as wrong:
        raise ArgumentError.here(
            f"{what} cannot be written to {path} in the folder {path.parent.resolve()}:"
            f" {wrong.strerror or wrong}.",
            REMEDY,
        ) from None  # fmt: skip
    return path
