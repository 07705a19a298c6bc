"""Notebooks of the tutorial's pages: one source for both.

    python -m docs.making.notebooks FOLDER      writes FOLDER/1_elements.ipynb and others

Text becomes cells of Markdown, programs become cells of code, and pictures are inside the file. A
link to another page becomes its text.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parents[1]
PAGES = [DOCS / "start" / "first_steps.md", *sorted((DOCS / "tutorial").glob("[0-9]*.md"))]
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
LINK = re.compile(r"\[([^\]]*)\]\((?!attachment:|https?:)[^)]*\)")
MIME = {".svg": "image/svg+xml", ".png": "image/png"}
PYTHON = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook(page: Path) -> dict[str, Any]:
    """The notebook of a page, as nbformat 4.5 has it."""
    parts = PROGRAM.split(page.read_text(encoding="utf-8"))  # text, program, text, ..
    cells = [
        _code(part) if k % 2 else _markdown(part, page)
        for k, part in enumerate(parts) if part.strip()
    ]  # fmt: skip
    return {
        "nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": PYTHON},
        "cells": [{"id": f"cell-{k}", **cell} for k, cell in enumerate(cells)],
    }  # fmt: skip


def _code(program: str) -> dict[str, Any]:
    source = program.rstrip("\n")
    return {"cell_type": "code", "metadata": {}, "source": source,
            "execution_count": None, "outputs": []}  # fmt: skip


def _markdown(text: str, page: Path) -> dict[str, Any]:
    attached: dict[str, dict[str, str]] = {}

    def picture(found: re.Match[str]) -> str:
        path = (page.parent / found[2]).resolve()
        content = base64.b64encode(path.read_bytes()).decode()
        attached[path.name] = {MIME[path.suffix]: content}
        return f"![{found[1]}](attachment:{path.name})"

    source = LINK.sub(r"\1", PICTURE.sub(picture, text.strip("\n")))
    cell: dict[str, Any] = {"cell_type": "markdown", "metadata": {}, "source": source}
    return cell | ({"attachments": attached} if attached else {})


def write(folder: Path) -> None:
    """All notebooks."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        text = json.dumps(notebook(page), indent=1, ensure_ascii=False)
        (folder / f"{page.stem}.ipynb").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
