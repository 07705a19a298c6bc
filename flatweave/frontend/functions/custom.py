"""Functions with rules for their derivatives, as operations of a program.

    ruled(f, (x,), "f", jvp=rule)      y = custom f x, with the rule as a function of the language

A rule is traced where its function is called, but only if that call is differentiated: as
often as derivatives are nested, so a rule may call its function. Elsewhere the function is
called as it is. Rules are Python functions of values and tangents as users see them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from flatweave.base.dtypes import f32, u16
from flatweave.base.errors import DTypeError, ShapeError
from flatweave.base.pretty import counted
from flatweave.base.records import record
from flatweave.base.source import user_location
from flatweave.frontend.elements.bodies import bound_results, leaves_and_tree
from flatweave.frontend.elements.broadcasting import cast, generated
from flatweave.frontend.elements.lambdas import shape_text
from flatweave.frontend.functions.differentiable import (
    Opened,
    bound_to,
    opened,
    tangents_given,
    types_of_parts,
)
from flatweave.frontend.trace import extents
from flatweave.frontend.trace.tracers import as_tracer, tracer_of
from flatweave.frontend.values.array import Tracer, describe, kind_of
from flatweave.frontend.values.scope import current, entered
from flatweave.frontend.values.tree import Tree, paths, unflatten
from flatweave.ops import Back, Custom, Reshape
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Type, Var

Function = Callable[..., Any]


@record
class Rules:
    """The rules of a function.

    `jvp(primals, tangents)` gives the result and its tangent; `fwd(*primals)` the result and what
    `bwd(saved, cotangent)` wants, which gives a tuple of cotangents; `transpose(*primals,
    cotangent)` those of the last `linear` arguments, in which the function is linear. `names` are
    what messages call the rules.
    """

    jvp: Function | None = None
    fwd: Function | None = None
    bwd: Function | None = None
    transpose: Function | None = None
    linear: int = 0
    again: bool = False
    names: tuple[str, str] = ("the rule", "the rule")


R = TypeVar("R")


def ruled(f: Callable[..., R], args: Sequence[Any], who: str, rules: Rules) -> R:
    """What a function gives; derivatives use its rules. With `again` it is computed once more in
    reverse mode."""
    scope = current()
    if not (scope.order or (rules.transpose and scope.is_transposed)):
        return f(*args)
    taken = opened(tuple(args), "", f"an argument of {who}")
    if not any(leaf.has_tangent for leaf in taken.leaves):
        return f(*args)
    trace = scope.trace
    around, trace.where = trace.where, user_location()
    found: R = _Call(f, taken, who, rules).emit()
    trace.where = around
    return found


class _Call:
    """One call of a function with rules."""

    def __init__(self, f: Function, taken: Opened, who: str, rules: Rules) -> None:
        self.f, self.taken, self.who, self.rules = f, taken, who, rules
        self.scope = current()
        self.moving = [leaf for leaf in taken.leaves if leaf.has_tangent]
        self.types = types_of_parts(self.moving)
        self.leaves: list[Tracer] = []
        self.tree: Tree

    def emit(self) -> Any:
        """The result of the operation."""
        rules = self.rules
        order = self.scope.order
        below = max(order - 1, 0)
        fn = self._function(self.types, order if rules.again else 0, self._primal)
        op = Custom(
            self.who, fn,
            tuple(part.atom for leaf in self.moving for part in leaf.parts),
            (self._function(
                [*self.types, *map(_tangent_type, self.types)], below, self._jvp, True
            ),) if rules.jvp and order else (),
            (self._function(self.types, below, self._fwd),) if rules.fwd else (),
            (self._transposed(order if self.scope.is_transposed else below),)
            if rules.transpose else (),
            self._linear_parts(),
        )  # fmt: skip
        found = current().emit(op, self.who if self.who.isidentifier() else "y")
        weak = [leaf.weak for leaf in self.leaves]
        return bound_results(found, [leaf.ndim for leaf in self.leaves], weak, self.tree)

    def _function(
        self, types: Sequence[Type], order: int, write: Callable[[list[Var]], Sequence[Atom]],
        is_rule: bool = False,
    ) -> Lambda:
        """A function of the language, inside of which `order` derivatives are to come."""
        inside = current().inner(optional=True)
        inside.order, inside.is_transposed = order, is_rule
        params = [inside.bind("x", type_) for type_ in types]
        with entered(inside):
            atoms = write(params)
        inside.closed = True
        return inside.builder.close(params, atoms)

    # -- what the functions give ------------------------------------------------------------------

    def _primal(self, params: list[Var]) -> list[Atom]:
        """The function itself: for each array of the result its extents, then the array."""
        result = self.f(*self._arguments(params))
        self.leaves, self.tree = leaves_and_tree(result, f"the result of {self.who}")
        return _with_extents(self.leaves)

    def _jvp(self, params: list[Var]) -> list[Atom]:
        """The same, then the tangents."""
        count = len(self.types)
        primals = self._arguments(params[:count])
        assert self.rules.jvp
        found = _pair(self.rules.jvp(primals, self._tangents(params[count:])), self.rules.names[0])
        leaves = self._alike(found[0], self.rules.names[0])
        value = unflatten(self.tree, leaves)
        what = f"the tangent that {self.rules.names[0]} gives"
        return [*_with_extents(leaves), *_tangent(value, leaves, found[1], what)]

    def _fwd(self, params: list[Var]) -> list[Atom]:
        """The same, and at the end what goes back."""
        rules = self.rules
        assert rules.fwd and rules.bwd
        found = _pair(rules.fwd(*self._arguments(params)), rules.names[0])
        leaves = self._alike(found[0], rules.names[0])
        bwd = rules.bwd

        def back(params_: list[Var]) -> list[Atom]:
            cotangent = _cotangent(unflatten(self.tree, leaves), leaves, params_)
            return self._cotangents(bwd(found[1], cotangent), params, rules.names[1])

        order = current().order
        current().emit(Back(self._function(_tangent_types(leaves), order, back)))
        return _with_extents(leaves)

    def _transposed(self, order: int) -> Lambda:
        """Cotangents of the arguments in which the function is linear."""
        transpose = self.rules.transpose
        count = len(self.types) - self._linear_parts()
        operands = [part.atom for leaf in self.moving for part in leaf.parts]

        def write(params: list[Var]) -> list[Atom]:
            assert transpose
            every = [*params[:count], *operands[count:]]
            args = self._arguments(every)
            fixed = args[: len(args) - self.rules.linear]
            results = [tracer_of(param) for param in params[count:]]
            cotangent = _cotangent(unflatten(self.tree, results), results, params[count:])
            found = (*(None for _ in fixed), *transpose(*fixed, cotangent))
            return self._cotangents(found, every, "the rule")[count:]

        types = [*self.types[:count], *_tangent_types(self.leaves)]
        return self._function(types, order, write)

    # -- arguments, results and what belongs to them ----------------------------------------------

    def _arguments(self, atoms: Sequence[Atom]) -> tuple[Any, ...]:
        """The arguments, of other arrays."""
        made = iter(bound_to(self.moving, atoms))
        values: tuple[Any, ...] = self.taken.rebuild(
            [next(made) if leaf.has_tangent else leaf.value for leaf in self.taken.leaves]
        )
        return values

    def _tangents(self, atoms: Sequence[Atom]) -> object:
        """Tangents in the structure of the arguments."""
        rest = iter(atoms)
        return self.taken.rebuild([
            leaf.tangent([next(rest) for _ in leaf.parts]) if leaf.has_tangent else None
            for leaf in self.taken.leaves
        ])  # fmt: skip

    def _cotangents(self, given: Any, atoms: Sequence[Atom], rule: str) -> list[Atom]:
        """What a rule gives for the arguments, as cotangents of their parts; None is zero."""
        args = self._arguments(atoms)
        if not isinstance(given, tuple | list) or len(given) != len(args):
            what = counted(len(given), "value") if isinstance(given, tuple | list) else (
                kind_of(given)
            )  # fmt: skip
            raise ShapeError.here(
                f"{rule} must give a tuple of {counted(len(args), 'cotangent')}, one for each"
                f" argument that is differentiated, got {what}.",
                "Return a tuple, also of one: (cotangent,). That of integers is None.",
            )
        found: list[Atom] = []
        for k, (arg, cotangent) in enumerate(zip(args, given, strict=True)):
            of = opened(arg, "", "an argument")
            what = f"the cotangent of argument {k + 1} that {rule} gives"
            parts = [None] * len(of.leaves) if cotangent is None else (
                tangents_given(cotangent, of, what)
            )  # fmt: skip
            found += _atoms(of, parts, what, conjugate=True)
        return found

    def _alike(self, value: Any, rule: str) -> list[Tracer]:
        """The leaves of a result that a rule gives, which is like the function's own."""
        leaves, tree = leaves_and_tree(value, f"the result of {rule}")
        if tree != self.tree:
            raise ShapeError.here(
                f"{rule} gives the result {shape_text(tree, leaves)}, where {self.who} gives"
                f" {shape_text(self.tree, self.leaves)}.",
                "Give what the function gives, in its structure.",
            )
        triples = zip(leaves, self.leaves, paths(tree), strict=True)
        return [self._like(leaf, wanted, path, rule) for leaf, wanted, path in triples]

    def _like(self, leaf: Tracer, wanted: Tracer, path: str, rule: str) -> Tracer:
        where = f" at result{path}" if path else ""
        if not leaf.ndim and leaf.weak:
            leaf = cast(leaf, wanted.element)
        if leaf.ndim != wanted.ndim or leaf.element is not wanted.element:
            raise (ShapeError if leaf.ndim != wanted.ndim else DTypeError)(
                f"{rule} gives {describe(leaf)}{where}, where {self.who} gives {describe(wanted)}.",
                where=user_location(), remedy="Give what the function gives.",
            )  # fmt: skip
        shape: list[Atom] = []
        for given, own in zip(leaf.extents, wanted.extents, strict=True):
            is_known = isinstance(own, Const) or self.scope.holds(self.scope.trace.homes[own])
            shape.append(own if is_known else given)
            if is_known:
                extents.same(
                    given, own,
                    f"{rule} gives an extent of {{0}}{where}, where {self.who} gives {{1}}.",
                    remedy="Give an array of the same shape.",
                )  # fmt: skip
        if tuple(shape) == tuple(leaf.extents):
            return leaf
        return tracer_of(current().emit(Reshape(leaf.atom, tuple(shape)))[0])

    def _linear_parts(self) -> int:
        """How many arrays the arguments consist of in which the function is linear."""
        count = self.rules.linear
        if not count:
            return 0
        return sum(
            len(leaf.parts)
            for arg in self._arguments([part.atom for leaf in self.moving for part in leaf.parts])
            [-count:]
            for leaf in opened(arg, "", "an argument").leaves
        )


def _pair(value: Any, rule: str) -> Sequence[Any]:
    """What a rule gives, which must be two values."""
    if isinstance(value, tuple | list) and len(value) == 2:
        return value
    raise ShapeError.here(
        f"{rule} must give a pair, got {kind_of(value)}.",
        "A jvp gives the result and its tangent, a fwd the result and what bwd wants.",
    )


def _with_extents(leaves: Sequence[Tracer]) -> list[Atom]:
    return [atom for leaf in leaves for atom in (*leaf.extents, leaf.atom)]


def _has_tangent(leaf: Tracer) -> bool:
    """Whether derivatives give a tangent to an array: u16 may hold floats of 16 bits."""
    return leaf.element.is_float or leaf.element is u16


def _tangent_type(type_: Type) -> Type:
    """The type of tangents of floats, or of words that hold floats."""
    if isinstance(type_, ArrayType):
        return type_ if type_.dtype.is_float else ArrayType(f32, type_.shape)
    return type_ if getattr(type_, "is_float", False) else f32


def _tangent_types(leaves: Sequence[Tracer]) -> list[Type]:
    return [_tangent_type(leaf.atom.type) for leaf in leaves if _has_tangent(leaf)]


def _cotangent(value: Any, leaves: Sequence[Tracer], params: Sequence[Atom]) -> object:
    """The cotangent of a result in its structure, as users see it."""
    out = opened(value, "", "a result")
    given = dict(zip((leaf.atom for leaf in leaves if _has_tangent(leaf)), params, strict=True))
    return out.rebuild([
        leaf.tangent([given[part.atom] for part in leaf.parts], conjugate=True)
        if leaf.has_tangent else None
        for leaf in out.leaves
    ])  # fmt: skip


def _tangent(value: Any, leaves: Sequence[Tracer], given: Any, what: str) -> list[Atom]:
    """What a rule gives as the tangent of a result: one of each array of floats in it."""
    out = opened(value, "", "a result")
    parts = [part for leaf in out.leaves if leaf.has_tangent for part in leaf.parts]
    atoms = iter(_atoms(out, tangents_given(given, out, what), what))
    found: list[Atom] = []
    for leaf in filter(_has_tangent, leaves):
        if parts and parts[0].atom == leaf.atom:
            del parts[0]
            found.append(next(atoms))
        else:
            found.append(_zero(leaf))  # integers of 16 bits
    return found


def _atoms(
    of: Opened, given: Sequence[Any], what: str, *, conjugate: bool = False
) -> list[Atom]:
    """Tangents of the floats of a value; None is zero."""
    found: list[Atom] = []
    for leaf, tangent in zip(of.leaves, given, strict=True):
        if not leaf.has_tangent:
            continue
        if tangent is None:
            found += [_zero(part) for part in leaf.parts]
        else:
            name = f"{what}, at {leaf.path}," if leaf.path else what
            found += leaf.tangent_atoms(tangent, name, conjugate=conjugate)
    return found


def _zero(part: Tracer) -> Atom:
    """Zero as the tangent of an array."""
    dtype = part.element if part.element.is_float else f32
    zero = cast(as_tracer(0.0), dtype)
    return generated(part.extents, lambda *_: zero)[0].atom if part.ndim else zero.atom
