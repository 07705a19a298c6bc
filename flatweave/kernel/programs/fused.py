"""A kernel called in a jitted function: as elements of arrays, where it is nothing else.

A kernel whose arrays are pulled, or pushed by threads and blocks of which each computes its element
by itself, says for every index what stands there. So it becomes a `generate` of the array language,
which fuses with what is around it. Where it stores, waits or updates, NotElements is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.plan import Site
from flatweave.frontend.functions.generate import generate
from flatweave.frontend.values.array import Tracer
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import flatten, unflatten
from flatweave.kernel.arrays.chunks import flatten as one_row
from flatweave.kernel.arrays.pulls import Pull, rows
from flatweave.kernel.arrays.pushes import Push
from flatweave.kernel.arrays.units import as_elements
from flatweave.kernel.storage.stores import Memory
from flatweave.kernel.writing.code import NotElements, Scopes
from flatweave.lower.kernel.scope import Sites
from flatweave.ops import Check
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom


class Elements:
    """Elements of arrays that are written in the trace of a jitted function."""

    def __init__(self, scope: Scope, checks: bool) -> None:
        self.scope = scope
        self.checks = checks
        self.sites = Sites()
        self._scopes = Scopes()

    def scope_of(self, b: Builder) -> Scope:
        """The scope whose code goes to a builder."""
        return self._scopes.of(b)

    def must(self, scope: Scope, holds: Atom, site: Site, values: tuple[Atom, Atom]) -> bool:
        """A check of a kernel as one of the program; what fails goes on with an index of 0."""
        home = scope.check_home((holds, *values))
        if not home.is_checked(holds):
            home.checked.add(holds)
            home.emit(Check(holds, site.kind, values[: site.count], site.message))
        return False


def fused(body: Callable[[list[Any]], Any], args: Sequence[Tracer], checks: bool = True) -> Any:
    """What a kernel's function gives for traced arrays, as arrays of the jitted function.

    Raises NotElements, with nothing emitted, where the kernel is more than its elements.
    """
    scope = current()
    restore = scope.snapshot()
    made: Any = scope.trace
    made.elements = Elements(scope, checks)
    try:
        found, tree = flatten(body([_argument(arg) for arg in args]))
        return unflatten(tree, [_result(value) for value in found])
    except NotElements:
        restore()
        raise
    finally:
        del made.elements


def _argument(arg: Tracer) -> Any:
    """An array as a pull array, of rank n as one of pull arrays; a number as it is."""
    if not arg.ndim:
        return arg
    return rows(arg.shape, lambda *at: arg[at])


def _result(value: Any) -> Any:
    if isinstance(value, Memory):
        raise NotElements
    if not isinstance(value, Pull | Push):
        return value
    array = as_elements(value)
    shape, flat = _shape(array)
    if len(shape) == 1:
        return generate(shape[0], flat.at)
    return generate(shape, lambda *at: _at(array, at))


def _at(array: Any, at: Sequence[Any]) -> Any:
    for i in at:
        array = array.at(i)
    return array


def _shape(array: Pull) -> tuple[tuple[Any, ...], Pull]:
    """The extents of an array of arrays, to its numbers."""
    restore = current().snapshot()
    element = array.at(0)
    restore()
    if not isinstance(element, Pull):
        return (array.length,), array
    inner, _ = _shape(element)
    return (array.length, *inner), one_row(array)
