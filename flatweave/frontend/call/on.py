"""fw.on: where functions that are given arrays in chunks run.

    with fw.on(client): mean(ticks)        on the workers of a dask.distributed client
    mean(ticks)                            here, one chunk after the other
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any

from flatweave.base.errors import ArgumentError
from flatweave.base.source import user_location
from flatweave.frontend.values.array import kind_of
from flatweave.runtime.door import opened

PLACE: ContextVar[Any] = ContextVar("place", default=None)
"""Where chunks are computed; None: in this process."""


def on(client: Any) -> AbstractContextManager[None]:
    """Within it, functions that are given `Chunked` arrays run on the workers of a cluster.

    `client` is one of `dask.distributed`, of the extra `flatweave[cluster]`; what is given no
    `Chunked` runs in this process as ever. Types: a client `->` what `with` takes.
    Raises ArgumentError for anything else.

        >>> client = SomeCluster().client                                # doctest: +SKIP
        >>> with fw.on(client): total(fw.Chunked.open("ticks.npy"))      # doctest: +SKIP
        Array(499500.0, dtype=float64)
    """
    if not all(hasattr(client, name) for name in ("submit", "scatter", "gather")):
        raise ArgumentError(
            f"on needs a client of dask.distributed, got {kind_of(client)}.",
            where=user_location(),
            remedy="Make one: from distributed import Client; client = Client().",
        )
    return _at(opened("dask").OnDask(client))


@contextlib.contextmanager
def _at(place: Any) -> Iterator[None]:
    token = PLACE.set(place)
    try:
        yield
    finally:
        PLACE.reset(token)
