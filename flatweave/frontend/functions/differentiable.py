"""Arguments and results of differentiated functions: which of their leaves have tangents.

    {"w": f64[n], "k": i64, "rows": Ragged}      leaves w, k, the values of rows
    tangents                                     {"w": f64[n], "k": None, "rows": Ragged}

A tangent has the primal's structure and dtype; that of a Ragged shares the offsets, that of an
integer is None. A complex number has two floats in a program, a float of 16 bits one word, whose
tangent is an f32 there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from flatweave.base.dtypes import DType, f32
from flatweave.base.errors import DTypeError, EscapedArrayError, ShapeError
from flatweave.base.records import record
from flatweave.frontend.elements.broadcasting import taken
from flatweave.frontend.elements.lambdas import name_of
from flatweave.frontend.ragged.elementwise import check_offsets
from flatweave.frontend.ragged.ragged import Ragged
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.trace import lifted
from flatweave.frontend.trace.tracers import as_tracer, lifted_short, narrowed, tracer_of, widened
from flatweave.frontend.values.array import Tracer, describe
from flatweave.frontend.values.asarray import is_number_list
from flatweave.frontend.values.number_formats import (
    Complex,
    Composed,
    Short,
    Traced,
    is_complex,
    is_short,
)
from flatweave.frontend.values.scope import Scope, current
from flatweave.frontend.values.tree import Tree, flatten, paths, spelled, unflatten
from flatweave.ops import Inlined, Reshape
from flatweave.terms.syntax import Atom, Let, Type

Rebuild = Callable[[Iterator[Any]], Any]


@record
class Leaf:
    """One array or number of an argument or a result, as the trace has it."""

    value: Traced
    path: str

    @property
    def has_tangent(self) -> bool:
        """Whether it is a float or a complex number."""
        return not isinstance(self.value, Tracer) or self.value.element.is_float

    @property
    def dtype(self) -> DType:
        """The dtype of a real number or an array of such."""
        assert isinstance(self.value, Tracer | Short)
        return self.value.element

    @property
    def parts(self) -> list[Tracer]:
        """The arrays of the program that it consists of."""
        if isinstance(self.value, Tracer):
            return [self.value]
        return [getattr(self.value, name) for name in self.value.parts]

    def with_parts(self, parts: Sequence[Tracer]) -> Traced:
        """The same of other arrays."""
        if isinstance(self.value, Tracer):
            return parts[0]
        same = type(self.value).made(*parts)
        assert isinstance(same, Composed)  # of arrays, not of rows
        return same

    def tangent(self, atoms: Sequence[Atom], *, conjugate: bool = False) -> Traced:
        """A tangent, as the user sees it, of those of the parts."""
        parts = [tracer_of(atom) for atom in atoms]
        if isinstance(self.value, Short):
            return narrowed(parts[0], self.value.element)
        if isinstance(self.value, Complex):
            return Complex(parts[0], -parts[1] if conjugate else parts[1])
        return parts[0]

    def tangent_atoms(self, given: Any, what: str, *, conjugate: bool = False) -> list[Atom]:
        """A user's tangent as those of the parts: its shape is checked, its dtype converted."""
        if isinstance(self.value, Complex):
            z = lifted(given) if is_complex(given) else Complex(as_tracer(given), as_tracer(0.0))
            parts = [z.real, z.imag]
            if conjugate:
                parts[1] = -parts[1]
            pairs = zip(parts, self.parts, strict=True)
            return [self._like(part, of, what) for part, of in pairs]
        found = widened(given) if is_short(given) else as_tracer(given, what)
        return [self._like(found, self.parts[0], what)]

    def _like(self, given: Tracer, part: Tracer, what: str) -> Atom:
        dtype = part.element if part.element.is_float else f32
        if given.ndim != part.ndim:
            raise ShapeError.here(
                f"{what} must have the shape of what it belongs to, {describe(self.value)}, got"
                f" {describe(given)}.",
                "Give an array of that shape.",
            )
        if not (given.element.is_float or given.weak):
            raise DTypeError.here(
                f"{what} must be floating, got {describe(given)}.",
                "Convert it with astype(fw.f64).",
            )
        for one, wanted in zip(given.extents, part.extents, strict=True):
            extents.same(
                one, wanted,
                f"{what} has an extent of {{0}} where what it belongs to has {{1}}.",
                remedy="Give an array of the same shape.",
            )  # fmt: skip
        return as_shaped(taken(given, dtype, what), part).atom


def as_shaped(array: Tracer, like: Tracer) -> Tracer:
    """An array with the extent variables of another; both are known to be equal."""
    if array.extents == like.extents:
        return array
    return tracer_of(current().emit(Reshape(array.atom, like.extents))[0])


@record
class Opened:
    """The leaves of a value, its structure, and a function that rebuilds it from other leaves."""

    leaves: list[Leaf]
    tree: Tree
    rebuild: Callable[[Sequence[Any]], Any]
    rows: list[int | None]
    """For each part of the structure the number of leaves of a Ragged, None for an array."""

    @property
    def has_rows(self) -> bool:
        """Whether there is a Ragged among the values."""
        return any(count is not None for count in self.rows)

    @property
    def spelled(self) -> str:
        """The structure as messages show it."""
        names, at = list[str](), 0
        for count in self.rows:
            names.append("a Ragged" if count is not None else describe(self.leaves[at].value))
            at += 1 if count is None else count
        return spelled(self.tree, names)


def _is_leaf(value: Any) -> bool:
    is_whole = isinstance(value, Ragged | Complex | Short)
    return is_whole or is_number_list(value)


def opened(value: Any, path: str, name: str) -> Opened:
    """The leaves of an argument or a result; messages call it `name`."""
    found, tree = flatten(value, _is_leaf)
    leaves: list[Leaf] = []
    makers: list[Rebuild] = []
    rows: list[int | None] = []
    for part, where in zip(found, paths(tree, path), strict=True):
        if isinstance(part, Ragged):
            inner = opened(part.values, f"{where}.values", name)
            leaves += inner.leaves
            rows.append(len(inner.leaves))
            makers.append(_rows(part, inner))
        else:
            leaves.append(Leaf(_traced(part, name), where))
            makers.append(next)
            rows.append(None)
    return Opened(leaves, tree, lambda values: _rebuilt(tree, makers, iter(values)), rows)


def _rows(rows: Ragged, inner: Opened) -> Rebuild:
    count = len(inner.leaves)

    def rebuild(values: Iterator[Any]) -> Ragged:
        made = inner.rebuild([next(values) for _ in range(count)])
        return Ragged.made(made, _here(rows.offsets))

    return rebuild


def _here(offsets: Any) -> Tracer:
    """Offsets in the body at hand, where what derivatives emit stands."""
    return tracer_of(offsets.atom if isinstance(offsets, Tracer) else as_tracer(offsets).atom)


def _rebuilt(tree: Tree, makers: Sequence[Rebuild], values: Iterator[Any]) -> object:
    return unflatten(tree, [made(values) for made in makers])


def _traced(value: Any, name: str) -> Traced:
    found = lifted_short(value) if is_short(value) else lifted(value)
    return found if isinstance(found, Composed) else as_tracer(found, name)


def tangents_given(value: Any, of: Opened, what: str) -> list[Any]:
    """A user's tangents for the leaves of a value: None where they give none."""
    return _given(value, of.rebuild([0.0] * len(of.leaves)), of, what)


def _given(value: Any, like: Any, of: Opened, what: str) -> list[Any]:
    found, tree = flatten(value, lambda part: part is None or _is_leaf(part))
    expected = flatten(like, lambda part: part is None or isinstance(part, Ragged))
    pairs = list(zip(found, expected[0], strict=False))
    rows_differ = any(
        isinstance(part, Ragged) != isinstance(rows, Ragged) for part, rows in pairs
        if part is not None and rows is not None
    )  # fmt: skip
    if tree != expected[1] or rows_differ:
        raise ShapeError.here(
            f"{what} must have the structure {of.spelled}, got"
            f" {spelled(tree, [_described(part) for part in found])}.",
            "Give an array for each of its floats, and None for each of its integers.",
        )
    given: list[Any] = []
    for part, rows in pairs:
        if rows is None:
            continue  # the value has none either
        if not isinstance(rows, Ragged):
            given.append(part)
        elif part is None:
            given += [None] * len(opened(rows.values, "", "").leaves)
        else:
            check_offsets(as_tracer(rows.offsets), as_tracer(part.offsets), what)
            given += _given(part.values, rows.values, of, what)
    return given


def _described(value: Any) -> str:
    if value is None or isinstance(value, Ragged):
        return "None" if value is None else "a Ragged"
    return describe(_traced(value, "a tangent"))


def types_of_parts(leaves: Sequence[Leaf]) -> list[Type]:
    """The types of the arrays that leaves consist of."""
    return [part.atom.type for leaf in leaves for part in leaf.parts]


def bound_to(leaves: Sequence[Leaf], atoms: Sequence[Atom]) -> list[Any]:
    """Leaves of the same kinds that consist of these atoms."""
    made: list[Any] = []
    rest = iter(atoms)
    for leaf in leaves:
        parts = [Tracer(next(rest), current(), part.weak) for part in leaf.parts]
        made.append(leaf.with_parts(parts))
    return made


def splice(lets: Sequence[Let], primals: Inlined) -> None:
    """Emit operations that were derived from a lambda into the body at hand; the lambda's
    parameters become what they are called with. Where no derivative is to come, custom functions
    are called as they are."""
    scope = current()
    primals.inlines = not scope.order
    for moved in primals.lets(lets):
        scope.builder.append(moved)
        scope.builder.adopt(moved)
        for var in moved.vars:
            scope.adopt(var)


def pair_of(result: Any, f: Callable[..., Any], who: str) -> tuple[Any, Any]:
    """What a function gives under `has_aux`: the value, and what is not differentiated."""
    if isinstance(result, tuple | list) and len(result) == 2:
        return result[0], result[1]
    given = opened(result, "", f"the result of {name_of(f)}").spelled
    raise ShapeError.here(
        f"{who} with has_aux needs a function that gives a pair, but {name_of(f)} gives {given}.",
        "Return (value, aux), of which aux is not differentiated, or leave has_aux out.",
    )


def need_inside(scope: Scope, who: str) -> None:
    """Refuse a call of a function that belongs to a body, outside of it."""
    if not current().holds(scope):
        raise EscapedArrayError.here(
            f"the function that {who} gives is called outside of the body {who} was called in.",
            "Call it there, and return what it gives.",
        )
