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
    """`fuse` is found in passes/fuse.py."""
    wrong = [
        made.__name__
        for made in ARRAY_PASSES
        if not (PACKAGE / "passes" / f"{made.__name__}.py").is_file()
        or made.__module__ != f"flatweave.passes.{made.__name__}"
    ]

    assert not wrong, "\n".join(wrong)
