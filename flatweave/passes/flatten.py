"""Flatten: folds over rows of varying length become one pass over the elements of all rows.

    sums(n: i64, xs: f32[n], m: i64, offsets: i64[m]) =>
        rows: i64 = sub m 1
        ys: f32[rows] = sweep [rows] (i: i64 =>
            a: i64 = index offsets [i] checked=false
            j: i64 = add i 1
            z: i64 = index offsets [j] checked=false
            e: i64 = sub z a
            r: f32 = fold e (k: i64 =>
                p: i64 = add a k
                x: f32 = index xs [p] checked=false
                in x) (add f32) [0.0f32]
            in r) [store]
        in ys
    ==>
    sums(n: i64, xs: f32[n], m: i64, offsets: i64[m]) =>
        rows: i64 = sub m 1
        total: i64 = index offsets [rows] checked=false
        ys: f32[rows] = sweep [total] (p: i64 =>
            s: i64, start: i64 = locate offsets 1 p
            k: i64 = sub p start
            a: i64 = index offsets [s] checked=false
            q: i64 = add a k
            x: f32 = index xs [q] checked=false
            y: f32 = add 0.0f32 x
            first: bool = eq p start
            in s, first, y) [combine_rows (add f32) [0.0f32] rows]
        in ys

A sweep over rows gives each row to one lane, and a row that is far longer than the others keeps its
lane, and its core, busy long after the rest is done. A sweep over elements divides all rows evenly.
It starts a row's sum from the first element, not from 0.0. So 0.0 is added to each element, and a
sum of -0.0 alone is 0.0, as it is in a fold.

- The ends of rows: the offsets of a Ragged are used as they are. Other lengths are added up by a
  scan. The checks of the body are made in the same sweep, or where offsets are known in one that
  stores nothing: they stop the program before any read.
- A value of the row that the fold needs is computed again for each element if that is cheap, and
  otherwise stored for each row (Note [What an element needs of its row]).
- The rest of the body reads the results of its folds, and so do later folds.

- Folds of one length go over a matrix as they are, but for one that reads in place what a scan of
  its rows stores: that becomes a sweep [n, m] (i, k => ..) [combine_rows ..], which joins the scan.

Leaves alone: other folds of the same length in all rows, folds in branches and loops, and folds
inside a sweep that goes along rows already, where something would have to be stored for each
element.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.access.analyse import Accesses
from flatweave.array_ir.syntax import FLAT, NEGATIVE, OVERFLOW, Program, sizes_overflow
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.ops import Check, CombineRows, Fold, Index, Locate, Prefix, Sink, Store, Sweep
from flatweave.passes.cost import STORING, cost_of_result
from flatweave.passes.dce import live_body
from flatweave.passes.monoid import with_initial
from flatweave.passes.rewrite import array_pass, every_holds, hold, numbered, rewrite
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import free_vars, needed_for


@record(eq=True)
class Ends:
    """Where rows end: row i at `array[skip + i]`, the last one at `total`."""

    array: Atom
    skip: int
    total: Atom


@record
class _Row:
    """Inside a sweep over elements: the row's number, the position, where the row begins; arrays
    of what is stored for each row."""

    inside: Builder
    number: Atom
    position: Atom
    begin: Atom
    stored: dict[Var, Atom]


@array_pass(takes=(FLAT,), gives=FLAT, about=lambda op: isinstance(op, Fold))
def flatten(program: Program) -> Program:
    """sweep [n] (i => fold e(i) ..)   ==>   sweep [sum of e] (p => ..) [combine_rows ..]"""
    return rewrite(program, _flattened)


def _flattened(b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
    if not isinstance(op, Sweep) or len(op.shape) != 1:
        return None
    uneven, even = _uneven_folds(op), _folds_of_scans(b, op)
    if not uneven and not even:
        return None
    rows = _Rows(b, op, uneven)
    for fold in uneven:
        rows.flatten(fold)
    for fold in even:
        rows.go_along(fold)
    return rows.rest(let)


def _uneven_folds(op: Sweep) -> list[Let]:
    """The folds directly in the body whose extent varies from row to row."""
    lets = op.body.lets
    if any(isinstance(let.op, Locate) or (op.reverse and isinstance(let.op, Prefix))
           for let in lets):  # fmt: skip
        return []
    varying = set(op.body.params)
    for let in lets:
        if isinstance(let.op, Prefix) or varying & free_vars(let.op).keys():
            varying.update(let.vars)
    return [
        let for let in lets
        if isinstance(let.op, Fold) and let.op.extent in varying and _is_global(let.op, op.body)
    ]  # fmt: skip


def _folds_of_scans(b: Builder, op: Sweep) -> list[Let]:
    """The folds that read a matrix in place which a scan of its rows stores; checks stand alone."""
    (i,), lets = op.body.params, op.body.lets
    if any(isinstance(let.op, Check | Locate | Prefix) for let in lets):
        return []
    bound = {i, *(var for let in lets for var in let.vars)}

    def is_scanned(let: Let, fold: Fold) -> bool:
        read = let.op
        if not isinstance(read, Index) or read.indices != (i, *fold.body.params):
            return False
        made = b.definition(read.xs)
        return (
            isinstance(made, Sweep) and not made.reverse
            and made.shape == (*op.shape, fold.extent)
            and any(isinstance(inner.op, Prefix) for inner in made.body.lets)
        )  # fmt: skip

    return [
        let for let in lets
        if isinstance(let.op, Fold) and let.op.extent not in bound and _is_global(let.op, op.body)
        and any(is_scanned(inner, let.op) for inner in let.op.body.lets)
    ]  # fmt: skip


def _is_global(fold: Fold, row: Lambda) -> bool:
    """Whether the operator and its neutral element are the same for every row."""
    bound = {*row.params, *(var for let in row.lets for var in let.vars)}
    return not bound & free_vars((fold.fn, fold.neutral)).keys()


class _Rows:
    """A sweep over rows whose folds are replaced one by one; `lets` is what remains of its body."""

    def __init__(self, b: Builder, op: Sweep, folds: Sequence[Let]) -> None:
        self.b = b
        self.op = op
        self.i = op.body.params[0]
        self.count = op.shape[0]
        self.lets = list(op.body.lets)
        self.waiting = list(folds)
        self.ends: dict[Atom, Ends] = {}
        self.combined: dict[Atom, Atom] = {}
        # extents that a user computed had to be checked; those of a Ragged are known to be natural
        self.checked = {
            value for let in self.lets
            if isinstance(let.op, Check) and let.op.kind == NEGATIVE for value in let.op.values_
        }  # fmt: skip

    def flatten(self, let: Let) -> None:
        """One fold becomes a sweep; its results are read where they were computed."""
        fold = let.op
        assert isinstance(fold, Fold)
        self.b.where = let.where or self.b.where
        kept = self._kept(fold)
        ends, stored = self._over_rows(fold.extent, kept)
        inside = self.b.inner()
        p = inside.param("p", i64, ends.total)
        s, start = inside.emit(Locate(ends.array, ends.skip, p), "s")
        row = _Row(inside, s, p, start, dict(zip(kept, stored, strict=True)))
        self._replace(let, Sweep((ends.total,), self._element(fold, row, [p]), ()))
        self.waiting.remove(let)

    def go_along(self, let: Let) -> None:
        """One fold of as many elements in each row becomes a sweep over the matrix."""
        fold = let.op
        assert isinstance(fold, Fold)
        self.b.where = let.where or self.b.where
        kept = self._kept(fold)
        stored = self._stored(kept, (), add_up=False) if kept else []
        inside = self.b.inner()
        i, k = inside.param("i", i64, self.count), inside.param("k", i64, fold.extent)
        row = _Row(inside, i, k, index(0), dict(zip(kept, stored, strict=True)))
        shape = (self.count, fold.extent)
        self._replace(let, Sweep(shape, self._element(fold, row, [i, k]), ()))

    def _replace(self, let: Let, over_elements: Sweep) -> None:
        """Combine what a sweep over elements gives for each row."""
        fold = let.op
        assert isinstance(fold, Fold)
        sink = CombineRows(fold.fn, fold.neutral, self.count)
        made = self.b.emit(over_elements.replace(sinks=(sink,)), let.vars[0].name)
        at = self.lets.index(let)
        self.lets[at : at + 1] = [
            Let((var,), Index(rs, (self.i,), checked=False), let.where)
            for var, rs in zip(let.vars, made, strict=True)
        ]
        self.combined.update(zip(let.vars, made, strict=True))

    def rest(self, let: Let) -> Sequence[Atom]:
        """The remaining sweep over rows; fold results that it only stores are used as they are."""
        op = self.op
        given: list[Atom | None] = []
        sinks: list[Sink] = []
        results: list[Atom] = []
        checked = any(isinstance(left.op, Check) for left in self.lets)
        groups = op.binders_by_sink(let.vars)
        for sink, taken, group in zip(op.sinks, op.portions(), groups, strict=True):
            if sink.at_own_position and taken[0] in self.combined and not checked:
                given.append(self.combined[taken[0]])
                continue
            given += [None] * len(group)
            sinks.append(sink)
            results += taken
        if not sinks:
            return [atom for atom in given if atom is not None]
        # what it does not read may join a later sweep
        body = live_body(Lambda(op.body.params, tuple(self.lets), tuple(results)))
        made = iter(self.b.emit(op.replace(body=body, sinks=tuple(sinks)), let.vars[0].name))
        return [next(made) if atom is None else atom for atom in given]

    # -- over the rows, before a fold -------------------------------------------------------------

    def _kept(self, fold: Fold) -> list[Var]:
        """The row's values that the fold's body needs and that are stored for each row."""
        bound = {var for let in self.lets for var in let.vars}
        return [var for var in free_vars(fold.body) if var in bound and not self._is_cheap(var)]

    def _is_cheap(self, var: Var) -> bool:
        """See Note [What an element needs of its row]."""
        needed = needed_for(self.lets, [var])
        if any(isinstance(let.op, Prefix) for let in needed) or _reads_through(needed):
            return False
        return cost_of_result(Lambda((), needed, (var,)), 0) <= STORING // 2

    def _over_rows(self, extent: Atom, kept: Sequence[Var]) -> tuple[Ends, Sequence[Atom]]:
        """Where rows end, and the values stored for each row; emits a sweep if need be."""
        checks = self._ready_checks()
        offsets = None if extent in self.checked else _offsets_behind(self.lets, extent, self.i)
        ends = self.ends.get(extent) or self._ends_at(offsets)
        if ends is None:
            *stored, stops = self._stored((*kept, extent), checks, add_up=True)
            ends = Ends(stops, 0, _last(self.b, stops, self.count))
        else:
            stored = self._stored(kept, checks, add_up=False) if kept or checks else []
        self.ends[extent] = ends
        return ends, stored

    def _stored(
        self, roots: Sequence[Atom], checks: Sequence[Let], *, add_up: bool
    ) -> list[Atom]:
        """Values stored for each row before a fold; `add_up`: the last is a running sum. Checks
        alone store nothing, and hold for all rows."""
        made = [let.op for let in checks if isinstance(let.op, Check)]
        wanted = [*roots, *(var for check in made for var in free_vars(check))]
        needed = {*needed_for(self.lets, wanted), *checks}
        lets = tuple(let for let in self.lets if let in needed)
        given = roots or [check.condition for check in made]
        inside = self.b.inner()
        i = inside.param("i", i64, self.count)
        results = list(inside.inline(Lambda((self.i,), lets, tuple(given)), [i]))
        if add_up:
            results[-1] = _end(inside, i, results[-1])
        sinks = tuple(Store() if roots else every_holds() for _ in results)
        self.lets = [let for let in self.lets if let not in checks]
        found: Sequence[Atom] = self.b.emit(
            Sweep(self.op.shape, inside.close([i], results), sinks)
        )
        if roots:
            return list(found)
        for check, holds in zip(made, found, strict=True):
            hold(self.b, check, holds)
        return []

    def _ends_at(self, offsets: Atom | None) -> Ends | None:
        """The ends that known offsets give."""
        if offsets is None:
            return None
        (total,) = self.b.emit(Index(offsets, (self.count,), checked=False))
        return Ends(offsets, 1, total)

    def _ready_checks(self) -> list[Let]:
        """The checks that need no fold's result: they run before any element is read."""
        waiting = {var for let in self.waiting for var in let.vars}

        def ready(check: Let) -> bool:
            needed = needed_for(self.lets, tuple(free_vars(check.op)))
            return not any(var in waiting for let in needed for var in let.vars)

        return [let for let in self.lets if isinstance(let.op, Check) and ready(let)]

    # -- over the elements ------------------------------------------------------------------------

    def _element(self, fold: Fold, row: _Row, params: Sequence[Var]) -> Lambda:
        """The body at a position: its row, whether the row begins here, and the element."""
        needed = needed_for(self.lets, [v for v in free_vars(fold.body) if v not in row.stored])
        fn = Lambda(
            (self.i, *fold.body.params, *row.stored),
            (*needed, *fold.body.lets), fold.body.results,
        )  # fmt: skip
        fn = numbered(fn, self.i)  # positions are no elements of the user's
        b = row.inside
        held = [b.emit(Index(xs, (row.number,), checked=False))[0] for xs in row.stored.values()]
        values = b.inline(fn, [row.number, b.sub(row.position, row.begin), *held])
        values = with_initial(b, fold.fn, fold.neutral, values)
        first = b.apply("eq", row.position, row.begin)
        return b.close(params, [row.number, first, *values])


def _reads_through(lets: Sequence[Let]) -> bool:
    """Whether something is read at an index that was read: anywhere in memory."""
    read: set[Var] = set()
    for let in lets:
        found = not read.isdisjoint(free_vars(let.op))
        if found and isinstance(let.op, Index):
            return True
        if found or isinstance(let.op, Index):
            read.update(let.vars)
    return False


def _end(b: Builder, i: Atom, size: Atom) -> Atom:
    """Where row `i` ends: its size and those of the rows before it."""
    end = b.emit(Prefix(lambda_of("add", i64), (index(0),), (size,)))[0]
    # of sums that overflow, the first one wraps to below 0: sizes are natural
    fits = b.apply("ge", end, index(0))
    b.emit(Check(fits, OVERFLOW, (i,), sizes_overflow("the rows")))
    return end


def _last(b: Builder, ends: Atom, count: Atom) -> Atom:
    """The last end; 0 if there are no ends."""

    def last(c: Builder) -> Sequence[Atom]:
        return c.emit(Index(ends, (c.sub(count, index(1)),), checked=False))

    return b.choose(b.apply("gt", count, index(0)), last, lambda _: [index(0)])[0]


def _offsets_behind(lets: Sequence[Let], extent: Atom, i: Var) -> Atom | None:
    """The offsets of a Ragged whose row i has this length:

    sub (index offsets [add i 1]) (index offsets [i])
    """
    known = Accesses((i,), lets)
    pair = known.neighbours(extent, i)
    match known.definition(pair[0]) if pair is not None else None:
        case Index(xs=xs, indices=indices, checked=False) if indices == (i,):
            return xs
    return None


# Note [What an element needs of its row]
#
# A value that is stored for each row costs a store, and a read for each element. Computing it anew
# costs its work for each element. Rows are a few elements long at least where any of this matters,
# so the limit is half of what storing an element costs (`sharing.py`): a read through an index is
# below it, an exponential is above. A scan over the rows can only be stored. What is read at an
# index that was read may be anywhere: it is stored, and read again in the order of the rows.
