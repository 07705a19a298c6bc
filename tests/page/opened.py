"""A page read back: its elements with their attributes and text, nothing left open."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "input", "br", "img"}


class Element:
    """An element of a page."""

    def __init__(self, tag: str, attributes: dict[str, str | None]) -> None:
        self.tag, self.attributes = tag, attributes
        self.text = ""
        self.children: list[Element] = []

    def find(self, tag: str = "", class_: str = "", **wanted: str) -> list[Element]:
        """All elements inside with this tag, this among their classes, and these attributes."""
        return [
            each for each in self._all()
            if tag in ("", each.tag) and (not class_ or class_ in each.words("class"))
            and all(each.attributes.get(key.replace("_", "-")) == v for key, v in wanted.items())
        ]  # fmt: skip

    def words(self, attribute: str) -> set[str]:
        """An attribute that is a list of words."""
        return set((self.attributes.get(attribute) or "").split())

    @property
    def whole_text(self) -> str:
        """Its text and that of all inside it."""
        return self.text + "".join(child.whole_text for child in self.children)

    def _all(self) -> Iterator[Element]:
        for child in self.children:
            yield child
            yield from child._all()


class Page(HTMLParser):
    """Reads a page; an end tag that is not that of the innermost element is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.root = Element("", {})
        self._open = [self.root]
        self.feed(text)
        self.close()
        assert len(self._open) == 1, f"left open: {[each.tag for each in self._open]}"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        element = Element(tag, dict(attrs))
        self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self._open[-1].text += data
