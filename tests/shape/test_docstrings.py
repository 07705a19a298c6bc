"""Whatever has a public name says what it is."""

import ast
import importlib
from types import ModuleType

import pytest

from tests.shape.tree import FOLDERS, PACKAGE, python_files


def test_public_names_are_documented():
    """What a user can reach from `flatweave` explains itself in `help`."""
    if not (PACKAGE / "__init__.py").is_file():
        pytest.skip("the package has no public names yet")
    flatweave = importlib.import_module("flatweave")
    names = [name for name in vars(flatweave) if name[0] != "_"]
    wrong = [
        name
        for name in names
        if callable(it := getattr(flatweave, name)) or isinstance(it, ModuleType)
        if not (it.__doc__ or "").strip()
    ]

    assert not wrong, f"no docstring: {', '.join(wrong)}"


def test_every_module_is_documented():
    """A file opens by saying what goes in and what comes out."""
    wrong = [
        source.name for source in python_files(*FOLDERS) if not ast.get_docstring(source.tree)
    ]

    assert not wrong, "\n".join(wrong)


def test_every_test_is_a_sentence():
    """A test that fails explains itself with the sentence it was written for."""
    wrong = [
        f"{source.name}:{node.lineno} {node.name}"
        for source in python_files("tests")
        for node in source.functions
        if node.name.startswith("test_") and not is_sentence(ast.get_docstring(node) or "")
    ]

    assert not wrong, "\n".join(wrong)


def is_sentence(text: str) -> bool:
    """Whether the text is one paragraph that ends as a sentence does."""
    return bool(text) and "\n\n" not in text and text[-1] in ".?!`"
