"""The files of `changes/` become a version's part of `CHANGELOG.md`.

    python release/changelog.py 0.2.0 2027-01-31

Each kind of change has a heading, followed by the files' texts in the order of their names. Then
the files are removed.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KINDS = {"feature": "New", "change": "Changed", "faster": "Faster", "fix": "Fixed"}


def main(version: str, date: str) -> None:
    """Collect the changes below a new heading."""
    file = ROOT / "CHANGELOG.md"
    files = change_files(ROOT / "changes")
    file.write_text(with_version(file.read_text("utf-8"), version, date, files), "utf-8")
    for changed in files:
        changed.unlink()
    sys.stdout.write(f"{file.name}: {len(files)} changes of {version}\n")


def change_files(folder: Path) -> list[Path]:
    """`NAME.KIND.md`, in the order of their names."""
    return sorted(file for file in folder.glob("*.md") if file.name != "README.md")


def kind_of(file: Path) -> str:
    """What a file's name says that it is."""
    kind = file.name.removesuffix(".md").rpartition(".")[2]
    if kind not in KINDS:
        raise SystemExit(f"{file}: name it NAME.KIND.md, where KIND is one of {', '.join(KINDS)}")
    return kind


def with_version(text: str, version: str, date: str, files: list[Path]) -> str:
    """The changelog with a version above the newest one."""
    if f"\n## {version}" in text:
        raise SystemExit(f"CHANGELOG.md has a heading for {version} already")
    before, heading, after = text.partition("\n## ")
    return f"{before}\n## {version}, {date}\n{section(files)}{heading}{after}"


def section(files: list[Path]) -> str:
    """One list for each kind that has changes."""
    parts = []
    for kind, title in KINDS.items():
        texts = [file.read_text("utf-8").strip() for file in files if kind_of(file) == kind]
        if texts:
            parts.append(f"\n### {title}\n" + "".join(f"{item(text)}\n" for text in texts))
    return "".join(parts)


def item(text: str) -> str:
    """A text as one item of a list: further lines are indented."""
    first, *rest = text.splitlines()
    return "\n".join([f"- {first}", *(f"  {line}" if line else "" for line in rest)])


if __name__ == "__main__":
    main(*sys.argv[1:])
