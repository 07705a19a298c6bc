"""What became of a program: the same as its meaning, something else, or an error."""

from __future__ import annotations

from dataclasses import dataclass

from tests.nests.programs.program import Program


@dataclass(frozen=True)
class Outcome:
    """`kind` is "agree", "differ" or the class of what was raised; `said` is "" for agreement."""

    kind: str
    said: str


def outcome(program: Program, target: str) -> Outcome:
    """Run a program, and compare."""
    wanted = program.expected()
    try:
        found = program.found(target)
    except Exception as raised:
        kind = type(raised).__name__
        return Outcome(kind, f"{kind}: {str(raised).splitlines()[0] if str(raised) else ''}")
    if found != wanted:
        return Outcome("differ", f"found {found}, expected {wanted}")
    return Outcome("agree", "")
