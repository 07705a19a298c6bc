"""When a nest is done a row after the other: the sizes that decide, and what the user wishes."""

from __future__ import annotations

from flatweave.lower.host.context import NO, YES, Lowering
from flatweave.ops import Suits
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom

ROWS = 64
"""Fewer rows than this leave cores idle at the end, when the last ones are done."""
LONGEST = 1 << 16
"""Values of the longest row whose arrays a core's own cache holds, some of four bytes or eight."""
LEAST = {"loops": 0, "sorts": 8}
"""The least mean length of rows, by what a nest has: a loop, which all rows at once take with
launches in each turn, or a sort. Milliseconds, all rows at once and by row, 2^21 f32 in
rows of mean length 10, 30, 100, 1,000, 10,000 on 2 cores of a Zen 5:

    filter, scan            1.5, 7.6    1.1, 3.7    0.9, 1.7    0.5, 0.5    0.5, 0.3
    scan, reversed scan     2.8, 3.7    3.7, 1.9    1.5, 1.2    1.0, 0.9    1.9, 1.1
    sort, filter, scan     17.1, 14.5  26.2, 14.7  24.0, 64.2  21.6, 21.4  23.9, 11.2
    histogram, scan         3.4, 5.1    2.2, 2.6    2.1, 1.3    1.0, 0.8    0.7, 0.7
"""
SHARE = 16
"""The longest row is at most one of so many parts of the values: others wait for it at the end."""


def suits(lowering: Lowering, op: Suits) -> Atom:
    """Whether rows are done one after the other."""
    if not lowering.machine.runs_rows:
        return NO
    wished = lowering.schedule.version
    if wished is not None:
        return YES if wished == op.version else NO
    host, scalar = lowering.host, lowering.scope.scalar
    rows, values, longest = scalar(op.rows), scalar(op.values_), scalar(op.longest)
    many = host.apply("ge", rows, index(ROWS))
    small = host.apply("le", longest, index(LONGEST))
    even = host.apply("le", host.mul(longest, index(SHARE)), values)
    least = host.mul(rows, index(LEAST[op.gain]))
    long = host.apply("ge", values, least)
    return host.apply("and", host.apply("and", many, long), host.apply("and", small, even))
