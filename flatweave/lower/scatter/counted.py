"""Elements that all add the same integer are counted: copies hold numbers of 32 bits."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.ops import ScatterReduce, Sweep
from flatweave.terms.build import Builder
from flatweave.terms.components import component_functions
from flatweave.terms.syntax import Atom, Const


def is_counted(op: Sweep) -> bool:
    """Whether all that an element does is to add an integer that is the same for all."""
    (sink,) = op.sinks
    assert isinstance(sink, ScatterReduce)
    names = component_functions(sink.fn) or ["none"]
    values = op.body.results[1:]
    return all(name == "add" for name in names) and all(
        isinstance(value, Const) and value.dtype.is_integer for value in values
    )


def times_added(b: Builder, op: Sweep, counts: Sequence[Atom]) -> list[Atom]:
    """What is added as often as was counted."""
    return [
        b.mul(b.cast(count, value.dtype), value)
        for count, value in zip(counts, op.body.results[1:], strict=True)
        if isinstance(value, Const)
    ]
