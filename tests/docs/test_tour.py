"""The tour shows what the compiler gives today."""

from tests.shape.tree import ROOT
from tools.tour import OWN, compared, page


def test_the_tour_is_up_to_date():
    """`make docs` writes it anew; only the assembly language may differ from machine to machine."""
    written = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")

    assert compared(written) == compared(page(ROOT / "examples" / "total.py")), "run make docs"


def test_what_is_not_compared_is_short():
    """The mark hides one listing, nothing else."""
    written = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")

    assert written.count(OWN) == 1
    assert len(written) - len(compared(written)) < 2000
