"""What an array's elements are: numbers, or trees of them, stored as one array per leaf.

A float of 16 bits is a word in memory, which moves as it is: `xs[i]` of such an array is one. What
computes with it reads an f32, and so do reductions, scans and the state of loops; `.astype(fw.f16)`
stores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flatweave.base.dtypes import DType, u16
from flatweave.base.errors import ArgumentError, DTypeError
from flatweave.base.records import record
from flatweave.frontend.elements.broadcasting import cast
from flatweave.frontend.trace.tracers import widened
from flatweave.frontend.values.array import Tracer, kind_of
from flatweave.frontend.values.number_formats import OF, is_short
from flatweave.frontend.values.scope import Scope, entered
from flatweave.frontend.values.tree import LEAF, Tree, flatten, paths, spelled, unflatten
from flatweave.kernel.code import number, numbers
from flatweave.terms.syntax import Atom, constant


@record(eq=True)
class Kind:
    """What an array's elements are: their structure, and the dtype of each leaf."""

    tree: Tree
    dtypes: tuple[DType, ...]

    def value(self, atoms: Sequence[Atom]) -> Any:
        """An element made of its leaves."""
        return unflatten(self.tree, numbers(atoms))

    def atoms(self, value: Any, what: str = "an element") -> list[Atom]:
        """The leaves of an element, in these dtypes; Python numbers take them.

        Raises DTypeError for an element of another kind.
        """
        found, tree = leaves_of(value, what)
        if tree != self.tree:
            found, tree = leaves_of(floats(value), what)
        if tree != self.tree or any(
            leaf.element is not dtype and not leaf.weak
            for leaf, dtype in zip(found, self.dtypes, strict=True)
        ):
            raise DTypeError.here(
                f"{what} is {spelled(tree, [leaf.element.name for leaf in found])}, where others "
                f"are {self}.",
                "Convert it with astype, so that all elements of an array are alike.",
            )
        return [
            cast(leaf, dtype).atom for leaf, dtype in zip(found, self.dtypes, strict=True)
        ]

    def __str__(self) -> str:
        return spelled(self.tree, [dtype.name for dtype in self.dtypes])


def leaves_of(value: Any, what: str = "an element") -> tuple[list[Tracer], Tree]:
    """An element's leaves as numbers, and the structure around them."""
    found, tree = flatten(value)
    if not found:
        raise ArgumentError.here(
            f"{what} is {tree}, which holds no number.", "Give a number, or a tuple of numbers."
        )
    names = paths(tree, what)
    for leaf, name in zip(found, names, strict=True):
        if type(leaf).__name__ in ("Pull", "Push"):
            raise ArgumentError.here(
                f"{name} is {kind_of(leaf)} where a number is needed.",
                "Give the units below an array each with pconcat, or index it.",
            )
    return [number(leaf, name) for leaf, name in zip(found, names, strict=True)], tree


def floats(value: Any) -> Any:
    """An element, whose floats of 16 bits are read as f32; arrays stay as they are."""
    found, tree = flatten(value, is_short)
    return unflatten(tree, [widened(leaf) if is_short(leaf) else leaf for leaf in found])


def leaves_of_both(branches: Sequence[tuple[Scope, Any]]) -> list[tuple[list[Tracer], Tree]]:
    """The leaves of what branches give, each in its scope; those of f32 for floats of 16 bits
    where another one gives something else."""
    for reads_floats in (False, True):
        found: list[tuple[list[Tracer], Tree]] = []
        for scope, value in branches:
            with entered(scope):
                element = floats(value) if reads_floats else value
                found.append(leaves_of(element, "what a branch of cond gives"))
        if all(tree == found[0][1] for _, tree in found):
            break
    return found


def kind_of_leaves(found: Sequence[Tracer], tree: Tree) -> Kind:
    """The kind of an element with these leaves."""
    return Kind(tree, tuple(leaf.element for leaf in found))


def kind_of_dtype(dtype: DType) -> Kind:
    """The kind of numbers of a dtype."""
    if not dtype.is_short:
        return Kind(LEAF, (dtype,))
    return kind_of_leaves(*flatten(OF[dtype](*numbers([constant(0, u16)]))))
