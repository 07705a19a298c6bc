"""A name says what is inside; some names never do."""

import ast
from fnmatch import fnmatch

from tests.shape.tree import FOLDERS, ROOT, python_files

FILES = ("utils", "helpers", "common", "misc", "core", "new_*", "*2", "base_*", "manager", "icebox")
NUMBERED = {"avx2", "avx512"}  # the number is part of the name
CLASSES = ("*Utils", "*Helper", "*Helpers", "*Manager", "*Misc")


def test_no_file_has_a_name_that_says_nothing():
    """`utils` tells nobody what to find in it."""
    wrong = [
        source.name
        for source in python_files(*FOLDERS)
        for part in source.path.relative_to(ROOT).with_suffix("").parts
        for banned in FILES
        if fnmatch(part.removeprefix("test_"), banned) and part not in NUMBERED
    ]

    assert not wrong, "\n".join(wrong)


def test_no_class_has_a_name_that_says_nothing():
    """`ShapeManager` tells nobody what it does."""
    wrong = [
        f"{source.name}:{node.lineno} {node.name}"
        for source in python_files(*FOLDERS)
        for node in source.nodes
        if isinstance(node, ast.ClassDef) and any(fnmatch(node.name, name) for name in CLASSES)
    ]

    assert not wrong, "\n".join(wrong)
