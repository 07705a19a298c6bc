"""Updates of one element of memory that are indivisible, whoever else is at it.

    atomic(op, m, i, value)       m[i] = op(m[i], value), by any operator that commutes
    atomic_add(m, i, value)       the same with +; gives what was there before

What a machine cannot do at once is done by compare-and-swap, or under a lock.
"""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import bool_
from flatweave.base.errors import DTypeError
from flatweave.base.source import user_location
from flatweave.kernel.code import emit, place
from flatweave.kernel.stores import Memory
from flatweave.kernel_ir.updates import Atomic


def _update(fn: str, m: Memory, i: Any, value: Any) -> Any:
    """One of the functions that machines have; the value from before."""
    at = place(i)
    if len(m.buffers) != 1 or m.kind.dtypes[0] is bool_:
        raise DTypeError(
            f"atomic_{fn} updates one number, and the elements here are {m.kind}.",
            where=user_location(),
            remedy="Use memory of one number for each element.",
        )
    (atom,) = m.kind.atoms(value)
    return m.kind.value(emit(Atomic(fn, m.buffers[0], at, atom)))


def atomic_add(m: Memory, i: Any, value: Any) -> Any:
    """m[i] += value; gives what was there before."""
    return _update("add", m, i, value)


def atomic_inc(m: Memory, i: Any) -> Any:
    """m[i] += 1; gives what was there before."""
    return atomic_add(m, i, 1)


def atomic_min(m: Memory, i: Any, value: Any) -> Any:
    """m[i] becomes the smaller one; gives what was there before."""
    return _update("minimum", m, i, value)


def atomic_max(m: Memory, i: Any, value: Any) -> Any:
    """m[i] becomes the greater one; gives what was there before."""
    return _update("maximum", m, i, value)


def atomic_and(m: Memory, i: Any, value: Any) -> Any:
    """m[i] &= value; gives what was there before."""
    return _update("and", m, i, value)


def atomic_or(m: Memory, i: Any, value: Any) -> Any:
    """m[i] |= value; gives what was there before."""
    return _update("or", m, i, value)


def atomic_xor(m: Memory, i: Any, value: Any) -> Any:
    """m[i] ^= value; gives what was there before."""
    return _update("xor", m, i, value)
