"""fw.on and fw.schedule: where functions of chunks run, and the variants that programs take.

    with fw.on(client): mean(ticks)        on the workers of a dask.distributed client
    mean(ticks)                            here, one chunk after the other
    with fw.schedule(permute="partition"):
        total(idx, vals)                   compiled for it, separately from other calls
    with fw.schedule("sweep t_9 ..."):
        total(idx, vals)                   its sweep t_9 runs by this plan
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from os import PathLike
from typing import Any

from flatweave.base.config import checked, config
from flatweave.base.errors import ArgumentError
from flatweave.base.records import replace
from flatweave.base.schedule import (
    Schedule,
    expand_variant,
    permute_variant,
    plans_of_sweeps,
    tape_bytes,
    version_variant,
)
from flatweave.base.schedule import seq_factor as read_seq_factor
from flatweave.base.source import user_location
from flatweave.frontend.values.array import kind_of
from flatweave.frontend.values.scope import innermost
from flatweave.runtime.lazy_import import opened

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
    the workers of its cluster. Without one they are computed here, in order, within
    `memory`, a number of bytes or "2 GiB": results of chunks that are more than a quarter of it go
    to files in `folder`. `progress` shows how far a call has come, with a bar for each step, which
    needs rich, on a cluster with Dask's own bar. Types: a client, a size `->` what `with` takes.
    Raises ArgumentError for anything else. Source: `dask.distributed.Client`.

        >>> xs = fw.Chunked.cut(np.arange(9), 4)
        >>> with fw.on(memory="1 GiB"): fw.jit(lambda x: fw.sum(x))(xs)
        Array(36, dtype=int64)
    """
    if client is None:
        in_process = opened("here").InProcess
        return _at(in_process(memory=_bytes(memory), folder=folder, progress=progress))
    if memory is not None or folder is not None:
        raise ArgumentError.here(
            "on takes a client, or memory and folder: the memory of workers is bounded by Dask.",
            'Give the cluster its bound: LocalCluster(memory_limit="2 GiB").',
        )
    if not all(hasattr(client, name) for name in ("map", "scatter", "gather")):
        raise ArgumentError.here(
            f"on needs a client of dask.distributed, got {kind_of(client)}.",
            "Make one: from distributed import Client; client = Client().",
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
        raise ArgumentError.here(
            f"memory of on must be a number of bytes, or a size as text, got {memory!r}.",
            'For instance memory="2 GiB".',
        )
    return size


@contextlib.contextmanager
def _at(place: Any) -> Iterator[None]:
    token = PLACE.set(place)
    try:
        yield
    finally:
        PLACE.reset(token)
        place.end()


def schedule(
    text: str | None = None, *, expand: str | None = None, permute: str | None = None,
    version: str | None = None, seq_factor: int | None = None, tape: int | None = None,
) -> AbstractContextManager[None]:  # fmt: skip
    """Force how work is divided inside a `with`, for this thread.

    `expand` is "per-source", "per-warp", "per-block", "16-per-block" (any number) or "balanced"; on
    devices the last two may end in "-search": each lane searches for its source; the
    others may end in "-random", for a pseudo-random order;
    `permute`, which goes for scatter, reduce_by_index and histogram, too, is "owner", "private",
    "partition", "shared", "shared-atomic", "sorted", "atomic" or "cas"; `version` says how
    the rows of a nest are done: "by-row", each from its first step to its last by one thread, or
    "flat", every step for all rows.
    `seq_factor` is how many elements of a block each of its threads takes, on a CPU each lane of a
    step: a small one makes many blocks. None leaves it as it is outside, where sizes decide.
    `tape` is the most bytes of states that the gradient of a loop of the program saves; where there
    are more, it computes states again.
    `text` has plans of sweeps of one program, by name, as `stages(..).text["plan"]` prints them:
    change some of it. What a sweep does not allow is an error with the reason; only functions with
    `deterministic=False` group floats otherwise.
    Raises ArgumentError for other names, and calls raise it for a variant that cannot do them.

    Types: names of variants `->` what `with` takes. Source: Halide's schedules.

        >>> with fw.schedule(permute="owner"): print(fw.histogram(2, [0, 1, 1]))
        [1 2]
    """
    if innermost() is not None:
        raise ArgumentError.here(
            "fw.schedule inside a function that is being compiled: a program has one schedule.",
            "Write the `with` around the call.",
        )
    wished = config.schedule
    try:
        if text is not None:
            checked(plans_of_sweeps, text, f"{text!r:.60}")
            wished = replace(wished, text=plans_of_sweeps(text))
        if expand is not None:
            checked(expand_variant, expand, f"{expand=}")
            wished = replace(wished, expand=expand)
        if permute is not None:
            checked(permute_variant, permute, f"{permute=}")
            wished = replace(wished, permute=permute)
        if version is not None:
            checked(version_variant, version, f"{version=}")
            wished = replace(wished, version=version)
        if seq_factor is not None:
            checked(read_seq_factor, seq_factor, f"{seq_factor=}")
            wished = replace(wished, seq_factor=seq_factor)
        if tape is not None:
            checked(tape_bytes, tape, f"{tape=}")
            wished = replace(wished, tape=tape)
    except ArgumentError as failure:
        failure.where = user_location()
        raise
    return config.scoped(schedule=wished)


def in_force(*, deterministic: bool = True) -> Schedule:
    """The schedule for what is compiled here and now."""
    return replace(config.schedule, deterministic=deterministic)
