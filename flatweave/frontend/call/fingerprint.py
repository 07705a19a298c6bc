"""The structure of a program as a key: equal programs share what was compiled.

    xs: f64[n] -> ys = map f xs in ys    ==>    (params, ((("ys",), "map", fields, ""),), ("ys",))
"""

from __future__ import annotations

from typing import Any

from flatweave.base.dtypes import DType
from flatweave.ops import Callback
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Part, Type, Var


def fingerprint(fn: Lambda) -> tuple[Any, ...]:
    """The structure of a lambda as nested tuples: equal for programs that mean the same.

    Names come from one counter for each trace, so that traces of equal functions have equal names.
    """
    params = tuple((param.name, _type_key(param.type)) for param in fn.params)
    lets = tuple(
        (tuple(var.name for var in let.vars), let.op.name, _field_key(let.op), _line_of(let))
        for let in fn.lets
    )
    return params, lets, tuple(_field_key(atom) for atom in fn.results)


def _line_of(let: Let) -> str:
    """The line of a call of a Python function, which what it raises tells."""
    return str(let.where) if isinstance(let.op, Callback) else ""


def _field_key(field: Any) -> object:
    if isinstance(field, Var):
        return field.name
    if isinstance(field, Const):
        return field.key()
    if isinstance(field, Lambda):
        return fingerprint(field)
    if isinstance(field, tuple):
        return tuple(_field_key(item) for item in field)
    if isinstance(field, Op | Part):
        return tuple(_field_key(value) for value in field.values())
    return field.name if isinstance(field, DType) else ("is", field)


def _type_key(type_: Type) -> str | tuple[str, tuple[float | int | str, ...]]:
    if isinstance(type_, ArrayType):
        return (type_.dtype.name, tuple(_extent_key(extent) for extent in type_.shape))
    return type_.name if isinstance(type_, DType) else repr(type_)


def _extent_key(extent: Atom) -> float | int | str:
    return extent.name if isinstance(extent, Var) else extent.value
