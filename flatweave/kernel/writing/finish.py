"""The end of a kernel's host code: memory that is no result goes back when nobody reads it."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.errors import Unsupported
from flatweave.base.records import replace
from flatweave.kernel.writing.code import KernelTrace
from flatweave.kernel_ir.folds_of_blocks import tries_in, without_tries
from flatweave.kernel_ir.host import Free, Retain
from flatweave.kernel_ir.op import KernelOp
from flatweave.kernel_ir.syntax import Unit
from flatweave.kernel_ir.verify import SCALAR
from flatweave.kernel_passes.sequentialize import sequentialize
from flatweave.terms.syntax import Atom, Lambda, Let, Var
from flatweave.terms.traverse import free_vars, map_field, walk_lets


def finish(made: KernelTrace, results: Sequence[Atom]) -> tuple[Unit, Unit | None]:
    """The unit of a traced kernel; its host gives these results. And the same with the operators
    that are tried, if there are any."""
    builder = made.root.builder
    _only_kernel_code(made)
    kept: set[Var] = set()
    for atom in results:
        if atom in kept and isinstance(atom, Var) and atom in made.buffers:
            builder.emit(Retain(atom))
        if isinstance(atom, Var):
            kept.add(atom)
    builder.lets = _freeing(builder.lets, set(made.buffers) - kept)
    host = builder.close(made.params, results)
    shape = made.machine.block_of(made.threads)
    names = builder.names.apart()
    kernels = [
        replace(kernel, body=without_tries(kernel.body)) for kernel in made.kernels
    ]
    unit = Unit(host, tuple(sequentialize(kernel, builder.names, shape) for kernel in kernels))
    if not any(tries_in(kernel.body) for kernel in made.kernels):
        return unit, None
    return unit, Unit(host, tuple(sequentialize(k, names, shape) for k in made.kernels))


def _freeing(lets: Sequence[Let], buffers: set[Var]) -> list[Let]:
    """Code of the host that gives back each of these buffers that it makes, when it was last used;
    a loop's body in each of its turns."""
    inner = [
        replace(let, op=map_field(let.op, lambda atom: atom, lambda fn: _body(fn, buffers)))
        for let in lets
    ]
    own = {var for let in lets for var in let.vars if var in buffers}
    last = {
        var: number
        for number, let in enumerate(lets) for var in (*let.vars, *free_vars(let.op)) if var in own
    }  # fmt: skip
    freed: list[Let] = []
    for number, let in enumerate(inner):
        freed.append(let)
        freed += [Let((), Free(var), let.where) for var in last if last[var] == number]
    return freed


def _body(fn: Lambda, buffers: set[Var]) -> Lambda:
    return replace(fn, lets=tuple(_freeing(fn.lets, buffers)))


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
