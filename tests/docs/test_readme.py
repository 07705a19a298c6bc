"""The README shows what there is."""

import textwrap

import numpy as np
import pytest

import flatweave as fw
from tests.docs.blocks import execute, programs
from tests.shape.tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
STEPS = (ROOT / "docs" / "start" / "first_steps.md").read_text(encoding="utf-8")


def names_of(text):
    """What the programs of a page define."""
    names = {"__name__": "page"}
    for k, program in enumerate(programs(text)):
        execute(program, f"page[{k}]", names)
    return names


@pytest.mark.parametrize("k", range(len(programs(README))))
def test_each_program_runs_alone(k):
    """With nothing but its own imports: one can copy any of them."""
    program = programs(README)[k]
    execute(program, f"README.md[{k}]", {"__name__": "readme"})

    assert "import" in program


def test_the_fused_program_is_the_one_shown():
    """Word for word, in the first steps."""
    names = names_of(STEPS)
    text = names["drawdown"].stages(names["prices"]).text["fused"]

    assert f"```\n{text.rstrip()}\n```" in STEPS


def test_the_stored_array_is_the_one_shown():
    """Its name, its size, and whether it is a result; only the file's name differs."""
    line = names_of(STEPS)["share"].stages(np.ones(3)).manifest[0]

    assert f"# {line.partition(', page')[0]}, share.py:{line.rpartition(':')[2]}" in STEPS


def test_the_readme_is_short():
    """A first visitor reads one page."""
    assert len(README.splitlines()) <= 120


def test_the_table_of_numbers_is_marked():
    """The table that `make bench` writes is between two marks."""
    before, _, rest = README.partition("<!-- numbers: begin -->")
    table, _, after = rest.partition("<!-- numbers: end -->")

    assert before and table.strip() and after


def test_the_first_example_of_the_package_holds():
    """The program in `help(flatweave)` gives what its last line says."""
    block = (fw.__doc__ or "").split("\n\n", 1)[1].partition("\nA jitted")[0]
    *program, last = textwrap.dedent(block).strip().splitlines()
    call, _, said = last.partition("#")
    names = {"__name__": "package"}
    execute("\n".join(program), "package", names)

    assert repr(eval(call, names)) == said.strip()


def test_the_first_call_needs_no_size():
    """One compilation serves every length."""
    drawdown = names_of(STEPS)["drawdown"]
    for n in (0, 1, 1000):
        drawdown(np.ones(n))

    assert drawdown.traces == 1
