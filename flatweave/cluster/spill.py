"""Results within a bound on memory: those beyond it go to files, which go when nobody has them."""

from __future__ import annotations

import os
import tempfile
import weakref
from typing import Any

import numpy as np

from flatweave.cluster.sources.npy import opened_npy
from flatweave.cluster.sources.stored import Region, Stored
from flatweave.frontend.values.chunked import Held, Piece

Values = np.ndarray[Any, np.dtype[Any]]


class Spilled(Stored):
    """Rows in a file of our own, which is removed with the last one who knows of them."""

    def __init__(self, path: str) -> None:
        found = opened_npy(path)
        super().__init__([Region(found.file, 0, found.rows)])
        weakref.finalize(self, _remove, path)


class Store:
    """Keeps results: up to so many bytes in memory, the others in a folder."""

    def __init__(self, most: int, folder: str | None = None) -> None:
        self.most = most
        self.held = 0
        self._folder = folder
        self._own: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0

    def keep(self, values: Values) -> Piece:
        """A result as a piece."""
        if self.held + values.nbytes <= self.most:
            piece = Held(values)
            self.held += values.nbytes
            weakref.finalize(piece, self._freed, values.nbytes)
            return piece
        path = os.path.join(self._place(), f"{self._count}.npy")
        self._count += 1
        np.save(path, values)
        return Spilled(path)

    def _freed(self, count: int) -> None:
        self.held -= count

    def _place(self) -> str:
        """The folder for results; pieces in it may outlive this store."""
        if self._own is None:
            self._own = tempfile.TemporaryDirectory(
                prefix="flatweave-", dir=self._folder, ignore_cleanup_errors=True
            )
        return self._own.name


def _remove(path: str) -> None:
    if os.path.exists(path):
        os.unlink(path)
