"""Pictures in the documents are those that their script draws."""

import xml.dom.minidom

import pytest

from docs.pictures import draw, start
from tests.docs.blocks import PAGES
from tests.shape.tree import ROOT

FOLDER = ROOT / "docs" / "pictures"
PICTURES = {**draw.PICTURES, **start.PICTURES}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_what_the_script_draws(name):
    """And XML that can be read; after a change of a script: python -m docs.pictures.draw."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    xml.dom.minidom.parseString(text)

    assert text == PICTURES[name]()


def test_every_picture_is_shown():
    """A picture that no page shows is superfluous."""
    pages = "".join(page.read_text(encoding="utf-8") for page in PAGES)

    assert {path.name for path in FOLDER.glob("*.svg")} == set(PICTURES)
    assert all(f"pictures/{name})" in pages for name in PICTURES)
