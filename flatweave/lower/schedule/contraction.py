"""Contractions: folds whose reads vary along one axis of the space each, as a matrix product's do.

    sweep [n, m] (i, j =>                          rows i, lanes j
        fold extent (k =>
            x = index a [i, k]                     of the row
            y = index b [k, j]                     of the lane
            z = mul x y                            of both: the cell
            in z) fn neutral
        ..) [store]

    sweep [m] (j =>                                rows i, lanes j
        fold n (i =>
            fold extent (k => ..) fn neutral
            ..) ..
        ..) [store]

    sweep [blocks, n, m] (t, i, j =>               rows i, lanes j, of each t
        fold length (k =>                          length and first are of t alone
            x = index a [first + k, i]
            y = index b [first + k, j]
            ..) fn neutral
        ..) [store]

Each value of a row is used by all lanes, and each value of a lane by all rows. So where rows and
lanes are visited in tiles, as many results as there are registers for need few reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.access.analyse import Accesses
from flatweave.base.dtypes import DType
from flatweave.base.records import record
from flatweave.lower.machine.thresholds import MOST_VALUES
from flatweave.ops import Check, Fold, Index, Locate, Prefix, Sweep
from flatweave.terms.control import Apply, Cast
from flatweave.terms.rules import array_type, scalar_type
from flatweave.terms.syntax import Atom, Lambda, Let, Var
from flatweave.terms.traverse import free_vars, needed_for, walk_lets


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
