"""Texts that users ask to be written to a file."""

from __future__ import annotations

from pathlib import Path

from flatweave.base.errors import ArgumentError

REMEDY = "Name a file in a folder that there is, and that you may write to."


def check_folder(path: Path, what: str) -> None:
    """Refuse a file in a folder that is not there, before much work is done for it."""
    if not path.parent.is_dir():
        raise ArgumentError.here(
            f"{what} cannot be written: there is no folder {path.parent}.", REMEDY
        )


def write(path: Path, text: str, what: str) -> Path:
    """Write a text; ArgumentError that names the folder where that cannot be."""
    check_folder(path, what)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as wrong:
        raise ArgumentError.here(
            f"{what} cannot be written to {path} in the folder {path.parent.resolve()}:"
            f" {wrong.strerror or wrong}.",
            REMEDY,
        ) from None  # fmt: skip
    return path
