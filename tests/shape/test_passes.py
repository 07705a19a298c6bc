"""A pass opens with what it is given and what it gives, in the IR's own text."""

import ast

import pytest

from tests.shape.tree import PACKAGE, Source, read

FOLDERS = ("passes", "kernel_passes")
ARROW = "==>"


def passes(folder: str) -> list[Source]:
    """The files, or the overviews of folders, that define a function of their own name."""
    found = [read(path) for path in sorted((PACKAGE / folder).glob("*.py"))]
    overviews = [read(path) for path in sorted((PACKAGE / folder).glob("*/__init__.py"))]
    return [source for source in found if defines_its_name(source)] + overviews


def defines_its_name(source: Source) -> bool:
    """Whether the file's one public verb is there."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    names = {node.name for node in source.tree.body if isinstance(node, kinds)}
    return source.path.stem in names


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_pass_shows_before_and_after(folder):
    """The first half of a pass's docstring is input text and output text."""
    if not (PACKAGE / folder).is_dir():
        pytest.skip(f"there is no flatweave/{folder} yet")
    wrong = [
        source.name
        for source in passes(folder)
        if ARROW not in (ast.get_docstring(source.tree) or "")
    ]

    assert not wrong, "\n".join(wrong)
