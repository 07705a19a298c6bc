"""Compiled artifacts on disk: a folder of files, one per key, bounded and shared by processes.

    cache.put(key, artifact)         # written aside, then renamed: readers see all of it or nothing
    cache.get(key)  ==>  artifact    # or None: absent, damaged, or written by another format

Nothing here raises: without a folder to write to, everything is compiled anew.
"""

import functools
import hashlib
import logging
import os
import sys
import tempfile
from pathlib import Path

from flatweave.base.config import config

LIMIT = 256 * 2**20  # bytes
MAGIC = b"flatweave artifact 1\n"
DIGEST_BYTES = 32
SUFFIX = ".fwc"
CACHE_HOME = {"win32": "$LOCALAPPDATA", "darwin": ""}
CACHE_FALLBACK = {"win32": "~/AppData/Local", "darwin": "~/Library/Caches"}
EVICT_EVERY = 64  # writes of one process between two looks at the size of the folder

log = logging.getLogger(__name__)


class DiskCache:
    """A folder of artifacts; the ones unused for longest go when there are too many bytes."""

    def __init__(self, folder: Path, limit: int = LIMIT) -> None:
        self.folder = folder
        self.limit = limit
        self._writes = 0
        self._is_writable = True

    def get(self, key: str) -> bytes | None:
        """What was put under `key`, or None."""
        path = self._path(key)
        try:
            content = path.read_bytes()
        except OSError:
            return None
        payload = unseal(content)
        try:
            if payload is None:
                path.unlink()
            else:
                os.utime(path)  # used now: eviction goes by this
        except OSError:
            pass  # a read-only folder, or another process was first
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Store `payload` under `key`, or do without."""
        if not self._is_writable:
            return
        path = self._path(key)
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._write(path, seal(payload))
        except OSError as failure:
            self._is_writable = False
            log.debug("compiled code is not stored in %s: %s", self.folder, failure)
            return
        if self._writes % EVICT_EVERY == 0 or len(payload) > self.limit // EVICT_EVERY:
            self.evict()
        self._writes += 1

    def evict(self) -> None:
        """Remove the artifacts unused for longest until three quarters of the limit are left."""
        entries = sorted(self._entries())
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        for _, size, path in entries:
            if total <= self.limit * 3 // 4:
                return
            try:
                os.unlink(path)
            except OSError:
                continue
            total -= size

    def _entries(self) -> list[tuple[float, int, str]]:
        """When each file was last used, its bytes and its path; leftovers of crashes included."""
        found = []
        try:
            with os.scandir(self.folder) as files:
                for file in files:
                    if file.is_file(follow_symlinks=False):
                        facts = file.stat(follow_symlinks=False)
                        found.append((facts.st_mtime, facts.st_size, file.path))
        except OSError:
            pass  # the folder or a file went away meanwhile
        return found

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{SUFFIX}"

    def _write(self, path: Path, content: bytes) -> None:
        handle, aside = tempfile.mkstemp(dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(aside, path)
        except OSError:
            os.unlink(aside)
            raise


class NoCache(DiskCache):
    """What stands for a cache when it is switched off."""

    def __init__(self) -> None:
        super().__init__(Path())

    def get(self, key: str) -> bytes | None:
        """None: everything is compiled anew."""
        return None

    def put(self, key: str, payload: bytes) -> None:
        """Forget it."""


def seal(payload: bytes) -> bytes:
    """payload  ==>  magic, checksum, payload"""
    return MAGIC + hashlib.sha256(payload).digest() + payload


def unseal(content: bytes) -> bytes | None:
    """The payload, or None if a byte is missing or wrong."""
    start = len(MAGIC) + DIGEST_BYTES
    payload = content[start:]
    if content[:start] != MAGIC + hashlib.sha256(payload).digest():
        return None
    return payload


def default_folder() -> Path:
    """Where this platform keeps what can be made again."""
    base = os.path.expandvars(CACHE_HOME.get(sys.platform, "$XDG_CACHE_HOME"))
    if not os.path.isabs(base):  # unset, or relative, which its specification says to ignore
        base = CACHE_FALLBACK.get(sys.platform, "~/.cache")
    return Path(base).expanduser() / "flatweave"


@functools.cache
def _default_cache() -> DiskCache:
    return DiskCache(default_folder())


def process_cache() -> DiskCache:
    """The cache in force: the default folder, or none under `no_cache`."""
    return NO_CACHE if config.no_cache else _default_cache()


NO_CACHE = NoCache()
