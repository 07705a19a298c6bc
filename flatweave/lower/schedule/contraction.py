"""Sweeps of a special shape: contractions, and rows that are short."""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.access import array_read
from flatweave.access.analyse import Accesses
from flatweave.base.dtypes import DType, i64, u32, u64
from flatweave.base.records import record
from flatweave.lower.machine import MOST_VALUES, Machine
from flatweave.lower.schedule.steps import Axis, Tail
from flatweave.ops import Check, Fold, Index, Locate, Prefix, Sweep
from flatweave.terms.build import Builder, Names, index
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Const, Lambda, Let, Var, array_type, scalar_type
from flatweave.terms.traverse import Substitution, free_vars, needed_for, walk_lets

# -- contraction ----------------------------------------------------------------------------------
#
# Contractions: folds whose reads vary along one axis of the space each, as a matrix product's do.
#
#     sweep [n, m] (i, j =>                          rows i, lanes j
#         fold extent (k =>
#             x = index a [i, k]                     of the row
#             y = index b [k, j]                     of the lane
#             z = mul x y                            of both: the cell
#             in z) fn neutral
#         ..) [store]
#
#     sweep [m] (j =>                                rows i, lanes j
#         fold n (i =>
#             fold extent (k => ..) fn neutral
#             ..) ..
#         ..) [store]
#
#     sweep [blocks, n, m] (t, i, j =>               rows i, lanes j, of each t
#         fold length (k =>                          length and first are of t alone
#             x = index a [first + k, i]
#             y = index b [first + k, j]
#             ..) fn neutral
#         ..) [store]
#
# Each value of a row is used by all lanes, and each value of a lane by all rows. So where rows and
# lanes are visited in tiles, as many results as there are registers for need few reads.


@record
class Contraction:
    """The fold of a sweep whose space is divided into tiles of `rows` and `lanes`.

    `leading` are the axes before rows and lanes, and `before` is what depends on these alone. What
    the fold's body computes is sorted by what it depends on, in addition to the fold's position:
    nothing else, the row, the lane, or both; `row_values` and `lane_values` are what cells take of
    the row and of the lane. Where rows are the positions of a fold around it, that is `around`. In
    each pair of `bounds` the first extent must not exceed the second, for all reads to be inside.
    `longest` is an extent known outside of the sweep that the fold's does not exceed.
    """

    fold: Let
    around: Let | None
    leading: tuple[Var, ...]
    row: Var
    lane: Var
    before: tuple[Let, ...]
    common: tuple[Let, ...]
    of_row: tuple[Let, ...]
    of_lane: tuple[Let, ...]
    of_cell: tuple[Let, ...]
    row_values: tuple[Var, ...]
    lane_values: tuple[Var, ...]
    bounds: tuple[tuple[Atom, Atom], ...]
    longest: Atom

    @property
    def op(self) -> Fold:
        """The fold itself."""
        return _fold_of(self.fold)

    @property
    def outer(self) -> Fold | None:
        """The fold around it."""
        return _fold_of(self.around) if self.around else None

    @property
    def step(self) -> Var:
        """The position in the fold."""
        return self.op.body.params[0]

    @property
    def reads_along_fold(self) -> bool:
        """Whether reads of a lane are adjacent along the fold, in a row of a matrix."""
        return all(read.indices == (self.lane, self.step) for read in self._reads)

    @property
    def reads_along_lanes(self) -> bool:
        """Whether reads of a lane are adjacent from one lane to the next."""
        return all(self.lane not in read.indices[:-1] for read in self._reads)

    @property
    def _reads(self) -> list[Index]:
        """What is read of a lane."""
        return [let.op for let in self.of_lane if isinstance(let.op, Index)]

    @property
    def dtypes(self) -> list[DType]:
        """The dtypes of the values that stay in registers."""
        return [scalar_type(v) for v in (*self.op.neutral, *self.row_values, *self.lane_values)]


def find_contraction(op: Sweep, known: Accesses) -> Contraction | None:
    """The sweep as a contraction, or None."""
    if op.reverse or not op.sinks or not op.only_stores:
        return None
    if any(isinstance(let.op, Check | Locate | Prefix) for let in walk_lets(op.body)):
        return None
    fold, around = _only_fold(op.body), None
    if fold is None:
        return None
    *leading, lane = op.body.params
    bodies, lets, extents = [op.body], op.body.lets, op.shape
    if leading:
        row = leading.pop()
    else:  # rows may be the positions of the fold
        outer = _fold_of(fold)
        around, fold = fold, _only_fold(outer.body)
        bound = _bound([op.body])
        if fold is None or bound & free_vars((outer.extent, outer.neutral, outer.fn)).keys():
            return None
        (row,), extents = outer.body.params, (outer.extent, *extents)
        bodies.append(outer.body)
        lets = (*needed_for(lets, tuple(free_vars(outer.body))), *outer.body.lets)
    axes = dict(zip((*leading, row, lane), extents, strict=True))
    return _sorted(known, fold, around, axes, bodies, lets)


def _sorted(
    known: Accesses, fold: Let, around: Let | None, axes: dict[Var, Atom],
    bodies: Sequence[Lambda], lets: Sequence[Let],
) -> Contraction | None:  # fmt: skip
    """The contraction, if each value in the fold's body varies along the axes that it must."""
    inner, (*leading, row, lane) = _fold_of(fold), axes
    fixed, bound = frozenset({row, lane}), _bound(bodies)
    longest = known.at_most(inner.extent, bound)
    varies = bound & free_vars((inner.fn, inner.neutral)).keys()
    if varies or longest is None or fixed & known.along(inner.extent):
        return None
    space = {**axes, inner.body.params[0]: longest}
    needed = needed_for(lets, (*free_vars(inner.body), inner.extent))
    groups: dict[frozenset[Var], list[Let]] = {}
    before: list[Let] = []
    bounds: list[tuple[Atom, Atom]] = []
    for let in (*needed, *inner.body.lets):
        along = known.along(let.vars[0]) & fixed
        if isinstance(let.op, Index):
            conditions = _bounds(let.op, space)
            if conditions is None or len(along) > 1:
                return None
            bounds += conditions
        elif not _is_scalar(let):
            return None
        is_before = not along and let in bodies[0].lets
        (before if is_before else groups.setdefault(along, [])).append(let)
    common, of_row, of_lane, of_cell = (
        tuple(groups.get(axis, ())) for axis in (frozenset[Var](), *map(_only, (row, lane)), fixed)
    )
    taken = {*inner.body.results, *(v for let in of_cell for v in free_vars(let.op))}
    rows, lanes = (
        tuple(v for let in each for v in let.vars if v in taken) for each in (of_row, of_lane)
    )
    if not all(0 < len(each) <= MOST_VALUES for each in (rows, lanes)):
        return None
    return Contraction(
        fold, around, tuple(leading), row, lane, tuple(before), common, of_row, of_lane, of_cell,
        rows, lanes, tuple(bounds), longest,
    )  # fmt: skip


def _only(axis: Var) -> frozenset[Var]:
    return frozenset({axis})


def _bound(bodies: Sequence[Lambda]) -> set[Var]:
    """The variables that some bodies bind."""
    made = {var for fn in bodies for let in fn.lets for var in let.vars}
    return made.union(*(fn.params for fn in bodies))


def _fold_of(let: Let) -> Fold:
    assert isinstance(let.op, Fold)
    return let.op


def _only_fold(fn: Lambda) -> Let | None:
    """The one fold of a body, of an operator of scalar functions."""
    found = [let for let in fn.lets if isinstance(let.op, Fold)]
    if len(found) != 1:
        return None
    (fold,) = found
    others = (inner for let in fn.lets if let is not fold
              for inner in walk_lets(Lambda((), (let,), ())))  # fmt: skip
    if any(isinstance(let.op, Fold) for let in others):
        return None
    return fold if all(map(_is_scalar, _fold_of(fold).fn.lets)) else None


def _is_scalar(let: Let) -> bool:
    return isinstance(let.op, Apply | Cast)


def _bounds(read: Index, space: dict[Var, Atom]) -> list[tuple[Atom, Atom]] | None:
    """What must hold for a read to be inside; None where that is not known from extents."""
    if not read.checked:
        return []
    if not all(isinstance(i, Var) and i in space for i in read.indices):
        return None
    pairs = zip(read.indices, array_type(read.xs).shape, strict=True)
    return [(space[i], extent) for i, extent in pairs if isinstance(i, Var) and space[i] != extent]


# -- short rows -----------------------------------------------------------------------------------
#
# Short rows: what a sweep over rows is where each has one element, and which rows have so few that
# lanes along each of them would be idle.
#
#     t: f32[n] = sweep [n] (i => fold m (k => xs[i, k]) (add) [0.0]) [store]
#     m is 1   ==>   t = sweep [n] (i => add 0.0 xs[i, 0]) [store]
#
#     t: f32[n, m] = sweep [n, m] (i, j => prefix (add) xs[i, j] starts=[j == 0]) [store]
#     m is 1   ==>   t = sweep [n] (i => xs[i, 0]) [store]
#
#     t: f32[n, m] = sweep [n, m] (i, j => fold k (t => mul xs[i, t] ys[t, j]) (add) [0.0]) [store]
#     m is 1   ==>   t = sweep [n] (i => fold k (t => mul xs[i, t] ys[t, 0]) (add) [0.0]) [store]
#
# The overhead of a row is then the only cost: without it the steps of a map run at the speed of
# memory. Sweeps that store their elements have such a form, if no fold over the rows and no scan
# along them is left in it; or if lanes would run along rows in which each element is a fold.
#
# For rows of 2 to 15 elements (with AVX-512) the sweep is vectorized across rows. Each lane folds a
# different row, or, where rows are not folded, steps continue from one row into the next. Lanes
# gather what they read. Rows between offsets count by their mean length: the elements of the array
# that a fold reads, over the number of offsets.


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


def first_long(machine: Machine, tail: Tail = Tail.SCALAR) -> int:
    """The number of elements from which on rows are not short.

    Lanes that go along a row are no gathers, and a register of 32-bit elements keeps enough of them
    busy: 8 with AVX2, where 10^6 f64 in rows of 8 are summed in 0.09 ms, and in 0.17 by gathers.
    Half as many do where a row ends by a predicated step: maxima of 10^6 f32 in rows of 2, 3, 4, 7
    take 1.24, 0.83, 0.58, 0.40 ms, and 0.79, 0.73, 0.75, 0.71 by gathers (two threads).
    """
    return machine.lanes([u64 if tail is Tail.PREDICATE else u32])


def is_short(length: Length | None, below: int) -> bool:
    """Whether it is known that rows have fewer elements."""
    if length is None or length.rows != index(1) or not isinstance(length.elements, Const):
        return False
    return int(length.elements.value) < below


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
