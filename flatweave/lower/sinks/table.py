"""The sinks of the array language, and what each is lowered by."""

from __future__ import annotations

from collections.abc import Mapping

from flatweave import ops
from flatweave.lower.sinks.combine import CombineSink
from flatweave.lower.sinks.combine_rows import CombineRowsSink
from flatweave.lower.sinks.combine_segments import CombineSegmentsSink
from flatweave.lower.sinks.compact import CompactSink
from flatweave.lower.sinks.in_turn import InTurnSink
from flatweave.lower.sinks.insert import InsertSink
from flatweave.lower.sinks.scatter import ScatterSink
from flatweave.lower.sinks.scatter_reduce import ScatterReduceSink
from flatweave.lower.sinks.store import StoreSink
from flatweave.lower.sweep.sink import LoweredSink
from flatweave.ops import Sweep
from flatweave.terms.syntax import Let

SINKS: Mapping[type[ops.Sink], type[LoweredSink]] = {
    ops.Store: StoreSink,
    ops.InTurn: InTurnSink,
    ops.Insert: InsertSink,
    ops.Compact: CompactSink,
    ops.Combine: CombineSink,
    ops.CombineSegments: CombineSegmentsSink,
    ops.CombineRows: CombineRowsSink,
    ops.ScatterStore: ScatterSink,
    ops.ScatterReduce: ScatterReduceSink,
}


def lowered_sinks(op: Sweep, let: Let) -> list[LoweredSink]:
    """The sinks of a sweep on their way to its kernels."""
    groups = zip(op.sinks, op.portions(), op.binders_by_sink(let.vars), strict=True)
    return [
        SINKS[type(sink)](sink, number, taken, vars_)
        for number, (sink, taken, vars_) in enumerate(groups)
    ]
