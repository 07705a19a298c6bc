"""Pictures in the documents are those that their script draws."""

import runpy
import xml.dom.minidom

import pytest

from tests.shape.tree import ROOT

FOLDER = ROOT / "docs" / "pictures"
PICTURES = runpy.run_path(str(FOLDER / "draw.py"))["PICTURES"]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_the_script_draws(name):
    """And XML that can be read; after a change of the script: python docs/pictures/draw.py."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    xml.dom.minidom.parseString(text)

    assert text == PICTURES[name]()


def test_every_picture_is_shown():
    """A file that no page shows is none of ours."""
    pages = "".join(page.read_text(encoding="utf-8") for page in ROOT.glob("docs/*.md"))

    assert {path.name for path in FOLDER.glob("*.svg")} == set(PICTURES)
    assert all(f"(pictures/{name})" in pages for name in PICTURES)
