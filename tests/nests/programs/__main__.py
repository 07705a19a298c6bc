"""What fails, and how.

    python -m tests.nests.programs                   a table, for interp and cpu
    python -m tests.nests.programs cpu scatter       those of one target whose name has the word
"""

from __future__ import annotations

import sys
from collections import Counter

from tests.nests.programs.all import PROGRAMS
from tests.nests.programs.outcome import outcome


def main(target: str = "", word: str = "") -> int:
    """Print a line for each program that fails, and the counts."""
    failed = 0
    for chosen in [target] if target else ["interp", "cpu"]:
        kinds: Counter[str] = Counter()
        for program in PROGRAMS:
            if word not in program.name:
                continue
            found = outcome(program, chosen)
            kinds[found.kind] += 1
            failed += bool(found.said)
            if found.said:
                sys.stdout.write(f"{chosen:7} {program.name:55} {found.said}\n")
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
        sys.stdout.write(f"{chosen}: {counts}\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
