"""Lines of prose, and those that a technical editor would rewrite.

    python -m tests.shape.prose docs/kernel.md flatweave/base/*.py       lists the lines

Prose is Markdown outside code, and the docstrings, comments and long texts of Python. A line with a
habit is one to read again, not a verdict: the numbers of `test_prose.py` only go down.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

HABITS = [
    r"\bis none\b",
    r"\bnobody (says|knows|reads|asks|needs)\b",
    r"\b(who|what|where|which) (is|are|was|has|have|gives?|takes?|reads?|asks?|stands?|lies|goes"
    r"|comes) \w+[^.?]{0,60}, (is|are|has|have|takes?|gets?|goes)\b",
    r"\bstands? (there|here|for itself|in|on|at|behind|beside|once|below|above)\b",
    r"\blies? (in|on|along|behind|before|between)\b",
    r"\bbeside\b",
    r"\bbehind\b",
    r"(?<!set )(?<!tell )\bapart\b(?! from)",
    r"\bso many\b",
    r"\bas many as\b",
    r"\ball that\b",
    r"\bthe (same|other) (of|for) (it|them|these)\b",
    r"\bof (its|their|his) own\b",
    r"\bby itself\b",
    r"\bone after the other\b",
    r"\bin turn\b",
    r"\bturns?\b(?! (off|on|it|them|this|the))(?! (\S+ ){0,4}into)",
    r"(?<!decimal )(?<!in )(?<!takes )\bplaces?\b(?! (of|for) work)",
    r"\bwhat (is|are|was) \w+ (is|are)\b",
    r"^(What|Who|Which) [a-z ]{3,60} (is|are|has|have|takes?|gets?|goes|says?)\b",
    r"\bat (the )?least\b.*\bat (the )?most\b",
    r"\bhas its\b",
    r"\bgoes by\b",
    r"\btold\b",
    r"\bthe one (that|of|which)\b",
]
PATTERN = re.compile("|".join(f"(?:{habit})" for habit in HABITS))
CODE = re.compile(r"`[^`]*`|\{[^{}]*\}|\]\([^)]*\)")
SENTENCE_END = re.compile(r"(?<=[.!?:]) ")
WORD = re.compile(r"[A-Za-z][\w'-]*")


def prose(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of prose of a file, without the code in them."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = of_markdown(lines) if path.suffix == ".md" else of_python(lines)
    for number, line in found:
        yield number, CODE.sub(" code ", line).strip()


def of_markdown(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Lines of five words or more outside code blocks."""
    is_code = False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and len(line.split()) > 4:
            yield number, line


def of_python(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Docstrings, comments and texts of four words or more."""
    inside = False
    for number, line in enumerate(lines, 1):
        quotes = line.count('"""')
        texts = re.findall(r'#\s.*|f?"[^"]{20,}"', line)
        text = line if inside or quotes else " ".join(texts)
        inside ^= quotes % 2 == 1
        if len(text.split()) > 3:
            yield number, text


def habits(path: Path) -> list[str]:
    """The lines of a file with a habit."""
    return [f"{path}:{number} {line}" for number, line in prose(path) if PATTERN.search(line)]


def sentence_lengths(path: Path) -> list[int]:
    """The words of each sentence of a Markdown page, tables and short headings left out."""
    text = " ".join(line for _, line in prose(path) if not line.startswith(("|", "<", "#")))
    counts = (len(WORD.findall(sentence)) for sentence in SENTENCE_END.split(text))
    return [count for count in counts if count > 3]


def main(names: Iterable[str]) -> None:
    """Print the lines with a habit."""
    for name in names:
        print(*habits(Path(name)), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
