"""All stages of the calls that a program makes, in the terminal.

    python -m flatweave.tools.show examples/total.py                 every stage
    python -m flatweave.tools.show examples/total.py --stage fuse    one pass, or one stage
    python -m flatweave.tools.show examples/total.py --stage llvm,asm

The program is run; then each of its compiled functions is shown: what it was traced to, what every
pass made of it, its kernels, and the text for the target that ran it.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from flatweave.array_ir.syntax import Program, parse_program, print_program, same
from flatweave.base.pretty import counted, duration, table
from flatweave.frontend.call.compiled import Stages
from flatweave.jit import Jitted
from flatweave.pipeline import PASSES, optimise
from flatweave.targets import TARGET_OF_TEXT
from flatweave.tools import names_of, parser_of

ALIKE = ("array", "fused", "flat")  # stages that the passes have shown already


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 1 where there is nothing to show."""
    options = _parser().parse_args(arguments)
    found = list(compiled(runpy.run_path(options.file, run_name="__main__")))
    for stages in found:
        sys.stdout.write(report(stages, options.stages))
    if not found:
        sys.stderr.write(f"{options.file} calls no compiled function that it keeps a name for.\n")
    return 0 if found else 1


def compiled(names: dict[str, Any]) -> Iterator[Stages]:
    """The stages of every signature that the compiled functions among `names` were called with."""
    functions = {id(value): value for value in names.values() if isinstance(value, Jitted)}
    for function in functions.values():
        for entry in function._entries.values():
            yield Stages(function.__name__, entry.plain.executable)


def changes(program: Program) -> dict[str, Program]:
    """The program after each pass that changed it, by the pass's number and name."""
    changed: dict[str, Program] = {}
    for name, after in optimise(program).items():
        if not same(program, after):
            changed[name] = after
        program = after
    return changed


def report(stages: Stages, wanted: Sequence[str] = ()) -> str:
    """The text of the wanted stages and passes, by default of all; with times and arrays."""
    parts = [] if wanted else [_summary(stages)]
    for name, text in texts(stages, wanted).items():
        if not wanted or name in wanted or name.rpartition(" ")[2] in wanted:
            parts.append(f"---- {name} ----\n{text.rstrip()}\n")
    return "\n".join(parts) + "\n"


def texts(stages: Stages, wanted: Sequence[str] = ()) -> dict[str, str]:
    """Every text there is of a compilation, in the order in which they came about."""
    program = parse_program(stages.text["array"])
    found = {"array": stages.text["array"]}
    if "kernel" in stages.text:
        for name, after in (optimise(program) if wanted else changes(program)).items():
            found[f"pass {name}"] = print_program(after)
    found.update((name, text) for name, text in stages.text.items() if name not in ALIKE)
    for name in wanted:
        if name not in (*PASSES, *found):
            found[name] = stages.text[name]
    return found


def _summary(stages: Stages) -> str:
    lines = [f"{stages.name}: {counted(stages.kernels, 'kernel')}"]
    if stages.manifest:
        lines += ["", "in memory:", *(f"  {line}" for line in stages.manifest)]
    if stages.seconds:
        rows = [[name, duration(seconds)] for name, seconds in stages.seconds.items()]
        lines += ["", table(["stage", "time"], rows, right={1})]
    return "\n".join(lines) + "\n"


def _parser() -> argparse.ArgumentParser:
    known = sorted({*PASSES, "array", "fused", "flat", "kernel", *TARGET_OF_TEXT})
    parser = parser_of("show", __doc__)
    parser.add_argument("file", help="a Python program that calls compiled functions")
    parser.add_argument(
        "--stage", dest="stages", type=names_of("stage", known), default=[], metavar="NAMES",
        help="only these stages or passes",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
