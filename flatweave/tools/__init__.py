"""Programs for whoever works on the compiler."""

import argparse
from collections.abc import Callable, Collection

from flatweave.base.pretty import listed


def parser_of(name: str, doc: str | None) -> argparse.ArgumentParser:
    """The parser of a program whose docstring is its help."""
    summary, _, rest = (doc or "").partition("\n")
    return argparse.ArgumentParser(
        prog=f"python -m flatweave.tools.{name}", description=summary, epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip


def names_of(kind: str, known: Collection[str]) -> Callable[[str], list[str]]:
    """What reads known names with commas between them."""

    def names(text: str) -> list[str]:
        found = [name for name in text.split(",") if name]
        for name in found:
            if name not in known:
                raise argparse.ArgumentTypeError(f"no {kind} {name}: there are {listed(known)}")
        return found

    return names
