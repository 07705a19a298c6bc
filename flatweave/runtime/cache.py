"""Compiled artifacts on disk, and what their keys hold besides a program's trace."""

from __future__ import annotations

import functools
import hashlib
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from importlib.machinery import PathFinder
from pathlib import Path

import numpy as np

from flatweave.base.config import config
from flatweave.base.locks import Lock
from flatweave.runtime.lazy_import import opened
from flatweave.runtime.systems import system
from flatweave.runtime.trusted_files import Distrusted, Folder

# Compiled artifacts on disk: a folder of files, one per key, bounded and shared by processes.
#
#     cache.put(key, artifact)         # written, then renamed: readers see all of it or nothing
#     cache.get(key)  ==>  artifact    # or None: absent, damaged, of another key or format
#
# What is read here is executed. So nothing is read, or written, where another user could have
# written it (trusted_files.py); then, as without a folder to write to, everything is compiled
# anew. Nothing here raises.


LIMIT = 256 * 2**20  # bytes
MAGIC = b"flatweave artifact 2\n"
DIGEST_BYTES = 32
SUFFIX = ".fwc"
EVICT_EVERY = 64  # writes of one process between two looks at the size of the folder



class DiskCache:
    """A folder of artifacts; the ones unused for longest go when there are too many bytes."""

    content = "compiled code"
    instead = "It is compiled anew."

    def __init__(
        self, folder: Path, limit: int = LIMIT,
        opened: Callable[[Path, bool], AbstractContextManager[Folder]] | None = None,
    ) -> None:  # fmt: skip
        self.folder = folder
        self.limit = limit
        self._opened = opened or system().folder
        self._writes = 0
        self._is_writable = True
        self._has_warned = False

    def get(self, key: str) -> bytes | None:
        """What was put under `key`, or None."""
        name = key + SUFFIX
        try:
            with self._opened(self.folder, False) as folder:
                try:
                    payload = unseal(key, folder.read(name))
                except Distrusted as reason:
                    self._distrust(reason)
                    payload = None
                if payload is None:
                    folder.remove(name)
                    return None
                with suppress(OSError):  # a read-only folder
                    folder.touch(name)
                return payload
        except Distrusted as reason:
            self._distrust(reason)
        except OSError:
            pass  # it is not there, or another process was first
        return None

    def put(self, key: str, payload: bytes) -> bool:
        """Store `payload` under `key`, or do without; whether it is stored."""
        if not self._is_writable:
            return False
        try:
            with self._opened(self.folder, True) as folder:
                folder.write(key + SUFFIX, seal(key, payload))
        except Distrusted as reason:
            self._distrust(reason)
            return False
        except OSError as failure:
            self._is_writable = False
            log = opened("logging").getLogger(__name__)
            log.debug("%s: not stored in %s: %s", self.content, self.folder, failure)
            return False
        if self._writes % EVICT_EVERY == 0 or len(payload) > self.limit // EVICT_EVERY:
            self.evict()
        self._writes += 1
        return True

    def drop(self, key: str) -> None:
        """Forget what was put under `key`: it turned out to be of no use."""
        try:
            with self._opened(self.folder, False) as folder:
                folder.remove(key + SUFFIX)
        except OSError:
            pass

    def usage(self) -> tuple[int, int]:
        """How many artifacts there are, and their bytes in all."""
        sizes: list[int] = []
        with suppress(OSError), self._opened(self.folder, False) as folder:
            sizes += (size for _, size, name in folder.entries() if SUFFIX in name)
        return len(sizes), sum(sizes)

    def clear(self) -> int:
        """Remove all artifacts; how many there were. Programs that run keep what they have."""
        removed = 0
        with suppress(OSError), self._opened(self.folder, False) as folder:
            for _, _, name in folder.entries():
                if SUFFIX in name:
                    with suppress(OSError):
                        folder.remove(name)
                        removed += 1
        return removed

    def evict(self) -> None:
        """Remove the artifacts unused for longest until three quarters of the limit are left."""
        try:
            with self._opened(self.folder, False) as folder:
                self._evict(folder)
        except OSError:
            pass  # the folder or a file went away meanwhile

    def _evict(self, folder: Folder) -> None:
        entries = sorted(folder.entries())
        total = sum(size for _, size, _ in entries)
        if total <= self.limit:
            return
        for _, size, name in entries:
            if total <= self.limit * 3 // 4:
                return
            try:
                folder.remove(name)
            except OSError:
                continue
            total -= size

    def _distrust(self, reason: Distrusted) -> None:
        """Warn once that stored code is not used, and why."""
        with _SAYING:
            if self._has_warned:
                return
            self._has_warned = True
        warnings.warn(
            f"{self.content} kept in {self.folder} is not used: {reason}, so that it could be"
            f" somebody else's. {self.instead} See docs/errors.md#compiled-code-on-disk.",
            RuntimeWarning, stacklevel=2,
        )  # fmt: skip


class NoCache(DiskCache):
    """What stands for a cache when it is switched off."""

    def __init__(self) -> None:
        super().__init__(Path())

    def get(self, key: str) -> bytes | None:
        """None: everything is compiled anew."""
        return None

    def put(self, key: str, payload: bytes) -> bool:
        """Forget it."""
        return False

    def drop(self, key: str) -> None:
        """There is nothing to forget."""

    def usage(self) -> tuple[int, int]:
        """Nothing is there."""
        return 0, 0

    def clear(self) -> int:
        """There is nothing to remove."""
        return 0


def seal(key: str, payload: bytes) -> bytes:
    """payload  ==>  magic, checksum of key and payload, payload"""
    return MAGIC + _checksum(key, payload) + payload


def unseal(key: str, content: bytes) -> bytes | None:
    """The payload, or None if a byte is missing or wrong, or it belongs to another key."""
    start = len(MAGIC) + DIGEST_BYTES
    payload = content[start:]
    return payload if content == seal(key, payload) else None


def _checksum(key: str, payload: bytes) -> bytes:
    digest = hashlib.sha256(f"{len(key)} {key} ".encode())
    digest.update(payload)
    return digest.digest()


def default_folder() -> Path:
    """Where this platform keeps what can be made again."""
    base = os.path.expandvars(system().cache_variable)
    if not os.path.isabs(base):  # unset, or relative, which its specification says to ignore
        base = system().cache_place
    return Path(base).expanduser() / "flatweave"


@functools.cache
def _default_cache() -> DiskCache:
    return DiskCache(default_folder())


def process_cache() -> DiskCache:
    """The cache in force: the default folder, or none under `no_cache`."""
    return NO_CACHE if config.no_cache else _default_cache()


NO_CACHE = NoCache()
_SAYING = Lock()


# What a compiled program depends on besides its trace, known without importing the compiler.
#
#     facts()     ==>     sources of Flatweave, LLVM's library, CPU, C library, Python, NumPy
#
# Sources are identified by names, sizes and times, not by content: reading all of them would take
# longer than what is saved. What is compiled after files have changed since Flatweave was imported,
# partly by other code then, is neither recalled nor kept (`is_current`): the system sets the time
# of the last change of a file itself (ctime).


PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# what Linux knows of the kind of CPU: vendor, family, model and the number of each feature
CPU_FACTS = "/sys/devices/system/cpu/modalias"
CODE = (".py", ".ll", ".so")


@functools.cache
def facts() -> str:
    """All facts, as a text that is part of a key; "" if one is unknown, or if no
    image could be mapped."""
    if not system().has_images:
        return ""
    compiler = PathFinder.find_spec("llvmlite")
    sources = _sources()
    if compiler is None or not compiler.submodule_search_locations or not sources:
        return ""
    try:
        cpu = kind_of_cpu()
        llvm = "\n".join(state for path in compiler.submodule_search_locations
                         for state in _states(path))  # fmt: skip
        c_library = os.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):
        return ""
    return "\n".join([sources, _digest(llvm), cpu, str(c_library), sys.version, np.__version__])


def name_on_disk(*texts: str) -> str:
    """The name on disk of something that depends on these texts and on all facts."""
    return hashlib.sha256("\0".join([facts(), *texts]).encode()).hexdigest()


def kind_of_cpu() -> str:
    """The CPU of this machine; OSError where the system does not tell."""
    with open(CPU_FACTS, encoding="utf-8") as file:
        return file.read().strip()


def is_current() -> bool:
    """Whether the files of Flatweave are as they were when it was imported."""
    return bool(_sources())


def _sources() -> str:
    """A hash of the names, sizes and times of Flatweave's files; "" where there are no files, or
    where one has changed since Flatweave was imported."""
    try:
        return _digest("\n".join(_states(PACKAGE, _IMPORTED_NS)))
    except OSError:
        return ""


def _states(folder: str, latest: float = math.inf) -> Iterator[str]:
    """Each file of code below a folder, and what changes when it does; OSError where that was
    later than `latest`."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir():
                yield from _states(entry.path, latest)
            elif entry.name.endswith(CODE):
                state = entry.stat()
                if state.st_ctime_ns > latest:
                    raise OSError(f"{entry.path} has changed")
                times = f"{state.st_mtime_ns} {state.st_ctime_ns}"
                yield f"{entry.path} {state.st_size} {times}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


_IMPORTED_NS = time.time_ns()
"""When Flatweave was imported."""

