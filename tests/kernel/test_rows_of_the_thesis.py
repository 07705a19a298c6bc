"""The page on kernels names every function, every row of the thesis, and tests that are there."""

import ast
import re

import pytest

from flatweave import kernel as fk
from tests.shape.tree import ROOT

PAGE = (ROOT / "docs" / "kernel.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (O[^|]*) \|[^|]*\| `([^`]*)` \|$", PAGE, re.MULTILINE)


def test_every_row_has_a_test():
    """O1 to O47."""
    found = {row for rows, _ in ROWS for row in rows.split(", ")}

    assert found == {f"O{k}" for k in range(1, 48)}


@pytest.mark.parametrize("name", sorted({name for _, name in ROWS}))
def test_the_tests_are_there(name):
    """File and function."""
    path, function = name.split("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))

    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_name_is_on_the_page():
    """Public functions that the page does not mention are not documented."""
    mentioned = set(re.findall(r"\w+", PAGE))

    assert not set(fk.__all__) - mentioned
