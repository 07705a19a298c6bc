"""What the client computes itself: programs of a few lets, compiled once.

A loop of the client comes by the same lets in each turn, and what combines the parts of chunks is
written anew for each: programs of one text from the same lines are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Program
from flatweave.base.config import config
from flatweave.base.recording import run
from flatweave.base.schedule import OF_CHUNKS
from flatweave.frontend.call.eager import compile_program, fingerprint
from flatweave.frontend.call.signature import keep
from flatweave.terms.syntax import ArrayType, Lambda, Let, Var
from flatweave.terms.traverse import free_vars, lambdas_in, walk_lets

FEW = 1 << 12
"""Up to so many elements functions are computed by the interpreter, which needs no compiling."""

_MADE: dict[Any, Any] = {}


def program_of(let: Let) -> Program:
    """A let as a program of what it reads."""
    params = sorted(free_vars(let.op), key=lambda var: isinstance(var.type, ArrayType))
    return Program("client", Lambda(tuple(params), (let,), let.vars))


def computed(program: Program, args: Sequence[Any]) -> list[Any]:
    """A program on values of the client: of scalars by the interpreter, else compiled."""
    types = [atom.type for atom in (*program.fn.params, *program.fn.results)]
    lets = program.fn.lets
    if any(isinstance(type_, ArrayType) for type_ in types) or any(lambdas_in(x.op) for x in lets):
        return run(program.name, _compiled(program), list(args))
    return interp.run(program, args)


def called(name: str, fn: Lambda, beside: Sequence[Var], args: Sequence[Any]) -> list[Any]:
    """A function on values for what it reads from outside, then for its parameters."""
    params = [*beside, *fn.params]
    order = sorted(range(len(params)), key=lambda k: isinstance(params[k].type, ArrayType))
    closed = Lambda(tuple(params[k] for k in order), fn.lets, fn.results)
    given = [args[k] for k in order]
    program = Program(name, closed)
    few = sum(map(np.size, given)) <= FEW
    return interp.run(program, given) if few else computed(program, given)


def _compiled(program: Program) -> Any:
    lines = tuple(let.where for let in walk_lets(program.fn))
    key = config.cpu, program.name, fingerprint(program.fn), lines
    made = _MADE.get(key)
    if made is None:
        made = compile_program(program, "cpu", True, OF_CHUNKS)
        keep(_MADE, key, made)
    return made
