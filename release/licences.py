"""The licences of what Flatweave takes, as `docs/licences.md`.

    python release/licences.py

Licences are those that the installed packages state themselves; a package that is not installed
here keeps the line that the page has.
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "licences.md"
OPEN = """\
# Licences
Flatweave is under the [BSD 3-clause licence](../LICENSE). It contains no code of others; what it
takes are the packages below. `pip install flatweave` installs those that are needed by `flatweave`;
each extra installs its own. What a package states in its own metadata is repeated here;
`python release/licences.py` writes this page.

| package | needed by | licence |
|---|---|---|
"""
CLASSIFIER = "License :: OSI Approved :: "


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}\n")


def page() -> str:
    """The page as it should be."""
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    known = dict(re.findall(r"^\| (\S+) \| .* \| (.*) \|$", before, re.MULTILINE))
    rows = []
    for name, users in sorted(needed().items()):
        stated = licence(name) or known.get(name)
        if stated is None:
            raise SystemExit(f"{name} is not installed here, and {PAGE.name} has no line of it")
        rows.append(f"| {name} | {', '.join(users)} | {stated} |\n")
    return OPEN + "".join(rows)


def needed() -> dict[str, list[str]]:
    """Each package, with the extras that install it; `flatweave` where it always is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lists = {"flatweave": project["dependencies"], **project["optional-dependencies"]}
    found: dict[str, list[str]] = {}
    for user, requirements in lists.items():
        for requirement in requirements:
            name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower()
            if name != "flatweave":
                found.setdefault(name, []).append(user if user == "flatweave" else f"[{user}]")
    return found


def licence(name: str) -> str | None:
    """What an installed package states: an expression, a short text, or a classifier."""
    try:
        facts = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None
    text = facts.get("License-Expression") or facts.get("License") or ""
    kinds = [line.removeprefix(CLASSIFIER) for line in facts.get_all("Classifier") or []
             if line.startswith(CLASSIFIER)]  # fmt: skip
    if text and "\n" not in text:
        return text
    return ", ".join(kinds) or None


if __name__ == "__main__":
    main()
