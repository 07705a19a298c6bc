"""A sink of a sweep defines its behaviour itself: few modules test its kind."""

import ast
from collections.abc import Iterator

from flatweave import ops
from tests.shape.tree import Source, python_files

MOST = 6
SINKS = frozenset(
    name for name, kind in vars(ops).items()
    if isinstance(kind, type) and issubclass(kind, ops.Sink) and kind is not ops.Sink
)  # fmt: skip


def imported(source: Source) -> set[str]:
    """The sinks that a module has by name: `Store` of the kernel IR is another one."""
    return {
        alias.name
        for node in source.nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flatweave.ops")
        for alias in node.names
    } & SINKS


def names(node: ast.AST) -> set[str]:
    """The names below a node, as `Store` of `ops.Store`."""
    return {getattr(n, "attr", getattr(n, "id", "")) for n in ast.walk(node)}


def kinds_asked(source: Source) -> Iterator[str]:
    """Each `isinstance` and each pattern that names a kind of sink."""
    kinds = imported(source)
    for node in source.nodes:
        if isinstance(node, ast.match_case):
            asked: ast.AST = node.pattern
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            asked = node.args[1]
        else:
            continue
        if names(asked) & kinds:
            yield f"{source.name}:{getattr(asked, 'lineno', 0)}"


def test_few_places_ask_for_a_sinks_kind() -> None:
    """A new sink has a property (`flatweave/ops/sweep.py`), and this number only goes down."""
    found = [place for source in python_files("flatweave") for place in kinds_asked(source)]

    assert len(SINKS) == 10
    assert len(found) <= MOST, "\n".join(found)
