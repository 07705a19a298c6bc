"""Parquet and Arrow: a folder with a file for each chunk, which libraries take for one table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from flatweave.base.records import record
from flatweave.cluster.sinks.disks import removed
from flatweave.cluster.sinks.npy import partial
from flatweave.cluster.sinks.sink import Columns
from flatweave.cluster.sources.arrow import pyarrow
from flatweave.cluster.sources.paths import filesystem
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.values.chunked import Values


@record
class Tables:
    """A folder; `kind` is how the names of its files end."""

    path: str
    ends: Sequence[int]
    names: tuple[str, ...]
    kind: str

    def write(self, number: int, begin: int, *columns: Values | Ragged) -> None:
        """A file of its own: row group or record batch, whole or not at all."""
        pa = pyarrow(self.path)
        table = pa.table(
            {key: _column(pa, xs) for key, xs in zip(self.names, columns, strict=True)}
        )
        path = self._name(number)
        if "://" in path:
            with filesystem(path).open(path, "wb") as file:
                self._written(pa, table, file)
            return
        own = partial(f"{path}.{os.getpid()}")  # a task may run twice, at the same time
        try:
            self._written(pa, table, own)
            os.replace(own, path)
        except BaseException:
            removed([own])
            raise

    def finish(self) -> None:
        """Every file is complete."""

    def abandon(self) -> None:
        """The files, and the folder, if nothing else is in it."""
        removed(map(self._name, range(len(self.ends))))
        if "://" not in self.path:
            with suppress(OSError):
                os.rmdir(self.path)

    def _name(self, number: int) -> str:
        return f"{self.path}/part-{number:05}.{self.kind}"

    def _written(self, pa: Any, table: Any, where: Any) -> None:
        if self.kind == "parquet":
            pa.parquet.write_table(table, where, row_group_size=max(len(table), 1))
            return
        with pa.ipc.new_file(where, table.schema) as writer:
            writer.write_table(table)


def parquet_folder(path: str, columns: Columns) -> Tables:
    """A folder of Parquet files."""
    return _folder(path, columns, "parquet")


def arrow_folder(path: str, columns: Columns) -> Tables:
    """A folder of Arrow files."""
    return _folder(path, columns, "arrow")


def _folder(path: str, columns: Columns, kind: str) -> Tables:
    pyarrow(path)
    if "://" in path:
        filesystem(path).makedirs(path, exist_ok=True)
    else:
        os.makedirs(path, exist_ok=True)
    return Tables(path, columns.ends, tuple(columns.kinds), kind)


def _column(pa: Any, values: Values | Ragged) -> Any:
    """A Ragged as a column of lists, an array as one of numbers: axes behind the first are lists of
    a fixed size."""
    if isinstance(values, Ragged):
        return values.to_arrow()
    found = pa.array(values.reshape(-1))
    for extent in values.shape[:0:-1]:
        found = pa.FixedSizeListArray.from_arrays(found, extent)
    return found
