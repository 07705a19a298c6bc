"""The dependence test: which steps leave every value as it is, by the laws of a sweep's operators.

    an element may be visited twice      if it is stored and nothing else is done with it
    lanes may be idle                    if they are threads, or each combines its own elements
    elements may change their order      if none is scanned, and what combines them commutes
    a fold may go by parts               if its operator is associative
    a fold may be split over lanes       if its operator is associative

Operators of users count as associative, as `reduce` asks; one that combines component by component
is looked up. Sums of floats are associative but for rounding: whether two schedules leave the same
bits is another question, which `grouping` answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flatweave.base.dtypes import DType
from flatweave.base.records import replace
from flatweave.lower.schedule.steps import (
    Along,
    Axis,
    Guard,
    How,
    RFactor,
    Split,
    Step,
    Stream,
    Tail,
    Unroll,
    Version,
)
from flatweave.ops import Fold, Prefix, Sweep
from flatweave.passes.operators import is_commutative, is_exact
from flatweave.terms.operators import component_functions, is_lawful
from flatweave.terms.syntax import Lambda
from flatweave.terms.traverse import walk_lets

OUT_OF_ORDER = (Along.ROWS, Along.WARPS, Along.COST)


def in_any_order(op: Sweep) -> bool:
    """Whether elements may be visited in another order than the program's."""
    return not op.scans and all(sink.in_any_order(is_commutative) for sink in op.sinks)


def is_exact_sweep(op: Sweep) -> bool:
    """Whether any grouping of what its operators combine leaves the same bits."""
    inner = [let.op.fn for let in walk_lets(op.body) if isinstance(let.op, Fold | Prefix)]
    return all(map(_is_exact, inner)) and all(sink.in_any_order(_is_exact) for sink in op.sinks)


def is_lanewise(op: Sweep, how: RFactor) -> bool:
    """Whether a sweep does nothing but combine its elements, each lane separately."""
    return not op.scans and op.only_reduces and set(how.hows) == {How.LANEWISE}


def _is_exact(fn: Lambda) -> bool:
    """Whether an operator that is associative leaves the same bits in any grouping."""
    types = [result.type for result in fn.results]
    return is_exact(fn) or not any(isinstance(t, DType) and t.is_float for t in types)


def grouping(versions: Sequence[Version]) -> tuple[tuple[Guard, tuple[Step, ...]], ...]:
    """What decides how operands are grouped: all but where results are stored, and from what size
    on they are stored there. In register tiles each result is folded step by step, in the parts of
    its fold."""
    guards = (replace(version.guard, elements=0, multiple=1) for version in versions)
    return tuple(dict.fromkeys(zip(guards, map(_grouping_steps, versions), strict=True)))


def _grouping_steps(version: Version) -> tuple[Step, ...]:
    """The steps of a version that decide how operands are grouped."""
    if version.is_tiled:
        return Split(Axis.FOLD, version.part(Axis.FOLD)), Unroll(Axis.ROW, 1)
    return tuple(step for step in version.steps if not isinstance(step, Stream))


def broken_laws(op: Sweep, version: Version, *, scans: bool) -> Iterator[str]:
    """A sentence for each step that a sweep, which scans or not, does not allow."""
    lanes, rows = version.lanes, version.rows
    folds = [let.op.fn for let in walk_lets(op.body) if isinstance(let.op, Fold)]
    if lanes.axis is Axis.FOLD and not folds:
        yield "lanes follow a fold, and there is none"
    if lanes.axis is Axis.FOLD and any(component_functions(f) and not is_lawful(f) for f in folds):
        yield "a fold is split over lanes, and its operator is not associative"
    if lanes.axis is Axis.LAST and op.reverse:
        yield "rows are visited from their first element, and the sweep begins at its end"
    if lanes.tail in (Tail.SHIFT, Tail.SHIFT_OR_MASK) and (scans or not op.only_stores):
        yield "steps that overlap visit elements twice, which are scanned or combined"
    if version.step(Split) and (scans or not in_any_order(op)):
        yield "parts of axes change the order of elements, which are scanned or combined in order"
    if version.is_tiled and not op.only_stores:
        yield "a register tile has rows that are not there, and elements are combined"
    if (rows.mixed or rows.along in OUT_OF_ORDER) and not in_any_order(op):
        yield "rows are visited out of order, and their elements are scanned or combined in order"
    reductions = (fn for sink in op.sinks if (fn := sink.reduction()) is not None)
    for how, fn in zip(version.combines.hows, reductions, strict=False):
        if how is How.LANEWISE and not is_commutative(fn):
            yield "each lane accumulates by itself, and the operator does not commute"
