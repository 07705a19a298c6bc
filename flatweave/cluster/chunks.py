"""A function that is given arrays in chunks: divided once for each signature, then driven."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flatweave.array_ir.fault import Fault
from flatweave.base.errors import UserError
from flatweave.base.source import user_location
from flatweave.cluster.divide import divide
from flatweave.cluster.drive import results_of
from flatweave.cluster.here import here
from flatweave.cluster.place import ChunkFailed
from flatweave.frontend.call.compiled import owned
from flatweave.frontend.call.on import PLACE
from flatweave.frontend.ragged.chunked import chunked_tree
from flatweave.frontend.trace.faults import user_error
from flatweave.frontend.trace.trace import Traced
from flatweave.frontend.values.chunked import Chunked
from flatweave.frontend.values.tree import unflatten


class InChunks:
    """One signature of a function some of whose arguments are in chunks."""

    def __init__(self, traced: Traced, split: Sequence[int]) -> None:
        self.traced = traced
        self.divided = divide(traced.program, split)
        self._tree = chunked_tree(traced.tree)

    def __call__(self, flat: list[Any]) -> Any:
        """The results, what goes row by row in chunks; raises the user's error."""
        place = PLACE.get() or here()
        args = [*flat, *self.traced.hidden]
        try:
            results = results_of(self.divided, place, args)
            place.finish([p for x in results if isinstance(x, Chunked) for p in x.pieces])
        except Fault as fault:
            raise user_error(fault) from None
        except ChunkFailed as failed:
            raise _told(failed) from None
        except UserError as error:
            error.where = error.where or user_location()  # files are read by other threads
            raise
        leaves = [x if isinstance(x, Chunked) else owned(x, args, self) for x in results]
        return unflatten(self._tree, leaves)

    @property
    def tree(self) -> Any:
        """The tree of the results."""
        return self.traced.tree

    def told(self, fault: Fault) -> UserError:
        """The user's error for a fault."""
        return user_error(fault)


def _told(failed: ChunkFailed) -> UserError:
    """The error of the whole call: elements are counted from its first row."""
    fault = failed.fault
    if fault.index >= 0:
        fault.index += failed.chunk.begin
    error = user_error(fault)
    return type(error)(
        error.message, where=error.where, origins=[*error.origins, str(failed.chunk)],
        remedy=error.remedy,
    )  # fmt: skip


