"""The README shows what there is."""

import textwrap

import numpy as np

import flatweave as fw
from tests.docs.blocks import execute, programs
from tests.shape.tree import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def names_of(count):
    """What the first programs of the README define."""
    names = {"__name__": "readme"}
    for k, program in enumerate(programs(README)[:count]):
        execute(program, f"README.md[{k}]", names)
    return names


def test_the_fused_program_is_the_one_shown():
    """Word for word."""
    names = names_of(1)
    text = names["drawdown"].stages(names["prices"]).text["fused"]

    assert f"```\n{text.rstrip()}\n```" in README


def test_the_stored_array_is_the_one_shown():
    """Name, size, and whether it is a result; the file is the reader's."""
    names = names_of(3)
    line = names["share"].stages(names["prices"]).manifest[0]

    assert f"# {line.partition(', README')[0]}, share.py:3" in README


def test_numbers_have_their_place():
    """The table that `make bench` fills stands between two marks."""
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
    drawdown = names_of(1)["drawdown"]
    for n in (0, 1, 1000):
        drawdown(np.ones(n))

    assert drawdown.traces == 1
