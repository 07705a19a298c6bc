"""What a CPU can do is asked in one room: the others call its methods."""

import ast
import re

from tests.shape.tree import python_files

ROOMS = ("flatweave/codegen/llvm/isa/", "flatweave/lower/machine")
ALLOWED = (
    "flatweave/runtime/pro",  # finds out what the CPU is
    "flatweave/runtime/systems.py",  # says the pause of a spinning thread
)
FEATURE = re.compile(r"avx|sse\d|neon\b|vbmi|\bbmi|llvm\.x86|llvm\.aarch64", re.IGNORECASE)


def words(source):
    """The names and the strings of a file but for its docstrings, with their lines."""
    said = {
        id(node.value)
        for node in source.nodes
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in source.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.lineno, node.value
        elif isinstance(node, ast.Name):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute):
            yield node.lineno, node.attr
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, node.module or ""


def test_features_are_named_in_one_room():
    """A file that tests for AVX-512 has to be found again for the next instruction set."""
    wrong = [
        f"{source.name}:{line}: {word[:60]}"
        for source in python_files("flatweave")
        if not source.name.startswith(ROOMS + ALLOWED)
        for line, word in words(source)
        if FEATURE.search(word)
    ]

    assert not wrong, "\n".join(wrong)


def test_the_kind_of_lanes_is_asked_by_plans():
    """Whether lanes are threads: asked where plans are made, and by the steps of traversals."""
    places = ("flatweave/lower/machine", "flatweave/lower/schedule/")
    wrong = [
        f"{source.name}:{node.lineno}"
        for source in python_files("flatweave")
        if source.name.startswith("flatweave/lower/") and not source.name.startswith(places)
        if source.name != "flatweave/lower/traverse/steps.py"
        for node in source.nodes
        if isinstance(node, ast.Attribute) and node.attr == "simt"
    ]

    assert not wrong, "\n".join(wrong)
