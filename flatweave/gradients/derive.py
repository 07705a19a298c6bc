"""Both modes on a lambda: what the front end asks for.

    derived = forward(b, fn, results, tangents)      the operations, and the tangents of results
    taped = reverse(b, fn)                           the operations; taped.back(b, cotangents)
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.records import record
from flatweave.gradients.forward import Forward
from flatweave.gradients.reverse import Reverse
from flatweave.gradients.table import rule_of
from flatweave.gradients.values import tangent_type
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Lambda, Let, Var
from flatweave.terms.traverse import needed_for


@record
class Derived:
    """Operations to emit, and the tangents or cotangents that they compute."""

    lets: tuple[Let, ...]
    atoms: list[Atom]


def forward(
    b: Builder, fn: Lambda, tangents: Sequence[Atom | None], results: Sequence[Atom]
) -> Derived:
    """The operations of a lambda with their tangents, given those of its parameters; None is zero.
    """
    f = Forward(_inner(b), rule_of)
    for param, tangent in zip(fn.params, tangents, strict=True):
        f.b.bind(param, None)
        f.set(param, tangent)
    f.run(fn.lets)
    found = [f.dense(atom) for atom in results]
    return Derived(tuple(f.b.lets), found)


@record
class Taped:
    """A lambda whose operations have been emitted, ready for its reverse."""

    lets: tuple[Let, ...]
    r: Reverse
    params: tuple[Var, ...]

    def back(self, b: Builder, seeds: Sequence[tuple[Atom, Atom]]) -> Derived:
        """The cotangents of the parameters, given those of some values."""
        inner = _inner(b)
        with self.r.emitting(inner):
            self.r.pull(seeds)
            found = [self.r.cotangent(param) for param in self.params]
        return Derived(needed_for(inner.lets, found), found)


def reverse(b: Builder, fn: Lambda) -> Taped:
    """The operations of a lambda, all of whose parameters are active."""
    inner = _inner(b)
    r = Reverse(inner, rule_of, {param for param in fn.params if tangent_type(param.type)})
    r.bind(fn.params)
    r.run(fn.lets)
    return Taped(tuple(inner.lets), r, fn.params)


def _inner(b: Builder) -> Builder:
    """A builder of operations that are moved to another one: all of them stay in it."""
    inner = b.inner()
    inner.hoists = False
    return inner


