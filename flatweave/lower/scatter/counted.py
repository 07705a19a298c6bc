"""What is held of elements while they are combined.

Elements that all add the same integer are counted: copies hold numbers of 32 bits. Sums of f32 are
f64, so that the error of a bin does not grow with its elements (`wide.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, f32, f64
from flatweave.ops import ScatterReduce, Sweep
from flatweave.terms.build import Builder
from flatweave.terms.operators import component_functions
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


def widened(op: Sweep) -> list[DType] | None:
    """The dtypes of components in which their sums round seldom; None where none is a sum of f32,
    or the components are not combined one by one."""
    (sink,) = op.sinks
    if not isinstance(sink, ScatterReduce):
        return None
    dtypes = [type_ for type_ in sink.fn.result_types() if isinstance(type_, DType)]
    names = component_functions(sink.fn)
    if names is None or ("add", f32) not in zip(names, dtypes, strict=True):
        return None
    pairs = zip(names, dtypes, strict=True)
    return [f64 if pair == ("add", f32) else pair[1] for pair in pairs]
