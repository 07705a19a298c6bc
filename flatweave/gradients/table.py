"""THE TABLE from operations to rules: each has one in both modes, or a sentence says why not.

    RULES[Map]      Rule(forward=map_forward, reverse=map_reverse)
    NONE["check"]   "It binds nothing."
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

from flatweave.base.errors import Unsupported
from flatweave.base.records import record
from flatweave.gradients import bodies, control, custom, elementwise, folds, loops, moves, reads
from flatweave.gradients.forward import Forward
from flatweave.gradients.reverse import Back, Reverse
from flatweave.ops import (
    Callback,
    CallKernel,
    Concat,
    Custom,
    Filter,
    Generate,
    Index,
    Map,
    Nest,
    Permute,
    Reduce,
    ReduceSegments,
    Reshape,
    Scan,
    Scatter,
    Sort,
    SortRows,
    Weave,
)
from flatweave.terms.control import Apply, Cast, For, If, While
from flatweave.terms.syntax import Let, Op


@record
class Rule:
    """What both modes do with an operation that reads something active."""

    forward: Callable[[Forward, Let], None]
    reverse: Callable[[Reverse, Let], Back | None]


RULES: MappingProxyType[type[Op], Rule] = MappingProxyType({
    Apply: Rule(elementwise.apply_forward, elementwise.apply_reverse),
    Cast: Rule(elementwise.cast_forward, elementwise.cast_reverse),
    Index: Rule(reads.index_forward, reads.index_reverse),
    Map: Rule(bodies.map_forward, bodies.map_reverse),
    Generate: Rule(bodies.generate_forward, bodies.generate_reverse),
    Nest: Rule(bodies.nest_forward, bodies.nest_reverse),
    Reduce: Rule(folds.fold_forward, folds.reduce_reverse),
    Scan: Rule(folds.fold_forward, folds.scan_reverse),
    ReduceSegments: Rule(folds.fold_forward, folds.segments_reverse),
    Permute: Rule(folds.permute_forward, folds.permute_reverse),
    Reshape: Rule(moves.reshape_forward, moves.reshape_reverse),
    Concat: Rule(moves.joined_forward, moves.concat_reverse),
    Weave: Rule(moves.joined_forward, moves.weave_reverse),
    Filter: Rule(moves.filter_forward, moves.filter_reverse),
    Sort: Rule(moves.sort_forward, moves.sort_reverse),
    SortRows: Rule(moves.sort_forward, moves.sort_reverse),
    Scatter: Rule(moves.scatter_forward, moves.scatter_reverse),
    Custom: Rule(custom.custom_forward, custom.custom_reverse),
    If: Rule(control.if_forward, control.if_reverse),
    For: Rule(control.loop_forward, loops.loop_reverse),
    While: Rule(control.loop_forward, loops.loop_reverse),
})  # fmt: skip

_INTEGERS = "It reads integers alone."
NONE: MappingProxyType[str, str] = MappingProxyType({
    "check": "It binds nothing.",
    "empty": "It reads extents alone.",
    "locate": _INTEGERS,
    "span": _INTEGERS,
    "suits": _INTEGERS,
    "by_row": "A pass makes it of a nest, after derivatives.",
    "callback": "What a Python function computes is not known to the compiler.",
    "call_kernel": "What a kernel computes is not known to the compiler.",
})  # fmt: skip
"""Operations of traced programs that carry no derivative, and why."""


def rule_of(let: Let) -> Rule:
    """The rule of an operation that reads something active; Unsupported for one without."""
    op = let.op
    rule = RULES.get(type(op))
    if rule is None:
        is_foreign = isinstance(op, Callback | CallKernel)
        raise Unsupported(
            f"{op.name} has no derivative. {NONE.get(op.name, '')}".rstrip(),
            where=let.where,
            remedy="Call it in a function whose derivative fw.custom_vjp or fw.custom_jvp gives."
            if is_foreign else "Keep it away from what is differentiated.",
        )
    return rule
