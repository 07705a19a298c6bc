"""The tables of names: each line of ours gives what it says, and so does NumPy's."""

import re

import pytest

import flatweave as fw
from tests.docs.blocks import execute, programs, shown
from tests.shape.tree import ROOT

PAGES = sorted(page for page in (ROOT / "docs" / "from").glob("*.md") if page.name != "index.md")
TABLE = re.compile(r"^\| .* \| gives \|\n(?:\|.*\n)+", re.MULTILINE)
ROW = re.compile(r"^\| (.+) \| `(.+)` \| `(.+)` \|$", re.MULTILINE)


def plain(value):
    """Lists, of arrays and rows and tuples."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def given(line, names):
    """What a line gives: its value; of a statement, and what gives None, what it makes of x."""
    names = {**names, "x": names["x"].copy()} if "x" in names else names
    try:
        value = eval(line, names)
    except SyntaxError:
        exec(line, names)
        value = None
    return plain(names["x"] if value is None else value)


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_each_line_gives_what_it_says(page):
    """On the names that the page's program makes; kernels are compiled, all else is not."""
    text = page.read_text(encoding="utf-8")
    names = {"__name__": "page"}
    for k, program in enumerate(programs(text)):
        execute(program, f"{shown(page)}[{k}]", names)
    table = TABLE.search(text)[0]
    rows, wrong = ROW.findall(table), []
    with fw.target("cpu" if page.stem in ("cuda", "obsidian") else "interp"):
        for theirs, ours, gives in rows:
            sides = [ours, theirs.strip("`")] if page.stem == "numpy" else [ours]
            for side in sides:
                found = given(side, names)
                if found != eval(gives):
                    wrong.append(f"{side} gives {found}")

    assert not wrong, "\n".join(wrong)
    assert len(rows) > 15
    assert table.count("\n| ") == len(rows)  # every line but the head
