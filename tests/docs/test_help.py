"""`help()` of every public function says its types and errors, and has an example that runs."""

import doctest
import inspect
import types

import numpy as np
import pytest

import flatweave as fw

MODULES = (fw.fft, fw.linalg, fw.random)
NAMES = {
    **{f"fw.{name}": getattr(fw, name) for name in dir(fw)},
    **{f"{module.__name__}.{name}": getattr(module, name)
       for module in MODULES for name in module.__all__},
}  # fmt: skip
FUNCTIONS = {
    name: value for name, value in NAMES.items() if isinstance(value, types.FunctionType)
}
OWN = {name: value for name, value in FUNCTIONS.items() if name.startswith("fw.")}
CLASSES = {f"fw.{name}": getattr(fw, name) for name in (
    "Array", "Explanation", "Jitted", "Profile", "Ragged", "Stages", "Tuning"
)} | {"fw.f32": type(fw.f32)}  # fmt: skip
ERRORS = ("Raises", "raises")


def help_of(value):
    """What `help` shows, its indentation taken off."""
    return inspect.getdoc(value) or ""


def test_every_function_says_its_types_and_errors():
    """From which arrays to which, of which shapes and dtypes; and what it raises."""
    untyped = [name for name, f in FUNCTIONS.items() if "Types: " not in help_of(f)]
    no_result = [
        name for name, f in FUNCTIONS.items() if "->" not in help_of(f).partition("Types: ")[2]
    ]
    silent = [name for name, f in FUNCTIONS.items() if not any(e in help_of(f) for e in ERRORS)]

    assert (untyped, no_result, silent) == ([], [], [])


def test_every_name_has_an_example():
    """Of errors, the page of errors has some (test_pages.py)."""
    named = {**FUNCTIONS, **CLASSES}

    assert [name for name, value in named.items() if ">>> " not in help_of(value)] == []


def run(names):
    """The number of examples of these names, and what those that fail print."""
    found, report, seen = 0, [], set()
    runner = doctest.DocTestRunner(verbose=False)
    for name, value in names.items():
        if id(value) in seen:  # another name of the same function
            continue
        seen.add(id(value))
        parser = doctest.DocTestParser()
        test = parser.get_doctest(help_of(value), {"fw": fw, "np": np}, name, None, 0)
        found += len(test.examples)
        runner.run(test, out=report.append)
    return found, "".join(report)


def test_the_examples_run():
    """On the interpreter, which compiles nothing: what they show is what they give."""
    with fw.target("interp"):
        found, report = run({**OWN, **CLASSES})

    assert report == ""
    assert found > 150


@pytest.mark.slow
def test_the_examples_of_modules_run_and_those_of_the_package_as_machine_code():
    """With the same values."""
    with fw.target("interp"):
        found, report = run(FUNCTIONS)

    assert report == ""
    assert found > 200
    assert run(OWN)[1] == ""
