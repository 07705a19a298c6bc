"""Short rows: what a sweep over rows is where each has one element, and which rows have so few that
lanes along each of them would be idle.

    t: f32[n] = sweep [n] (i => fold m (k => xs[i, k]) (add) [0.0]) [store]
    m is 1   ==>   t = sweep [n] (i => add 0.0 xs[i, 0]) [store]

    t: f32[n, m] = sweep [n, m] (i, j => prefix (add) xs[i, j] starts=[j == 0]) [store]
    m is 1   ==>   t = sweep [n] (i => xs[i, 0]) [store]

    t: f32[n, m] = sweep [n, m] (i, j => fold k (t => mul xs[i, t] ys[t, j]) (add) [0.0]) [store]
    m is 1   ==>   t = sweep [n] (i => fold k (t => mul xs[i, t] ys[t, 0]) (add) [0.0]) [store]

The overhead of a row is then the only cost: without it the steps of a map run at the speed of
memory. Sweeps that store their elements have such a form, if no fold over the rows and no scan
along them is left in it; or if lanes would run along rows in which each element is a fold.

For rows of 2 to 15 elements (with AVX-512) the sweep is vectorized across rows. Each lane folds a
different row, or, where rows are not folded, steps continue from one row into the next. Lanes
gather what they read. Rows between offsets count by their mean length: the elements of the array
that a fold reads, over the number of offsets.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.access.analyse import Accesses
from flatweave.access.value import array_read
from flatweave.base.dtypes import i64, u32
from flatweave.base.records import record
from flatweave.lower.machine.machine import Machine
from flatweave.nest.schedule import Axis
from flatweave.ops import Fold, Index, Locate, Prefix, Sweep
from flatweave.terms.build import Builder, Names, index
from flatweave.terms.rules import array_type
from flatweave.terms.syntax import Atom, Const, Var
from flatweave.terms.traverse import Substitution, walk_lets


@record
class Length:
    """The mean length of rows: elements over rows."""

    elements: Atom
    rows: Atom = index(1)


@record
class Ones:
    """The extent that is 1, and the sweep that is left."""

    extent: Atom
    op: Sweep


def find_ones(op: Sweep, axis: Axis, *, scans: bool) -> Ones | None:
    """The form of a sweep for rows of one element, if lanes would run along `axis`: along folds,
    along rows that are scanned, or along rows whose elements are folds.

    The last is, for example, a product with one column: lanes then run along the fold, or another
    axis.
    """
    folds = any(isinstance(let.op, Fold) for let in op.body.lets)
    column = axis is Axis.LAST and folds and not scans
    inner = folds and axis is (Axis.LAST if scans else Axis.FOLD)
    rows = axis is Axis.LAST and scans
    plain = op.only_stores and not _locates(op) and not (column and op.reverse)
    if not plain or not (column or inner or rows):
        return None
    extent = _folded_extent(op) if inner else op.shape[-1]
    if not isinstance(extent, Var) or not (inner or len(op.shape) > 1):
        return None
    left = _without_rows(op, extent)
    loops = any(isinstance(let.op, Fold | Prefix) for let in left.body.lets)
    return Ones(extent, left) if column or not loops else None


def _folded_extent(op: Sweep) -> Atom | None:
    """How long the rows are that are folded, if all have one length."""
    lets = op.body.lets
    folded = {let.op.extent for let in lets if isinstance(let.op, Fold)}
    own = {*op.body.params, *(var for let in lets for var in let.vars)}
    return folded.pop() if len(folded) == 1 and not folded & own else None


def length_of_short(op: Sweep, axis: Axis, known: Accesses) -> Length | None:
    """The length of the rows that lanes run along, for sweeps with a different plan for short rows:
    those that do not scan, and of which lanes do not go along rows in memory."""
    if not op.stores_or_reduces or any(isinstance(let.op, Prefix) for let in walk_lets(op.body)):
        return None
    if axis is Axis.FOLD:
        extent = None if _locates(op) else _folded_extent(op)
        return Length(extent) if extent is not None else _mean_length(op, known)
    folds = any(isinstance(let.op, Fold) for let in walk_lets(op.body))
    if axis is Axis.LAST and not folds and not _locates(op):
        return Length(op.shape[-1])
    return None


def _mean_length(op: Sweep, known: Accesses) -> Length | None:
    """The mean length of the rows between offsets, if all folds go along such rows."""
    folds = [let.op for let in walk_lets(op.body) if isinstance(let.op, Fold)]
    found = {_cut_by_offsets(fold, known) for fold in folds}
    pair = found.pop() if len(found) == 1 else None
    return pair and Length(*pair)


def _cut_by_offsets(fold: Fold, known: Accesses) -> tuple[Atom, Atom] | None:
    """The extents of what a fold goes along, and of the offsets between which it does."""
    distance = known.of(fold.extent)
    if distance.more or sorted(distance.terms.values()) != [-1, 1]:
        return None
    offsets, again = map(array_read, distance.terms)
    reads = (let.op for let in fold.body.lets if isinstance(let.op, Index))
    along = [read.xs for read in reads if fold.body.params[0] in known.along(read.indices[-1])]
    if offsets is None or offsets != again or not along:
        return None
    return array_type(along[0]).shape[-1], array_type(offsets).shape[0]


def first_long(machine: Machine) -> int:
    """The number of elements from which on rows are not short.

    Lanes that go along a row are no gathers, and a register of 32-bit elements keeps enough of them
    busy: 8 with AVX2, where 10^6 f64 in rows of 8 are summed in 0.09 ms, and in 0.17 by gathers.
    """
    return machine.lanes([u32])


def is_short(length: Length | None, machine: Machine) -> bool:
    """Whether it is known that rows are short."""
    if length is None or length.rows != index(1) or not isinstance(length.elements, Const):
        return False
    return int(length.elements.value) < first_long(machine)


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
