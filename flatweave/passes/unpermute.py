"""Unpermute: what is combined by indices that a permutation moved is combined before they move.

    counts(n: i64, keys: u64[n], ranks: i64[n], k: i64, dest: i64[k], ws: i64[n]) =>
        at: i64[n] = generate [n] (i: i64 => i)
        s: u64[n], p: i64[n] = sort (x: u64, y: i64 => x) [keys, at]
        inverse: i64[n] = scatter [at] p [ranks]
        c: i64[k] = permute (add i64) [0] [dest] inverse [ws]
        in c
    ==>
    counts(n: i64, keys: u64[n], ranks: i64[n], k: i64, dest: i64[k], ws: i64[n]) =>
        at: i64[n] = generate [n] (i: i64 => i)
        s: u64[n], p: i64[n] = sort (x: u64, y: i64 => x) [keys, at]
        vs: i64[n] = generate [n] (q: i64 =>
            o: i64 = index p [q] checked=false
            w: i64 = index ws [o] checked=false
            in w)
        c: i64[k] = permute (add i64) [0] [dest] ranks [vs]
        in c

The law: a scatter by a permutation writes each index once, so that the same pairs of an index and a
value meet. If a sort gave the permutation, the indices are often in order before they move: equal
ones are neighbours. A scatter without other readers is dropped.

Leaves alone: operators that round, for which the order of elements matters; indices of which some
may not be written.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.array_ir.syntax import TRACED, Program
from flatweave.ops import Generate, Permute, Scatter, Sort
from flatweave.passes.nests import segments
from flatweave.passes.operators import is_exact
from flatweave.passes.rewrite import array_pass, rewrite
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Let, Op, array_type


@array_pass(takes=(TRACED,), about=lambda op: isinstance(op, Scatter))
def unpermute(program: Program) -> Program:
    """permute fn dest (scatter p ranks) xs   ==>   permute fn dest ranks (gather p xs)"""
    return rewrite(program, _in_order)


def _in_order(b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
    if not isinstance(op, Permute) or not is_exact(op.fn):
        return None
    moved = b.definition(op.indices)
    if not isinstance(moved, Scatter) or not _writes_all(b, moved, op.indices):
        return None
    (extent,) = array_type(op.indices).shape

    def gathered(x: Atom) -> Atom:
        def moved_to(c: Builder, q: Atom) -> Atom:
            return segments.at(c, x, segments.at(c, moved.indices, q))

        return segments.each(b, extent, moved_to)

    xs = tuple(map(gathered, op.xs))
    return b.emit(op.replace(indices=moved.xs[0], xs=xs, fn=b.copy(op.fn)), let.vars[0].name)


def _writes_all(b: Builder, moved: Scatter, written: Atom) -> bool:
    """Whether a scatter of one array writes each element once: its indices are sorted positions."""
    sort = next((let for let in b.lets if moved.indices in let.vars), None)
    if len(moved.xs) != 1 or sort is None or not isinstance(sort.op, Sort):
        return False
    place = sort.op.xs[sort.vars.index(moved.indices)]
    return array_type(place).shape == array_type(written).shape and _counts(b, place)


def _counts(b: Builder, array: Atom) -> bool:
    """Whether the element at each index is the index."""
    made = b.definition(array)
    return isinstance(made, Generate) and made.fn.results == made.fn.params
