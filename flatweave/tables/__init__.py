"""Tables: missing values, groups, joins, windows, recurrences and the verbs of ragged data.

Everything here uses only public names of the package (`import flatweave as fw`), and is
imported when the first of its names is asked for (`runtime/lazy_import.py`).
"""

from flatweave.tables import missing as missing
from flatweave.tables import verbs as verbs
from flatweave.tables.groups import Groups, group_by
from flatweave.tables.intervals import nearest, neighbors, overlaps
from flatweave.tables.joins import Join, join, join_asof
from flatweave.tables.nullable import Nullable, is_none
from flatweave.tables.numbering import (
    n_unique,
    run_lengths,
    segment_max,
    segment_min,
    segment_prod,
    segment_sum,
    value_counts,
)
from flatweave.tables.recurrence import recurrence
from flatweave.tables.selection import (
    argpartition,
    changed,
    cummax,
    cummin,
    lexsort,
    logsumexp,
    rank,
    softmax,
    top_k,
)
from flatweave.tables.verbs import rolling, rolling_by, slices, unflatten

__all__ = [
    "Groups", "Join", "Nullable", "argpartition", "changed", "cummax", "cummin", "group_by",
    "is_none", "join", "join_asof", "lexsort", "logsumexp", "n_unique", "nearest", "neighbors",
    "overlaps", "rank", "recurrence", "rolling", "rolling_by", "run_lengths", "segment_max",
    "segment_min", "segment_prod", "segment_sum", "slices", "softmax", "top_k", "unflatten",
    "value_counts",
]  # fmt: skip
