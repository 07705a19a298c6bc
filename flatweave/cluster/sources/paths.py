"""Files by name: a path, a list of them, a folder, a pattern with `*`; with `://`, by fsspec.

    names_of("logs/*.csv")          the files, by name; a folder that is an array is one of these
    opened("s3://bucket/a.npy")     a file to read, wherever it is
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from typing import Any

from flatweave.base.errors import ArgumentError, Unsupported, UserError
from flatweave.cluster.sources.memory import room
from flatweave.frontend.values.chunked import Values

FOLDERS = ("zarr.json", ".zarray", ".zgroup")
"""What is in a folder that is one array, or one group of arrays."""


def names_of(path: Any) -> list[str]:
    """The names of all files that are meant, in the order of the array; raises ArgumentError."""
    if isinstance(path, str | os.PathLike):
        found = _expanded(os.fspath(path))
    elif isinstance(path, Iterable) and not isinstance(path, bytes):
        found = [name for each in path for name in _expanded(os.fspath(each))]
    else:
        raise ArgumentError(
            f"Chunked.open takes a path or a list of paths, got {type(path).__name__}.",
            remedy="An array in memory is cut by fw.Chunked.cut(xs, rows).",
        )
    if not found:
        raise ArgumentError(
            f"Chunked.open found no file for {path!r}.",
            remedy="A folder, or a pattern such as ticks/*.parquet, must have files in it.",
        )
    return found


def opened(name: str) -> Any:
    """A file, to read bytes of it."""
    return filesystem(name).open(name, "rb") if "://" in name else open(name, "rb", buffering=0)


def read_bytes(name: str, begin: int, count: int) -> Values:
    """Bytes of a file from some place on, fewer where it ends."""
    with opened(name) as file:
        file.seek(begin)
        found, done = room(count), 0
        while done < count and (more := file.readinto(found[done:])):
            done += more
    return found[:done]


def read_at(name: str, places: Values, count: int) -> Values:
    """So many bytes of a file from each of some places on, one after the other. The system is told
    of all places first, so that it reads from a disk several at a time."""
    found = room(len(places) * count)
    with opened(name) as file:
        if "://" not in name and hasattr(os, "posix_fadvise"):
            for place in places.tolist():
                os.posix_fadvise(file.fileno(), place, count, os.POSIX_FADV_WILLNEED)
        for k, place in enumerate(places.tolist()):
            file.seek(place)
            if file.readinto(found[k * count : (k + 1) * count]) < count:
                raise ArgumentError(
                    f"{name} ends before byte {place + count}, which it had when it was opened.",
                    remedy="Open it again with fw.Chunked.open.",
                )
    return found


def is_folder(name: str) -> bool:
    """Whether a name is that of a folder."""
    return bool(filesystem(name).isdir(name)) if "://" in name else os.path.isdir(name)


def stamp(name: str) -> tuple[Any, ...]:
    """What differs once a file has been written anew, as far as its system tells."""
    if "://" in name:
        known = filesystem(name).info(name)
        return tuple(str(known.get(key)) for key in ("size", "mtime", "LastModified", "etag"))
    status = os.stat(name)
    return (status.st_size, status.st_mtime_ns)


def missing(what: str, package: str, failure: ImportError, extra: str = "files") -> UserError:
    """The error for a library that is not there."""
    return Unsupported(
        f"{what} needs {package}: {failure}.",
        remedy=f"Install it with pip install 'flatweave[{extra}]'.",
    )


def _expanded(name: str) -> list[str]:
    """What one name stands for; what is hidden, or begins with _, is no part of a folder."""
    if "://" in name:
        return _expanded_by_fsspec(name)
    name = os.path.abspath(name)
    if "*" in name and not os.path.exists(name):
        return sorted(glob.glob(name, recursive=True))
    if not os.path.isdir(name) or _is_array(name, os.listdir(name)):
        return [name]
    inside = [os.path.join(name, each) for each in sorted(os.listdir(name)) if each[0] not in "._"]
    return [found for each in inside for found in _expanded(each)]


def _expanded_by_fsspec(name: str) -> list[str]:
    system = filesystem(name)
    if "*" in name:
        return [system.unstrip_protocol(each) for each in sorted(system.glob(name))]
    if not system.isdir(name):
        return [name]
    inside = sorted(system.ls(name, detail=False))
    if _is_array(name, [each.rsplit("/", 1)[-1] for each in inside]):
        return [name]
    shown = [each for each in inside if each.rsplit("/", 1)[-1][0] not in "._"]
    return [found for each in shown for found in _expanded(system.unstrip_protocol(each))]


def _is_array(name: str, inside: Iterable[str]) -> bool:
    return name.rstrip("/").endswith(".zarr") or any(each in FOLDERS for each in inside)


def filesystem(name: str) -> Any:
    """What fsspec has for a name with ://."""
    try:
        import fsspec  # optional dependency
    except ImportError as failure:
        raise missing(name, "fsspec", failure) from None
    return fsspec.core.url_to_fs(name)[0]
