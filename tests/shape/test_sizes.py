"""Nothing grows past what one can read at a sitting."""

import ast

from tests.shape.tree import FOLDERS, PACKAGE, python_files

FILE = 500
FILE_OF_THE_PACKAGE = 400
FILES = 484
CLASS = 250
FUNCTION = 80


def test_files_are_short():
    """A file that is too long is split by meaning."""
    long = [
        f"{source.name}: {len(source.lines)} lines"
        for source in python_files(*FOLDERS)
        if len(source.lines) > (FILE_OF_THE_PACKAGE if PACKAGE in source.path.parents else FILE)
    ]

    assert not long, "\n".join(long)


def test_a_file_is_a_chapter():
    """A new file takes the position of another one, or FILES is raised with a reason."""
    assert len(list(python_files(PACKAGE.name))) <= FILES


def test_classes_are_short():
    """A class that is too long is several."""
    long = [
        f"{source.name}:{node.lineno} {node.name}: {length} lines"
        for source in python_files(*FOLDERS)
        for node in source.nodes
        if isinstance(node, ast.ClassDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > CLASS
    ]

    assert not long, "\n".join(long)


def test_functions_are_short():
    """A function that is too long does more than one thing."""
    long = [
        f"{source.name}:{node.lineno} {node.name}: {length} lines"
        for source in python_files(*FOLDERS)
        for node in source.functions
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION
    ]

    assert not long, "\n".join(long)
