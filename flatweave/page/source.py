"""The user's lines, and the places in them: what comes from one place belongs together on the page.

    source.of([place])  ==>  "p3"       marks everything that the expression at `place` became

A place is an expression, by its columns, where Python knows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from flatweave.base.html import Markup, joined, tag
from flatweave.base.source import Location, source_line

FAR = 12  # lines between two that are shown, and do not matter
Spots = dict[int, list[str]]


class Source:
    """The places that were asked for, by number."""

    def __init__(self) -> None:
        self._numbers: dict[Location, str] = {}

    def of(self, places: Iterable[Location]) -> str:
        """The marks of these places."""
        marks = []
        for place in places:
            if place.is_known:
                marks.append(self._numbers.setdefault(place, f"p{len(self._numbers)}"))
        return " ".join(dict.fromkeys(marks))

    def lines(self) -> Markup:
        """Every line that has a place, those between them, and which places are theirs."""
        files: dict[str, Spots] = {}
        texts: dict[tuple[str, int], str] = {}
        for place, mark in self._numbers.items():
            files.setdefault(place.file, {}).setdefault(place.line, []).append(mark)
            texts[place.file, place.line] = place.text
        return joined(self._file(file, spots, texts) for file, spots in files.items())

    def _file(self, file: str, spots: Spots, texts: dict[tuple[str, int], str]) -> Markup:
        rows = []
        for number in shown(spots):
            if number is None:
                rows.append(tag("li", "…", class_="gap"))
                continue
            text = texts.get((file, number)) or source_line(file, number)
            code = (tag("b", number), tag("code", text or " "))
            if number in spots:
                marks = " ".join(spots[number])
                rows.append(tag(
                    "li", *code, class_="line", tabindex=0, role="button", data_of=marks,
                    data_find=f"{number} {text}",
                ))  # fmt: skip
            else:
                rows.append(tag("li", *code))
        return joined([tag("h3", file), tag("ol", *rows, class_="source")])


def shown(spots: Iterable[int]) -> Iterator[int | None]:
    """The numbers of the lines to show; None for lines that are left out."""
    last: int | None = None
    for number in sorted(spots):
        if last is not None and number - last > FAR:
            yield None
        elif last is not None:
            yield from range(last + 1, number)
        yield number
        last = number
