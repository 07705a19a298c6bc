"""Long folds of few elements: what the rule gives for a machine, as text, and values of it."""

import inspect
import textwrap
from pathlib import Path

import pytest

from flatweave.array_ir.syntax import form_of_text, print_program, same, verify
from flatweave.base.records import replace
from flatweave.lower.machine import CPU_AVX512, CUDA
from flatweave.lower.schedule import split_folds as rule
from flatweave.lower.schedule.split_folds import split_folds
from tests.passes.golden import ARROW, UNCHANGED, read

FILES = sorted((Path(__file__).parent / "split_folds").glob("*.air"))


def split(program, machine=CPU_AVX512):
    """The program with its folds split, verified."""
    after = split_folds(program, machine)
    verify(after, form_of_text(program))
    return after


def update():
    """Write the second half of each file as the rule gives it now."""
    for path in FILES:
        before = path.read_text().partition(f"\n{ARROW}")[0]
        program = read(path.read_text()).before
        after = split(program)
        tail = f" {UNCHANGED}\n" if same(after, program) else f"\n{print_program(after)}"
        path.write_text(f"{before}\n{ARROW}{tail}")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_file_shows(path):
    """Columns, products, and rows, which are contiguous, as they were."""
    example = read(path.read_text())
    found = split(example.before)
    assert same(found, example.expected()), print_program(found)


def docstring():
    """The example that the module opens with."""
    blocks = [textwrap.dedent(block) for block in (inspect.getdoc(rule) or "").split("\n\n")]
    return read(next(block for block in blocks if f"\n{ARROW}\n" in block))


def test_the_docstring_is_true():
    """The text before the arrow becomes the text after it."""
    found = split(docstring().before)
    assert same(found, docstring().expected()), print_program(found)


def test_the_machine_decides():
    """A row's program has one thread; a device has smaller blocks."""
    program = docstring().before
    assert same(split(program, replace(CPU_AVX512, one_block=True)), program)
    assert "floordiv" in print_program(split(program, CPU_AVX512))
    assert not same(split(program, CPU_AVX512), split(program, CUDA))
