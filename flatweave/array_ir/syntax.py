"""A program of the array language: a named lambda over arrays, extents and scalars.

    program ::= name lambda

The parameters of an array argument are its extents (i64), then the array itself. What the ops are
is listed in `ops/`; lets, lambdas, scalar work and control are in `terms/`. The forms:

    TRACED   what the user wrote: map, reduce, scan, ..
    SWEPT    every array operation is a sweep (or empty, reshape, order)
    FLAT     sweeps may combine rows of varying length, too: what `lower/` takes
"""

from __future__ import annotations

from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.terms.syntax import Lambda


@record
class Program:
    """What one traced function became.

    `unproven` are the calls whose operators are tried on the data of the first call, `trusted`
    those whose operators never are. Both belong to the program as traced: passes drop them.
    """

    name: str
    fn: Lambda
    unproven: tuple[Location, ...] = ()
    trusted: tuple[Location, ...] = ()
