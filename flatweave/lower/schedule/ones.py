"""Rows of one element: what a sweep over rows is where these are so short.

    t: f32[n] = sweep [n] (i => fold m (k => xs[i, k]) (add) [0.0]) [store]
    m is 1   ==>   t = sweep [n] (i => add 0.0 xs[i, 0]) [store]

    t: f32[n, m] = sweep [n, m] (i, j => prefix (add) xs[i, j] starts=[j == 0]) [store]
    m is 1   ==>   t = sweep [n] (i => xs[i, 0]) [store]

What a row costs is then all that there is to pay: without the row there are the steps of a map, at
the speed of memory. Sweeps that store what they compute have such a form, if in it no fold over the
rows and no scan along them is left.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.ops import Fold, Locate, Prefix, Store, Sweep
from flatweave.terms.build import Builder, Names, index
from flatweave.terms.syntax import Atom, Const, Var
from flatweave.terms.traverse import Substitution, walk_lets


@record
class Ones:
    """The extent that is 1, and the sweep that is left."""

    extent: Atom
    op: Sweep


def find_ones(op: Sweep) -> Ones | None:
    """The form of a sweep over rows, for rows of one element."""
    extent = _extent(op)
    stored = all(isinstance(sink, Store) for sink in op.sinks)
    if not isinstance(extent, Var) or not stored or _locates(op):
        return None
    left = _without_rows(op, extent)
    rest = [let.op for let in left.body.lets]
    return None if any(isinstance(each, Fold | Prefix) for each in rest) else Ones(extent, left)


def _extent(op: Sweep) -> Atom | None:
    """How long the rows are that are folded, or else, where it scans, those of its space."""
    lets = op.body.lets
    folded = {let.op.extent for let in lets if isinstance(let.op, Fold)}
    if folded:
        (extent, *others) = folded
        made = {var for let in lets for var in let.vars}
        return None if others or extent in made else extent
    scans = any(isinstance(let.op, Prefix) for let in lets)
    return op.shape[-1] if scans and len(op.shape) > 1 else None


def _locates(op: Sweep) -> bool:
    return any(isinstance(let.op, Locate) for let in walk_lets(op.body))


def _without_rows(op: Sweep, extent: Var) -> Sweep:
    """The sweep with 1 for an extent: over all axes but the last, if it is that one's."""
    b = Builder(Names())
    one = Substitution({extent: index(1)})
    drops = len(op.shape) > 1 and op.shape[-1] is extent
    shape = tuple(one.atom(e) for e in (op.shape[:-1] if drops else op.shape))
    indices: list[Atom] = [b.param("i", i64, e) for e in shape]
    renaming = b.inlining(op.body, [*indices, index(0)] if drops else indices)
    renaming.mapping[extent] = index(1)
    for let in op.body.lets:
        b.where = let.where or b.where
        values = _alone(b, let.op, renaming)
        if values is None:
            b.inline_let(let, renaming)
        else:
            renaming.mapping.update(zip(let.vars, values, strict=True))
    params = [i for i in indices if isinstance(i, Var)]
    body = b.close(params, [renaming.atom(result) for result in op.body.results])
    return Sweep(shape, body, op.sinks, op.reverse and not drops)


def _alone(b: Builder, op: object, renaming: Substitution) -> Sequence[Atom] | None:
    """The results of a fold over one element, or of a scan that begins at every element."""
    match op:
        case Fold(extent=extent) if renaming.atom(extent) == index(1):
            values = b.inline(op.body, [index(0)], renaming)
            neutral = [renaming.atom(atom) for atom in op.neutral]
            return b.inline(op.fn, [*neutral, *values], renaming)
        case Prefix() if any(_holds(renaming.atom(start)) for start in op.starts):
            return [renaming.atom(atom) for atom in (op.neutral if op.exclusive else op.args)]
        case _:
            return None


def _holds(atom: Atom) -> bool:
    return isinstance(atom, Const) and bool(atom.value)
