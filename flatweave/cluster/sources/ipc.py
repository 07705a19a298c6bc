"""Columns of Arrow's own files (`.arrow`, `.feather`): record batches are read, of them the
columns that are needed."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from flatweave.base.records import record
from flatweave.cluster.sources.arrow import Kinds, bytes_of, columns_of, ends_of, pyarrow, reached
from flatweave.cluster.sources.paths import stamp
from flatweave.cluster.sources.stored import Opened


@record(eq=True)
class ArrowFile:
    """A file of record batches as it was when it was opened."""

    path: str
    stamp: tuple[Any, ...]

    def read(self, columns: Sequence[str], begin: int, end: int) -> list[Any]:
        """Rows of some columns; of a record batch every row is read."""
        schema, ends = _batches(self)
        batches, first = reached(ends, begin, end)
        pa = pyarrow(self.path)
        wanted = sorted(schema.get_field_index(name) for name in columns)
        options = pa.ipc.IpcReadOptions(included_fields=wanted)
        with (
            bytes_of(self.path) as source,
            pa.ipc.open_file(source, options=options) as reader,
        ):
            found = [reader.get_batch(k) for k in batches]
            table = pa.Table.from_batches(found, schema=pa.schema([schema[k] for k in wanted]))
        return columns_of(table.slice(begin - first, end - begin), columns, self.path, begin)


def opened_ipc(name: str) -> Opened:
    """The columns of a file; pieces end where record batches do."""
    file = ArrowFile(name, stamp(name))
    schema, ends = _batches(file)
    rows = ends[-1] if ends else 0
    with bytes_of(name) as source:
        width = source.size() // max(rows, 1)
    return Opened(file, rows, Kinds(schema, name), lambda each: ends, lambda column: width)


@functools.lru_cache(maxsize=1024)
def _batches(file: ArrowFile) -> tuple[Any, tuple[int, ...]]:
    """A file's schema, and where its record batches end; nothing of any column is read."""
    pa = pyarrow(file.path)
    with bytes_of(file.path) as source, pa.ipc.open_file(source) as whole:
        schema = whole.schema
    options = pa.ipc.IpcReadOptions(included_fields=[0])
    with bytes_of(file.path) as source, pa.ipc.open_file(source, options=options) as reader:
        lengths = [reader.get_batch(k).num_rows for k in range(reader.num_record_batches)]
    return schema, ends_of(lengths)
