"""Columns of Parquet files: whole row groups are read, of them the columns that are needed."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from flatweave.base.records import record
from flatweave.cluster.sources.arrow import Kinds, bytes_of, columns_of, ends_of, pyarrow, reached
from flatweave.cluster.sources.paths import stamp
from flatweave.cluster.sources.stored import Opened

FOOTERS = 1024
"""Footers that are kept; each is read once, not for every chunk."""


@record(eq=True)
class Parquet:
    """A Parquet file as it was when it was opened."""

    path: str
    stamp: tuple[Any, ...]

    def read(self, columns: Sequence[str], begin: int, end: int) -> list[Any]:
        """Rows of some columns; of a row group every row is decoded."""
        footer, ends = _footer(self)
        groups, first = reached(ends, begin, end)
        with (
            bytes_of(self.path) as source,
            pyarrow(self.path).parquet.ParquetFile(source, metadata=footer) as file,
        ):
            table = file.read_row_groups(list(groups), columns=list(columns), use_threads=True)
        return columns_of(table.slice(begin - first, end - begin), columns, self.path, begin)


def opened_parquet(name: str) -> Opened:
    """The columns of a file, from its footer; pieces end where row groups do."""
    file = Parquet(name, stamp(name))
    footer, ends = _footer(file)
    kinds = Kinds(footer.schema.to_arrow_schema(), name)

    def width(column: str) -> int:
        groups = map(footer.row_group, range(footer.num_row_groups))
        parts = [group.column(k) for group in groups for k in range(group.num_columns)]
        own = [each for each in parts if each.path_in_schema.split(".")[0] == column]
        return int(sum(each.total_uncompressed_size for each in own) // max(footer.num_rows, 1))

    return Opened(file, footer.num_rows, kinds, lambda rows: ends, width)


@functools.lru_cache(maxsize=FOOTERS)
def _footer(file: Parquet) -> tuple[Any, tuple[int, ...]]:
    """A file's metadata, and where its row groups end."""
    with bytes_of(file.path) as source:
        footer = pyarrow(file.path).parquet.read_metadata(source)
    return footer, ends_of(footer.row_group(k).num_rows for k in range(footer.num_row_groups))
