"""The folds of a sweep that something else computes: blocks of the sweep, or a library.

    a: f32[n, m] = sweep [n, m] (i, j =>
        s = fold l (k => mul xs[i, k] ys[j, k]) (add f32) [0.0f32]
        t = add s 1.0f32
        in t) [store]
    ==>
    p: f32[n, m] = callback matmul_3f2a none [] [xs, ys] [f32 [n, m]]
    a: f32[n, m] = sweep [n, m] (i, j => t = add p[i, j] 1.0f32 in t) [store]

Where zeros of a factor count, and the library does not know that, an element that is NaN is folded
by the sweep that reads it; no other element has met an infinite factor, or NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from flatweave.base.dtypes import i64
from flatweave.base.library_products import FEW_RESULTS, NEITHER
from flatweave.base.records import record, replace
from flatweave.lower.machine.machine import Machine
from flatweave.ops import Fold, Index, Suits, Sweep
from flatweave.ops.nests import LIBRARY
from flatweave.passes.branches.library_products import (
    ComplexProduct,
    Operands,
    complex_product,
    operands_of,
)
from flatweave.passes.nests.segments import at
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Const, Let, Var
from flatweave.terms.traverse import Substitution, free_vars, needed_for

Body = Callable[[Builder], Sequence[Atom]]
Ready = Callable[[Builder, Let, Sequence[Atom]], Sequence[Atom]]
"""The results of a fold, computed elsewhere, at an index of the sweep."""


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
    ) -> Iterator[tuple[Atom, Body]]:
        """The version whose folds the library computes, but where there are few results of long
        folds, which go `in_blocks`."""
        shape, steps, sizes = self.op.shape, self.folds[0].extent, self.machine.products
        operands = operands_of(self.op, self.lets, self.own) if sizes else []
        if not operands or sizes is None:
            return
        whole = complex_product(self.op, self.lets, operands, self.own)
        if whole is not None and not whole.operands.suit(sizes):
            whole = None
        least = b.apply("minimum", b.apply("minimum", shape[0], shape[1]), steps)
        few = b.apply("le", results, index(min(self._most(), FEW_RESULTS)))
        least = b.apply("select", b.apply("and", few, in_blocks), index(0), least)
        products = b.mul(b.mul(results, steps), index(4 if whole else 1))
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
        self, b: Builder, operands: Sequence[Operands], is_blas: bool
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
        if self.op.only_stores and len(self.op.body.lets) == len(self.lets) and not uncertain:
            return [made[result] for result in self.op.body.results]

        def ready(c: Builder, let: Let, place: Sequence[Atom]) -> Sequence[Atom]:
            value = at(c, products[let], *place)
            return self._unless_nan(c, let, place, value) if let in uncertain else [value]

        return self._rest(b, ready)

    def _unless_nan(
        self, b: Builder, let: Let, place: Sequence[Atom], value: Atom
    ) -> Sequence[Atom]:
        """A value that is known, or if it is NaN the fold of this element."""
        fold = let.op
        assert isinstance(fold, Fold)
        then, other = b.inner(), b.inner()
        turn, around = then.inner(), self._around(then, place)
        k = turn.param("k", i64, fold.extent)
        body = turn.close([k], self._element(turn, fold, k, around))
        found = then.emit(Fold(fold.extent, body, fold.fn, fold.neutral))
        is_nan = b.apply("ne", value, value)
        return b.emit(If(is_nan, then.close([], found), other.close([], [value])))

    def _by_complex(self, b: Builder, whole: ComplexProduct) -> Sequence[Atom]:
        """The folds as one product of complex matrices; and then what the sweep does with it."""
        pairs = whole.operands.product(b, self.lets[0].where, {})
        if whole.is_stored_by(self.op):
            return [pairs]
        numbers = {whole.real: index(0), whole.imaginary: index(1)}
        parts = replace(self, lets=list(numbers))
        return parts._rest(b, lambda c, let, place: [at(c, pairs, *place, numbers[let])])

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
