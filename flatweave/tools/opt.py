"""Text in, passes, text out: how one replays a part of the compiler.

    python -m flatweave.tools.opt --pass sweep,fuse total.air     a program, after these passes
    python -m flatweave.tools.opt total.air --lower               the unit it is lowered to
    python -m flatweave.tools.opt kernels.kir                     a unit, read and verified

The file's extension names the IR: .air for programs, .kir for units; `-` reads a program from the
standard input. Every program and unit is verified before and after.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import flatweave.ops  # noqa: F401  the operations that texts may name
from flatweave.array_ir.syntax import (
    FLAT,
    FORMS,
    Form,
    Program,
    form_of_text,
    parse_program,
    print_program,
    verify,
)
from flatweave.base.errors import CompilerBug
from flatweave.kernel_ir.units import parse_unit, print_unit
from flatweave.kernel_ir.units import verify as verify_unit
from flatweave.lower.program import lower
from flatweave.passes.rewrite import check_order
from flatweave.pipeline import PASSES
from flatweave.targets import TARGETS
from flatweave.tools import names_of, parser_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 where a text, a pass or a program is refused."""
    options = _parser().parse_args(arguments)
    try:
        sys.stdout.write(_result(options))
    except (CompilerBug, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def apply_passes(program: Program, names: Sequence[str], last: Form | None = None) -> Program:
    """The program after passes by name, verified before the first and after each."""
    steps = [PASSES[name] for name in names]
    accepted = [form for form in FORMS if all(step.accepts(form) for step in steps[:1])]
    form = form_of_text(program, accepted)
    check_order(steps, form, last)
    for step in steps:
        before = print_program(program)
        program, form = step(program), step.form_after(form)
        try:
            verify(program, form)
        except CompilerBug as bug:
            bug.pass_name = step.__name__
            bug.program += f"\n\nbefore the pass:\n{before}"
            raise
    return program


def _result(options: argparse.Namespace) -> str:
    """The text that the options ask for."""
    text = sys.stdin.read() if options.file == "-" else Path(options.file).read_text()
    if options.file.endswith(".kir"):
        unit = parse_unit(text)
        verify_unit(unit)
        return print_unit(unit)
    program = apply_passes(parse_program(text), options.passes, FLAT if options.lower else None)
    if not options.lower:
        return print_program(program)
    machine = TARGETS[options.lower].machine
    if machine is None:
        raise CompilerBug(f"{options.lower} runs programs as they are.")
    unit = lower(program, machine).unit
    verify_unit(unit)
    return print_unit(unit)


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("opt", __doc__)
    parser.add_argument("file", help="a .air or .kir text, or - for standard input")
    parser.add_argument(
        "--pass", dest="passes", type=names_of("pass", PASSES), default=[], metavar="NAMES",
        help="passes to apply, in this order",
    )  # fmt: skip
    parser.add_argument(
        "--lower", nargs="?", const="cpu", choices=sorted(TARGETS), metavar="TARGET",
        help="lower the program for a target (cpu)",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
