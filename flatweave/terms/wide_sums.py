"""Sums of f32 that go a long way are carried as f64, so that their errors do not grow.

    (a: f32, b: f32 => add a b)     ==>     (a: f64, b: f64 => add a b)

A running sum of 10^8 floats of one sign is rounded as often as it is passed on. In f64 that is not
seen in an f32, to which each result is rounded once. Of operators that combine components one by
one, those that are sums are carried so; others combine what they are given.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import DType, f32, f64
from flatweave.terms.build import Builder
from flatweave.terms.components import component_functions
from flatweave.terms.control import Apply
from flatweave.terms.syntax import Atom, Lambda, Let, Type, Var


def carried_by(fn: Lambda) -> Lambda:
    """The operator on what is carried of an operator's elements."""
    return wide_sums(fn) or fn


def cast_each(b: Builder, values: Sequence[Atom], types: Sequence[Type]) -> tuple[Atom, ...]:
    """Elements as they are carried, or what was carried as elements; flags stay."""
    pairs = zip(values, types, strict=True)
    return tuple(b.cast(x, t) if isinstance(t, DType) else x for x, t in pairs)


def wide_sums(fn: Lambda) -> Lambda | None:
    """The same, where an operator has sums of f32; else None."""
    dtypes = tuple(type_ for type_ in fn.result_types() if isinstance(type_, DType))
    names = component_functions(fn)
    if names is None or ("add", f32) not in zip(names, dtypes, strict=True):
        return None
    pairs = list(zip(names, dtypes, strict=True))
    types = [f64 if pair == ("add", f32) else pair[1] for pair in pairs]
    left, right, out = ([Var(name, type_) for type_ in types] for name in "abc")
    lets = tuple(
        Let((result,), Apply(name, (x, y)))
        for name, x, y, result in zip(names, left, right, out, strict=True)
    )
    return Lambda((*left, *right), lets, tuple(out))
