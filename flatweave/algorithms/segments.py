"""Segmented scan and segmented reduce: an operator that begins anew where a flag is set.

    starts     T F F T F T F F          a segment goes from one start to the next; the first element
    elements   a b c d e f g h          starts one anyway
    scan       a ab abc d de f fg fgh
    reduce     abc de fgh               one for each segment, at the segment's number
"""

from __future__ import annotations

from flatweave.algorithms.operator import Operator, addition, as_number, segmented, select, together
from flatweave.algorithms.scan import scan
from flatweave.base.dtypes import bool_
from flatweave.kernel_ir.arrays import Pull, Push, Put, Values, choose, map, when, zipped
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, constant

TRUE = constant(True, bool_)


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


def segmented_reduce(
    b: Builder, operator: Operator, starts: Pull, xs: Pull, units: int = 1
) -> tuple[Push, Atom]:
    """Each segment's elements combined, by `units` threads of this level; and how many there are.

    The push array is as long as `xs`, and puts only as many elements as there are segments.
    """

    def numbered(c: Builder, i: Atom) -> Values:
        (start,) = starts.at(c, i)
        first = c.apply("or", start, c.apply("eq", i, index(0)))
        return (as_number(c, first), first, *xs.at(c, i))

    counted = together(addition(), segmented(operator))
    found, total = scan(b, counted, Pull(xs.extent, numbered), units)

    def write(c: Builder, put: Put) -> None:
        def put_end(d: Builder, i: Atom, values: Values) -> None:
            after = d.add(i, index(1))
            (ends,) = choose(
                d, d.apply("lt", after, xs.extent), lambda e: starts.at(e, after),
                lambda e: (TRUE,),
            )  # fmt: skip
            number = d.sub(values[0], index(1))
            when(d, ends, lambda e: put(e, number, values[2:]))

        found.write(c, put_end)

    return Push(xs.extent, found.level, write), total[0]
