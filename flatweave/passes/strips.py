"""Strip-mining: arrays that only sums along their first axis read are computed in strips.

    sums(n: i64, xs: f64[n, 4]) =>
        a: f64[n, 4] = sweep [n, 4] (i: i64, j: i64 =>
            x: f64 = index xs [i, j] checked=false
            y: f64 = pow x 0.3f64
            in y) [store]
        s: f64[4] = sweep [4] (j: i64 =>
            t: f64 = fold n (k: i64 => index a [k, j] checked=false) (add f64) [0.0f64]
            in t) [store]
        in s
    ==>
    sums(n: i64, xs: f64[n, 4]) =>
        b: i64 = add n 999
        c: i64 = floordiv b 1000
        least: i64 = maximum 7813 c
        d: i64 = add least 63
        e: i64 = floordiv d 64
        length: i64 = mul e 64
        f: i64 = sub length 1
        g: i64 = add n f
        count: i64 = floordiv g length
        one: bool = le n length
        m: i64, s: f64[4] = if one (() =>
            a: f64[n, 4] = sweep [n, 4] (i: i64, j: i64 =>
                x: f64 = index xs [i, j] checked=false
                y: f64 = pow x 0.3f64
                in y) [store]
            t: f64[4] = sweep [4] (j: i64 =>
                u: f64 = fold n (k: i64 => index a [k, j] checked=false) (add f64) [0.0f64]
                in u) [store]
            in 4, t) (() =>
            zeros: f64[4] = sweep [4] (j: i64 => 0.0f64) [store]
            v: f64[4] = for 0 count 1 (strip: i64, totals: f64[4] =>
                first: i64 = mul strip length
                rest: i64 = sub n first
                here: i64 = minimum length rest
                a: f64[here, 4] = sweep [here, 4] (i: i64, j: i64 =>
                    row: i64 = add i first
                    x: f64 = index xs [row, j] checked=false
                    y: f64 = pow x 0.3f64
                    in y) [store]
                t: f64[4] = sweep [4] (j: i64 =>
                    u: f64 = fold here (k: i64 => index a [k, j] checked=false) (add f64) [0.0f64]
                    total: f64 = index totals [j] checked=false
                    more: f64 = add total u
                    in more) [store]
                in t) [zeros]
            in 4, v)
        in s

Sweeps along an axis and those that fold along it become one loop over strips of the axis. Only a
strip of each array is stored, and stays in the caches until it is read. It is as short as makes an
iteration worth its launches: a million additions for each sweep; an axis of one strip is left as it
is. LONG strips at most: sums of sums are as exact as a long sum. Strips depend on sizes alone.

Leaves alone: arrays that are results, or read elsewhere than at a sweep's or a fold's own index;
folds that need one another; results along the axis itself; products of matrices, and cheap arrays
with one reader, which the lowering computes where it divides folds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from flatweave.array_ir.syntax import FLAT, Program
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.ops import Fold, Index, Store, Sweep
from flatweave.passes.cost import FEW, LONG, STORING, cost_of_body
from flatweave.passes.library_products import operands_of
from flatweave.passes.nests.segments import first_of
from flatweave.passes.rewrite import Rewriter, array_pass
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, For
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var, types_of
from flatweave.terms.traverse import (
    Substitution,
    atoms_in,
    free_vars,
    walk_lets,
    with_bodies,
    with_lets,
)


@array_pass(takes=(FLAT,), about=lambda op: isinstance(op, Fold))
def strips(program: Program) -> Program:
    """sweep [n] .. [store]; fold n   ==>   for strip (sweep [strip] .. [store]; fold strip)"""
    fn = program.fn
    while (group := _group(fn)) is not None:
        fn = _Strips(group).program(fn)
    return program if fn is program.fn else Program(program.name, fn)


@record
class Group:
    """Sweeps along an axis, and those that fold along it; what waits for their results."""

    extent: Atom
    members: list[Let]
    arrays: set[Var]  # that are not stored whole
    waiting: list[Let]  # in their order


def _group(fn: Lambda) -> Group | None:
    """What can be computed in strips, along the first axis that has such a group."""
    firsts = [let.op.shape[0] for let in fn.lets if isinstance(let.op, Sweep) and let.op.shape]
    for extent in dict.fromkeys(firsts):
        without: set[Let] = set()
        while (members := _members(fn, extent, without)) is not None:
            late, waiting = _late(fn, *members)
            if late is None:
                return Group(extent, *members, waiting)
            without.add(late)
    return None


def _members(fn: Lambda, extent: Atom, without: set[Let]) -> tuple[list[Let], set[Var]] | None:
    """Sweeps along an axis with the folds that read them; none where nothing is gained."""
    along = [let for let in fn.lets if let not in without and _goes_along(let.op, extent)]
    folding = [let for let in fn.lets if let not in without and _folds(let.op, extent)]
    while True:
        arrays = {var: let for let in along for var in _stored(let)}
        shared = {var for var in fn.results if var in arrays}
        for let in fn.lets:
            shared |= {var for var in free_vars(let.op) if var in arrays}.difference(
                _read_by(let, extent) if let in along or let in folding else ()
            )
        if not shared:
            break
        along = [let for let in along if shared.isdisjoint(let.vars)]
    uses = Counter(var for let in (*along, *folding) for var in free_vars(let.op))
    # an array that is cheap and read once is computed where a fold in blocks reads it
    pays = any(
        uses[var] > 1 or (isinstance(let.op, Sweep) and cost_of_body(let.op.body) > STORING)
        for var, let in arrays.items()
    )
    readers = [let for let in folding if not arrays.keys().isdisjoint(free_vars(let.op))]
    if not pays or not readers:
        return None
    makers = {*arrays.values()}
    members = {*readers, *makers}
    members |= {let for let in along if not arrays.keys().isdisjoint(free_vars(let.op))}
    return [let for let in fn.lets if let in members], set(arrays)


def _late(fn: Lambda, members: list[Let], arrays: set[Var]) -> tuple[Let | None, list[Let]]:
    """A member that needs what others leave after the loop; and lets that have to wait for it."""
    left, waiting = {var for let in members for var in let.vars} - arrays, list[Let]()
    for let in fn.lets[fn.lets.index(members[0]) : fn.lets.index(members[-1]) + 1]:
        if left.isdisjoint(free_vars(let.op)):
            continue
        if let in members:
            return let, waiting
        waiting.append(let)
        left.update(let.vars)
    return None, waiting


def _goes_along(op: Op, extent: Atom) -> bool:
    """Whether a sweep has an axis as its first one, and no element needs another one."""
    return (
        isinstance(op, Sweep)
        and op.shape[:1] == (extent,)
        and not op.reverse
        and extent not in op.shape[1:]
        and op.stores_or_reduces
        and not op.scans
    )


def _folds(op: Op, extent: Atom) -> bool:
    """Whether the elements of a sweep fold along an axis that is not theirs, and are no products
    of matrices."""
    if not isinstance(op, Sweep) or op.reverse or extent in op.shape:
        return False
    folds = _folds_of(op, extent)
    if operands_of(op, [*folds], {}):
        return False
    folded = {var for let in folds for var in let.vars}
    own = {var for let in op.body.lets for var in let.vars} | {*op.body.params}
    return (
        bool(folds)
        and op.only_stores
        and folded.isdisjoint(free_vars(tuple(let.op for let in _before(op, folds))))
        and own.isdisjoint(free_vars(tuple((fold.fn, fold.neutral) for fold in folds.values())))
    )


def _folds_of(op: Sweep, extent: Atom) -> dict[Let, Fold]:
    """The folds along an axis in a sweep's elements."""
    folds = {let: let.op for let in op.body.lets if isinstance(let.op, Fold)}
    return {let: fold for let, fold in folds.items() if fold.extent == extent}


def _before(op: Sweep, folds: Mapping[Let, Fold]) -> list[Let]:
    """The folds of an element, and what they need."""
    wanted = {var for let in folds for var in let.vars}
    found = []
    for let in reversed(op.body.lets):
        if not wanted.isdisjoint(let.vars):
            wanted |= free_vars(let.op).keys()
            found.append(let)
    return found[::-1]


def _stored(let: Let) -> list[Var]:
    assert isinstance(let.op, Sweep)
    groups = zip(let.op.sinks, let.op.binders_by_sink(let.vars), strict=True)
    return [vars_[0] for sink, vars_ in groups if sink.at_own_position]


def _read_by(let: Let, extent: Atom) -> set[Var]:
    """The arrays that a member reads at its own first index, or at that of a fold, alone."""
    assert isinstance(let.op, Sweep)
    if _goes_along(let.op, extent):
        own = {let.op.body.params[0]}
    else:
        own = {fold.body.params[0] for fold in _folds_of(let.op, extent).values()}
    reads, elsewhere = set[Var](), set(free_vars(let.op.sinks))
    for each in walk_lets(let.op.body):
        at_own = isinstance(each.op, Index) and each.op.indices[0] in own
        (reads if at_own else elsewhere).update(a for a in atoms_in(each.op) if isinstance(a, Var))
    return reads - elsewhere


class _Strips(Rewriter):
    """The walk: members of the group become one loop where the last of them is."""

    def __init__(self, group: Group) -> None:
        super().__init__(lambda b, op, let: None)
        self.group = group

    def let(self, b: Builder, let: Let) -> None:
        if let in self.group.waiting or let in self.group.members[:-1]:
            return
        lets = [let]
        if let is self.group.members[-1]:
            self._loop_over_strips(b)
            lets = self.group.waiting
        for each in lets:
            super().let(b, each)

    def _loop_over_strips(self, b: Builder) -> None:
        """The loop, but where there is one strip: it is what the program says."""
        extent = self.renaming.atom(self.group.extent)
        members = [_Member(let, self.op(b, let.op), extent) for let in self.group.members]
        length = _length(b, extent, members)
        left = [var for let in self.group.members for var in let.vars
                if var not in self.group.arrays]  # fmt: skip

        def whole(c: Builder) -> list[Atom]:
            for let in self.group.members:
                super(_Strips, self).let(c, let)
            return [self.renaming.atom(var) for var in left]

        count, is_one = b.ceil_div(extent, length), b.apply("le", extent, length)
        parts = partial(_in_strips, extent=extent, length=length, count=count, members=members)
        self.bind(left, first_of(b, [(is_one, whole)], parts))


def _in_strips(
    b: Builder, extent: Atom, length: Atom, count: Atom, members: Sequence[_Member]
) -> Sequence[Atom]:
    """What is left after the members, along `count` strips of an axis."""
    init = [atom for member in members for atom in member.begin(b)]

    def strip(inner: Builder, c: Var, *state: Var) -> Sequence[Atom]:
        first = inner.mul(c, length)
        size = inner.apply("minimum", length, inner.sub(extent, first))
        here: dict[Atom, Atom] = {}
        after: list[Atom] = []
        for member in members:
            inner.where = member.let.where or inner.where
            own = state[len(after) : len(after) + member.width]
            after += member.step(inner, first, size, own, here)
        return after

    fn = b.function([i64, *types_of(init)], strip, optional=True)
    state = list(b.emit(For(index(0), count, index(1), fn, tuple(init))))
    found: list[Atom] = []
    for member in members:
        found += member.finish(b, state[: member.width])
        del state[: member.width]
    return found


class _Member:
    """A sweep of the group: along the axis (`folds` is empty), or folding along it."""

    def __init__(self, let: Let, op: Op, extent: Atom) -> None:
        assert isinstance(op, Sweep)
        self.let, self.op = let, op
        self.folds = {} if op.shape[:1] == (extent,) else _folds_of(op, extent)
        parts = [(fold.fn, fold.neutral) for fold in self.folds.values()] or [
            (fn, sink.idle(taken))
            for sink, taken in zip(op.sinks, op.portions(), strict=True)
            if (fn := sink.reduction()) is not None
        ]
        self.operators = [fn for fn, _ in parts]
        self.neutral = [atom for _, neutral in parts for atom in neutral]
        self.width = len(self.neutral)

    def work(self, b: Builder) -> Atom:
        """What one step along the axis costs."""
        shape = self.op.shape if self.folds else self.op.shape[1:]
        bodies = [fold.body for fold in self.folds.values()] or [self.op.body]
        return b.mul(b.product(shape), index(sum(map(cost_of_body, bodies)) or 1))

    def begin(self, b: Builder) -> Sequence[Atom]:
        """What is there before the first strip."""
        if not self.folds:
            return self.neutral
        inside = b.inner()
        body = inside.close([inside.param("j", i64, n) for n in self.op.shape], self.neutral)
        return b.emit(Sweep(self.op.shape, body, (Store(),) * self.width))

    def step(
        self, b: Builder, first: Atom, count: Atom, own: Sequence[Atom], here: dict[Atom, Atom]
    ) -> Sequence[Atom]:
        """A strip; `here` are its parts of arrays."""
        if not self.folds:
            body = b.copy(_from(b, self.op.body, first, here))
            made = b.emit(self.op.replace(shape=(count, *self.op.shape[1:]), body=body))
            stored = _stored(Let(tuple(made), self.op))
            here.update(zip(_stored(self.let), stored, strict=True))
            values = [var for var in made if var not in stored]
            return self._combined(b, own, values)
        inside = b.inner()
        params = [inside.param("j", i64, extent) for extent in self.op.shape]
        lets = [
            Let(let.vars, self._fold(b, let, first, count, here), let.where)
            if let in self.folds else let for let in _before(self.op, self.folds)
        ]  # fmt: skip
        folded = tuple(var for fold in self.folds for var in fold.vars)
        folds_here = inside.inline(Lambda(self.op.body.params, tuple(lets), folded), params)
        totals = [inside.emit(Index(x, tuple(params), checked=False))[0] for x in own]
        body = inside.close(params, self._combined(inside, totals, folds_here))
        return b.emit(Sweep(self.op.shape, body, (Store(),) * self.width))

    def _fold(
        self, b: Builder, let: Let, first: Atom, count: Atom, here: dict[Atom, Atom]
    ) -> Fold:
        fold = self.folds[let]
        return fold.replace(extent=count, body=_from(b, fold.body, first, here))

    def finish(self, b: Builder, own: Sequence[Var]) -> Sequence[Atom]:
        """What is left after the last strip."""
        if not self.folds:
            return own
        totals: dict[Atom, Var] = {}
        totals.update(zip((var for fold in self.folds for var in fold.vars), own, strict=True))
        if all(result in totals for result in self.op.body.results):
            return [totals[result] for result in self.op.body.results]
        inside = b.inner()
        params = [inside.param("j", i64, extent) for extent in self.op.shape]
        known = Substitution(fresh=lambda var, type_: inside.var(var.name, type_))
        known.mapping.update(zip(self.op.body.params, params, strict=True))
        for var, total in zip((var for fold in self.folds for var in fold.vars), own, strict=True):
            known.mapping[var] = inside.emit(Index(total, tuple(params), checked=False))[0]
        for let in self.op.body.lets:
            if let not in self.folds:
                inside.inline_let(let, known)
        body = inside.close(params, [known.atom(atom) for atom in self.op.body.results])
        return b.emit(self.op.replace(body=body))

    def _combined(self, b: Builder, own: Sequence[Atom], values: Sequence[Atom]) -> list[Atom]:
        found: list[Atom] = []
        for fn in self.operators:
            part = slice(len(found), len(found) + len(fn.results))
            found += b.inline(fn, [*own[part], *values[part]])
        return found


def _length(b: Builder, extent: Atom, members: Sequence[_Member]) -> Atom:
    """How many elements of the axis a strip has."""
    work: Atom = index(0)
    for member in members:
        work = b.add(work, member.work(b))
    worth = b.ceil_div(index(LONG * LONG * len(members)), b.apply("maximum", work, index(1)))
    least = b.apply("maximum", worth, b.ceil_div(extent, index(LONG)))
    return b.mul(b.ceil_div(least, index(FEW)), index(FEW))  # whole steps of lanes


def _from(b: Builder, fn: Lambda, first: Atom, here: dict[Atom, Atom]) -> Lambda:
    """A body whose first index counts from `first`. Parts of arrays are read at the new index."""
    old, *rest = fn.params
    new = b.var(old.name, i64)

    def at_new(let: Let) -> Let:
        op = let.op
        if isinstance(op, Index) and op.xs in here:
            return Let(let.vars, Index(here[op.xs], (new, *op.indices[1:]), op.checked), let.where)
        return with_bodies(let, lambda fn: with_lets(fn, map(at_new, fn.lets)))

    counted = Let((old,), Apply("add", (new, first)))
    return Lambda((new, *rest), (counted, *map(at_new, fn.lets)), fn.results)
