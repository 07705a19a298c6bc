"""All pages of the site in one folder: the written ones, and those made of the program.

    docs/*.md, docs/*/*.md          where they are
    docs/decisions                  with a list of them all
    the docstrings of all names     reference/
    the tutorial's notebooks        files/notebooks/
    examples                        gallery/
    bench/results/*.md              results/
    CONTRIBUTING.md and others      project/
    any other file that is linked   files/, to be read or kept
"""

from __future__ import annotations

import re
import shutil
from os.path import relpath
from pathlib import Path

from docs.making import gallery, notebooks, reference

ROOT = Path(__file__).resolve().parents[2]
DOCS, RESULTS, EXAMPLES = ROOT / "docs", ROOT / "bench" / "results", ROOT / "examples"
LINK = re.compile(r"(\]\()([^)#:\s]+)([^):]*\))")
FENCE = re.compile(r"(^(`{3,})[^\n]*\n.*?^\2$)", re.MULTILINE | re.DOTALL)
FOLDERS = {EXAMPLES: "gallery/index.md", DOCS / "decisions": "decisions/index.md"}
PROJECT = {ROOT / path: f"project/{name}.md" for name, path in {
    "changelog": "CHANGELOG.md", "contributing": "CONTRIBUTING.md", "security": "SECURITY.md",
    "code_of_conduct": "CODE_OF_CONDUCT.md", "changes": "changes/README.md",
    "releases": "release/README.md",
}.items()}  # fmt: skip
PICTURES = (".png", ".svg", ".css")


class Layout:
    """The path of each file of the repository on the site."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(self, path: Path) -> Path:
        """The path of a file that a page links to. A file that is no page is copied."""
        if path in FOLDERS:
            return self.folder / FOLDERS[path]
        if path.is_dir():
            return self.place(path / "README.md")
        page = self._page(path)
        if page is not None:
            return page
        copied = self.folder / "files" / path.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copied)
        return copied

    def _page(self, path: Path) -> Path | None:
        """The path of a page, or of a page's picture."""
        if path.is_relative_to(DOCS) and path.suffix in (".md", *PICTURES):
            return self.folder / path.relative_to(DOCS)
        if path.is_relative_to(RESULTS) and path.suffix in (".md", *PICTURES):
            return self.folder / "results" / path.name.replace("README", "index")
        if path in PROJECT:
            return self.folder / PROJECT[path]
        if path.is_relative_to(EXAMPLES):
            name = gallery.name_of(path)
            return self.folder / "gallery" / f"{name}.md" if name else None
        return None

    def write(self, page: Path, text: str, path: Path) -> None:
        """A page of the repository, with its links changed to paths on the site."""

        def moved(link: re.Match[str]) -> str:
            target = (path.parent / link[2]).resolve()
            if not target.exists():
                return link[0]
            return link[1] + relpath(self.place(target), page.parent) + link[3]

        parts = FENCE.split(text)  # text, fence, its mark, text, ..
        for k in range(0, len(parts), 3):
            parts[k] = LINK.sub(moved, parts[k])
        del parts[2::3]
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("".join(parts), encoding="utf-8")


def write(folder: Path) -> None:
    """The whole site's sources, anew."""
    shutil.rmtree(folder, ignore_errors=True)
    layout = Layout(folder)
    programs = shutil.ignore_patterns("*.py", "__*", "static")
    shutil.copytree(DOCS / "pictures", folder / "pictures", ignore=programs)
    for path in [*sorted(DOCS.rglob("*.md")), *sorted(RESULTS.glob("*.md")), *PROJECT]:
        layout.write(layout.place(path), with_list(path), path)
    for path in RESULTS.glob("*.png"):
        shutil.copyfile(path, layout.place(path))
    notebooks.write(folder / "files" / "notebooks")
    for name, text in reference.pages():
        layout.write(folder / name, text, DOCS / name)
    pictures = folder / "pictures" / "gallery"
    for name, text, path in gallery.pages(EXAMPLES, pictures, gallery.measured(RESULTS)):
        layout.write(folder / name, text, path)


def with_list(path: Path) -> str:
    """A page's text; those of decisions and results list the pages of their folders, and those
    with a notebook end with it."""
    text = path.read_text(encoding="utf-8")
    if path in notebooks.PAGES:
        return f"{text}\n[This page as a notebook](../files/notebooks/{path.stem}.ipynb)\n"
    if path not in (DOCS / "decisions" / "index.md", RESULTS / "README.md"):
        return text
    names = sorted(page.stem for page in path.parent.glob("*.md") if page != path)
    return text + "\n```{toctree}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"
