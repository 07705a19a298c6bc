"""Folds down few long columns are divided: among blocks of rows, or a column at a time.

    sums(n: i64, xs: f32[n, 8]) =>
        a: f32[8] = sweep [8] (j: i64 =>
            s: f32 = fold n (k: i64 => index xs [k, j] checked=false) (add f32) [0.0f32]
            in s) [store]
        in a
    ==>
    sums(n: i64, xs: f32[n, 8]) =>
        many: bool = ge n 4096
        more: i64 = add n 2047
        blocks: i64 = floordiv more 2048
        e: i64, a: f32[8] = if many (() =>
            parts: f32[blocks, 8] = sweep [blocks, 8] (t: i64, j: i64 =>
                first: i64 = mul t 2048
                rest: i64 = sub n first
                length: i64 = minimum 2048 rest
                s: f32 = fold length (k: i64 =>
                    row: i64 = add first k
                    x: f32 = index xs [row, j] checked=false
                    in x) (add f32) [0.0f32]
                in s) [store]
            c: f32[8] = sweep [8] (j: i64 =>
                s: f32 = fold blocks (k: i64 => index parts [k, j] checked=false) (add f32) [0.0f32]
                in s) [store]
            in 8, c) (() =>
            d: f32[8] = sweep [8] (j: i64 =>
                s: f32 = fold n (k: i64 => index xs [k, j] checked=false) (add f32) [0.0f32]
                in s) [store]
            in 8, d)
        in a

Lanes lie along the columns, and each thread has columns of its own: of few columns there is work
for some lanes of one thread. Blocks of rows are work for all. One to four columns are a sum each,
of one sweep over the rows; where their number is known when the program runs, in a branch for each,
whose kernels know it. What stands in a branch already stays as it is. Products of tall arrays are
divided, too (`divide_products.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flatweave.array_ir.syntax import Program
from flatweave.array_ir.verify import FLAT
from flatweave.base.dtypes import i64
from flatweave.base.records import record, replace
from flatweave.ops import Combine, Fold, Index, Store, Sweep
from flatweave.ops.rows import array_type
from flatweave.passes.array_pass import array_pass
from flatweave.passes.branches.divide_products import (
    Product,
    even_folds,
    folds_of_product,
    is_cheap,
    is_stored,
    readers,
)
from flatweave.passes.rewrite import Rewriter
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import Substitution, free_vars, needed_for

MANY_ROWS = 4096
BLOCK = 1 << 14
"""Elements of a block of rows, which has at least LEAST of them."""
LEAST = 64
WIDEST = 4096
"""Columns from which on there are enough for all lanes of all threads."""
NARROW = 4
Ready = Callable[[Builder, Let], Sequence[Atom]]
"""The results of a fold, made elsewhere."""


@array_pass(takes=(FLAT,), about=lambda op: isinstance(op, Fold))
def divide_folds(program: Program) -> Program:
    """Divide folds down columns where rows are many and columns are few."""
    return Program(program.name, _Divider(program.fn).program(program.fn))


class _Divider(Rewriter):
    """Goes everywhere but into branches, where what was not divided would be."""

    def __init__(self, fn: Lambda) -> None:
        super().__init__(self._rule)
        self.readers = readers(fn)
        self.in_branch = False

    def op(self, b: Builder, op: Op) -> Op:
        around, self.in_branch = self.in_branch, self.in_branch or isinstance(op, If)
        made = super().op(b, op)
        self.in_branch = around
        return made

    def _rule(self, b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        if not isinstance(op, Sweep) or self.in_branch:
            return None
        folds = _folds(op)
        if folds:
            return _divided(b, op, folds)
        folds = folds_of_product(op)
        if not folds:
            return None
        made = _Columns(op, folds)
        return Product(op, folds, self._own(b, let)).divided(b, made.choice)

    def _own(self, b: Builder, let: Let) -> dict[Var, Sweep]:
        """The arrays that cost little and are read by one sweep alone, each with its maker."""
        found: dict[Var, Sweep] = {}
        for old in free_vars(let.op):
            var = self.renaming.atom(old)
            made = b.own.get(var) if isinstance(var, Var) else None
            if self.readers[old] == 1 and isinstance(var, Var) and is_cheap(made):
                found[var] = made
        return found


def _divided(b: Builder, op: Sweep, folds: list[Let]) -> Sequence[Atom]:
    made = _Columns(op, folds)
    few = b.apply("le", made.columns, index(WIDEST))
    many = b.apply("ge", made.rows, index(MANY_ROWS))
    return made.choice(
        b, b.apply("and", many, few), lambda inner: made.in_turn(inner),
        lambda inner: inner.emit(op),
    )  # fmt: skip


def _folds(op: Sweep) -> list[Let]:
    """The folds of a sweep over columns, if they go down these and there is nothing else to it."""
    found = even_folds(op) if len(op.shape) == 1 and is_stored(op) else []
    return found if all(_goes_down(let.op, op.body) for let in found) else []


def _goes_down(fold: Op, body: Lambda) -> bool:
    """Whether a fold reads rows, each at the sweep's own column."""
    assert isinstance(fold, Fold)
    (row,), (column,) = fold.body.params, body.params
    reads = [let.op.indices for let in fold.body.lets if isinstance(let.op, Index)]
    along_row = any(at[-1] == row for at in reads if len(at) > 1)
    return not along_row and any(at == (row, column) for at in reads)


@record
class _Columns:
    """A sweep over columns, and its folds over all rows."""

    op: Sweep
    folds: list[Let]

    @property
    def rows(self) -> Atom:
        assert isinstance(self.folds[0].op, Fold)
        return self.folds[0].op.extent

    @property
    def columns(self) -> Atom:
        return self.op.shape[0]

    def choice(
        self, b: Builder, condition: Atom, then: Callable[[Builder], Sequence[Atom]],
        other: Callable[[Builder], Sequence[Atom]],
    ) -> list[Atom]:  # fmt: skip
        """A branch whose bodies give the sweep's arrays; before each stand its extents."""
        if isinstance(condition, Const):
            return list((then if condition.value else other)(b))
        bodies = []
        for way in (then, other):
            inner = b.inner(optional=True)
            arrays = way(inner)
            given = [atom for x in arrays for atom in (*array_type(x).shape, x)]
            bodies.append(inner.close([], given))
        found = b.emit(If(condition, *bodies))
        return [var for var in found if isinstance(var.type, ArrayType)]

    def in_turn(self, b: Builder) -> Sequence[Atom]:
        """The folds divided; those that read what others give, behind these."""
        first = self._first()
        if len(first) == len(self.folds):
            return self.by_number(b, 1)
        column, lets = self.op.body.params, self.op.body.lets
        results = [var for let in first for var in let.vars]
        before = Lambda(column, tuple(needed_for(lets, results)), tuple(results))
        stores = tuple(Store() for _ in results)
        arrays = _Columns(Sweep(self.op.shape, before, stores), first).by_number(b, 1)
        reads = [Let((x,), Index(xs, column, checked=False))
                 for x, xs in zip(results, arrays, strict=True)]  # fmt: skip
        others = tuple(let for let in lets if let not in first)
        body = Lambda(column, (*reads, *others), self.op.body.results)
        later = [let for let in self.folds if let not in first]
        return _Columns(replace(self.op, body=body), later).in_turn(b)

    def _first(self) -> list[Let]:
        """The folds that read nothing of the others."""
        given = {var for let in self.folds for var in let.vars}
        found = []
        for let in self.folds:
            assert isinstance(let.op, Fold)
            needed = needed_for(self.op.body.lets, [*free_vars(let.op.body)])
            if not any(given & set(each.vars) for each in needed):
                found.append(let)
        return found

    def by_number(self, b: Builder, count: int) -> Sequence[Atom]:
        """A branch for each small number of columns, from `count` on."""
        if count > NARROW:
            return self.by_blocks(b)
        return self.choice(
            b, b.apply("eq", self.columns, index(count)),
            lambda inner: self.column_by_column(inner, count),
            lambda inner: self.by_number(inner, count + 1),
        )  # fmt: skip

    def column_by_column(self, b: Builder, count: int) -> Sequence[Atom]:
        """One sweep over the rows, with a sum of each column."""
        inside = b.inner()
        row = inside.param("k", i64, self.rows)
        elements: list[Atom] = []
        for column in range(count):
            elements += self._elements(inside, index(column), row)
        sinks = [Combine(each.fn, each.neutral) for each in self._all()] * count
        body = inside.close([row], elements)
        found = b.emit(Sweep((self.rows,), body, tuple(sinks)))
        width = len(found) // count

        def ready(c: Builder, place: int, column: Atom) -> Atom:
            value: Atom = found[place]
            for number in range(1, count):
                here = c.apply("eq", column, index(number))
                value = c.apply("select", here, found[number * width + place], value)
            return value

        places = self._places()
        return self._last(b, lambda c, let, column: [
            ready(c, places[let] + k, column) for k in range(len(let.vars))])  # fmt: skip

    def by_blocks(self, b: Builder) -> Sequence[Atom]:
        """Blocks of rows, and then what these give."""
        some = b.apply("maximum", self.columns, index(1))
        size = b.apply("maximum", b.apply("floordiv", index(BLOCK), some), index(LEAST))
        blocks = b.ceil_div(self.rows, size)
        inside = b.inner()
        block, column = inside.param("t", i64, blocks), inside.param("j", i64, self.columns)
        first = inside.mul(block, size)
        length = inside.apply("minimum", size, inside.sub(self.rows, first))
        renaming = self._before(inside, column)
        results: list[Atom] = []
        for fold in self._all():
            turn = inside.inner()
            k = turn.param("k", i64, length)
            values = turn.inline(fold.body, [turn.add(first, k)], renaming)
            results += inside.emit(
                Fold(length, turn.close([k], values), fold.fn, fold.neutral)
            )
        body = inside.close([block, column], results)
        stores = tuple(Store() for _ in results)
        parts = b.emit(Sweep((blocks, self.columns), body, stores))
        places = self._places()

        def joined(c: Builder, let: Let, column: Atom) -> Sequence[Atom]:
            fold, turn = let.op, c.inner()
            assert isinstance(fold, Fold)
            k = turn.param("k", i64, blocks)
            values = [
                turn.emit(Index(parts[places[let] + n], (k, column), checked=False))[0]
                for n in range(len(let.vars))
            ]
            return c.emit(Fold(blocks, turn.close([k], values), fold.fn, fold.neutral))

        return self._last(b, joined)

    def _all(self) -> list[Fold]:
        return [let.op for let in self.folds if isinstance(let.op, Fold)]

    def _places(self) -> dict[Let, int]:
        """Where the results of each fold are among those of all."""
        found, place = {}, 0
        for let in self.folds:
            found[let] = place
            place += len(let.vars)
        return found

    def _before(self, b: Builder, column: Atom) -> Substitution:
        """What the folds' bodies need of the sweep's."""
        renaming = b.inlining(self.op.body, [column])
        needed = [atom for fold in self._all() for atom in free_vars(fold.body)]
        for let in needed_for(self.op.body.lets, needed):
            b.inline_let(let, renaming)
        return renaming

    def _elements(self, b: Builder, column: Atom, row: Atom) -> list[Atom]:
        """What all folds combine of one row and column."""
        renaming = self._before(b, column)
        return [x for fold in self._all() for x in b.inline(fold.body, [row], renaming)]

    def _last(
        self, b: Builder, ready: Callable[[Builder, Let, Atom], Sequence[Atom]]
    ) -> Sequence[Atom]:
        """The sweep, with what the folds give from elsewhere."""
        inside = b.inner()
        column = inside.param("j", i64, self.columns)
        renaming = inside.inlining(self.op.body, [column])
        for let in self.op.body.lets:
            if let in self.folds:
                values = ready(inside, let, column)
                renaming.mapping.update(zip(let.vars, values, strict=True))
            else:
                inside.inline_let(let, renaming)
        body = inside.close([column], [renaming.atom(x) for x in self.op.body.results])
        return b.emit(Sweep(self.op.shape, body, self.op.sinks))
