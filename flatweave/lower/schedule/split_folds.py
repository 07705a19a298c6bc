"""Long folds of few elements: split, and their blocks bound to the grid.

    sums(n: i64, xs: f32[n, 8]) =>
        a: f32[8] = sweep [8] (j: i64 =>
            s: f32 = fold n (k: i64 => index xs [k, j] checked=false) (add f32) [0.0f32]
            in s) [store]
        in a
    ==>
    sums(n: i64, xs: f32[n, 8]) =>
        long: bool = ge n 8192
        more: i64 = add n 8191
        blocks: i64 = floordiv more 8192
        e: i64, a: f32[8] = if long (() =>
            parts: f32[blocks, 8] = sweep [blocks, 8] (t: i64, j: i64 =>
                first: i64 = mul t 8192
                rest: i64 = sub n first
                length: i64 = minimum 8192 rest
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

Each element is a loop of one lane or thread: few elements leave the others idle. Blocks depend on
sizes and the kind of machine alone, and are joined in their order: so bits are the same for every
number of threads, and operators need not commute. Each half is a sweep with a separate plan.

One to four elements of a single axis, or one of several, are reductions of one sweep over the
steps, in a version for each number, whose kernels know it. Folds that read results of others are
split after these.

An array that is cheap and read by this sweep alone, as a transposition or what is left of a mean,
is computed where blocks read it, and stored only where the fold is not split. Large products of two
matrices of floats are left to the library (`passes/library_products.py`). Where zeros of a
factor count, and the library does not know that, the sweep that reads the product folds elements
that are NaN; no other element has met an infinite factor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import i64
from flatweave.base.library_products import FEW_RESULTS, NEITHER
from flatweave.base.records import record, replace
from flatweave.lower.machine import FOLD_STEPS, MOST_REDUCTIONS, Machine
from flatweave.lower.schedule.arrangement import folds_of_one_length
from flatweave.lower.schedule.facts import own_arrays, readers
from flatweave.ops import ByRow, Combine, Fold, Index, Store, Suits, Sweep
from flatweave.ops.nests import LIBRARY
from flatweave.passes import library_products
from flatweave.passes.cost import cost_of_body
from flatweave.passes.dce import dce
from flatweave.passes.nests import segments
from flatweave.passes.rewrite import Rewriter
from flatweave.terms.build import Builder, index
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import Substitution, free_vars, map_field, needed_for, walk_lets

Ready = Callable[[Builder, Let, Sequence[Atom]], Sequence[Atom]]
"""The results of a fold, computed elsewhere, at an index of the sweep."""


def split_folds(program: Program, machine: Machine) -> Program:
    """Split folds that are long where elements are few."""
    if not any(isinstance(let.op, Fold) for let in walk_lets(program.fn)):
        return program
    return dce(Program(program.name, _Splitter(program.fn, machine).program(program.fn)))


class _Splitter(Rewriter):
    """Goes everywhere but into programs of single rows, which have one thread."""

    def __init__(self, fn: Lambda, machine: Machine) -> None:
        super().__init__(self._rule)
        self.readers = readers(fn)
        self.machine = machine
        self.in_row = machine.one_block

    def op(self, b: Builder, op: Op) -> Op:
        around, self.in_row = self.in_row, self.in_row or isinstance(op, ByRow)
        rewritten = super().op(b, op)
        self.in_row = around
        return rewritten

    def _rule(self, b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        if not isinstance(op, Sweep) or self.in_row:
            return None
        folds = folds_of_one_length(op)
        if not folds:
            return None
        arrays = (self.renaming.atom(old) for old in free_vars(let.op) if self.readers[old] == 1)
        return _Folds(op, folds, own_arrays(b, arrays), self.machine).versions(b)


@record
class SweepFolds:
    """A sweep and its folds; `own` are the arrays that may be computed where they are read."""

    op: Sweep
    lets: Sequence[Let]
    own: dict[Var, Sweep]
    machine: Machine

    @property
    def folds(self) -> list[Fold]:
        return [let.op for let in self.lets if isinstance(let.op, Fold)]

    def _most(self) -> int:
        """The number of elements that occupies all blocks: one for each block that is wanted, or a
        step of lanes for each if these run along the last axis in memory."""
        lane, blocks = self.op.body.params[-1], self.machine.blocks_wanted
        reads = [let.op for fold in self.folds for let in fold.body.lets
                 if isinstance(let.op, Index)]  # fmt: skip
        places = (place for read in reads for place in self._places(read))
        across = any(lane in place[:-1] and not isinstance(place[-1], Const) for place in places)
        return blocks if across else blocks * self.machine.lanes_of_block

    def _places(self, read: Index) -> list[tuple[Atom, ...]]:
        """The indices of a read; if its array is `own`, those of all reads of an element."""
        if read.xs not in self.own:
            return [read.indices]
        assert isinstance(read.xs, Var)
        body = self.own[read.xs].body
        outer = dict(zip(body.params, read.indices, strict=True))
        inner = [let.op.indices for let in body.lets if isinstance(let.op, Index)]
        return [tuple(outer.get(i, i) if isinstance(i, Var) else i for i in place)
                for place in inner]  # fmt: skip

    def _by_libraries(
        self, b: Builder, results: Atom, in_blocks: Atom
    ) -> Iterator[tuple[Atom, segments.Body]]:
        """The version whose folds the library computes, but where there are few results of long
        folds, which go `in_blocks`."""
        shape, steps, sizes = self.op.shape, self.folds[0].extent, self.machine.products
        if sizes is None:
            return
        operands = library_products.operands_of(self.op, self.lets, self.own)
        if not operands:
            return
        whole = library_products.complex_product(self.op, self.lets, operands, self.own)
        if whole is not None and not whole.operands.suit(sizes):
            whole = None
        least = b.apply("minimum", b.apply("minimum", *shape[-2:]), steps)
        few = b.apply("le", results, index(min(self._most(), FEW_RESULTS)))
        least = b.apply("select", b.apply("and", few, in_blocks), index(0), least)
        parts = index(4 if whole else 1)
        products = b.mul(b.mul(results, steps), parts)
        if len(shape) > 2 and sizes.of_stacks:
            each = b.mul(b.product((*shape[-2:], steps)), parts)
            is_large = b.apply("ge", each, index(sizes.of_stacks))
            least = b.apply("select", is_large, least, index(0))
        (large,) = b.emit(Suits(LIBRARY, "product", False, least, products, steps))
        if whole is None:
            yield large, partial(self._by_library, operands=operands, is_blas=sizes.is_blas)
        else:
            yield large, partial(self._by_complex, whole=whole)

    def _stored(self, b: Builder, arrays: Iterable[Var]) -> dict[Var, Atom]:
        """Arrays that only the sweep reads, stored; those of one shape by one sweep."""
        by_shape: dict[tuple[Atom, ...], list[Var]] = {}
        for var in dict.fromkeys(arrays):
            by_shape.setdefault(self.own[var].shape, []).append(var)
        found: dict[Var, Atom] = {}
        for shape, some in by_shape.items():
            inside = b.inner()
            place = [inside.param("i", i64, extent) for extent in shape]
            values = [x for var in some for x in inside.inline(self.own[var].body, place)]
            sinks = tuple(sink for var in some for sink in self.own[var].sinks)
            stored = b.emit(Sweep(shape, inside.close(place, values), sinks))
            found.update(zip(some, stored, strict=True))
        return found

    def _by_library(
        self, b: Builder, operands: Sequence[library_products.Operands], is_blas: bool
    ) -> Sequence[Atom]:
        """Each fold as a product that is stored; and then what the sweep does with it. Where zeros
        count and the library does not know that, elements that are NaN are folded here."""
        stored = self._stored(b, [var for each in operands for var in each.stored])
        uncertain = [let for let, each in zip(self.lets, operands, strict=True)
                     if is_blas and each.zeros != NEITHER]  # fmt: skip
        products = {
            let: (replace(each, zeros=NEITHER) if is_blas else each).product(b, let.where, stored)
            for let, each in zip(self.lets, operands, strict=True)
        }
        made: dict[Atom, Atom] = {let.vars[0]: x for let, x in products.items()}
        results = self.op.body.results
        is_all = len(self.op.body.lets) == len(self.lets) and made.keys() >= {*results}
        if self.op.only_stores and is_all and not uncertain:
            return [made[result] for result in results]

        def ready(c: Builder, let: Let, place: Sequence[Atom]) -> Sequence[Atom]:
            value = segments.at(c, products[let], *place)
            return self._unless_nan(c, let, place, value) if let in uncertain else [value]

        return self._rest(b, ready)

    def _unless_nan(
        self, b: Builder, let: Let, place: Sequence[Atom], value: Atom
    ) -> Sequence[Atom]:
        """A value that is known, or if it is NaN the fold of this element."""
        fold = let.op
        assert isinstance(fold, Fold)

        def again(c: Builder) -> Sequence[Atom]:
            turn, around = c.inner(), self._around(c, place)
            k = turn.param("k", i64, fold.extent)
            body = turn.close([k], self._element(turn, fold, k, around))
            return c.emit(Fold(fold.extent, body, fold.fn, fold.neutral))

        return b.choose(b.apply("ne", value, value), again, lambda _: [value])

    def _by_complex(self, b: Builder, whole: library_products.ComplexProduct) -> Sequence[Atom]:
        """The folds as one product of complex matrices; and then what the sweep does with it."""
        pairs = whole.operands.product(b, self.lets[0].where, {})
        if whole.is_stored_by(self.op):
            return [pairs]
        numbers = {whole.real: index(0), whole.imaginary: index(1)}
        parts = replace(self, lets=list(numbers))
        return parts._rest(b, lambda c, let, place: [segments.at(c, pairs, *place, numbers[let])])

    def _rest(self, b: Builder, ready: Ready) -> Sequence[Atom]:
        """The sweep, with what its folds give from elsewhere."""
        inside = b.inner()
        place = [inside.param("i", i64, extent) for extent in self.op.shape]
        renaming = inside.inlining(self.op.body, place)
        for let in self.op.body.lets:
            if let in self.lets:
                renaming.mapping.update(zip(let.vars, ready(inside, let, place), strict=True))
            else:
                inside.inline_let(let, renaming)
        body = inside.close(place, [renaming.atom(x) for x in self.op.body.results])
        return b.emit(replace(self.op, body=body))

    def _around(self, b: Builder, place: Sequence[Atom]) -> Substitution:
        """What the folds need of the sweep's body."""
        renaming = b.inlining(self.op.body, place)
        needed = [atom for fold in self.folds for atom in free_vars(fold.body)]
        self._inline(b, needed_for(self.op.body.lets, needed), renaming)
        return renaming

    def _element(self, b: Builder, fold: Fold, step: Atom, around: Substitution) -> list[Atom]:
        """What a fold takes of a step."""
        (param,) = fold.body.params
        renaming = Substitution({**around.mapping, param: step}, around.fresh)
        self._inline(b, fold.body.lets, renaming)
        return [renaming.atom(x) for x in fold.body.results]

    def _inline(self, b: Builder, lets: Sequence[Let], renaming: Substitution) -> None:
        """Emit lets; elements of own arrays are computed."""
        for let in lets:
            op = let.op
            if not isinstance(op, Index) or op.xs not in self.own:
                b.inline_let(let, renaming)
                continue
            assert isinstance(op.xs, Var)
            place = [renaming.atom(i) for i in op.indices]
            (renaming.mapping[let.vars[0]],) = b.inline(self.own[op.xs].body, place)


@record
class _Folds(SweepFolds):
    """A sweep whose folds are split."""

    def versions(self, b: Builder) -> Sequence[Atom]:
        """The results of the sweep, by the first version whose guard holds."""
        steps, shape = self.folds[0].extent, self.op.shape
        results, work = b.product(shape), sum(cost_of_body(fold.body) for fold in self.folds)
        each = b.mul(b.apply("maximum", results, index(1)), index(work * FOLD_STEPS))
        times = b.apply("floordiv", index(self.machine.block_work), each)
        size = b.mul(b.apply("maximum", times, index(1)), index(FOLD_STEPS))
        few = b.apply("le", results, index(self._most()))
        long = b.apply("ge", steps, index(FOLD_STEPS))
        first = self._first()
        if len(first) < len(self.lets):
            staged = partial(self._staged, first=first)
            return segments.first_of(b, [(b.apply("and", few, long), staged)], self._whole)
        found: list[tuple[Atom, segments.Body]] = []
        for count in range(1, MOST_REDUCTIONS + 1 if len(shape) == 1 else 2):
            guard = long  # kernels of a version know the extents that it asks for
            for extent in dict.fromkeys(shape):
                guard = b.apply("and", guard, b.apply("eq", extent, index(count)))
            found.append((guard, partial(self._reductions, count=count)))
            if guard is long:  # the number of elements is known
                return segments.first_of(b, found, self._whole)
        in_blocks = b.apply("ge", steps, size)
        found += self._by_libraries(b, results, in_blocks)
        guard = b.apply("and", few, in_blocks)
        found.append((guard, partial(self._in_blocks, size=size)))
        return segments.first_of(b, found, self._whole)

    def _whole(self, b: Builder) -> Sequence[Atom]:
        """The sweep, preceded by its `own` arrays."""
        renaming = Substitution(
            self._stored(b, self.own), lambda var, type_: b.var(var.name, type_)
        )
        op: Op = map_field(self.op, renaming.atom, renaming.function)
        return b.emit(op)

    def _first(self) -> list[Let]:
        """The folds that read nothing of the others."""
        results = {var for let in self.lets for var in let.vars}
        found = []
        for let in self.lets:
            needed = needed_for(self.op.body.lets, [*free_vars(let.op)])
            if not any(results & set(each.vars) for each in needed):
                found.append(let)
        return found

    def _staged(self, b: Builder, first: Sequence[Let]) -> Sequence[Atom]:
        """Some folds, whose results are stored, and then those that read these."""
        params, lets = self.op.body.params, self.op.body.lets
        results = [var for let in first for var in let.vars]
        before = Lambda(params, needed_for(lets, results), tuple(results))
        stores = tuple(Store() for _ in results)
        arrays = replace(self, op=Sweep(self.op.shape, before, stores), lets=first).versions(b)
        reads = [Let((x,), Index(xs, params, checked=False))
                 for x, xs in zip(results, arrays, strict=True)]  # fmt: skip
        others = tuple(let for let in lets if let not in first)
        op = replace(self.op, body=Lambda(params, (*reads, *others), self.op.body.results))
        later = [let for let in self.lets if let not in first]
        return replace(self, op=op, lets=later).versions(b)

    def _reductions(self, b: Builder, count: int) -> Sequence[Atom]:
        """So many elements of each fold, reduced by one sweep over the steps."""
        inside, steps = b.inner(), self.folds[0].extent
        step, zeros = inside.param("k", i64, steps), [index(0)] * (len(self.op.shape) - 1)
        values = []
        for number in range(count):
            around = self._around(inside, [*zeros, index(number)])
            for fold in self.folds:
                values += self._element(inside, fold, step, around)
        sinks = tuple(Combine(fold.fn, fold.neutral) for fold in self.folds) * count
        found = b.emit(Sweep((steps,), inside.close([step], values), sinks))
        width = len(found) // count

        def ready(c: Builder, place: int, column: Atom) -> Atom:
            value: Atom = found[place]
            for number in range(1, count):
                here = c.apply("eq", column, index(number))
                value = c.apply("select", here, found[number * width + place], value)
            return value

        numbers = self._numbers()
        return self._rest(b, lambda c, let, place: [
            ready(c, number, place[-1]) for number in numbers[let]])  # fmt: skip

    def _in_blocks(self, b: Builder, size: Atom) -> Sequence[Atom]:
        """Partial results of each block, and then the results."""
        steps = self.folds[0].extent
        blocks = b.ceil_div(steps, size)
        inside = b.inner()
        block = inside.param("t", i64, blocks)
        place = [inside.param("i", i64, extent) for extent in self.op.shape]
        first = inside.mul(block, size)
        length = inside.apply("minimum", size, inside.sub(steps, first))
        around = self._around(inside, place)
        results: list[Atom] = []
        for fold in self.folds:
            turn = inside.inner()
            k = turn.param("k", i64, length)
            values = self._element(turn, fold, turn.add(first, k), around)
            results += inside.emit(Fold(length, turn.close([k], values), fold.fn, fold.neutral))
        body = inside.close([block, *place], results)
        stores = tuple(Store() for _ in results)
        parts = b.emit(Sweep((blocks, *self.op.shape), body, stores))
        numbers = self._numbers()

        def joined(c: Builder, let: Let, place: Sequence[Atom]) -> Sequence[Atom]:
            fold, turn = let.op, c.inner()
            assert isinstance(fold, Fold)
            k = turn.param("k", i64, blocks)
            values = [segments.at(turn, parts[number], k, *place) for number in numbers[let]]
            return c.emit(Fold(blocks, turn.close([k], values), fold.fn, fold.neutral))

        return self._rest(b, joined)

    def _numbers(self) -> dict[Let, range]:
        """Which results are those of each fold, of the results of all."""
        found, number = {}, 0
        for let in self.lets:
            found[let] = range(number, number := number + len(let.vars))
        return found
