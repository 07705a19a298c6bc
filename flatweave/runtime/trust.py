"""Folders and files that nobody but this user can have written: what code may be loaded from.

    with private_folder(path) as folder:         a descriptor; Distrusted says what is wrong
        content = read_private(folder, "a.fwc")  the file's bytes, checked on the descriptor read

As ssh does with its keys, the folder and everything above it is looked at: each belongs to this
user or to root and can be written by nobody else; above the folder itself, a folder that anybody
may write is let pass if it is sticky, as /tmp is. Every step is opened relative to the one before
and checked once it is open, so that nothing can be put in its place between check and use.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LINKS = 40  # symbolic links followed on one path
WRITABLE = stat.S_IWGRP | stat.S_IWOTH
# a folder above may be passed through without being readable
_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe must not make us wait


class Distrusted(OSError):
    """Somebody else may have written here; says where, and why."""


@contextmanager
def private_folder(path: Path, *, make: bool = False) -> Iterator[int]:
    """A folder that only this user can write, open; OSError if it is none, or not there.

    With `make` the folder, and those above it, are made if they are missing.
    """
    folder, where = _walk(path, make)
    try:
        _check_private(os.fstat(folder), where)
        opened = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        yield opened
    finally:
        os.close(opened)


def read_private(folder: int, name: str) -> bytes:
    """A file's content, if only this user can have written it; OSError if not."""
    with open(os.open(name, _FILE, dir_fd=folder), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise Distrusted(f"{name} is not a plain file")
        _check_private(facts, name)
        return file.read()


def _check_private(facts: os.stat_result, where: str) -> None:
    """This user's, and written by nobody else."""
    if facts.st_uid != os.geteuid():
        raise Distrusted(f"{where} belongs to another user (uid {facts.st_uid})")
    if facts.st_mode & WRITABLE:
        raise Distrusted(f"{where} can be written by other users")


def _walk(path: Path, make: bool) -> tuple[int, str]:
    """The folder at a path, opened step by step from the root; and its path without links."""
    todo = [part for part in reversed(path.absolute().parts) if part != os.sep]
    here, where, links = os.open(os.sep, _STEP), os.sep, 0
    try:
        while todo:
            _check_above(here, where)
            part = todo.pop()
            target = _link(here, part, where)
            if target is not None:
                links += 1
                if links > LINKS:
                    raise OSError(f"{path} has too many symbolic links")
                todo += reversed([step for step in target.split(os.sep) if step])
                if target.startswith(os.sep):
                    here, where = _enter(os.open(os.sep, _STEP), here), os.sep
                continue
            if make:
                _make(here, part)
            here = _enter(os.open(part, _STEP, dir_fd=here), here)
            where = os.path.normpath(os.path.join(where, part))
    except BaseException:
        os.close(here)
        raise
    return here, where


def _enter(there: int, here: int) -> int:
    os.close(here)
    return there


def _check_above(folder: int, where: str) -> None:
    """A folder on the way: others can neither exchange what is in it nor claim to own it."""
    facts = os.fstat(folder)
    _check_owner(facts, where)
    if facts.st_mode & WRITABLE and not facts.st_mode & stat.S_ISVTX:
        raise Distrusted(f"{where} can be written by other users")


def _check_owner(facts: os.stat_result, where: str) -> None:
    if facts.st_uid not in (0, os.geteuid()):
        raise Distrusted(f"{where} belongs to another user (uid {facts.st_uid})")


def _link(folder: int, part: str, where: str) -> str | None:
    """Where a symbolic link leads; None where there is none. In a sticky folder its owner counts:
    anybody may have put it there."""
    try:
        facts = os.stat(part, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(facts.st_mode):
        return None
    _check_owner(facts, os.path.join(where, part))
    return os.readlink(part, dir_fd=folder)


def _make(folder: int, part: str) -> None:
    with suppress(FileExistsError):
        os.mkdir(part, 0o700, dir_fd=folder)
