"""The vocabulary of the array language, by what its operations do.

Public functions are often compositions of these, in `frontend/`: a transpose is a
`generate` that reads its argument with swapped indices.
"""

from flatweave.ops.arrays import (
    Concat,
    Empty,
    Generate,
    Index,
    InTurn,
    Map,
    PackBits,
    Reshape,
    StoreBits,
    Weave,
)
from flatweave.ops.calls import (
    KERNELS,
    Argument,
    Back,
    Callback,
    CallKernel,
    Check,
    Custom,
    Inlined,
    KernelProgram,
    Returned,
)
from flatweave.ops.folds import (
    CombineRows,
    CombineSegments,
    Filter,
    Fold,
    Locate,
    Reduce,
    ReduceSegments,
    Scan,
)
from flatweave.ops.nests import HOST_BODIES, ByRow, Nest, Span, Suits
from flatweave.ops.sweep import Combine, Compact, Prefix, Sink, SinkOp, Store, Sweep
from flatweave.ops.writes import (
    Insert,
    Permute,
    RadixSort,
    Scatter,
    ScatterReduce,
    ScatterStore,
    Sort,
    SortRow,
    SortRows,
)

__all__ = [
    "HOST_BODIES", "KERNELS", "Argument", "Back", "ByRow", "CallKernel", "Callback", "Check",
    "Combine", "CombineRows", "CombineSegments", "Compact", "Concat", "Custom", "Empty", "Filter",
    "Fold", "Generate", "Index", "InTurn", "Inlined", "Insert", "KernelProgram", "Locate", "Map",
    "Nest", "PackBits", "Permute", "Prefix", "RadixSort", "Reduce", "ReduceSegments", "Reshape",
    "Returned", "Scan", "Scatter", "ScatterReduce", "ScatterStore", "Sink", "SinkOp", "Sort",
    "SortRow", "SortRows", "Span", "Store", "StoreBits", "Suits", "Sweep", "Weave",
]  # fmt: skip
