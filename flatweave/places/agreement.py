"""Whether a program gives the same bits on every target.

    map (a => mul a 2.0) [xs]         the same: products are rounded alike
    reduce (maximum f32) -inf [xs]    the same: nothing is rounded, in any order
    reduce (add f32) 0.0 [xs]         not: each target groups the elements in its own way
    map (exp f32) [xs]                not: each has an exp of its own
"""

from __future__ import annotations

from collections.abc import Iterator

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DType
from flatweave.ops import Callback, CallKernel
from flatweave.scalar.ops import TABLE
from flatweave.terms.control import Apply
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Op
from flatweave.terms.traverse import walk_lets

CHOOSING = frozenset({"minimum", "maximum", "select", "lt", "le", "gt", "ge", "eq", "ne", "and",
                      "or", "not"})  # fmt: skip
"""Scalar functions that give one of their operands, or compare: nothing is rounded."""


def agrees(program: Program) -> bool:
    """Whether all targets give the same bits."""
    return all(_is_exact(let.op) for let in walk_lets(program.fn))


def _is_exact(op: Op) -> bool:
    match op:
        case Apply(fn=name, args=args):
            return TABLE[name].ulps == 0 or not any(_is_float(arg) for arg in args)
        case Callback() | CallKernel():
            return False
    operator: Lambda | None = getattr(op, "fn", None)
    if operator is None or not any(_is_float(atom) for atom in _folded(op)):
        return True
    return all(isinstance(let.op, Apply) and let.op.fn in CHOOSING for let in operator.lets)


def _folded(op: Op) -> Iterator[Atom]:
    """What an op combines in an order of its own."""
    for name in ("neutral", "dest"):
        yield from getattr(op, name, ())


def _is_float(atom: Atom) -> bool:
    dtype = atom.type.dtype if isinstance(atom.type, ArrayType) else atom.type
    return isinstance(dtype, DType) and dtype.is_float
