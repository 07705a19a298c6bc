"""Whether every link inside of the finished site leads to a page, and to an anchor of it:

    python -m docs.making.links build/site
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


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
    if parts.scheme or parts.netloc:
        return True
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if target not in pages:
        return target.exists() and not parts.fragment
    return not parts.fragment or unquote(parts.fragment) in pages[target].places


if __name__ == "__main__":
    found = wrong(Path(sys.argv[1]))
    sys.stderr.write("".join(f"{line}\n" for line in found))
    sys.exit(bool(found))
