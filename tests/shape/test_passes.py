"""A pass opens with what it is given and what it gives, in the IR's own text."""

import inspect

from flatweave.pipeline import ARRAY_PASSES, PASSES
from tests.shape.tree import PACKAGE

ARROW = "\n    ==>\n"


def test_every_pass_shows_before_and_after():
    """The first half of a pass's docstring is input text and output text."""
    wrong = [
        name
        for name, made in PASSES.items()
        if ARROW not in (inspect.getmodule(made).__doc__ or "")
    ]

    assert not wrong, f"no line with ==> in the docstring of {', '.join(wrong)}"


def test_every_pass_has_a_file_of_its_name():
    """`fuse` is found in passes/fuse.py, `lift` in the room passes/nests."""
    wrong = []
    for made in ARRAY_PASSES:
        files = list((PACKAGE / "passes").rglob(f"{made.__name__}.py"))
        if [made.__module__] != [_module(file) for file in files]:
            wrong.append(made.__name__)

    assert not wrong, "\n".join(wrong)


def _module(file):
    """The dotted name of a file of ours."""
    return ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)
