"""The vocabulary of the array language, in reading order: one primitive a file.

What a user calls is often a composition of these, written in `frontend/`: a transpose is a
`generate` that reads its argument with swapped indices.
"""

from flatweave.ops.calls import (
    KERNELS,
    Argument,
    Back,
    Callback,
    CallKernel,
    Custom,
    Inlined,
    KernelProgram,
    Returned,
)
from flatweave.ops.check import Check
from flatweave.ops.concat import Concat
from flatweave.ops.empty import Empty
from flatweave.ops.filter import Filter
from flatweave.ops.fold import Fold
from flatweave.ops.generate import Generate
from flatweave.ops.index import Index
from flatweave.ops.locate import Locate
from flatweave.ops.map import Map
from flatweave.ops.nests.by_row import HOST_BODIES, ByRow
from flatweave.ops.nests.nest import Nest
from flatweave.ops.nests.span import Span
from flatweave.ops.nests.suits import Suits
from flatweave.ops.permute import Permute
from flatweave.ops.radix_sort import RadixSort
from flatweave.ops.reduce import Reduce
from flatweave.ops.reduce_segments import ReduceSegments
from flatweave.ops.reshape import Reshape
from flatweave.ops.scan import Scan
from flatweave.ops.scatter import Scatter
from flatweave.ops.segments import CombineRows, CombineSegments
from flatweave.ops.sort import Sort
from flatweave.ops.sort_row import SortRow, SortRows
from flatweave.ops.sweep import (
    Combine,
    Compact,
    Insert,
    Prefix,
    ScatterReduce,
    ScatterStore,
    Sink,
    SinkOp,
    Store,
    Sweep,
)
from flatweave.ops.weave import InTurn, Weave

__all__ = [
    "HOST_BODIES", "KERNELS", "Argument", "Back", "ByRow", "CallKernel", "Callback", "Check",
    "Combine", "CombineRows", "CombineSegments", "Compact", "Concat", "Custom", "Empty", "Filter",
    "Fold", "Generate", "Index", "InTurn", "Inlined", "Insert", "KernelProgram", "Locate", "Map",
    "Nest", "Permute", "Prefix", "RadixSort", "Reduce", "ReduceSegments", "Reshape", "Returned",
    "Scan", "Scatter", "ScatterReduce", "ScatterStore", "Sink", "SinkOp", "Sort", "SortRow",
    "SortRows", "Span", "Store", "Suits", "Sweep", "Weave",
]  # fmt: skip
