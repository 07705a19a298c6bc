"""The sizes that choose the versions of nests, as further results, for who measures the versions.

    f(..) =>
        p: bool = suits "by-row" "sorts" true n m k
        y: f32[m] = if p ..
        in y
    ==>
    f(..) =>
        p: bool = suits "by-row" "sorts" true n m k
        y: f32[m] = if p ..
        in y, n, m, k

Leaves alone: nests inside branches and loops of the host: their sizes may differ by iteration.
"""

from __future__ import annotations

from flatweave.array_ir.syntax import Program
from flatweave.array_ir.verify import FLAT, TRACED
from flatweave.ops import Suits
from flatweave.passes.array_pass import array_pass
from flatweave.terms.syntax import Lambda


@array_pass(takes=(TRACED, FLAT))
def sizes(program: Program) -> Program:
    """The program whose last results are, of each nest with versions, rows, values and longest."""
    fn = program.fn
    choices = [let.op for let in fn.lets if isinstance(let.op, Suits)]
    found = [size for op in choices for size in (op.rows, op.values_, op.longest)]
    return Program(program.name, Lambda(fn.params, fn.lets, (*fn.results, *found)))
