"""Where a message sends its reader, there is something to read."""

import ast
import re

from flatweave.base.errors import CompilerBug, UserError
from tests.shape.tree import ROOT, python_files

DOCUMENT = ROOT / "docs" / "errors.md"


def anchors() -> set[str]:
    """The anchors in docs/errors.md that a link can name."""
    text = DOCUMENT.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="([^"]+)">', text))


def test_every_error_class_has_its_section():
    """`More: docs/errors.md#shape-error` leads to a section."""
    classes = [UserError, *UserError.__subclasses__(), CompilerBug]
    missing = [error.anchor for error in classes if error.anchor not in anchors()]

    assert not missing, f"add to docs/errors.md: {', '.join(missing)}"


def test_every_more_has_its_section():
    """A message that names a section finds it in docs/errors.md."""
    missing = [
        f'{source.name}:{node.lineno}: more="{value}"'
        for source in python_files("flatweave")
        for node in source.nodes
        if isinstance(node, ast.keyword) and node.arg == "more"
        if isinstance(node.value, ast.Constant) and isinstance(value := node.value.value, str)
        if value and value.removeprefix("docs/errors.md#") not in anchors()
    ]

    assert not missing, "\n".join(missing)
