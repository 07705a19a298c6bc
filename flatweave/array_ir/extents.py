"""Facts of a program without running it: extents for arguments, lifetimes of arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Fault, Program
from flatweave.base.dtypes import DType
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Var
from flatweave.terms.traverse import free_vars, lambdas_in

# After which let each array of a body is needed no more.


def find_last_uses(fn: Lambda, given: Iterable[Var] = ()) -> dict[Let, set[Var]]:
    """For each let, the arrays of this body that it is the last to use: its parameters, too, and
    those that it is given from outside.

    An array that nobody uses ends at the let that makes it.
    """
    own = {param for param in (*fn.params, *given) if isinstance(param.type, ArrayType)}
    last: dict[Var, Let] = {}
    for let in fn.lets:
        for var in let.vars:
            if isinstance(var.type, ArrayType):
                own.add(var)
                last[var] = let
        for var in free_vars(let.op):
            if var in own:
                last[var] = let
    ends: dict[Let, set[Var]] = {}
    for var, let in last.items():
        if var not in fn.results:
            ends.setdefault(let, set()).add(var)
    return ends


# The extents of a program's arrays for the arguments of a call, without running it.
#
#     f(n: i64, xs: f64[n]) =>  m: i64 = mul n 2   ys: f64[m] = ..        n = 3   ==>   m = 6
#
# What an extent needs is computed by the interpreter, as long as it is work on numbers of the
# host and single elements of the arguments: the last offset of ragged rows, say. How many
# elements a filter keeps, only a run tells.


Extents = Mapping[Var, int]


def extents_of(program: Program, args: Sequence[Any] | None) -> Extents:
    """The whole numbers of the host that are known for flat arguments; none without them."""
    fn = program.fn
    if args is None or len(args) != len(fn.params):
        return {}
    given = [_readable(param, arg) for param, arg in zip(fn.params, args, strict=True)]
    unread = {param for param, arg in zip(fn.params, given, strict=True) if arg is None}
    known = dict.fromkeys(fn.params)
    lets: list[Let] = []
    for let in fn.lets:
        if _is_simple(let) and all(var in known and var not in unread for var in free_vars(let.op)):
            known.update(dict.fromkeys(let.vars))
            lets.append(let)
    wanted = [v for v in known if isinstance(v.type, DType) and v.type.kind in "iu"]
    params = tuple(param for param in fn.params if param not in unread)
    part = Program(program.name, Lambda(params, tuple(lets), tuple(wanted)))
    try:
        found = interp.run(part, [arg for arg in given if arg is not None])
    except Fault:
        return {}
    return {var: int(value) for var, value in zip(wanted, found, strict=True)}


def _is_simple(let: Let) -> bool:
    """Whether it gives numbers of others and single elements, in no time to speak of."""
    numbers = bool(let.vars) and all(isinstance(var.type, DType) for var in let.vars)
    return numbers and not lambdas_in(let.op) and not let.op.effect


def _readable(param: Var, arg: Any) -> Any:
    """An argument whose elements can be read; None for an array on a device, or of pairs."""
    if not isinstance(param.type, ArrayType):
        return arg
    fits = isinstance(arg, np.ndarray) and arg.dtype == param.type.dtype.numpy
    return arg if fits and arg.ndim == param.type.rank else None


def bytes_of(type_: ArrayType, extents: Extents) -> int | None:
    """The size of an array; None where an extent is not known."""
    sizes = [_number(extent, extents) for extent in type_.shape]
    known = [size for size in sizes if size is not None]
    return prod(known) * type_.dtype.numpy.itemsize if len(known) == len(sizes) else None


def _number(extent: Atom, extents: Extents) -> int | None:
    return int(extent.value) if isinstance(extent, Const) else extents.get(extent)
