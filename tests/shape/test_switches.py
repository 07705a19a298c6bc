"""The switches are read in one file and spelled alike everywhere."""

import ast
import re

from flatweave.base.config import ROWS
from tests.shape.tree import FOLDERS, ROOT, python_files

READERS = {"environ", "environb", "getenv", "getenvb", "putenv"}
PLACE = "flatweave/base/config.py"


def test_only_config_reads_the_environment():
    """A switch read elsewhere has no default, no scope and no row in the table."""
    wrong = [
        f"{source.name}:{node.lineno}"
        for source in python_files("flatweave")
        if source.name != PLACE
        for node in source.nodes
        if (isinstance(node, ast.Attribute) and node.attr in READERS)
        or (isinstance(node, ast.ImportFrom) and READERS & {name.name for name in node.names})
    ]

    assert not wrong, "\n".join(wrong)


def test_every_switch_mentioned_exists():
    """A document that names an unknown switch misleads its reader."""
    known = {row.variable for row in ROWS.values()}
    texts = [
        *(ROOT / folder for folder in ("README.md", "Makefile", "CHANGELOG.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
        *(source.path for source in python_files(*FOLDERS)),
    ]
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in texts
        if path.is_file()
        for name in re.findall(r"\bFLATWEAVE_[A-Z_]*[A-Z]", path.read_text(encoding="utf-8"))
        if name not in known
    ]

    assert not wrong, "\n".join(wrong)
