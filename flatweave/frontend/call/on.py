"""fw.on: where functions that are given arrays in chunks run.

    with fw.on(client): mean(ticks)        on the workers of a dask.distributed client
    mean(ticks)                            here, one chunk after the other
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from os import PathLike
from typing import Any

from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.values.array import kind_of
from flatweave.runtime.door import opened

UNITS = {
    "": 1, **{f"{unit}i": 1 << 10 * k for k, unit in enumerate("KMGT", 1)},
    **{unit: 1000**k for k, unit in enumerate("KMGT", 1)},
}  # fmt: skip
PLACE: ContextVar[Any] = ContextVar("place", default=None)
"""Where chunks are computed; None: in this process."""


def on(
    client: Any = None, *, memory: int | str | None = None,
    folder: str | PathLike[str] | None = None, progress: bool = False,
) -> AbstractContextManager[None]:
    """Within it, functions that are given `Chunked` arrays run there; others run as ever.

    `client` is one of `dask.distributed`, of the extra `flatweave[cluster]`: chunks are computed by
    the workers of its cluster. Without one they are computed here, one after the other, within
    `memory`, a number of bytes or "2 GiB": results of chunks that are more than a quarter of it go
    to files in `folder`. `progress` shows how far a call has come, with a bar for each step, which
    needs rich, on a cluster with Dask's own bar. Types: a client, a size `->` what `with` takes.
    Raises ArgumentError for anything else.

        >>> xs = fw.Chunked.cut(np.arange(9), 4)
        >>> with fw.on(memory="1 GiB"): fw.jit(lambda x: fw.sum(x))(xs)
        Array(36, dtype=int64)
    """
    if client is None:
        return _at(opened("here").Here(memory=_bytes(memory), folder=folder, progress=progress))
    if memory is not None or folder is not None:
        raise ArgumentError(
            "on takes a client, or memory and folder: the memory of workers is bounded by Dask.",
            where=user_location(),
            remedy='Give the cluster its bound: LocalCluster(memory_limit="2 GiB").',
        )
    if not all(hasattr(client, name) for name in ("map", "scatter", "gather")):
        raise ArgumentError(
            f"on needs a client of dask.distributed, got {kind_of(client)}.",
            where=user_location(),
            remedy="Make one: from distributed import Client; client = Client().",
        )
    return _at(opened("dask").OnDask(client, progress=progress))


def _bytes(memory: int | str | None) -> int | None:
    """A size, as a number or as text with a unit."""
    if memory is None:
        return None
    found = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]i?)?B?\s*", str(memory))
    try:
        size = int(float(found[1]) * UNITS[found[2] or ""]) if found else 0
    except ValueError:
        size = 0
    if size < 1:
        raise ArgumentError(
            f"memory of on must be a number of bytes, or a size as text, got {memory!r}.",
            where=user_location(), remedy='For instance memory="2 GiB".',
        )  # fmt: skip
    return size


@contextlib.contextmanager
def _at(place: Any) -> Iterator[None]:
    token = PLACE.set(place)
    try:
        yield
    finally:
        PLACE.reset(token)
        place.end()
