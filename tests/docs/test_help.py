"""`help()` of every public name: its types, units, errors, source, and an example that runs."""

import doctest
import inspect
import re
import types

import numpy as np
import pytest

import flatweave as fw
from flatweave import kernel as fk
from tests.shape.tree import ROOT

MODULES = (fw.fft, fw.linalg, fw.random)
NAMES = {
    **{f"fw.{name}": getattr(fw, name) for name in dir(fw)},
    **{f"fw.{module.__name__.rpartition('.')[2]}.{name}": getattr(module, name)
       for module in MODULES for name in module.__all__},
    **{f"fk.{name}": getattr(fk, name) for name in fk.__all__},
}  # fmt: skip
FUNCTIONS = {
    name: value for name, value in NAMES.items() if isinstance(value, types.FunctionType)
}
ERRORS = {name: value for name, value in NAMES.items()
          if isinstance(value, type) and issubclass(value, Exception)}  # fmt: skip
CLASSES = {
    **{name: value for name, value in NAMES.items()
       if isinstance(value, type) and name not in ERRORS},
    "fw.f32": type(fw.f32), "fk.GRID": type(fk.GRID),
}  # fmt: skip
# modules, dtypes, levels, constants and type hints: described by the class, or by their page
VALUES = {name: value for name, value in NAMES.items()
          if name not in {**FUNCTIONS, **CLASSES, **ERRORS}}  # fmt: skip
PAPER = re.compile(r"\b[A-Z]\w+(?: and (?:others|[A-Z]\w+)|, [A-Z]\w+)* (?:19|20)\d\d\b")
UNITS = {
    "radians": "sin cos tan asin acos atan atan2 deg2rad rad2deg degrees radians",
    "degrees": "deg2rad rad2deg degrees radians",
    "seconds": "tune Tuning profile Profile Stages",
    "bytes": "profile Profile",
    "cycles": "fft.fftfreq fft.rfftfreq",
}
"""The unit of what a function takes or gives; numbers of all other functions have none."""


def help_of(value):
    """What `help` shows, its indentation taken off."""
    return inspect.getdoc(value) or ""


def words_of(value):
    """The same with single spaces."""
    return " ".join(help_of(value).split()) + " "


def without(word, names):
    """The names whose help lacks a word."""
    return [name for name, value in names.items() if word not in words_of(value)]


def test_every_name_is_of_one_kind():
    """A name of a new kind needs a test here."""
    kinds = (type(fw.f32), type(fk.GRID), types.ModuleType, types.UnionType, float, str)

    assert [n for n, v in VALUES.items() if not isinstance(v, kinds) and v is not None] == []
    assert len(FUNCTIONS) > 480 and len(CLASSES) > 18 and len(ERRORS) > 15


def test_every_function_says_its_types_and_errors():
    """From which arrays to which, of which shapes and dtypes; and what it raises."""
    no_result = [
        name for name, f in FUNCTIONS.items()
        if not re.search("->|gives", help_of(f).partition("Types: ")[2])
    ]  # fmt: skip
    silent = [
        name for name, f in FUNCTIONS.items() if not re.search("[Rr]aises", help_of(f))
    ]

    assert (without("Types: ", FUNCTIONS), no_result, silent) == ([], [], [])


def test_every_name_says_its_source():
    """The function of another library that it follows, a paper, or Flatweave itself."""
    named = {**FUNCTIONS, **CLASSES}

    assert [n for n in without("Source: ", named) if not PAPER.search(help_of(named[n]))] == []


@pytest.mark.parametrize("unit", UNITS)
def test_numbers_have_units(unit):
    """Angles, times, sizes and frequencies."""
    named = {name: NAMES[f"fw.{name}"] for name in UNITS[unit].split()}

    assert without(unit, named) == []


def test_every_name_has_an_example():
    """Errors have theirs on the page of errors, with a remedy; its programs run (test_pages.py)."""
    page = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")

    assert without(">>> ", {**FUNCTIONS, **CLASSES}) == []
    assert [name for name in ERRORS if f"\n## {name.partition('.')[2]}\n" not in page] == []


def run(names):
    """The number of examples of these names, and what those that fail print."""
    found, report, seen = 0, [], set()
    runner = doctest.DocTestRunner(verbose=False)
    for name, value in names.items():
        if id(value) in seen:  # another name of the same function
            continue
        seen.add(id(value))
        known = {"fw": fw, "fk": fk, "np": np}
        test = doctest.DocTestParser().get_doctest(help_of(value), known, name, None, 0)
        found += len(test.examples)
        runner.run(test, out=report.append)
    return found, "".join(report)


BATCHES = {
    "language": {name: value for name, value in {**FUNCTIONS, **CLASSES}.items()
                 if name.count(".") == 1 and name.startswith("fw.")},
    "kernels": {name: value for name, value in {**FUNCTIONS, **CLASSES}.items()
                if name.startswith("fk.")},
}  # fmt: skip


@pytest.mark.parametrize("batch", BATCHES)
def test_the_examples_run(batch):
    """On the interpreter, which compiles nothing: what they show is what they give."""
    with fw.target("interp"):
        found, report = run(BATCHES[batch])

    assert report == ""
    assert found > 150


@pytest.mark.slow
def test_the_examples_of_modules_run_and_those_of_the_package_as_machine_code():
    """With the same values."""
    with fw.target("interp"):
        found, report = run(FUNCTIONS)

    assert report == ""
    assert found > 400
    assert run(BATCHES["language"])[1] == ""
