"""The types of the public names: the stub has them all, and type checkers read it."""

import inspect
import shutil
import subprocess

import numpy as np
import pytest

import flatweave as fw
from tests.shape.tree import ROOT
from tests.tools import typed_programs

STUB = ROOT / "flatweave" / "__init__.pyi"
PROGRAMS = ROOT / "tests" / "tools" / "typed_programs.py"


def test_the_stub_has_every_public_name():
    """Each once at the beginning of a line, or imported by its name."""
    text = STUB.read_text(encoding="utf-8")

    for name in dir(fw):
        spelled = (f"def {name}(", f"class {name}", f"{name}: ", f" {name} as {name}")
        assert any(f"\n{form}" in text or f"{form}\n" in text or f"{form}," in text
                   for form in spelled), name  # fmt: skip


def test_the_package_says_that_it_is_typed():
    """Type checkers look for the file before they read annotations."""
    assert (ROOT / "flatweave" / "py.typed").is_file()


@pytest.mark.parametrize("program", ["calls", "functions", "arrays", "dtypes"])
def test_the_programs_run(program):
    """`make types` checks what they say of types; here, that what they call is there."""
    getattr(typed_programs, program)()


def test_array_likes_are_told_apart_when_a_program_runs_too():
    """Arrays, numbers, buffers and other libraries' arrays; no text, no rows."""
    class Foreign:
        def __array__(self, dtype=None, copy=None):
            return np.zeros(1)

    for value in (np.zeros(1), fw.iota(1), 1, 1.5, np.float32(1), [1], (1, 2), b"", Foreign()):
        assert isinstance(value, fw.ArrayLike)
    for value in ("text", None, {}, fw.ragged([[1]])):
        assert not isinstance(value, fw.ArrayLike)


def test_what_type_checkers_refuse_is_no_program():
    """Each of its lines has a reason in brackets."""
    lines = inspect.getsource(typed_programs.refused).splitlines()[2:]

    assert all("# type: ignore[" in line for line in lines)


@pytest.mark.slow
def test_pyright_reads_the_programs_as_mypy_does():
    """Where it is installed."""
    pyright = shutil.which("pyright")
    if pyright is None:
        pytest.skip("pyright is not installed")

    run = subprocess.run([pyright, PROGRAMS], capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stdout
