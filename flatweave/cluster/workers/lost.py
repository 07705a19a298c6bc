"""What goes wrong on a cluster, as the user's errors: faults of chunks, and what was lost."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import NamedTuple

from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from flatweave.array_ir.fault import Fault
from flatweave.array_ir.syntax import Program
from flatweave.base import pretty
from flatweave.base.errors import DeviceError
from flatweave.base.source import user_location
from flatweave.cluster.place import Chunk, ChunkFailed
from flatweave.cluster.workers import remote
from flatweave.terms.traverse import walk_lets

__all__ = [
    "LOST", "Begun", "KilledWorker", "failed_in", "with_others", "without_scheduler",
    "without_workers",
]  # fmt: skip
LOST = (CancelledError, CommClosedError)
"""What Dask says where a scheduler is lost, of tasks and of connections."""


class Begun(NamedTuple):
    """What a task runs: a program, or a function of ours, on a chunk, which takes arrays of so many
    bytes."""

    program: Program | None
    chunk: Chunk
    takes: tuple[tuple[str, int], ...]


def failed_in(begun: Begun, failed: remote.Failed) -> ChunkFailed:
    """A worker's fault, at the line of the let with this number."""
    fault = Fault(*failed.facts)
    lines = [let.where for let in walk_lets(begun.program.fn)] if begun.program else []
    if 0 <= failed.line < len(lines):
        fault.where = lines[failed.line]
    return ChunkFailed(fault, begun.chunk)


def without_workers(begun: Sequence[Begun], count: int) -> DeviceError:
    """Every worker that began a task, of these chunks, was lost with it; of one that asks something
    of files no chunk is known."""
    takes = pretty.listed(
        [
            f"{name.rsplit('_', 1)[0]}, {pretty.size(size)}"
            for each in begun[:1] for name, size in each.takes
        ]
    )  # fmt: skip
    lost = f"{count} workers were lost one after the other while they"
    return DeviceError(
        f"{'a worker was lost while it' if count == 1 else lost} computed one"
        f" chunk{f' of {takes}' if takes else ''}.",
        where=user_location(), origins=[str(each.chunk) for each in begun],
        remedy="If it was memory: cut the array into chunks of fewer rows, or give workers more"
        " (memory_limit). The logs of the workers say what it was.",
    )  # fmt: skip


def without_scheduler() -> DeviceError:
    """Nobody knows of the tasks any more."""
    return DeviceError(
        "the connection to the cluster's scheduler is lost, and with it what was computed there.",
        where=user_location(),
        remedy="Connect anew, client = Client(address), and call the function again.",
    )


def with_others(versions: tuple[str, int]) -> DeviceError:
    """A worker has another Flatweave than this process."""
    (theirs, form), (mine, own) = versions, remote.VERSIONS
    return DeviceError(
        f"a worker has flatweave {theirs}, with programs of form {form}; this process has"
        f" {mine}, with form {own}.",
        where=user_location(), remedy="Install the same version for the workers and here.",
    )  # fmt: skip
