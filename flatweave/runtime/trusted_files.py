"""Folders and files that nobody but this user can have written: code is loaded from no others."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

# Folders and files that nobody but this user can have written: what code may be loaded from.
#
#     with private_folder(path) as folder:         Distrusted says what is wrong
#         content = folder.read("a.fwc")           the file's bytes, checked on the descriptor read
#
# As ssh does with its keys, the folder and everything above it is looked at: each belongs to this
# user or to root and can be written by nobody else; above the folder itself, a folder that
# anybody may write is let pass if it is sticky, as /tmp is. Every step is opened relative to the
# one before and checked once it is open, so that nothing can replace it between check
# and use.


LINKS = 40  # symbolic links followed on one path
WRITABLE = stat.S_IWGRP | stat.S_IWOTH


def _flags(*names: str) -> int:
    """Flags of `open`; systems without them have another implementation (systems.py)."""
    return sum(getattr(os, name, 0) for name in names)


_FOLDER = _flags("O_RDONLY", "O_DIRECTORY", "O_CLOEXEC")
# a folder above may be passed through without being readable
_STEP = _FOLDER | _flags("O_PATH", "O_NOFOLLOW")
# a pipe must not make us wait
_FILE = _flags("O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC")
_NEW = _flags("O_WRONLY", "O_CREAT", "O_EXCL", "O_NOFOLLOW", "O_CLOEXEC")


class Distrusted(OSError):
    """Somebody else may have written here; says where, and why."""


class Folder(Protocol):
    """An open folder that only this user can write; everything raises OSError."""

    def read(self, name: str) -> bytes:
        """A file's content, if only this user can have written it."""

    def write(self, name: str, content: bytes) -> None:
        """Make a file, or put it in place of another: readers see all of it or nothing."""

    def touch(self, name: str) -> None:
        """Used now."""

    def remove(self, name: str) -> None:
        """Remove a file."""

    def entries(self) -> list[tuple[float, int, str]]:
        """When each file was last used, its bytes and its name; leftovers of crashes included."""


class PrivateFolder:
    """A folder by its descriptor: it stays the same folder if its path is replaced."""

    def __init__(self, descriptor: int) -> None:
        self._folder = descriptor

    def read(self, name: str) -> bytes:
        """A file's content, if only this user can have written it."""
        with open(os.open(name, _FILE, dir_fd=self._folder), "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode):
                raise Distrusted(f"{name} is not a plain file")
            _check_private(facts, name)
            return file.read()

    def write(self, name: str, content: bytes) -> None:
        """Make a file, or put it in place of another: readers see all of it or nothing."""
        aside = aside_of(name)
        handle = os.open(aside, _NEW, 0o600, dir_fd=self._folder)
        try:
            with open(handle, "wb") as file:
                file.write(content)
            os.replace(aside, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except BaseException:
            os.unlink(aside, dir_fd=self._folder)
            raise

    def touch(self, name: str) -> None:
        """Used now."""
        os.utime(name, dir_fd=self._folder, follow_symlinks=False)

    def remove(self, name: str) -> None:
        """Remove a file."""
        os.unlink(name, dir_fd=self._folder)

    def entries(self) -> list[tuple[float, int, str]]:
        """When each file was last used, its bytes and its name; leftovers of crashes included."""
        return entries_of(self._folder)


def aside_of(name: str) -> str:
    """A name under which a file is written that will be called `name`."""
    return f".{name}.{os.urandom(8).hex()}"


def entries_of(folder: int | Path) -> list[tuple[float, int, str]]:
    """The plain files of a folder."""
    found = []
    with os.scandir(folder) as files:
        for file in files:
            if file.is_file(follow_symlinks=False):
                facts = file.stat(follow_symlinks=False)
                found.append((facts.st_mtime, facts.st_size, os.fspath(file.name)))
    return found


@contextmanager
def private_folder(path: Path, make: bool = False) -> Iterator[Folder]:
    """A folder that only this user can write, open; OSError if it is not a folder, or missing.

    With `make` the folder, and those above it, are made if they are missing.
    """
    folder, where = _walk(path, make)
    try:
        _check_private(os.fstat(folder), where)
        opened = os.open(".", _FOLDER, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        yield PrivateFolder(opened)
    finally:
        os.close(opened)


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
    """The target of a symbolic link, or None. In a sticky folder its owner counts:
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


# A folder in the user's profile, which Windows itself lets nobody else write.
#
#     with profile_folder(path) as folder:
#         content = folder.read("a.fwc")
#
# Files are named by their paths: Windows has no descriptors of folders, and who owns a file is
# not asked. So the folder must be below the user's home.


class ProfileFolder:
    """A folder by its path."""

    def __init__(self, path: Path) -> None:
        self._folder = path

    def read(self, name: str) -> bytes:
        """A file's content."""
        path = self._folder / name
        if path.is_symlink() or not path.is_file():
            raise OSError(f"{name} is not a plain file")
        return path.read_bytes()

    def write(self, name: str, content: bytes) -> None:
        """Make a file, or put it in place of another: readers see all of it or nothing."""
        aside = self._folder / aside_of(name)
        try:
            aside.write_bytes(content)
            os.replace(aside, self._folder / name)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise

    def touch(self, name: str) -> None:
        """Used now."""
        os.utime(self._folder / name)

    def remove(self, name: str) -> None:
        """Remove a file."""
        (self._folder / name).unlink()

    def entries(self) -> list[tuple[float, int, str]]:
        """When each file was last used, its bytes and its name; leftovers of crashes included."""
        return entries_of(self._folder)


@contextmanager
def profile_folder(path: Path, make: bool = False) -> Iterator[Folder]:
    """A folder below the user's home; OSError if it is elsewhere, or not there."""
    where = path.resolve()
    if not where.is_relative_to(Path.home().resolve()):
        raise Distrusted(f"{where} is outside of your home")
    if make:
        where.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not where.is_dir():
        raise FileNotFoundError(where)
    yield ProfileFolder(where)
