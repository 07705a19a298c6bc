"""Lift: nested operations become operations on the flat arrays of all rows.

    f(n: i64, m: i64, x: f32[n, m]) =>
        y: f32[n, m] = map (r: f32[m] =>
            s: f32[m] = scan (add f32) [0.0f32] [r]
            in s) [x]
        in y
    ==>
    f(n: i64, m: i64, x: f32[n, m]) =>
        a: f32[n, m] = generate [n, m] (i: i64, j: i64 =>
            r: f32[m] = generate [m] (h: i64 => index x [i, h] checked=false)
            v: f32 = index r [j] checked=false
            in v)
        b: bool[n, m] = generate [n, m] (k: i64, l: i64 => eq l 0)
        y: f32[n, m] = scan (add f32) [0.0f32] [a] starts=[b]
        in y

This is the flattening of NESL (Blelloch 1990) without vectorising what a row can do alone: an
element function is distributed over its *hard* operations, those that need memory (`hard.py`), and
the code between them stays a function of one row (`rows.py`). Each hard operation has a rule for
its form over all rows; nested operations in the result are then lifted, too. An operation none of
whose operands varies from row to row is done once, outside. A filter whose kept elements a row only
combines needs no memory: it becomes a flag first (`masked.py`). Nor does a sort of a known number
of scalars (`small_sorts.py`). Values that rows share, and that took a loop to compute, are stored
for them (`shared.py`).

Leaves alone: programs without nested memory, where every element function computes its scalars and
element-by-element arrays without storing them.
"""

from __future__ import annotations

from flatweave.array_ir.syntax import Program
from flatweave.array_ir.verify import TRACED
from flatweave.passes.array_pass import array_pass
from flatweave.passes.nests import rules
from flatweave.passes.nests.distribute import host_body, is_nested
from flatweave.passes.nests.masked import masked
from flatweave.passes.nests.repeated import explain
from flatweave.passes.nests.shared import shared
from flatweave.passes.nests.small_sorts import in_registers
from flatweave.passes.nests.versions import in_versions
from flatweave.terms.build import Builder, Names
from flatweave.terms.traverse import Substitution

__all__ = ["lift", "rules"]


@array_pass(takes=(TRACED,), explain=explain)
def lift(program: Program) -> Program:
    """Give every nested operation that needs memory to all rows at once."""
    program = Program(program.name, shared(in_registers(masked(program.fn))))
    if not any(is_nested(let.op) for let in program.fn.lets):
        return program
    b = Builder(Names())
    renaming = Substitution()
    params = b.params_like(program.fn.params, renaming)
    results = host_body(b, program.fn, renaming, in_versions)
    return Program(program.name, b.close(params, results))
