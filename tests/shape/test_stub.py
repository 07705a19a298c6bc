"""The types of the public names are those of the package as it is."""

import flatweave as fw
from tests.shape.tree import PACKAGE
from tools.stub import stub


def test_the_stub_is_that_of_the_package():
    """Whoever adds a public name or a parameter writes it anew: `make docs`."""
    written = (PACKAGE / "__init__.pyi").read_text(encoding="utf-8")

    assert written == stub(fw), "python -m tools.stub flatweave/__init__.pyi"
