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
from flatweave.base.records import record, replace
from flatweave.lower.machine.thresholds import MOST_VALUES
from flatweave.ops import Check, Fold, Index, Locate, Prefix, Sweep
from flatweave.ops.rows import array_type, scalar_type
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import Atom, Lambda, Let, Var
from flatweave.terms.traverse import free_vars, needed_for, walk_lets


@record
class Contraction:
    """The fold of a sweep whose space is divided into tiles of `rows` and `lanes`.

    What its body computes is sorted by what it depends on, beside the fold's position: nothing
    else, the row, the lane, or both; `row_values` and `lane_values` are what cells take of the row
    and of the lane. Where rows are the positions of a fold around it, that is `around`. In each
    pair of `bounds` the first extent must not exceed the second, for all reads to be inside.
    `leading` are the axes before rows and lanes, and `before` what depends on these alone.
    `longest` is an extent known outside of the sweep that the fold's does not exceed.
    """

    fold: Let
    around: Let | None
    row: Var
    lane: Var
    common: tuple[Let, ...]
    of_row: tuple[Let, ...]
    of_lane: tuple[Let, ...]
    of_cell: tuple[Let, ...]
    row_values: tuple[Var, ...]
    lane_values: tuple[Var, ...]
    bounds: tuple[tuple[Atom, Atom], ...]
    longest: Atom
    leading: tuple[Var, ...] = ()
    before: tuple[Let, ...] = ()

    @property
    def op(self) -> Fold:
        """The fold itself."""
        assert isinstance(self.fold.op, Fold)
        return self.fold.op

    @property
    def read_before(self) -> tuple[Var, ...]:
        """What the body of the fold takes of the leading axes."""
        lets = (*self.common, *self.of_row, *self.of_lane, *self.of_cell)
        read = {v for let in lets for v in free_vars(let.op)} | set(self.op.body.results)
        made = (var for let in self.before for var in let.vars)
        return tuple(var for var in made if var in read)

    @property
    def outer(self) -> Fold | None:
        """The fold around it."""
        return self.around.op if self.around and isinstance(self.around.op, Fold) else None

    @property
    def step(self) -> Var:
        """The position in the fold."""
        return self.op.body.params[0]

    @property
    def lanes_across(self) -> bool:
        """Whether all reads of a lane lie side by side along the fold, in a row of a matrix."""
        reads = [let.op for let in self.of_lane if isinstance(let.op, Index)]
        return all(read.indices == (self.lane, self.step) for read in reads)

    @property
    def dtypes(self) -> list[DType]:
        """Of all that stays in registers."""
        return [scalar_type(v) for v in (*self.op.neutral, *self.row_values, *self.lane_values)]


def find_contraction(op: Sweep, known: Accesses) -> Contraction | None:
    """The contraction that a sweep is; None where it is none."""
    stored = op.only_stores
    if op.reverse or not op.sinks or not stored:
        return None
    if any(isinstance(let.op, Check | Locate | Prefix) for let in walk_lets(op.body)):
        return None
    fold = _only_fold(op.body)
    if fold is not None and len(op.shape) > 2:
        return _with_leading(op, fold, known)
    if fold is None or not _is_outside(fold, op.body):
        return None
    if len(op.shape) == 2:
        row, lane = op.body.params
        return _sorted(known, fold, None, row, lane, op.body.lets, (op.shape[0], op.shape[1]))
    around, outer = fold, fold.op
    assert isinstance(outer, Fold)
    inner = _only_fold(outer.body)
    if inner is None or not _is_outside(inner, op.body, outer.body):
        return None
    (row,), (lane,) = outer.body.params, op.body.params
    lets = (*needed_for(op.body.lets, tuple(free_vars(outer.body))), *outer.body.lets)
    return _sorted(known, inner, around, row, lane, lets, (outer.extent, op.shape[0]))


def _with_leading(op: Sweep, fold: Let, known: Accesses) -> Contraction | None:
    """A contraction for each position of the leading axes, that reads lanes side by side."""
    *leading, row, lane = op.body.params
    apart = {row, lane}
    before = tuple(let for let in op.body.lets if not apart & known.along(let.vars[0]))
    bound = {*op.body.params, *(var for let in op.body.lets for var in let.vars)}
    inner = fold.op
    assert isinstance(inner, Fold)
    longest = at_most(inner.extent, op.body, bound)
    uniform = not bound & free_vars((inner.fn, inner.neutral)).keys()
    if not uniform or longest is None or apart & known.along(inner.extent):
        return None
    if not all(_is_scalar(let) for let in before):
        return None
    lets = [let for let in op.body.lets if let not in before]
    found = _sorted(known, fold, None, row, lane, lets, (op.shape[-2], op.shape[-1]))
    if found is None or found.bounds:
        return None
    reads = [let.op for let in found.of_lane if isinstance(let.op, Index)]
    if any(lane in read.indices[:-1] for read in reads):
        return None
    return replace(found, longest=longest, leading=tuple(leading), before=before)


def at_most(extent: Atom, body: Lambda, bound: set[Var]) -> Atom | None:
    """What is known outside of a body to be at least an extent that may be known only inside."""
    if extent not in bound:
        return extent
    makers = {var: let.op for let in body.lets for var in let.vars}
    made = makers.get(extent) if isinstance(extent, Var) else None
    if not isinstance(made, Apply) or made.fn != "minimum":
        return None
    return next((atom for atom in made.args if atom not in bound), None)


def _only_fold(fn: Lambda) -> Let | None:
    """The one fold of a body, of an operator of scalar functions."""
    found = [let for let in fn.lets if isinstance(let.op, Fold)]
    if len(found) != 1:
        return None
    (fold,) = found
    assert isinstance(fold.op, Fold)
    others = [inner for let in fn.lets if let is not fold for inner in _inner(let)]
    if any(isinstance(let.op, Fold) for let in others):
        return None
    return fold if all(_is_scalar(let) for let in fold.op.fn.lets) else None


def _inner(let: Let) -> Sequence[Let]:
    return tuple(walk_lets(Lambda((), (let,), ())))


def _is_scalar(let: Let) -> bool:
    return isinstance(let.op, Apply | Cast)


def _is_outside(let: Let, *bodies: Lambda) -> bool:
    """Whether a fold's extent, neutral element and operator are the same at all positions."""
    fold = let.op
    assert isinstance(fold, Fold)
    bound = {var for fn in bodies for each in fn.lets for var in each.vars}
    bound |= {param for fn in bodies for param in fn.params}
    return not bound & free_vars((fold.extent, fold.neutral, fold.fn)).keys()


def _sorted(
    known: Accesses, fold: Let, around: Let | None, row: Var, lane: Var, before: Sequence[Let],
    extents: tuple[Atom, Atom],
) -> Contraction | None:  # fmt: skip
    """The contraction, if all that the fold's body computes varies as it must."""
    inner = fold.op
    assert isinstance(inner, Fold)
    (k,) = inner.body.params
    lets = (*needed_for(before, tuple(free_vars(inner.body))), *inner.body.lets)
    space = dict(zip((row, lane, k), (*extents, inner.extent), strict=True))
    groups: dict[frozenset[Var], list[Let]] = {}
    bounds: list[tuple[Atom, Atom]] = []
    for let in lets:
        along = known.along(let.vars[0]) & {row, lane}
        if isinstance(let.op, Index):
            needed = _bounds(let.op, space)
            if needed is None or len(along) > 1:
                return None
            bounds += needed
        elif not _is_scalar(let):
            return None
        groups.setdefault(along, []).append(let)
    both = tuple(groups.get(frozenset({row, lane}), ()))
    taken = {*inner.body.results, *(v for let in both for v in free_vars(let.op))}
    rows, lanes = (tuple(groups.get(frozenset({axis}), ())) for axis in (row, lane))
    of_row, of_lane = (
        tuple(v for let in each for v in let.vars if v in taken) for each in (rows, lanes)
    )
    if not all(0 < len(each) <= MOST_VALUES for each in (of_row, of_lane)):
        return None
    common = tuple(groups.get(frozenset(), ()))
    return Contraction(
        fold, around, row, lane, common, rows, lanes, both, of_row, of_lane, tuple(bounds),
        inner.extent,
    )  # fmt: skip


def _bounds(read: Index, space: dict[Var, Atom]) -> list[tuple[Atom, Atom]] | None:
    """What must hold for a read to be inside; None where that is not known from extents."""
    if not read.checked:
        return []
    if not all(isinstance(i, Var) and i in space for i in read.indices):
        return None
    pairs = zip(read.indices, array_type(read.xs).shape, strict=True)
    return [(space[i], extent) for i, extent in pairs if isinstance(i, Var) and space[i] != extent]
