"""An array in chunks as a Dask array: its chunks are Dask's, wherever they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from flatweave.cluster.sources.blocks import Block, dask
from flatweave.cluster.sources.paths import missing
from flatweave.cluster.workers import remote
from flatweave.cluster.workers.tasks import Remote
from flatweave.frontend.values.chunked import Chunked, Held, Piece, Several, Values


def to_dask(xs: Chunked) -> Any:
    """What is on workers stays there, what is in files is read by whoever computes."""
    try:
        import dask.array as arrays  # optional dependency
    except ImportError as failure:
        raise missing("a Dask array", "dask", failure, "cluster") from None
    blocks = [
        arrays.from_delayed(_delayed(piece), (piece.rows, *xs.row), xs.dtype) for piece in xs.pieces
    ]
    empty = arrays.from_array(np.empty((0, *xs.row), xs.dtype))
    return arrays.concatenate(blocks) if blocks else empty


def _delayed(piece: Piece) -> Any:
    """The rows of a piece, as Dask computes them later."""
    delayed = dask().delayed
    match piece:
        case Remote(task=task):
            return delayed(remote.part)(task.future, task.number, 0, piece.rows)
        case Block(blocks=blocks, number=number):
            return delayed(blocks.blocks[number])
        case Held(values=values):
            return delayed(values)
        case Several(parts=parts):
            found = [delayed(_rows)(_delayed(part), *ends) for part, *ends in parts]
            return delayed(np.concatenate)(found)
        case _:
            return delayed(_loaded)(piece)


def _rows(values: Values, begin: int, end: int) -> Values:
    return values[begin:end]


def _loaded(piece: Piece) -> Values:
    return piece.load(0, piece.rows)
