"""Every pass does what its docstring says, and what the files next to this one say."""

import pytest

from flatweave.array_ir.syntax import print_program, same
from flatweave.pipeline import PASSES
from tests.passes.golden import FOLDER, applied, docstring_example, files, read

# the others cannot take what they give
REWRITING = [path for path in files() if PASSES[path.parent.name].is_optional]


def agrees(name, text):
    """Compare; a failure shows what the pass gives."""
    example = read(text)
    found = applied(name, example.before)
    assert same(found, example.expected()), f"{name} gives\n{print_program(found)}"


@pytest.mark.parametrize("name", PASSES)
def test_the_docstring_of_a_pass_is_true(name):
    """The text before the arrow becomes the text after it."""
    agrees(name, docstring_example(name))


@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_pass_gives_what_its_file_shows(path):
    """A change in what a pass does shows as a difference of texts."""
    agrees(path.parent.name, path.read_text())


@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_file_says_why(path):
    """The first line is a sentence about the program."""
    first = path.read_text().splitlines()[0]

    assert first.startswith("# ") and first.endswith(".")


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_has_files(name):
    """At least one that shows what it does, and one that shows what it leaves alone."""
    kinds = {read(path.read_text()).after is None for path in (FOLDER / name).glob("*.air")}

    assert kinds == {True, False}


@pytest.mark.parametrize("path", REWRITING, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_pass_has_nothing_to_add_to_its_own_result(path):
    """Applied once more it changes nothing."""
    name = path.parent.name
    once = applied(name, read(path.read_text()).before)

    assert same(applied(name, once), once)
