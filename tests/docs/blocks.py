"""The programs in a page: what stands between ```python and ```."""

import linecache
import re
from pathlib import Path
from typing import Any

from tests.shape.tree import ROOT

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
HOW_TOS = [page for page in PAGES if page.name.startswith(("add_a_", "add_an_"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(text: str) -> list[str]:
    """Every block of Python, in order."""
    return BLOCK.findall(text)


def sections(text: str) -> dict[str, str]:
    """The text below each heading of the second rank."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def execute(program: str, name: str, names: dict[str, Any]) -> None:
    """Run a block; messages can quote its lines."""
    linecache.cache[name] = (len(program), None, program.splitlines(keepends=True), name)
    exec(compile(program, name, "exec"), names)


def shown(path: Path) -> str:
    """A page's name, for messages."""
    return path.relative_to(ROOT).as_posix()
