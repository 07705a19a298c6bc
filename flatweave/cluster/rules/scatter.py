"""permute and scatter into an array that is whole: private copies, combined in their order.

A part is a destination in which only what the chunk writes is combined: so the parts are combined
by the operator itself, in the order of the chunks, and the given destination comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import bool_, i64
from flatweave.cluster.rules.rule import Chunk, Joining, Part, Parts, Rule
from flatweave.ops import Generate, Map, Permute, Scatter
from flatweave.ops.rows import array_type, scalar_type
from flatweave.passes.monoid import Monoid, monoid
from flatweave.terms.build import Builder, with_beside
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Var, constant


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
        given, b = cast(Any, let.op), chunk.b
        op = chunk.operation(given.replace(dest=()))  # what it writes into stays where it is
        law = self.law(b, op.replace(dest=given.dest))
        shape = tuple(map(chunk.atom, array_type(given.dest[0]).shape))
        dests = [_filled(b, shape, atom) for atom in law.neutral]
        flags = _filled(b, array_type(op.xs[0]).shape, Const(True, bool_))
        xs = (flags, *op.xs) if law.optional else op.xs
        return b.emit(Permute(law.fn, law.neutral, tuple(dests), op.indices, xs))

    def whole(self, client: Parts, let: Let, parts: Sequence[Part]) -> Mapping[Var, Any]:
        op: Any = let.op
        law = self.law(Builder(), op)
        given = [client.value(atom) for atom in op.dest]
        if parts:
            put = _place_by_place(self._put(law, len(given)), array_type(op.dest[0]).shape[0])
            head = [client.value(atom) for atom in put.head]
            given = client.call("put", put.program.fn, [*head, *given, *parts[0]])
        return dict(zip(let.vars, given, strict=True))

    def joining(self, let: Let) -> Joining:
        op: Any = let.op
        return _place_by_place(self.law(Builder(), op).fn, array_type(op.dest[0]).shape[0])

    def size(self, client: Parts, let: Let) -> int:
        op: Any = let.op
        return sum(client.value(atom).nbytes for atom in op.dest)

    def _put(self, law: Monoid, half: int) -> Lambda:
        """What was given, combined with what all chunks wrote."""
        if not law.optional:
            return law.given

        def body(b: Builder, *params: Var) -> Sequence[Atom]:
            old, (flag, *new) = params[:half], params[half:]
            both = b.inline(law.given, [*old, *new])
            pairs = zip(both, old, strict=True)
            return [b.apply("select", flag, x, y) for x, y in pairs]

        types = [*law.given.result_types(), *law.fn.result_types()]
        return Builder().function(types, body)


class ScatterRule(PermuteRule):
    """Elements written at places, the last one in the order of the rows staying."""

    op: ClassVar[type[Op]] = Scatter

    def law(self, b: Builder, op: Any) -> Monoid:
        types = [array_type(x).dtype for x in op.dest]
        later = b.function([*types, *types], lambda inside, *params: params[len(types) :])
        return monoid(b, later, tuple(constant(0, dtype) for dtype in types))


def _filled(b: Builder, shape: tuple[Atom, ...], atom: Atom) -> Var:
    """An array that holds one value everywhere."""
    fn = b.function([extent.type for extent in shape], lambda inside, *_: (atom,))
    return b.emit(Generate(shape, fn))[0]


def _place_by_place(fn: Lambda, extent: Atom) -> Joining:
    """Arrays of one extent combined by an operator; what it reads from outside comes first."""
    b = Builder()
    n = b.param("n", i64)
    beside, params, renamed = with_beside(b, fn)
    arrays = [b.param("x", ArrayType(scalar_type(param), (n,))) for param in fn.params]
    results = b.emit(Map(renamed.function(fn), tuple(arrays)))
    program = Program("joined", b.close([n, *params, *arrays], results))
    return Joining(program, (extent, *beside))
