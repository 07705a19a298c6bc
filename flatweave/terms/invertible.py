"""Functions of one scalar that can be undone: from what they give back to what they were given.

    x: i16 => k: u16 = cast u16 x; xor k 32768      undone: x = cast i16 (xor k 32768)

Of such a key of a sort the element is made again; equal keys are those of equal elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Const, Lambda, Let


def steps_back(fn: Lambda) -> tuple[Let, ...] | None:
    """The steps from the one argument to the one result, if each of them can be undone."""
    if len(fn.params) != 1 or len(fn.results) != 1:
        return None
    value: Atom = fn.params[0]
    for let in fn.lets:
        if not _can_be_undone(let, value):
            return None
        value = let.vars[0]
    return fn.lets if value == fn.results[0] else None


def undone(b: Builder, steps: Sequence[Let], value: Atom) -> Atom:
    """The argument for which these steps, the last one undone first, give a value."""
    for let in reversed(steps):
        match let.op:
            case Cast(arg=arg):
                value = b.cast(value, _dtype(arg))
            case Apply(fn="xor", args=args):
                value = b.apply("xor", value, *(x for x in args if isinstance(x, Const)))
            case _:
                value = b.apply("not", value)
    return value


def _can_be_undone(let: Let, value: Atom) -> bool:
    """Whether a step takes `value`, and every result is that of one value."""
    match let.op:
        case Cast(dtype=dtype, arg=arg):
            whole = not dtype.is_float and not _dtype(arg).is_float
            return arg == value and whole and dtype.bits >= _dtype(arg).bits
        case Apply(fn="xor", args=args):
            return value in args and any(isinstance(arg, Const) for arg in args)
        case Apply(fn="not", args=args):
            return args == (value,)
    return False


def _dtype(atom: Atom) -> DType:
    assert isinstance(atom.type, DType)
    return atom.type
