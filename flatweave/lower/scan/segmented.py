"""Prefixes that start anew at flags: what a block leaves of its elements.

It is what those from its last start on combine to. So the pass before the last walks back from the
block's end by the flags alone, and reduces only what follows: nearly nothing where rows are short,
and a plain reduction where one row fills the block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.algorithms.lanes import EMPTY
from flatweave.base.dtypes import bool_, i64, u64
from flatweave.kernel_ir.syntax import Lanes
from flatweave.kernel_ir.warp_ops import Ballot
from flatweave.lower.schedule.scan_levels import ScanRecord
from flatweave.lower.traverse.position import Position, State
from flatweave.lower.traverse.traversal import StepAt, Traversal
from flatweave.terms.build import FALSE, Builder, index
from flatweave.terms.control import While
from flatweave.terms.syntax import Atom

FlagAt = Callable[[Builder, Position], Atom]
ValueAt = Callable[[Builder, Position, Atom], Atom]
Reduce = Callable[[Sequence[ScanRecord], Atom], dict[ScanRecord, State]]


def reduce_from_last_head(
    b: Builder, walk: Traversal, records: Sequence[ScanRecord], lo: Atom, hi: Atom,
    value_at: ValueAt, reduce: Reduce,
) -> dict[ScanRecord, State]:  # fmt: skip
    """Whether a segment starts among lo to hi, and the elements from the last start on.

    `reduce` combines, for records of elements alone, those from a position to hi.
    """
    found: dict[ScanRecord, State] = {}
    for flag in dict.fromkeys(record.args[0] for record in records):
        inner = {k: k.inner for k in records if k.inner is not None and k.args[0] == flag}

        def flag_at(c: Builder, position: Position, flag: Atom = flag) -> Atom:
            return value_at(c, position, flag)

        first, seen = last_head(b, walk, lo, hi, flag_at)
        combined = reduce(list(inner.values()), first)
        found.update({record: (seen, *combined[alone]) for record, alone in inner.items()})
    return found


def last_head(
    b: Builder, walk: Traversal, lo: Atom, hi: Atom, flag: FlagAt
) -> tuple[Atom, Atom]:
    """The last running position in lo to hi where a segment starts, and True; else lo and False."""
    if walk.has_rows:
        return _row_by_row(b, walk, lo, hi, flag)
    return _in_span(b, walk.width, lo, hi, walk.whole_step, flag)


def _row_by_row(
    b: Builder, walk: Traversal, lo: Atom, hi: Atom, flag: FlagAt
) -> tuple[Atom, Atom]:
    """From the last row back."""
    test, turn = b.inner(), b.inner()
    stop, seen = test.param("p", i64), test.param("seen", bool_)
    holds = test.close([stop, seen], [_goes_on(test, seen, lo, stop)])
    stop, seen = turn.param("p", i64), turn.param("seen", bool_)
    start, at = walk.row_before(turn, turn.sub(stop, index(1)))
    first = turn.apply("maximum", start, lo)
    body = turn.close([stop, seen], _in_span(turn, walk.width, first, stop, at, flag))
    found: State = b.emit(While(holds, body, (hi, FALSE)))
    return found[0], found[1]


def _in_span(
    b: Builder, width: int, lo: Atom, hi: Atom, at: StepAt, flag: FlagAt
) -> tuple[Atom, Atom]:
    """In whole steps from the end, then one by one."""
    steps = _in_steps(b, width, lo, hi, at, flag) if width > 1 else (hi, FALSE)
    test, turn = b.inner(), b.inner()
    p, found = test.param("p", i64), test.param("seen", bool_)
    holds = test.close([p, found], [_goes_on(test, found, lo, p)])
    p, found = turn.param("p", i64), turn.param("seen", bool_)
    here = turn.sub(p, index(1))
    body = turn.close([p, found], [here, flag(turn, at(turn, here, 1))])
    result: State = b.emit(While(holds, body, steps))
    return result[0], result[1]


def _in_steps(
    b: Builder, width: int, lo: Atom, hi: Atom, at: StepAt, flag: FlagAt
) -> tuple[Atom, Atom]:
    """The last start that whole steps from `hi` back find; or where they end, and False."""
    region = b.inner()
    test, turn = region.inner(), region.inner()
    p, starts = test.param("p", i64), test.param("starts", u64)
    none = test.apply("eq", starts, EMPTY)
    whole = test.apply("le", test.add(lo, index(width)), p)
    holds = test.close([p, starts], [test.apply("and", none, whole)])
    p, starts = turn.param("p", i64), turn.param("starts", u64)
    here = turn.sub(p, index(width))
    found = turn.emit(Ballot(flag(turn, at(turn, here, width))))[0]
    out = region.emit(While(holds, turn.close([p, starts], [here, found]), (hi, EMPTY)))
    p, starts = b.emit(Lanes(width, region.close([], out)))
    seen = b.apply("ne", starts, EMPTY)
    highest = b.sub(index(63), b.cast(b.apply("clz", starts), i64))
    return b.apply("select", seen, b.add(p, highest), p), seen


def _goes_on(b: Builder, seen: Atom, lo: Atom, p: Atom) -> Atom:
    """Whether nothing was found yet, and there is more to look at."""
    return b.apply("and", b.apply("not", seen), b.apply("lt", lo, p))
