"""A program of the array language, and its text."""

from __future__ import annotations

from functools import lru_cache

from flatweave.base.records import record
from flatweave.base.source import Location
from flatweave.terms.parse import parse_function
from flatweave.terms.print import print_function, print_name
from flatweave.terms.syntax import Lambda

# A program of the array language: a named lambda over arrays, extents and scalars.
#
#     program ::= name lambda
#
# The parameters of an array argument are its extents (i64), then the array itself. What the ops
# are is listed in `ops/`; lets, lambdas, scalar work and control are in `terms/`. The forms:
#
#     TRACED   what the user wrote: map, reduce, scan, ..
#     SWEPT    every array operation is a sweep (or empty, reshape, order)
#     FLAT     sweeps may combine rows of varying length, too: what `lower/` takes


@record
class Program:
    """What one traced function became.

    `unproven` are the calls whose operators are tried on the data of the first call. They belong to
    the program as traced: passes drop them.
    """

    name: str
    fn: Lambda
    unproven: tuple[Location, ...] = ()


# Programs as text and back:   total(n: i64, xs: f32[n]) =>  ..  in s


@lru_cache(maxsize=4)  # several callers need the text of one program, to find it on disk
def print_program(program: Program) -> str:
    """The text of a program."""
    return print_function(print_name(program.name), program.fn)


def parse_program(text: str) -> Program:
    """The program that a text stands for; `flatweave.ops` must have been imported."""
    return Program(*parse_function(text))


def same(a: Program, b: Program) -> bool:
    """Whether two programs differ only in the names of their variables."""
    texts = [print_function("", program.fn, canonical=True) for program in (a, b)]
    return a.name == b.name and texts[0] == texts[1]
