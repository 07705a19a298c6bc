"""Every paper that the code names is on the page of sources, and is named where the page says."""

import re

from tests.docs.blocks import shown
from tests.shape.tree import ROOT

PAGE = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
OTHERS = r"(?: and (?:others|[A-Z]\w+)|, [A-Z]\w+)*"
CITED = re.compile(rf"\b([A-Z]\w+){OTHERS} \(?((?:19|20)\d\d)\b(?!-)")
ROW = re.compile(r"^\| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
NOBODY = {"November", "Python", "UTC", "BSD"}


def cited():
    """Author and year as the files of the package and the examples give them, with the file."""
    for path in [*(ROOT / "flatweave").rglob("*.py"), *(ROOT / "examples").rglob("*.py")]:
        for author, year in CITED.findall(" ".join(path.read_text(encoding="utf-8").split())):
            if author not in NOBODY:
                yield author, year, shown(path)


def test_every_paper_that_is_named_is_on_the_page():
    """By its first author's name and its year, in one row."""
    found = list(cited())
    missing = {
        f"{author} {year}: {name}"
        for author, year, name in found
        if not any(author in row and year in row for row, _, _ in ROW.findall(PAGE))
    }

    assert len(found) > 20
    assert not missing, "\n".join(sorted(missing))


def test_a_row_names_files_that_name_its_authors():
    """Some file of each row has a name of an author, or the paper's own word for the thing."""
    wrong = []
    for paper, _, where in ROW.findall(PAGE):
        authors = set(re.findall(r"\b([A-Z][a-zøé]{3,})\b", paper.partition("*")[0]))
        texts = [text for name in re.findall(r"`([\w/.]+)`", where) for text in texts_of(name)]
        if authors and not any(author in text for author in authors for text in texts):
            wrong.append(paper)

    assert not wrong, "\n".join(wrong)


def texts_of(name):
    """The text of a file, or of the files of a folder."""
    path = ROOT / name
    files = [path] if path.is_file() else [*path.rglob("*.py"), *path.rglob("*.md")]
    return [file.read_text(encoding="utf-8") for file in files]
