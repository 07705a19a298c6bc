"""permute and scatter into an array that is whole: private copies, combined in their order.

A part is a destination in which only what the chunk writes is combined: so the parts are combined
by the operator itself, in the order of the chunks, and the given destination comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from flatweave.base.dtypes import bool_, i64
from flatweave.cluster.rules.rule import Chunk, Part, Parts, Rule
from flatweave.ops import Generate, Map, Permute, Scatter
from flatweave.ops.rows import array_type
from flatweave.passes.monoid import Monoid, monoid
from flatweave.terms.build import Builder
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Var, constant
from flatweave.terms.traverse import Substitution


class PermuteRule(Rule):
    """Elements combined at places."""

    op: ClassVar[type[Op]] = Permute

    def fed(self, op: Any) -> tuple[Atom, ...]:
        return (op.indices, *op.xs)

    def into(self, op: Any) -> tuple[Atom, ...]:
        return op.dest  # type: ignore[no-any-return]

    def law(self, b: Builder, op: Any) -> Monoid:
        """How elements that meet are combined, and what a place holds where there is none."""
        types = [array_type(x).dtype for x in op.dest]
        nothing = tuple(constant(0, dtype) for dtype in types)
        known = bool(op.neutral)  # `nothing` is no element: a copy must not begin with it
        return monoid(b, op.fn, op.neutral or nothing, known=known, segmented=not known)

    def parts(self, chunk: Chunk, let: Let) -> tuple[Atom, ...]:
        op, b = chunk.operation(let.op), chunk.b
        law = self.law(b, op)
        dests = [_filled(b, array_type(op.dest[0]), atom) for atom in law.neutral]
        flags = _filled(b, array_type(op.xs[0]), Const(True, bool_))
        xs = (flags, *op.xs) if law.optional else op.xs
        return b.emit(Permute(law.fn, law.neutral, tuple(dests), op.indices, xs))

    def whole(self, client: Parts, let: Let, parts: Sequence[Part]) -> Mapping[Var, Any]:
        op, b = let.op, Builder()
        law = self.law(b, op)
        found = [[client.fetched(each) for each in part] for part in parts if part]
        given = [client.value(atom) for atom in op.dest]  # type: ignore[attr-defined]
        while len(found) > 1:  # neighbours in a tree
            pairs = [found[k : k + 2] for k in range(0, len(found), 2)]
            found = [_joined(client, law.fn, *pair) if len(pair) > 1 else pair[0] for pair in pairs]
        if not found:
            return dict(zip(let.vars, given, strict=True))
        return dict(zip(let.vars, self._put(client, law, given, found[0]), strict=True))

    def _put(self, client: Parts, law: Monoid, given: list[Any], part: list[Any]) -> list[Any]:
        """What was given, combined with what all chunks wrote."""
        if not law.optional:
            return _joined(client, law.given, given, part)
        half = len(given)

        def body(b: Builder, *params: Var) -> Sequence[Atom]:
            old, (flag, *new) = params[:half], params[half:]
            both = b.inline(law.given, [*old, *new])
            pairs = zip(both, old, strict=True)
            return [b.apply("select", flag, x, y) for x, y in pairs]

        types = [*law.given.result_types(), *law.fn.result_types()]
        return _joined(client, Builder().function(types, body), given, part)


class ScatterRule(PermuteRule):
    """Elements written at places, the last one in the order of the rows staying."""

    op: ClassVar[type[Op]] = Scatter

    def law(self, b: Builder, op: Any) -> Monoid:
        types = [array_type(x).dtype for x in op.dest]
        later = b.function([*types, *types], lambda inside, *params: params[len(types) :])
        return monoid(b, later, tuple(constant(0, dtype) for dtype in types))


def _filled(b: Builder, type_: ArrayType, atom: Atom) -> Var:
    """An array of this one's shape that holds one value everywhere."""
    fn = b.function([extent.type for extent in type_.shape], lambda inside, *_: (atom,))
    return b.emit(Generate(type_.shape, fn))[0]


def _joined(client: Parts, fn: Lambda, left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Arrays combined place by place."""
    b = Builder()
    n = b.param("n", i64)
    arrays = [b.param("x", ArrayType(param.type, (n,))) for param in fn.params]  # type: ignore[arg-type]
    copied = Substitution(fresh=lambda var, type_: b.var(var.name, type_)).function(fn)
    results = b.emit(Map(copied, tuple(arrays)))
    return client.call("combined", b.close([n, *arrays], results), [len(left[0]), *left, *right])

