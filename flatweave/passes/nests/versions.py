"""Versions of a nest: all rows at once, or a row after the other by one thread each.

    y = generate [n] (i => .. sort .. filter ..)
    ==>
    p = suits "by-row" "keys" true n m k           n rows of m values, the longest of k
    y = if p
        (() => by_row n (i => .. sort .. filter ..))
        (() => .. of all rows the sort, then the filter ..)

Where a row's arrays stay in a core's cache, doing one row from its first step to its last moves
less memory than doing each step for all rows; where rows are few, or one of them is most of the
work, all at once is what keeps every core busy. Sizes decide, when the program runs. A loop whose
iterations compute single elements has nothing to divide: its rows always run separately.

Leaves alone: nests without sorts and without loops that have arrays in their state, whose steps all
rows do well at once; and what has rows whose room is not known before they are computed.

The sizes that choose the versions of nests, as further results, for who measures the versions.

    f(..) =>
        p: bool = suits "by-row" "keys" true n m k
        y: f32[m] = if p ..
        in y
    ==>
    f(..) =>
        p: bool = suits "by-row" "keys" true n m k
        y: f32[m] = if p ..
        in y, n, m, k

Leaves alone: nests inside branches and loops of the host: their sizes may differ by iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import flatweave.passes.nests.control_rules
import flatweave.passes.nests.inner_rules
import flatweave.passes.nests.scan_rules  # noqa: F401 - they declare their rules
from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record
from flatweave.ops import (
    ByRow,
    Callback,
    Check,
    Filter,
    Generate,
    Index,
    Map,
    Nest,
    Permute,
    Reduce,
    ReduceSegments,
    Reshape,
    Scan,
    Scatter,
    Sort,
    Span,
    Suits,
)
from flatweave.ops.nests import BY_ROW
from flatweave.passes.nests.distribute import as_generate, distribute, host_body, lifted
from flatweave.passes.nests.hard import is_hard
from flatweave.passes.nests.segments import (
    Uneven,
    array_of,
    at,
    branch,
    combines_rows,
    each,
    from_lengths,
)
from flatweave.passes.nests.select import Reads
from flatweave.terms.build import Builder, index, lambda_of
from flatweave.terms.control import For, If, While
from flatweave.terms.operators import steps_back
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Var, array_type
from flatweave.terms.traverse import free_vars, lambdas_in, needed_for, walk_lets

FOLDS = (Reduce, Scan, ReduceSegments, Permute)


def in_versions(b: Builder, op: Op) -> Sequence[Atom]:
    """The results of a nest of the host, by the version that suits its sizes."""
    if isinstance(op, Map):
        op = as_generate(b, op)
    gain = _gain(op.fn) if isinstance(op, Generate | Nest) else None
    rooms = _rooms(op) if isinstance(op, Generate | Nest) and gain else None
    if gain is None or rooms is None or not isinstance(op, Generate | Nest):
        return lifted(b, op)
    count = op.count if isinstance(op, Nest) else op.shape[0]
    values, longest = _sizes(b, count, op.fn)
    (suits,) = b.emit(Suits(BY_ROW, gain, _is_exact(op.fn), count, values, longest))
    alone, together = b.inner(optional=True), b.inner(optional=True)
    found = _by_row(alone, count, op, rooms)
    bodies = [branch(alone, found), branch(together, lifted(together, op))]
    bound = b.emit(If(suits, *bodies))
    return _as_bound_by(b, op, [bound[k] for k in _places(found)])


# -- whether there is anything to choose ----------------------------------------------------------


GAINS = ("elements", "loops", "sorts", "selections", "keys")
"""The reasons to run each row separately, the first one first."""


def _gain(fn: Lambda) -> str | None:
    """The reason to run each row separately, if any; operations that rows share do not count."""
    if any(isinstance(let.op, Callback) for let in walk_lets(fn)):
        return None  # a function of the host is called from the host
    varies: set[Atom] = set(fn.params)
    gains: set[str | None] = set()
    for k, let in enumerate(fn.lets):
        if varies.intersection(free_vars(let.op)):
            varies.update(let.vars)
            if Reads.of(fn.lets, k, fn.results):
                gains.add("selections")
                continue
            inside = (each for body in lambdas_in(let.op) for each in walk_lets(body))
            gains.update(map(_gain_of, (let, *inside)))
    found = next((gain for gain in GAINS if gain in gains), None)
    is_even = not any(isinstance(let.op, Span) for let in fn.lets)
    return found if found != "keys" or is_even else "sorts"


def _gain_of(let: Let) -> str | None:
    if isinstance(let.op, While | For):
        kind = "elements" if _by_element(let.op) else "loops"
        return kind if is_hard(let) else None
    if combines_rows(let.op):
        return "loops"
    if not isinstance(let.op, Sort) or let.op.in_registers:
        return None
    return "sorts" if steps_back(let.op.fn) is None else "keys"


def _by_element(loop: While | For) -> bool:
    """Whether an iteration reads and writes single elements of arrays, whatever their extents."""
    bodies = [loop.body, *(fn for let in walk_lets(loop.body) for fn in lambdas_in(let.op))]
    lets = [let for let in walk_lets(loop.body) if not isinstance(let.op, While | For | If)]
    read = {var for let in lets if not isinstance(let.op, Index) for var in free_vars(let.op)}
    read.update(atom for body in bodies for atom in body.results if isinstance(atom, Var))
    for let in lets:
        if isinstance(let.op, Scatter | Permute):
            atoms: Sequence[Atom] = [let.op.indices]
        elif isinstance(let.op, Index) or (
            isinstance(let.op, Generate | Map) and read.isdisjoint(let.vars)
        ):
            continue  # only those elements are computed that an index reads
        else:
            atoms = [*free_vars(let.op), *let.vars]
        shapes = [atom.type.shape for atom in atoms if isinstance(atom.type, ArrayType)]
        if not all(isinstance(extent, Const) for shape in shapes for extent in shape):
            return False
    return True


def _is_exact(fn: Lambda) -> bool:
    """Whether both versions give the same bits: nothing is rounded by how elements are grouped."""
    folds = [let.op for let in walk_lets(fn) if isinstance(let.op, FOLDS)]
    return not any(_dtype(atom).is_float for fold in folds for atom in fold.neutral)


def _dtype(atom: Atom) -> DType:
    dtype = atom.type.dtype if isinstance(atom.type, ArrayType) else atom.type
    assert isinstance(dtype, DType)
    return dtype


@record
class Room:
    """Rows of a group have up to `length` values, or `length` values if they are `exact`."""

    length: Atom
    exact: bool


def _rooms(op: Generate | Nest) -> list[Room] | None:
    """How much room the rows of each group need, where rows can tell before they are computed."""
    if isinstance(op, Generate):
        return [] if len(op.shape) == 1 else None
    hard = _behind_memory(op.fn)
    makers = {var: let for let in op.fn.lets for var in let.vars}
    rooms = [_room(length, hard, makers) for length in op.lengths]
    known = [room for room in rooms if room is not None]
    return known if len(known) == len(rooms) else None


def _behind_memory(fn: Lambda) -> set[Var]:
    """The variables of an element function that need memory, or what needs some."""
    own = {*fn.params, *(var for let in fn.lets for var in let.vars)}
    hard: set[Var] = set()
    for let in fn.lets:
        if is_hard(let, own) or any(var in hard for var in free_vars(let.op)):
            hard.update(let.vars)
    return hard


def _room(length: Atom, hard: set[Var], makers: dict[Var, Let]) -> Room | None:
    if length not in hard:
        return Room(length, exact=True)
    assert isinstance(length, Var)
    most = _at_most(length, makers[length])
    within = None if most is None else _room(most, hard, makers)
    return within and Room(within.length, exact=False)


def _at_most(length: Var, let: Let) -> Atom | None:
    """What an extent is at most: that of the array that is filtered; what a loop begins with whose
    iterations make it no greater."""
    match let.op:
        case Filter(mask=mask):
            return array_type(mask).shape[0]
        case While() | For():
            number = let.vars.index(length)
            makers = {var: inner for inner in let.op.body.lets for var in inner.vars}
            after: Atom | None = let.op.body.results[number]
            while isinstance(after, Var) and after in makers:
                after = _at_most(after, makers[after])
            return let.op.init[number] if after == let.op.binders()[number] else None
        case _:
            return None


def _sizes(b: Builder, count: Atom, fn: Lambda) -> tuple[Atom, Atom]:
    """How many values the rows have together, and how many the longest has, as far as is known."""
    own = {*fn.params, *(var for let in fn.lets for var in let.vars)}
    for let in fn.lets:
        if isinstance(let.op, Span) and let.op.offsets not in own and let.op.row == fn.params[0]:
            return _sizes_by_offsets(b, count, let.op.offsets)
    longest: Atom = index(0)
    for let in fn.lets:
        for var in let.vars:
            if isinstance(var.type, ArrayType) and not own.intersection(var.type.shape):
                longest = b.apply("maximum", longest, b.product(var.type.shape))
    return b.mul(count, longest), longest


def _sizes_by_offsets(b: Builder, count: Atom, offsets: Atom) -> tuple[Atom, Atom]:
    lengths = each(b, count, lambda c, i: c.emit(Span(offsets, i))[1])
    most = Reduce(lambda_of("maximum", i64), (index(0),), (lengths,), known=True)
    return at(b, offsets, count), b.emit(most, "longest")[0]


# -- a row after the other ------------------------------------------------------------------------


def _by_row(
    b: Builder, count: Atom, op: Generate | Nest, rooms: Sequence[Room]
) -> list[Atom]:
    """What the operation binds, each row computed from its first step to its last."""
    groups, lengths = ((-1,) * len(op.fn.results), ()) if isinstance(op, Generate) else (
        op.groups, op.lengths
    )  # fmt: skip
    totals, offsets = _reserved(b, count, op.fn, rooms)
    short = [length for length, room in zip(lengths, rooms, strict=True) if not room.exact]
    wanted = [*short, *op.fn.results[len(lengths) :]]
    inside = b.inner(optional=True)
    row = inside.param("i", i64, count)
    results = host_body(inside, op.fn, inside.inlining(op.fn, [row]))
    names = dict(zip(op.fn.results, results, strict=True))
    fn = inside.close([row], [names[atom] for atom in wanted])
    made = b.emit(ByRow(count, totals, offsets, (*(-1 for _ in short), *groups), fn))
    if isinstance(op, Generate):
        return list(made)
    columns, values = list(made[: len(short)]), made[len(short) :]
    bound: list[Atom] = [b.add(count, index(1))]
    shorter: dict[int, Uneven] = {}
    for group, room in enumerate(rooms):
        if room.exact:
            bound += [totals[group], offsets[group]]
            continue
        shorter[group] = from_lengths(b, count, columns.pop(0))
        bound += [shorter[group].total, shorter[group].offsets]
    for group, value in zip(groups, values, strict=True):
        is_shorter = group in shorter
        bound.append(_packed(b, shorter[group], offsets[group], value) if is_shorter else value)
    return bound


def _reserved(
    b: Builder, count: Atom, fn: Lambda, rooms: Sequence[Room]
) -> tuple[tuple[Atom, ...], tuple[Atom, ...]]:
    """How many values the rows of each group may have, and where each row's begin."""
    if not rooms:
        return (), ()
    hard = _behind_memory(fn)
    checks = [
        let for let in fn.lets
        if isinstance(let.op, Check) and not any(var in hard for var in free_vars(let.op))
    ]  # fmt: skip
    roots = [room.length for room in rooms] + [v for let in checks for v in free_vars(let.op)]
    needed = {*needed_for(fn.lets, roots), *checks}
    lets = tuple(let for let in fn.lets if let in needed)
    lengths = tuple(room.length for room in rooms)
    rows, found = distribute(b, (count,), Lambda(fn.params, lets, lengths))
    segments = [rows.segments((length,)) for length in found]
    return tuple(s.total for s in segments), tuple(s.offsets_in(b) for s in segments)


def _packed(b: Builder, segments: Uneven, rooms: Atom, array: Atom) -> Atom:
    """The values of rows that are shorter than their rooms, without the gaps between them."""

    def value(c: Builder, place: Sequence[Atom]) -> Atom:
        row, start = segments.locate(c, place[0])
        return at(c, array, c.add(at(c, rooms, row), c.sub(place[0], start)), *place[1:])

    return array_of(b, (segments.total, *array_type(array).shape[1:]), value)


# -- either version's results ---------------------------------------------------------------------


def _places(results: Sequence[Atom]) -> Iterator[int]:
    """The positions of results among those of a branch."""
    place = -1
    for result in results:
        place += 1 + (result.type.rank if isinstance(result.type, ArrayType) else 0)
        yield place


def _as_bound_by(b: Builder, op: Generate | Nest, results: Sequence[Atom]) -> list[Atom]:
    """The results under the extents that the operation says they have."""
    known: dict[Atom, Atom] = {}
    found: list[Atom] = []
    for var, result in zip(op.binders(), results, strict=True):
        if isinstance(var.type, ArrayType):
            shape = tuple(known.get(extent, extent) for extent in var.type.shape)
            if array_type(result).shape != shape:
                (result,) = b.emit(Reshape(result, shape), "rows")
        known[var] = result
        found.append(result)
    return found
