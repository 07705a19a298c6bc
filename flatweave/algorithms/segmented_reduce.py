"""Segmented reduce: the elements from one flag to the next combined, for each segment.

    starts     T F F T F T F F          the first element starts a segment anyway
    elements   a b c d e f g h
    gives      abc de fgh               each at the number of its segment; 3 of them
"""

from __future__ import annotations

from flatweave.algorithms.operator import Operator, addition, as_number, segmented, together
from flatweave.algorithms.scan import scan
from flatweave.kernel_ir.arrays import Pull, Push, Put, Values, choose, when
from flatweave.terms.build import TRUE, Builder, index
from flatweave.terms.syntax import Atom


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
