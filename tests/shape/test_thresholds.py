"""Numbers that choose ways to run: how many there are, and that they grow no more."""

import ast

from tests.shape.tree import PACKAGE

FOLDERS = ("access", "passes", "lower")
MOST = 102
"""It was 205 while each pass had its sizes. A new number replaces another one."""
COSTS = ("passes/cost.py", "lower/machine.py")
"""What a machine is, and what work costs on it."""
MOST_OUTSIDE = 47
"""Numbers of all other modules."""


def numbers(text: str) -> list[str]:
    """The names in capitals that a module binds to numbers."""
    found: list[str] = []
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Assign) and is_number(statement.value):
            names = (node for target in statement.targets for node in ast.walk(target))
            found += [node.id for node in names if isinstance(node, ast.Name) and node.id.isupper()]
    return found


def is_number(node: ast.expr) -> bool:
    """Whether an expression is a number, several of them, or computed from others."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.Name(id=name):
            return name.isupper()
        case ast.Tuple(elts=parts):
            return bool(parts) and all(map(is_number, parts))
        case ast.BinOp(left=left, right=right):
            return is_number(left) and is_number(right)
        case ast.UnaryOp(operand=operand):
            return is_number(operand)
    return False


def test_thresholds_are_counted():
    """All numbers of the folders that choose, sizes of caches and of formats among them."""
    files = [file for folder in FOLDERS for file in (PACKAGE / folder).rglob("*.py")]
    found = {file: names for file in files if (names := numbers(file.read_text()))}

    count = sum(map(len, found.values()))
    assert count == MOST, f"{count} numbers, {MOST} expected: set MOST if there are fewer now"
    costs = {PACKAGE / name for name in COSTS}
    outside = sum(len(names) for file, names in found.items() if file not in costs)
    assert outside == MOST_OUTSIDE, f"{outside} outside of what machines are and work costs"


def test_what_counts():
    """A name for each number; no flags, texts or functions."""
    assert numbers("A = 1\nB, C = 2, -3\nD = A << 4\n") == ["A", "B", "C", "D"]
    assert numbers("A = True\nb = 1\nC = f(1)\nD = 'x'\nE = ()\n") == []
