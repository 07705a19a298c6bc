"""Plain English is counted: lines that an editor would rewrite become no more."""

from pathlib import Path

import pytest

from tests.shape.prose import PATTERN, habits, of_python, prose, sentence_lengths
from tests.shape.tree import ROOT

TOP = sorted(ROOT.glob("*.md"))
PAGES = [*TOP, *sorted((ROOT / "docs").rglob("*.md"))]
MOST = {
    "bench": 12,
    "changes": 2,
    "docs": 5,
    "examples": 20,
    "flatweave": 1,
    "flatweave/base": 2,
    "flatweave/cluster": 6,
    "flatweave/codegen": 12,
    "flatweave/frontend": 26,
    "flatweave/gradients": 2,
    "flatweave/kernel_passes": 7,
    "flatweave/lower": 22,
    "flatweave/operator_checks": 1,
    "flatweave/page": 3,
    "flatweave/passes": 3,
    "flatweave/random": 1,
    "flatweave/runtime": 4,
    "flatweave/simulator": 3,
    "flatweave/tables": 1,
    "flatweave/tuning": 1,
    "tests": 75,
}
"""Lines with a habit; a folder that is not named has none. These numbers only go down."""
LONGEST_AVERAGE = 20  # words of a sentence
MOST_LONG = 0.05  # the part of sentences with more than 30 words


def folder_of(path: Path) -> str:
    """`flatweave/lower` of a file below it; the first folder of others."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[: 2 if parts[0] == "flatweave" and len(parts) > 2 else 1])


def files() -> dict[str, list[Path]]:
    """The files of Python and Markdown, by folder."""
    names = ("flatweave", "docs", "tests", "bench", "examples", "release", "changes", "tools")
    found: dict[str, list[Path]] = {}
    for path in [*TOP, *(p for name in names for p in sorted((ROOT / name).rglob("*")))]:
        if path.suffix in {".py", ".md"} and "__pycache__" not in path.parts:
            found.setdefault(folder_of(path), []).append(path)
    return found


FILES = files()


@pytest.mark.parametrize("folder", FILES)
def test_lines_with_a_habit(folder):
    """`python -m tests.shape.prose FILE ..` lists them; rewrite one before you add another."""
    found = [line for path in FILES[folder] for line in habits(path)]

    assert len(found) <= MOST.get(folder, 0), "\n".join(found)


def test_the_rate_of_habits():
    """Of 100 lines of prose at most 1.0 in the whole tree, 0.5 in the README and the documents."""
    documents = [*PAGES, *FILES["changes"]]
    for paths, most in ((sum(FILES.values(), []), 1.0), (documents, 0.5)):
        lines = sum(1 for path in paths for _ in prose(path))
        found = sum(len(habits(path)) for path in paths)

        assert 100 * found / lines <= most, f"{found} of {lines} lines"


def test_sentences_are_short():
    """On the pages: 20 words on average, and few of more than 30."""
    lengths = [length for page in PAGES for length in sentence_lengths(page)]

    assert sum(lengths) / len(lengths) <= LONGEST_AVERAGE
    assert sum(length > 30 for length in lengths) / len(lengths) <= MOST_LONG


def test_what_counts():
    """Docstrings, comments and long texts; no code, and no word inside of it."""
    lines = [
        "x = behind  # lanes read behind the end",
        '"""It is the one that counts."""',
        "told(x)",
    ]
    texts = [text for _, text in of_python(lines)]

    assert len(texts) == 2 and all(map(PATTERN.search, texts))
    assert not PATTERN.search("It turns a list of pairs into rows.")
