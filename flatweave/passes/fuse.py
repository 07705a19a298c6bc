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
The host computes an element that it reads; if this takes more than scalar work and reads, a sweep
of one element does. The store is now unread, and `dce` drops it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from flatweave.array_ir.syntax import SWEPT, Program
from flatweave.base.dtypes import i64
from flatweave.ops import Index, Store, Sweep
from flatweave.passes.rewrite import Rewriter, array_pass, tested
from flatweave.passes.sharing import (
    Choice,
    choose_pulls,
    explain,
    is_pull,
    needed_beyond,
    read_instead,
)
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Let, Op, Var
from flatweave.terms.traverse import free_vars, lambdas_in


@array_pass(takes=(SWEPT,), explain=explain)
def fuse(program: Program) -> Program:
    """Compute pull arrays where they are read, wherever that pays."""
    return _Puller(choose_pulls(program)).run(program)


class _Puller(Rewriter):
    """Replaces reads of chosen arrays by what computes the element."""

    def __init__(self, choice: Choice) -> None:
        super().__init__(self._pull)
        self.chosen, self.stored = choice.pulled, choice.stored
        self.producers: dict[Var, tuple[_Producer, int]] = {}
        self.elements: dict[tuple[Builder, _Producer, tuple[Atom, ...]], _Element] = {}
        self.on_host = True

    def run(self, program: Program) -> Program:
        return Program(program.name, self.program(program.fn))

    def let(self, b: Builder, let: Let) -> None:
        super().let(b, let)
        if not isinstance(let.op, Sweep):
            return
        chosen = [(self.renaming.atom(v), self.chosen[v]) for v in let.vars if v in self.chosen]
        found = [(fresh, position) for fresh, position in chosen if isinstance(fresh, Var)]
        if found:
            made = b.definition(found[0][0])
            assert isinstance(made, Sweep)
            vars_ = [var for var in map(self.renaming.atom, let.vars) if isinstance(var, Var)]
            stored = {self.renaming.atom(v) for v in let.vars if v in self.stored}
            producer = _Producer(Let(tuple(vars_), made, let.where), stored)
            self.producers.update((fresh, (producer, position)) for fresh, position in found)

    def _pull(self, b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        if not isinstance(op, Index) or op.xs not in self.producers:
            return None
        assert isinstance(op.xs, Var)
        producer, position = self.producers[op.xs]
        indices = tested(b, op.indices, producer.shape, op.row) if op.checked else op.indices
        if self.on_host and not producer.is_plain(position):
            return _alone(b, producer, indices, position)
        key = b, producer, indices
        if key not in self.elements:
            self.elements[key] = _Element(b, producer, indices)
        return (self.elements[key].result(position),)

    def op(self, b: Builder, op: Op) -> Op:
        around, self.on_host = self.on_host, self.on_host and not isinstance(op, Sweep)
        made = super().op(b, op)
        self.on_host = around
        return made


class _Producer:
    """A sweep of which elements are computed where they are read."""

    def __init__(self, let: Let, stored: Set[Atom]) -> None:
        sweep = let.op
        assert isinstance(sweep, Sweep)
        self.read = read_instead(let, stored)
        self.shape = sweep.shape
        self.body = sweep.body
        self.makers = {var: k for k, let in enumerate(sweep.body.lets) for var in let.vars}
        alone = is_pull(sweep)
        # a read of one that also scans, for instance, brings no checks along: that sweep stays
        self.effects = [
            k for k, let in enumerate(sweep.body.lets) if alone and let.op.effect
        ]  # fmt: skip


    def is_plain(self, position: int) -> bool:
        """Whether a result is scalar work and reads, with no loop and no branch."""
        result = self.body.results[position : position + 1]
        checked = [atom for k in self.effects for atom in free_vars(self.body.lets[k].op)]
        needed = [let for root in (*result, *checked)
                  for let in needed_beyond(self.body, root, self.read)]  # fmt: skip
        return not any(lambdas_in(let.op) for let in needed)


def _alone(
    b: Builder, producer: _Producer, indices: tuple[Atom, ...], position: int
) -> Sequence[Atom]:
    """One element of a producer by a separate sweep: index (sweep [1] (i => ..) [store]) [0]"""
    inside = b.inner()
    i = inside.param("i", i64, index(1))
    body = inside.close([i], [_Element(inside, producer, indices).result(position)])
    (stored,) = b.emit(Sweep((index(1),), body, (Store(),)))
    return b.emit(Index(stored, (index(0),), checked=False))


class _Element:
    """An element of a producer, inside a consumer: its results, each with what it needs."""

    def __init__(self, b: Builder, producer: _Producer, indices: tuple[Atom, ...]) -> None:
        self.b = b
        self.producer = producer
        self.indices = indices
        self.renaming = b.inlining(producer.body, indices)
        self.done: set[int] = set()
        self._inline(producer.effects)

    def result(self, position: int) -> Atom:
        """One of the results; the body already contains what it shares with others."""
        atom = self.producer.body.results[position]
        self._inline(self._makers([atom]))
        return self.renaming.atom(atom)

    def _makers(self, used: Iterable[Atom]) -> list[int]:
        """The lets that make some values; those that are stored are read."""
        producer = self.producer
        for atom in used:
            array = producer.read.get(atom)
            if isinstance(atom, Var) and array and atom not in self.renaming.mapping:
                read = Index(array, self.indices, checked=False)
                self.renaming.mapping[atom] = self.b.emit(read)[0]
        return [
            producer.makers[atom] for atom in used
            if isinstance(atom, Var) and atom in producer.makers and atom not in producer.read
        ]  # fmt: skip

    def _inline(self, waiting: Sequence[int]) -> None:
        """Emit some lets, and those before them that they depend on."""
        producer, behind = self.producer, list(waiting)
        needed: list[int] = []
        while behind:
            number = behind.pop()
            if number not in self.done:
                self.done.add(number)
                needed.append(number)
                behind += self._makers(free_vars(producer.body.lets[number].op))
        for number in sorted(needed):
            self.b.inline_let(producer.body.lets[number], self.renaming)
