"""Whether links of the finished site lead somewhere: `make docs`, without network.

    python -m docs.making.links build/site

A link inside of the site must lead to a page, and to an anchor of it. An address outside must be
well-formed and https; `make linkcheck` asks for each of them, where there is a network.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

HOST = re.compile(r"([a-z0-9-]+\.)+[a-z]{2,}")
ADDRESS = re.compile(r"[\w.~/%#?=&+,:;@()-]*(?<![.,:;])")
KNOWN = {
    "arxiv.org": re.compile(r"/(abs|pdf)/\d{4}\.\d{4,5}(v\d+)?"),
    "doi.org": re.compile(r"/10\.\d{4,9}/\S+"),
    "github.com": re.compile(r"/[\w.-]+(/[\w.-]+(/.*)?)?"),
}
"""Sites with a specific form of paths."""


class Page(HTMLParser):
    """A page's links, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value and tag != "link":
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def wrong(folder: Path) -> list[str]:
    """A line for each link that leads nowhere."""
    pages = {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}
    return [
        f"{path.relative_to(folder.resolve())}: {link}"
        for path, page in pages.items()
        for link in sorted(page.links)
        if not _leads(pages, path, link)
    ]


def _leads(pages: dict[Path, Page], path: Path, link: str) -> bool:
    parts = urlsplit(link)
    if parts.scheme in ("mailto", "data"):
        return True
    if parts.scheme or parts.netloc:
        return is_address(link)
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if target not in pages:
        return target.exists() and not parts.fragment
    return not parts.fragment or unquote(parts.fragment) in pages[target].places


def is_address(link: str) -> bool:
    """Whether a link is an address of the web in its right form."""
    parts = urlsplit(link)
    path = link.partition(parts.netloc)[2]
    known = KNOWN.get(parts.netloc.removeprefix("www.").removeprefix("dx."))
    return (
        parts.scheme == "https" and HOST.fullmatch(parts.netloc) is not None
        and ADDRESS.fullmatch(path) is not None
        and (known is None or known.fullmatch(parts.path) is not None)
    )  # fmt: skip


if __name__ == "__main__":
    found = wrong(Path(sys.argv[1]))
    sys.stderr.write("".join(f"{line}\n" for line in found))
    sys.exit(bool(found))
