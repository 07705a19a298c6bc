"""Segmented scan: prefixes that begin anew where a flag is set.

    starts     T F F T F T F F
    elements   a b c d e f g h
    gives      a ab abc d de f fg fgh
"""

from __future__ import annotations

from flatweave.algorithms.operator import Operator, segmented, select
from flatweave.algorithms.scan import scan
from flatweave.kernel_ir.arrays import Pull, Push, Put, Values, map, zipped
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom


def segmented_scan(
    b: Builder, operator: Operator, starts: Pull, xs: Pull, units: int = 1, *,
    exclusive: bool = False,
) -> Push:  # fmt: skip
    """All prefixes of each segment, by `units` threads of this level."""
    flagged = zipped(starts, xs)
    found, _ = scan(b, segmented(operator), flagged, units, exclusive=exclusive)
    if not exclusive:
        return map(lambda c, values: values[1:], found)

    def write(c: Builder, put: Put) -> None:
        def put_anew(d: Builder, i: Atom, values: Values) -> None:
            (start,) = starts.at(d, i)
            put(d, i, select(d, start, operator.neutral, values[1:]))

        found.write(c, put_anew)

    return Push(found.extent, found.level, write)
