"""The number of modules that look into a value's operations: only `access/` should."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "flatweave"
FUNCTIONS = frozenset(
    ["add", "sub", "mul", "minimum", "maximum", "mod", "floordiv", "select", "abs", "shl", "shr",
     "and", "xor"]
)  # fmt: skip
"""Scalar functions that indices are computed by."""
TABLES = frozenset(["made", "_made", "makers", "_ops", "defs"])
LOOKUPS = frozenset(["definition", "_definition", "_maker", "_made", "_operands"])
MOST = 7


def names_in(node: ast.AST) -> Iterator[str]:
    """The texts below a node."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value


def last_name(node: object) -> str:
    """`made` of `self.made`."""
    return getattr(node, "attr", getattr(node, "id", ""))


def matches_functions(tree: ast.AST) -> bool:
    """Whether a module compares or matches the names of such functions."""
    tests = (n for n in ast.walk(tree) if isinstance(n, ast.Compare | ast.match_case))
    parts = (n.pattern if isinstance(n, ast.match_case) else n for n in tests)
    return any(not FUNCTIONS.isdisjoint(names_in(part)) for part in parts)


def looks_up(tree: ast.AST) -> bool:
    """Whether a module asks which operation made a value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name, owner = last_name(node.func), getattr(node.func, "value", None)
            if name in LOOKUPS or name == "get" and last_name(owner) in TABLES:
                return True
        if isinstance(node, ast.Subscript) and last_name(node.value) in TABLES:
            return True
    return False


def recognisers() -> list[str]:
    """The modules that do both."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if path.parent.name != "access" and matches_functions(tree) and looks_up(tree):
            found.append(str(path.relative_to(PACKAGE)))
    return found


def test_no_more_modules_recognise_operations() -> None:
    """A new reader of indices asks `access/` for a sum, and this number only goes down."""
    found = recognisers()

    assert len(found) <= MOST, "\n".join(found)
