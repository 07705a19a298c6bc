"""The end of a kernel's host code: memory that is no result goes back when nobody reads it."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.errors import Unsupported
from flatweave.kernel.code import KernelTrace
from flatweave.kernel_ir.host import Free, Retain
from flatweave.kernel_ir.op import KernelOp
from flatweave.kernel_ir.syntax import Unit
from flatweave.kernel_ir.verify import SCALAR
from flatweave.terms.syntax import Atom, Let, Var
from flatweave.terms.traverse import free_vars, walk_lets


def finish(made: KernelTrace, results: Sequence[Atom]) -> Unit:
    """The unit of a traced kernel; its host gives these results."""
    builder = made.root.builder
    _only_kernel_code(made)
    kept: set[Var] = set()
    for atom in results:
        if atom in kept and isinstance(atom, Var) and atom in made.buffers:
            builder.emit(Retain(atom))
        if isinstance(atom, Var):
            kept.add(atom)
    last: dict[Var, int] = {}
    for number, let in enumerate(builder.lets):
        for var in (*let.vars, *free_vars(let.op)):
            if var in made.buffers and var not in kept:
                last[var] = number
    lets: list[Let] = []
    for number, let in enumerate(builder.lets):
        lets.append(let)
        lets += [Let((), Free(var), let.where) for var in last if last[var] == number]
    builder.lets = lets
    host = builder.close(made.params, results)
    return Unit(host, tuple(made.kernels))


def _only_kernel_code(made: KernelTrace) -> None:
    """Refuse operations of the array language, which make arrays where there are none."""
    bodies = [kernel.body for kernel in made.kernels]
    for let in [*walk_lets(made.root.builder.close([], [])), *(
        let for body in bodies for let in walk_lets(body)
    )]:
        if not isinstance(let.op, KernelOp) and let.op.name not in SCALAR:
            raise Unsupported(
                f"{let.op.name} is an operation on arrays, and a kernel has pull and push arrays.",
                where=let.where,
                remedy="Use the function of fk, such as fk.map, fk.iterations or fk.seq_reduce.",
            )
