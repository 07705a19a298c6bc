"""Products of tall narrow arrays: a fold that is long is divided where its results are few.

    gram(n: i64, xs: f32[n, 8]) =>
        a: f32[8, 8] = sweep [8, 8] (i, j =>
            s = fold n (k => mul xs[k, i] xs[k, j]) (add f32) [0.0f32]
            in s) [store]
    ==>
        parts: f32[blocks, 8, 8] = sweep [blocks, 8, 8] (t, i, j =>
            s = fold length (k => mul xs[first + k, i] xs[first + k, j]) (add f32) [0.0f32]
            in s) [store]
        a: f32[8, 8] = sweep [8, 8] (i, j =>
            s = fold blocks (t => parts[t, i, j]) (add f32) [0.0f32]
            in s) [store]

One result after the other is a pass over all rows, and of few results there is no work for all
threads. Blocks are so long that what they give is little beside what they read; by sizes alone, in
their order, so that operators need not commute.

An array that is cheap and made for the product alone, as a transposition or what is left of a mean,
is computed where blocks read it, and stored only where the fold is not divided.

Large products of two matrices of floats are left to the library (`library_products.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeGuard

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.ops import HOST_BODIES, Combine, Fold, Index, InTurn, Prefix, Store, Suits, Sweep
from flatweave.ops.nests import LIBRARY
from flatweave.passes.branches.library_products import Operands, operands_of
from flatweave.passes.cost import STORING, cost_of_body
from flatweave.passes.fusion.sharing import is_pull
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var
from flatweave.terms.traverse import (
    Substitution,
    free_vars,
    lambdas_in,
    map_field,
    needed_for,
    walk_lets,
)

MOST_RESULTS = 64 * 64
"""So few results have no work for all threads, each, and stay in the nearest cache."""
FEWEST_RESULTS = 8 * 8
"""The same where what lanes read lies along the fold: more meet in register tiles, turned."""
BLOCK = 1 << 13
"""Elements that a block reads, about."""
LEAST = 256
"""Steps of a fold in a block, at least."""
READS_OF_RESULT = 16
"""So many elements a block reads for each result that it stores."""
MOST_FOLDS = 4
Choice = Callable[
    [Builder, Atom, Callable[[Builder], Sequence[Atom]], Callable[[Builder], Sequence[Atom]]],
    Sequence[Atom],
]


def readers(fn: Lambda) -> Counter[Var]:
    """How many operations of host bodies read each array."""
    found: Counter[Var] = Counter(atom for atom in fn.results if isinstance(atom, Var))
    for let in fn.lets:
        found.update(list(free_vars(let.op)))
        if isinstance(let.op, HOST_BODIES):
            for inner in lambdas_in(let.op):
                found.update(readers(inner))
    return found


def is_stored(op: Sweep) -> bool:
    """Whether a sweep stores its elements, each in arrays of its space."""
    return all(isinstance(sink, Store) for sink in op.sinks)


def even_folds(op: Sweep) -> list[Let]:
    """The folds of a sweep that stores its elements, if all have one extent that is known outside,
    and if they and what is around them do scalar work alone."""
    body = op.body
    if op.reverse or not all(isinstance(sink, Store | InTurn) for sink in op.sinks):
        return []
    if any(isinstance(let.op, Prefix) or let.op.effect for let in walk_lets(body)):
        return []
    found = [let for let in body.lets if isinstance(let.op, Fold)]
    folds = [let.op for let in found if isinstance(let.op, Fold)]
    bound = {*body.params, *(var for let in body.lets for var in let.vars)}
    outside = ((fold.extent, fold.fn, fold.neutral) for fold in folds)
    if len({fold.extent for fold in folds}) != 1 or len(folds) > MOST_FOLDS:
        return []
    if bound & free_vars(tuple(outside)).keys():
        return []
    others = [let for let in body.lets if let not in found]
    scalar = [*others, *(let for fold in folds for let in fold.body.lets)]
    return [] if any(lambdas_in(let.op) for let in scalar) else found


def folds_of_product(op: Sweep) -> list[Let]:
    """The folds of a sweep over two axes or more that meet arrays along several of its axes."""
    found = even_folds(op) if len(op.shape) > 1 else []
    return found if all(_is_product(let.op, op.body) for let in found) else []


def _is_product(fold: Op, body: Lambda) -> bool:
    """Whether a fold reads along more than one axis of the space."""
    assert isinstance(fold, Fold)
    (step,) = fold.body.params
    reads = [let.op.indices for let in fold.body.lets if isinstance(let.op, Index)]
    axes = {frozenset(at) & set(body.params) for at in reads if step in at}
    return len({axis for axis in axes if axis}) > 1


@record
class Product:
    """A sweep whose folds are divided.

    `own` are the arrays that are made for it alone, by sweeps that cost little: computed where
    blocks read them.
    """

    op: Sweep
    folds: list[Let]
    own: dict[Var, Sweep]

    def divided(self, b: Builder, choice: Choice) -> Sequence[Atom]:
        """The arrays of the sweep; `choice` makes a branch of two ways to them."""
        shape, steps = self.op.shape, self._folds[0].extent
        results, reads = b.product(shape), _sum(b, shape)
        some = b.apply("maximum", reads, index(1))
        stored = b.mul(b.apply("minimum", results, index(MOST_RESULTS)), index(READS_OF_RESULT))
        elements = b.apply("maximum", stored, index(BLOCK))
        size = b.apply("maximum", b.apply("floordiv", elements, some), index(LEAST))
        long = b.apply("ge", steps, size)
        most = FEWEST_RESULTS if self._lies_along_folds() else MOST_RESULTS
        few = b.apply("le", results, index(most))
        # kernels of a branch know the extents that it asks for
        unknown = dict.fromkeys(extent for extent in shape if isinstance(extent, Var))
        ones = [b.apply("eq", extent, index(1)) for extent in unknown]
        others = b.product([extent for extent in shape if extent not in unknown])
        single = b.apply("eq", others, index(1))
        for one in ones:
            single = b.apply("and", single, one)

        def divided(inner: Builder) -> Sequence[Atom]:
            return choice(inner, single, self._alone, lambda c: self._by_blocks(c, size))

        return choice(
            b, b.apply("and", few, long), divided, lambda inner: self._undivided(inner, choice)
        )

    def _undivided(self, b: Builder, choice: Choice) -> Sequence[Atom]:
        """The sweep, or where it is large what the library gives for its folds."""
        operands = operands_of(self.op, self.folds, self.own)
        if not operands:
            return self._whole(b)
        (rows, columns), steps = self.op.shape, self._folds[0].extent
        least = b.apply("minimum", b.apply("minimum", rows, columns), steps)
        products = b.mul(b.mul(rows, columns), steps)
        (large,) = b.emit(Suits(LIBRARY, "product", False, least, products, steps))
        return choice(b, large, lambda inner: self._by_library(inner, operands), self._whole)

    def _by_library(self, b: Builder, operands: Sequence[Operands]) -> Sequence[Atom]:
        """Each fold as a product that is stored; and then what the sweep does with it."""
        stored = self._stored(b, [var for each in operands for var in each.stored])
        products: dict[Let, Atom] = {}
        for let, each in zip(self.folds, operands, strict=True):
            products[let] = each.product(b, let.where, stored)
        if is_stored(self.op) and len(self.op.body.lets) == len(self.folds):
            made: dict[Atom, Atom] = {let.vars[0]: x for let, x in products.items()}
            if all(result in made for result in self.op.body.results):
                return [made[result] for result in self.op.body.results]
        return self._behind(b, lambda inner, let, at: inner.emit(
            Index(products[let], tuple(at), checked=False)))  # fmt: skip

    def _lies_along_folds(self) -> bool:
        """Whether what is read for the last axis does not lie side by side along it."""
        lane, found = self.op.body.params[-1], []
        for fold in self._folds:
            for let in fold.body.lets:
                if isinstance(let.op, Index):
                    found += self._places(let.op)
        return any(lane in place[:-1] for place in found)

    def _places(self, read: Index) -> list[tuple[Atom, ...]]:
        """The places of a read; where its array is own, of all that an element reads."""
        if read.xs not in self.own:
            return [read.indices]
        assert isinstance(read.xs, Var)
        body = self.own[read.xs].body
        at = dict(zip(body.params, read.indices, strict=True))
        inner = [let.op.indices for let in body.lets if isinstance(let.op, Index)]
        return [tuple(at.get(i, i) if isinstance(i, Var) else i for i in place) for place in inner]

    def _alone(self, b: Builder) -> Sequence[Atom]:
        """The only result: a sweep over the steps combines it."""
        inside = b.inner()
        step = inside.param("k", i64, self._folds[0].extent)
        around = self._around(inside, [index(0)] * len(self.op.shape))
        values = [x for fold in self._folds for x in self._element(inside, fold, step, around)]
        sinks = tuple(Combine(fold.fn, fold.neutral) for fold in self._folds)
        body = inside.close([step], values)
        found = iter(b.emit(Sweep((self._folds[0].extent,), body, sinks)))
        ready = {let: [next(found) for _ in let.vars] for let in self.folds}
        return self._behind(b, lambda c, let, at: ready[let])

    def _whole(self, b: Builder) -> Sequence[Atom]:
        """The sweep, and before it the arrays that are its own."""
        stored = self._stored(b, self.own)
        renaming = Substitution(stored, lambda var, type_: b.var(var.name, type_))
        op: Op = map_field(self.op, renaming.atom, renaming.function)
        return b.emit(op)

    def _stored(self, b: Builder, arrays: Iterable[Var]) -> dict[Var, Atom]:
        """Arrays that only the sweep reads, stored."""
        found: dict[Var, Atom] = {}
        for var in dict.fromkeys(arrays):
            sweep = self.own[var]
            found[var] = b.emit(Sweep(sweep.shape, b.copy(sweep.body), sweep.sinks))[0]
        return found

    def _by_blocks(self, b: Builder, size: Atom) -> Sequence[Atom]:
        """Partial results of each block, and then the results."""
        steps = self._folds[0].extent
        blocks = b.ceil_div(steps, size)
        inside = b.inner()
        block = inside.param("t", i64, blocks)
        at = [inside.param("i", i64, extent) for extent in self.op.shape]
        first = inside.mul(block, size)
        length = inside.apply("minimum", size, inside.sub(steps, first))
        around = self._around(inside, at)
        results: list[Atom] = []
        for fold in self._folds:
            turn = inside.inner()
            k = turn.param("k", i64, length)
            values = self._element(turn, fold, turn.add(first, k), around)
            results += inside.emit(Fold(length, turn.close([k], values), fold.fn, fold.neutral))
        body = inside.close([block, *at], results)
        stores = tuple(Store() for _ in results)
        parts = iter(b.emit(Sweep((blocks, *self.op.shape), body, stores)))
        mine = {let: [next(parts) for _ in let.vars] for let in self.folds}

        def joined(c: Builder, let: Let, place: Sequence[Atom]) -> Sequence[Atom]:
            fold, turn = let.op, c.inner()
            assert isinstance(fold, Fold)
            k = turn.param("k", i64, blocks)
            values = [turn.emit(Index(x, (k, *place), checked=False))[0] for x in mine[let]]
            return c.emit(Fold(blocks, turn.close([k], values), fold.fn, fold.neutral))

        return self._behind(b, joined)

    def _behind(
        self, b: Builder, ready: Callable[[Builder, Let, Sequence[Atom]], Sequence[Atom]]
    ) -> Sequence[Atom]:
        """The sweep, with what its folds give from elsewhere."""
        inside = b.inner()
        at = [inside.param("i", i64, extent) for extent in self.op.shape]
        renaming = inside.inlining(self.op.body, at)
        for let in self.op.body.lets:
            if let in self.folds:
                renaming.mapping.update(zip(let.vars, ready(inside, let, at), strict=True))
            else:
                inside.inline_let(let, renaming)
        body = inside.close(at, [renaming.atom(x) for x in self.op.body.results])
        return b.emit(Sweep(self.op.shape, body, self.op.sinks))

    def _around(self, b: Builder, at: Sequence[Atom]) -> Substitution:
        """What the folds need of the sweep's body."""
        renaming = b.inlining(self.op.body, at)
        needed = [atom for fold in self._folds for atom in free_vars(fold.body)]
        self._inline(b, needed_for(self.op.body.lets, needed), renaming)
        return renaming

    def _element(
        self, b: Builder, fold: Fold, step: Atom, around: Substitution
    ) -> list[Atom]:
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
            at = [renaming.atom(i) for i in op.indices]
            (renaming.mapping[let.vars[0]],) = b.inline(self.own[op.xs].body, at)

    @property
    def _folds(self) -> list[Fold]:
        return [let.op for let in self.folds if isinstance(let.op, Fold)]


def is_cheap(op: Op | None) -> TypeGuard[Sweep]:
    """Whether a sweep only stores an array, each element of a little scalar work and reads."""
    if not isinstance(op, Sweep) or not is_pull(op) or len(op.sinks) != 1:
        return False
    plain = all(isinstance(let.op, Apply | Cast | Index) for let in op.body.lets)
    effects = any(let.op.effect for let in op.body.lets)
    return plain and not effects and cost_of_body(op.body) <= STORING


def _sum(b: Builder, extents: Sequence[Atom]) -> Atom:
    total: Atom = index(0)
    for extent in extents:
        total = b.add(total, extent)
    return total
