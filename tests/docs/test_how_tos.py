"""The changes that the how-to pages show can be made as they stand, and do what the pages say."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import HOW_TOS, programs, shown
from tests.quick import every
from tests.shape.tree import PACKAGE, ROOT

GOLDEN = Path("tests/passes/golden.py")


def changes(page):
    """File, and its hunks as pairs of old and new lines, for each file of a page's diff."""
    block = re.search(r"^```diff\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    for part in re.split(r"^--- .*\n\+\+\+ b/", block, flags=re.MULTILINE)[1:]:
        name, _, body = part.partition("\n")
        hunks = [hunk.splitlines(keepends=True) for hunk in body.split("@@\n")[1:]]
        yield name, [(side(hunk, " -"), side(hunk, " +")) for hunk in hunks]


def side(hunk, marks):
    """The lines of a hunk that one of the two texts has."""
    return "".join(line[1:] for line in hunk if line[0] in marks)


def make(page, folder):
    """Apply the page's diff to the copy of the repository in a folder."""
    for name, hunks in changes(page):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for old, new in hunks:
            assert not old or text.count(old) == 1, f"{name} has no unique position for\n{old}"
            text = text.replace(old, new) if old else new
        path.write_text(text, encoding="utf-8")


def copied(folder):
    """A copy of the package, and of what the pages' checks import."""
    shutil.copytree(PACKAGE, folder / "flatweave", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / GOLDEN).parent.mkdir(parents=True)
    shutil.copy(ROOT / GOLDEN, folder / GOLDEN)


@pytest.mark.parametrize("path", every(3, HOW_TOS), ids=shown)
def test_the_change_works(path, tmp_path):
    """Applied to a copy of the package, it makes the page's program hold."""
    page = path.read_text(encoding="utf-8")
    copied(tmp_path)
    make(page, tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(programs(page))],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "FLATWEAVE_VERIFY": "1"},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", HOW_TOS, ids=shown)
def test_the_change_is_needed(path):
    """What the page adds is not there already."""
    found = list(changes(path.read_text(encoding="utf-8")))

    assert found
    for name, hunks in found:
        there = (ROOT / name).read_text(encoding="utf-8") if (ROOT / name).exists() else ""
        assert all(new not in there for _, new in hunks), f"{name} has it"


@pytest.mark.parametrize("path", HOW_TOS, ids=shown)
def test_a_page_says_how_many_files_it_touches(path):
    """The measure of the design: a number that grows means a wrong boundary."""
    page = path.read_text(encoding="utf-8")
    touched = {name for name, _ in changes(page) if name.startswith("flatweave/")}

    assert f"**Files in `flatweave/`: {len(touched)}.**" in page


@pytest.mark.parametrize("path", HOW_TOS, ids=shown)
def test_a_page_is_one_page(path):
    """A change that needs a longer story has a missing wall somewhere."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 160
