"""Vertical fusion: compute a producer's element where a consumer reads it.

    total(n: i64, xs: f32[n]) =>
        a: f32[n] = sweep [n] (i: i64 =>
            x: f32 = index xs [i] checked=false
            y: f32 = mul x x
            in y) [store]
        s: f32 = sweep [n] (j: i64 => index a [j] checked=false) [combine (add f32) [0.0f32]]
        in s
    ==>
    total(n: i64, xs: f32[n]) =>
        s: f32 = sweep [n] (j: i64 =>
            x: f32 = index xs [j] checked=false
            y: f32 = mul x x
            in y) [combine (add f32) [0.0f32]]
        in s

A producer is a sweep that only stores and scans nothing: a pull array. It is computed again at each
read, so it is taken only when that is cheaper than storing it (`sharing.py` decides). What is next
to nothing, such as an iota, is taken from any sweep.
The store that nobody reads any more is left to `dce`.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.array_ir.syntax import Program
from flatweave.ops import Index, Sweep
from flatweave.passes.elements import tested
from flatweave.passes.rewrite import Rewriter
from flatweave.passes.sharing import choose_pulls, is_pull
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import needed_for


def fuse(program: Program) -> Program:
    """Compute pull arrays where they are read, wherever that pays."""
    chosen = choose_pulls(program)
    return _Puller(chosen).run(program)


class _Puller(Rewriter):
    """Replaces reads of chosen arrays by the body that computes the element."""

    def __init__(self, chosen: dict[Var, int]) -> None:
        super().__init__(self._pull)
        self.chosen = chosen
        self.producers: dict[Var, tuple[Sweep, Lambda, int]] = {}
        self.emitted: dict[tuple[Builder, Lambda, tuple[Atom, ...]], tuple[Atom, ...]] = {}

    def run(self, program: Program) -> Program:
        return Program(program.name, self.program(program.fn))

    def let(self, b: Builder, let: Let) -> None:
        super().let(b, let)
        if not isinstance(let.op, Sweep):
            return
        for var in let.vars:
            fresh = self.renaming.atom(var)
            if var in self.chosen and isinstance(fresh, Var):
                made = b.definition(fresh)
                assert isinstance(made, Sweep)
                self.producers[fresh] = made, *_computing(made, self.chosen[var])

    def _pull(self, b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        if not isinstance(op, Index) or op.xs not in self.producers:
            return None
        assert isinstance(op.xs, Var)
        producer, body, position = self.producers[op.xs]
        indices = tested(b, op.indices, producer.shape) if op.checked else op.indices
        key = b, body, indices
        if key not in self.emitted:
            self.emitted[key] = b.inline(body, indices)
        return (self.emitted[key][position],)


def _computing(producer: Sweep, position: int) -> tuple[Lambda, int]:
    """A function of the indices, and which of its results is the element."""
    body = producer.body
    if is_pull(producer):
        return body, position
    wanted = body.results[position : position + 1]
    return Lambda(body.params, tuple(needed_for(body.lets, wanted)), wanted), 0
