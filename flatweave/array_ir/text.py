"""Programs as text and back:   total(n: i64, xs: f32[n]) =>  ..  in s"""

from __future__ import annotations

from functools import lru_cache

from flatweave.array_ir.syntax import Program
from flatweave.terms.parse import parse_function
from flatweave.terms.print import print_function, print_name


@lru_cache(maxsize=4)  # of one program several callers ask in turn, to look for it on disk
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
