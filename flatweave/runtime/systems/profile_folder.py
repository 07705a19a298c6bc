"""A folder in the user's profile, which Windows itself lets nobody else write.

    with profile_folder(path) as folder:
        content = folder.read("a.fwc")

Files are named by their paths: Windows has no descriptors of folders, and who owns a file is not
asked. So the folder must be below the user's home.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flatweave.runtime.systems.trust import Distrusted, Folder, aside_of, entries_of


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
