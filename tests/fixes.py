"""The table of `fixes.md`: which tests would find each announced fault again."""

import re
from pathlib import Path

TABLE = Path(__file__).with_name("fixes.md")
ROW = re.compile(r"^\| ([\w-]+) \| (`.+`) \|$", re.MULTILINE)


def named_by_fixes() -> dict[str, list[str]]:
    """The tests of each fix: `language/test_masks.py::test_single_bools`."""
    text = TABLE.read_text(encoding="utf-8")
    return {name: re.findall(r"`(.+?)`", tests) for name, tests in ROW.findall(text)}
