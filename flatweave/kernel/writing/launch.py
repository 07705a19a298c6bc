"""Code of blocks becomes a kernel, and a launch in the code of the host."""

from __future__ import annotations

import re

from flatweave.kernel.writing.code import KernelTrace, here
from flatweave.kernel_ir.host import Launch
from flatweave.kernel_ir.syntax import BlockIndex, Kernel
from flatweave.terms.syntax import Atom, Lambda, Let, Var
from flatweave.terms.traverse import Substitution, free_vars


def launch(made: KernelTrace, count: Atom, fn: Lambda) -> None:
    """Run `fn(block)` for each block below `count`: what it reads of the host is passed to it."""
    number = len(made.kernels)
    said = name_in_text(made.name)
    name = f"{said}_{number}" if number else said
    read = tuple(free_vars(fn))
    fresh = Substitution(fresh=lambda var, type_: made.root.builder.var(var.name, type_))
    params = tuple(Var(made.root.builder.names.fresh(var.name), var.type) for var in read)
    fresh.mapping.update(zip(read, params, strict=True))
    block = fn.params[0]
    body = Lambda((), (Let((block,), BlockIndex(), made.where), *fn.lets), ())
    made.kernels.append(Kernel(name, params, fresh.function(body)))
    here().emit(Launch(name, count, read))


def name_in_text(name: str) -> str:
    """What a function is called in C: `lambda` for `<lambda>`, as other letters stand in no name.
    """
    return re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "kernel"
