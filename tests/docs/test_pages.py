"""What the pages show runs, and gives what they say."""

import re
import runpy
from contextlib import nullcontext

import numpy as np
import pytest

import flatweave as fw
from tests.docs.blocks import HOW_TOS, PAGES, execute, programs, sections, shown
from tests.shape.tree import ROOT

ERRORS = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
CLASSES = [name for name in sections(ERRORS) if isinstance(getattr(fw, name, None), type)]
RAISING = [(name, k) for name in CLASSES for k in range(len(programs(sections(ERRORS)[name])))]
ANY_ARRAY = ROOT / "docs" / "how_to" / "any_array.md"  # run by tests/interop/test_any_array.py
ELSEWHERE = [ROOT / "docs" / "errors.md", ANY_ARRAY, *HOW_TOS]
TUTORIAL = [
    *sorted((ROOT / "docs" / "tutorial").glob("[0-9]*.md")),
    *sorted({*(ROOT / "docs" / "how_to").glob("*.md")} - {ANY_ARRAY}),
    ROOT / "docs" / "faq.md",
]
LIBRARIES = re.compile(r"^(?:import|from) (awkward|pandas|polars|scipy|torch)\b", re.MULTILINE)
RUNNING = [page for page in PAGES if page not in ELSEWHERE and programs(page.read_text())]


def run(page, is_interpreted=lambda program: False):
    """A page's programs in order, each with the names of those before it.

    Those of a library that is not installed are skipped, and the rest of the page with them.
    """
    names = {"__name__": "page"}
    for k, program in enumerate(programs(page.read_text(encoding="utf-8"))):
        for library in LIBRARIES.findall(program):
            pytest.importorskip(library)
        with fw.target("interp") if is_interpreted(program) else nullcontext():
            execute(program, f"{shown(page)}[{k}]", names)


@pytest.mark.parametrize("page", [page for page in RUNNING if page not in TUTORIAL], ids=shown)
def test_the_programs_of_a_page_run(page):
    """As machine code."""
    run(page)


@pytest.mark.parametrize("page", TUTORIAL, ids=shown)
def test_the_programs_of_the_tutorial_run(page):
    """On the interpreter, which compiles nothing, but for those that say what is compiled."""
    run(page, lambda program: ".stages(" not in program and "fk." not in program)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIAL, ids=shown)
def test_the_programs_of_the_tutorial_run_as_machine_code(page):
    """All of them."""
    run(page)


@pytest.mark.parametrize("name, k", RAISING)
def test_an_example_raises_the_error_of_its_section(name, k):
    """Not merely a class above it, except where the section is about that one."""
    expected = getattr(fw, name)
    program = programs(sections(ERRORS)[name])[k]
    with pytest.raises(expected) as found:
        execute(program, f"errors.md[{name} {k}]", {"fw": fw, "np": np})

    assert type(found.value) is expected or expected is fw.UserError


def test_every_error_has_an_example():
    """Except for bugs of ours, which no example can show."""
    assert {name for name, _ in RAISING} == {*CLASSES} - {"CompilerBug", "DeviceError"}


def test_values_without_an_error():
    """The table of meanings is checked by the asserts below it."""
    for program in programs(sections(ERRORS)["Values without an error"]):
        execute(program, "errors.md[values]", {"fw": fw, "np": np})


def test_the_message_at_the_top_is_real(tmp_path, monkeypatch):
    """Word for word, with the line and its caret."""
    program = programs(ERRORS)[0]
    expected = re.search(r"the message is\n\n```\n(.*?)\n```", ERRORS, re.DOTALL)[1]
    (tmp_path / "saxpy.py").write_text(program)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fw.ShapeError) as found:
        runpy.run_path("saxpy.py")

    assert str(found.value) == expected


def test_links_lead_somewhere():
    """A file that a page links to is there."""
    wrong = [
        f"{shown(page)}: {link}"
        for page in PAGES
        for link in re.findall(r"\]\(([^)#:\s]+)[^):]*\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]

    assert not wrong, "\n".join(wrong)


def test_files_that_pages_name_are_there():
    """`flatweave/passes/fuse.py` in a page is a file."""
    pattern = re.compile(r"`((?:flatweave|tests|docs|examples|bench)/[\w/.]*\w)`")
    wrong = [
        f"{shown(page)}: {name}"
        for page in PAGES
        for name in pattern.findall(page.read_text(encoding="utf-8"))
        if not (ROOT / name.replace("NAME", "opencl")).exists()
    ]

    assert not wrong, "\n".join(wrong)
