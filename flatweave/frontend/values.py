"""Any value as a traced array of the innermost body.

    lift(3)              a weak constant             lift(np.float32(3))     a constant of f32
    lift(xs)             a NumPy or host array: a hidden argument of the program
    lift(tracer)         itself, if its body is still being traced
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flatweave.base.dtypes import DType, as_dtype, bool_, i64
from flatweave.base.errors import ArgumentError, DTypeError, ShapeError, Unsupported
from flatweave.base.source import user_location
from flatweave.frontend import misuse
from flatweave.frontend.array import Array, Tracer, describe, kind_of
from flatweave.frontend.interop import is_number_list, list_values, values_of
from flatweave.frontend.promotion import common, fits, literal_dtype
from flatweave.frontend.scope import current
from flatweave.frontend.tree import Tree, flatten
from flatweave.terms.build import index
from flatweave.terms.syntax import Atom, Op, constant


def wrap(atom: Atom, weak: bool = False) -> Tracer:
    """An atom of the innermost body, or of one around it, as an array."""
    return Tracer(atom, current(), weak)


def emit(op: Op, hint: str = "t") -> list[Tracer]:
    """Append an operation to the innermost body; its results."""
    return [wrap(var) for var in current().emit(op, hint)]


def lift(value: Any, name: str = "") -> Tracer:
    """The value as a traced array; raises ArgumentError for what cannot be one.

    Raises EscapedArrayError for a traced array whose body has ended.
    """
    scope = current()
    if isinstance(value, Tracer):
        if value.scope is not scope and not scope.holds(value.scope):
            raise escape(value)
        return value
    if isinstance(value, bool | int | float) and not isinstance(value, np.generic):
        dtype = literal_dtype(value)
        return Tracer(constant(value, dtype), scope, weak=dtype is not bool_)
    values = values_of(value, name)
    if values is None and is_number_list(value):
        values = values_of(list_values(value), name)
    if values is None:
        raise _no_array(value, name)
    if isinstance(value, np.generic):
        return Tracer(constant(value.item(), as_dtype(value.dtype)), scope)
    return Tracer(scope.trace.capture(values), scope)


def escape(value: Tracer) -> Exception:
    """The error for a traced value used where its body is not being traced."""
    trace = value.scope.trace
    return misuse.escaped(describe(value), trace.name, trace.root.closed)


def _no_array(value: Any, name: str) -> ArgumentError:
    kind = kind_of(value)
    what = f"{name} is" if name else "got"
    if isinstance(value, tuple | dict) or value is None:
        return ArgumentError(
            f"{what} {kind} where one array is needed.",
            where=user_location(), remedy="Pass its arrays one by one.",
        )  # fmt: skip
    return ArgumentError(
        f"{what} {kind}, which is not an array or a number.",
        where=user_location(),
        remedy="Pass arrays and numbers; what is known before the call can be given by"
        " static_argnames or read from around the function.",
    )


def lift_leaves(
    value: Any, name: str = "", irregular: bool = False
) -> tuple[list[Tracer], Tree]:
    """The leaves of a tree as traced arrays, and the tree; a list of numbers is one array.

    Raises Unsupported for a Ragged unless `irregular` says that one may be there.
    """
    leaves, tree = flatten(value, is_number_list)
    if tree.irregular and not irregular:
        raise Unsupported(
            f"{name or 'this argument'} is a Ragged where arrays are needed.",
            where=user_location(),
            remedy="Go through its rows with fw.map, or work on rows.values and rows.offsets.",
        )
    return [lift(leaf, name) for leaf in leaves], tree


def scalar_of(value: Any, what: str) -> Tracer:
    """The value as a traced scalar; ShapeError when it has axes."""
    traced = lift(value, what)
    if traced.ndim:
        raise ShapeError(
            f"{what} must be a scalar, got {describe(traced)}.",
            where=user_location(), remedy="Read one element of it, for instance with x[0].",
        )  # fmt: skip
    return traced


def extent_of(value: Any, what: str) -> Atom:
    """An integer scalar as an i64 atom: an extent or an index."""
    if type(value) is int:
        return index(value) if fits(value, i64) else lift(value).atom
    traced = scalar_of(value, what)
    if not traced.element.is_integer:
        raise DTypeError(
            f"{what} must be an integer, got {describe(traced)}.",
            where=user_location(),
            remedy="Convert it with astype(fw.i64), or divide with // rather than /.",
        )
    return current().cast(traced.atom, i64)


def flag_of(value: Any, what: str) -> bool:
    """A user's True or False that decides what the program is."""
    if isinstance(value, bool | np.bool_ | Array) or (type(value) is int and value in (0, 1)):
        return bool(value)
    raise ArgumentError(
        f"{what} must be True or False, got {value!r}.",
        where=user_location(), remedy="Leave it out for the default.",
    )  # fmt: skip


def same_dtype(values: Sequence[Tracer]) -> DType:
    """The common dtype of several arrays."""
    return common(values)[0]


def is_array(value: Any) -> bool:
    """Whether a value is an array or number rather than a function or a name."""
    return isinstance(value, Array | np.ndarray | np.generic | bool | int | float)
