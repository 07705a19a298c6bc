"""Before and after of a pass, as text: files below this folder, and the passes' own docstrings.

    # why it is so
    name(n: i64, xs: f32[n]) =>
        ..
    ==>                                     or  ==> unchanged
    name(n: i64, xs: f32[n]) =>
        ..

Names do not matter. What a pass leaves dead is dropped before the comparison. After a change that
is meant, `python -m tests.passes.golden` writes the files anew; their difference is for reading.
"""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass
from pathlib import Path

import flatweave.ops  # noqa: F401  the operations that texts may name
from flatweave.array_ir.syntax import (
    FORMS,
    Program,
    form_of_text,
    parse_program,
    print_program,
    same,
    verify,
)
from flatweave.passes.dce import dce
from flatweave.pipeline import PASSES

FOLDER = Path(__file__).parent
ARROW = "==>"
UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Example:
    """A program, and what a pass makes of it; `after` is None where it stays as it is."""

    before: Program
    after: Program | None

    def expected(self) -> Program:
        """What the pass should give."""
        return self.after or self.before


def read(text: str) -> Example:
    """The example that a text shows."""
    before, arrow, after = text.partition(f"\n{ARROW}")
    assert arrow, "no line starts with ==>"
    program = parse_program(before)
    form_of_text(program)
    return Example(program, None if after.strip() == UNCHANGED else parse_program(after))


def applied(name: str, program: Program) -> Program:
    """The program after a pass, verified, and without what the pass left dead."""
    made = PASSES[name]
    form = form_of_text(program, [form for form in FORMS if made.accepts(form)])
    after = made(program)
    verify(after, made.form_after(form))
    return dce(after)


def docstring_example(name: str) -> str:
    """The indented text in the docstring of a pass's file."""
    document = inspect.getdoc(inspect.getmodule(PASSES[name])) or ""
    blocks = [textwrap.dedent(block) for block in document.split("\n\n")]
    return next(block for block in blocks if f"\n{ARROW}\n" in block)


def files() -> list[Path]:
    """Every golden file, in the order of their names."""
    return sorted(FOLDER.glob("*/*.air"))


def update(path: Path) -> None:
    """Write the second half of a file as the pass gives it now."""
    text = path.read_text()
    before, _, _ = text.partition(f"\n{ARROW}")
    program = parse_program(before)
    after = applied(path.parent.name, program)
    tail = f" {UNCHANGED}\n" if same(after, program) else f"\n{print_program(after)}"
    path.write_text(f"{before}\n{ARROW}{tail}")


if __name__ == "__main__":
    for path in files():
        update(path)
