"""Hoist tests: whether a sweep reads inside of an array is asked once, not at every element.

    part(n: i64, xs: f32[n], m: i64, c: i64) =>
        ys: f32[m] = sweep [m] (p: i64 =>
            q: i64 = add p c
            x: f32 = index xs [q]
            in x) [store]
        in ys
    ==>
    part(n: i64, xs: f32[n], m: i64, c: i64) =>
        left: i64 = sub n m
        fits: bool = le c left
        natural: bool = ge c 0
        inside: bool = and fits natural
        ys: f32[m] = sweep [m] (p: i64 =>
            q: i64 = add p c
            x: f32 = if inside (() =>
                y: f32 = index xs [q] checked=false
                in y) (() =>
                z: f32 = index xs [q]
                in z)
            in x) [store]
        in ys

A position of the sweep plus what is the same for all of them goes from c to c + m - 1. So all reads
lie inside if 0 <= c <= n - m. Then they need no test, nor one for a negative index, which counts
from the end. Otherwise everything stays as it was, with its faults. All elements take the same
branch: generated code tests the condition outside of its loops.

Where what is the same for all of them depends on a condition that is, too, as what is chosen from
for a row's start (telescope.py), that condition is one more of these.

So do all reads at a position that is clipped, between the same ends for all of them: these ends
lie inside, or some read may not.

Adjacent reads, with no check between them, share a branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flatweave.access import NOTHING, Modified, Value, arguments_of
from flatweave.access.analyse import Accesses
from flatweave.array_ir.syntax import FLAT, Program
from flatweave.base.dtypes import bool_, i64
from flatweave.base.records import record
from flatweave.ops import Index, Sweep
from flatweave.passes.rewrite import array_pass, rewrite
from flatweave.terms.bounds import Sum
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, If
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var, array_type
from flatweave.terms.traverse import free_vars

ZERO = index(0)
TRUE = Const(True, bool_)


@array_pass(takes=(FLAT,))
def hoist_tests(program: Program) -> Program:
    """index xs [add p c]  ==>  if inside (index xs [add p c] checked=false) (index xs [add p c])"""
    return rewrite(program, _hoisted)


@record
class Read:
    """A tested read at `place`, unless that is negative: its position plus `behind`, where all of
    `provided` hold; or one that is nowhere but at or between `ends`."""

    let: Let
    op: Index
    place: Atom
    behind: Atom | None
    ends: tuple[Atom, ...] = ()
    provided: tuple[Atom, ...] = ()

    def untested(self, place: Atom) -> Index:
        return self.op.replace(indices=(place,), checked=False)


def _hoisted(b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
    if not isinstance(op, Sweep) or len(op.shape) != 1:
        return None
    if not any(isinstance(each.op, Index) and each.op.checked for each in op.body.lets):
        return None
    body = _Body(op)
    if not body.reads:
        return None
    lets = body.hoisted(b, _inside(b, list(body.reads.values()), op.shape[0]))
    fn = Lambda(op.body.params, tuple(lets), op.body.results)
    return b.emit(op.replace(body=fn), let.vars[0].name)


def _inside(b: Builder, reads: Sequence[Read], count: Atom) -> Atom:
    """Whether all of these reads lie inside, for positions below `count`."""
    conditions: list[Atom] = []
    for read in reads:
        (extent,) = array_type(read.op.xs).shape
        if read.behind is not None:
            conditions.append(b.apply("le", read.behind, b.sub(extent, count)))
            conditions.append(b.apply("ge", read.behind, ZERO))
        conditions += read.provided
        for end in read.ends:
            conditions.append(b.apply("lt", end, extent))
            conditions.append(b.apply("ge", end, ZERO))
    first, *others = dict.fromkeys(c for c in conditions if c != TRUE) or (TRUE,)
    for other in others:
        first = b.apply("and", first, other)
    return first


class _Body:
    """A sweep's body, and its tested reads at positions that advance with the sweep's."""

    def __init__(self, op: Sweep) -> None:
        self.lets = op.body.lets
        self.known = Accesses(op.body.params, self.lets)
        self.bound = {*op.body.params, *(var for let in self.lets for var in let.vars)}
        (self.p,) = op.body.params
        found = [self._tested(let) for let in self.lets]
        self.reads = {read.let: read for read in found if read is not None}

    def _tested(self, let: Let) -> Read | None:
        op = let.op
        if not isinstance(op, Index) or not op.checked or len(op.indices) != 1:
            return None
        place = self._if_natural(self.known.of(op.indices[0]))
        at = self.known.atom(place)
        assert at is not None
        ends = self._ends(place)
        if ends:
            return Read(let, op, at, None, ends)
        moved, provided = self._chosen(place)
        behind = self._outside(moved.plus(Sum({self.p: 1}), -1))
        return None if behind is None else Read(let, op, at, behind, (), provided)

    def _outside(self, value: Value) -> Atom | None:
        """The atom that a value is, if it is the same for all elements."""
        atom = self.known.atom(value)
        return None if atom in self.bound else atom

    def _chosen(self, place: Value) -> tuple[Value, tuple[Atom, ...]]:
        """A sum in which the first choice stands for each one that goes one way in all elements,
        and what these choices depend on."""
        provided = []
        for term, count in place.terms.items():
            match term:
                case Modified(fn="select", args=(condition, then, _)) if count == 1:
                    chosen = self._outside(condition)
                    if chosen is not None:
                        place = place.plus(Sum({term: 1}), -1).plus(then)
                        provided.append(chosen)
        return place, tuple(provided)

    def _ends(self, place: Value) -> tuple[Atom, ...]:
        """Where a clipped position ends, the same for all elements; none for any other."""
        for outer, inner in (("minimum", "maximum"), ("maximum", "minimum")):
            for x, end in self._bounded(place, outer):
                for _, other in self._bounded(x, inner):
                    return end, other
        return ()

    def _bounded(self, place: Value, fn: str) -> list[tuple[Value, Atom]]:
        """What is bounded by a minimum or a maximum, and by what, the same for all elements."""
        a, b = arguments_of(place, fn) or (place, place)
        ends = ((x, self._outside(end)) for x, end in ((a, b), (b, a)) if x != end)
        return [(x, end) for x, end in ends if end is not None]

    def _if_natural(self, i: Value) -> Value:
        """An index that counts from the end where it is negative, as it is where it is not."""
        chosen = arguments_of(i, "select")
        negative = chosen and arguments_of(chosen[0], "lt")
        return chosen[2] if chosen and negative == (chosen[2], NOTHING) else i

    def hoisted(self, b: Builder, inside: Atom) -> list[Let]:
        """The body with its tested reads in branches; a read waits until it is needed."""
        lets: list[Let] = []
        waiting: list[Read] = []
        for let in self.lets:
            if let in self.reads:
                waiting.append(self.reads[let])
                continue
            wanted = any(var in free_vars(let.op) for read in waiting for var in read.let.vars)
            if waiting and (wanted or _may_fail(let)):
                lets += self._branch(b, inside, waiting)
                waiting = []
            lets.append(let)
        return [*lets, *self._branch(b, inside, waiting)] if waiting else lets

    def _branch(self, b: Builder, inside: Atom, reads: Sequence[Read]) -> list[Let]:
        """The reads without tests where all lie inside, else as they are."""
        at = reads[0].let.where
        behind = [read.behind for read in reads if read.provided and read.behind is not None]
        places = {atom: b.var("p", i64) for atom in dict.fromkeys(behind)}
        lets = [Let((p,), Apply("add", (self.p, atom)), at) for atom, p in places.items()]
        then = _reads(b, [read.untested(self._place(read, places)) for read in reads], reads)
        other = _reads(b, [read.op for read in reads], reads)
        vars_ = tuple(var for read in reads for var in read.let.vars)
        return [*lets, Let(vars_, If(inside, then, other), at)]

    def _place(self, read: Read, places: Mapping[Atom, Var]) -> Atom:
        """Where to read without a test: what its sum is made of where that holds."""
        if read.behind is None or not read.provided:
            return read.place
        return places[read.behind]


def _reads(b: Builder, ops: Sequence[Index], reads: Sequence[Read]) -> Lambda:
    """A body that does nothing but read, with fresh names."""
    vars_ = [b.var(read.let.vars[0].name, read.let.vars[0].type) for read in reads]
    lines = (read.let.where for read in reads)
    lets = (Let((var,), op, at) for var, op, at in zip(vars_, ops, lines, strict=True))
    return Lambda((), tuple(lets), tuple(vars_))


def _may_fail(let: Let) -> bool:
    """Whether a let may fail, so that its order with other tests matters."""
    return let.op.effect or (isinstance(let.op, Index) and let.op.checked)
