"""The page on EmbArBB has every row of its features, and names tests that are there."""

import ast
import re

import pytest

from tests.shape.tree import ROOT

PAGE = (ROOT / "docs" / "embarbb.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (E\d+) \|.*\| `([^`|]*)` \|$", PAGE, re.MULTILINE)


def test_every_row_has_a_test():
    """E1 to E33, in order, and nothing else begins a row of the table."""
    numbers = [int(row[1:]) for row, _ in ROWS]

    assert sorted(set(numbers)) == list(range(1, 34))
    assert numbers == sorted(numbers)
    assert len(ROWS) == len(re.findall(r"^\| E", PAGE, re.MULTILINE))


@pytest.mark.parametrize("name", sorted({name for _, name in ROWS}))
def test_the_tests_are_there(name):
    """File and function, or a whole file or folder."""
    path, _, function = name.partition("::")
    assert path.startswith("tests/")
    assert (ROOT / path).exists()
    if function:
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_line_has_six_columns():
    """Row, EmbArBB, Flatweave, NumPy, APL, test."""
    wrong = [
        line
        for line in PAGE.splitlines()
        if line.startswith("| E") and len(re.findall(r"(?<!\\)\|", line)) != 7
    ]

    assert not wrong
