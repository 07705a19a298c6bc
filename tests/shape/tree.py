"""The repository as the shape tests see it: its Python files, parsed, and their paths."""

import ast
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "flatweave"
FOLDERS = ("flatweave", "tests", "examples", "bench", "docs", "release", "tools")


@dataclass(frozen=True)
class Source:
    """One Python file."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def name(self) -> str:
        """`flatweave/base/errors.py`: for messages."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def lines(self) -> list[str]:
        """The text's lines."""
        return self.text.splitlines()

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function in the file, however deep."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [node for node in self.nodes if isinstance(node, kinds)]


@cache
def read(path: Path) -> Source:
    """One file, parsed once per run."""
    text = path.read_text(encoding="utf-8")
    return Source(path, text, ast.parse(text, str(path)))


def python_files(*folders: str) -> list[Source]:
    """The Python files below some folders of the repository, in the order of their names."""
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [read(path) for path in paths if "__pycache__" not in path.parts]
