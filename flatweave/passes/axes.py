"""Axes of a sweep: two become one where they are contiguous in memory, one becomes two elsewhere.

    moved(n: i64, m: i64, w: i64, xs: f32[n, m, w]) =>
        h: i64 = sub m 1
        a: f32[n, h, w] = sweep [n, h, w] (i: i64, j: i64, k: i64 =>
            r: i64 = add j 1
            x: f32 = index xs [i, r, k] checked=false
            y: f32 = index xs [i, j, k] checked=false
            s: f32 = sub x y
            in s) [store]
        in a
    ==>
    moved(n: i64, m: i64, w: i64, xs: f32[n, m, w]) =>
        h: i64 = sub m 1
        e: i64 = mul h w
        f: i64 = mul m w
        flat: f32[n, f] = reshape xs [n, f]
        b: f32[n, e] = sweep [n, e] (i: i64, t: i64 =>
            r: i64 = add t w
            x: f32 = index flat [i, r] checked=false
            y: f32 = index flat [i, t] checked=false
            s: f32 = sub x y
            in s) [store]
        a: f32[n, h, w] = reshape b [n, h, w]
        in a

An image has three numbers for each of its pixels. Most lanes along the last axis would be idle;
lanes along all axes would each divide their position to find their indices. Whole rows of pixels
are long. Reads along both axes must have the last index of the space as their last one, on arrays
of the same width. Their index before it must be that of the space, or differ from it by an offset
that all rows share.

The sum of a block of a matrix has one axis, whose elements divide their position to find their
indices, and gather. Where a sweep needs its position for nothing else, it has both axes again,
unless all reads go along memory with the position: one axis has no rows to begin and to end.
Reductions in any order have the axis last along which most reads go.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

from flatweave.array_ir.syntax import FLAT, Program
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.ops import Index, Reshape, Sweep
from flatweave.passes.cost import crossings, divides_position, factors_of, goes_along
from flatweave.passes.rewrite import array_pass, is_ordered, rewrite
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply
from flatweave.terms.syntax import ArrayType, Atom, Lambda, Let, Op, Var, array_type
from flatweave.terms.traverse import Substitution, free_vars


@array_pass(takes=(FLAT,), about=lambda op: isinstance(op, Sweep) and _may_gain(op))
def axes(program: Program) -> Program:
    """Split, order and merge the axes of sweeps as their reads go along memory."""
    return rewrite(program, _arranged)


def _may_gain(op: Sweep) -> bool:
    """Whether its axes may be others: a pass is not run on a program without such sweeps."""
    merges = len(op.shape) > 2 and op.only_stores
    return merges or _divides(op) or _along_memory(op) is not op


def _arranged(b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
    if not isinstance(op, Sweep) or op.reverse:
        return None
    arranged = _merged(b, _along_memory(_split(b, op)))
    if arranged is op:
        return None
    pairs = zip(b.emit(arranged), op.binders(), strict=True)
    return [
        b.emit(Reshape(result, op.shape))[0] if isinstance(bound.type, ArrayType) else result
        for result, bound in pairs
    ]


@record
class _Moved:
    """How rows are moved: what is added to their number, or taken from it; nothing for None."""

    fn: str
    rows: Atom | None


def _merged(b: Builder, op: Sweep) -> Sweep:
    """The sweep with one axis for its last two, where that pays."""
    moves = _moves(op) if len(op.shape) > 2 and op.only_stores else None
    if moves is None or not _gains(op):
        return op
    *outer, rows, width = op.shape
    extent = b.mul(rows, width)
    views: dict[Atom, Atom] = {}
    for each in op.body.lets:
        if isinstance(each.op, Index) and each in moves and each.op.xs not in views:
            *lead, n, m = array_type(each.op.xs).shape
            views[each.op.xs] = b.emit(Reshape(each.op.xs, (*lead, b.mul(n, m))))[0]
    inside = b.inner()
    indices = [inside.param(i.name, i64, e) for i, e in zip(op.body.params, outer, strict=False)]
    place = inside.param("t", i64, extent)
    own: dict[Var, Atom] = {}
    own.update(zip(op.body.params, indices, strict=False))
    renaming = Substitution(own, lambda var, type_: inside.var(var.name, type_))
    for each in op.body.lets:
        moved = moves.get(each)
        if moved is None:
            inside.inline_let(each, renaming)
        elif isinstance(each.op, Index):
            at: Atom = place
            if moved.rows is not None:
                at = inside.apply(moved.fn, place, inside.mul(renaming.atom(moved.rows), width))
            lead_at = [renaming.atom(i) for i in each.op.indices[:-2]]
            read = Index(views[each.op.xs], (*lead_at, at), checked=False)
            renaming.mapping[each.vars[0]] = inside.emit(read)[0]
    results = [renaming.atom(result) for result in op.body.results]
    body = inside.close([*indices, place], results)
    return Sweep((*outer, extent), body, op.sinks)


def _gains(op: Sweep) -> bool:
    """Whether some element reads elsewhere than at its own index, where lanes go along all axes."""
    reads = [let.op for let in op.body.lets if isinstance(let.op, Index)]
    return any(read.indices != op.body.params or array_type(read.xs).shape != op.shape
               for read in reads)  # fmt: skip


def _moves(op: Sweep) -> dict[Let, _Moved] | None:
    """The reads along both last axes, and what finds their rows; None if these have other uses."""
    row, column = op.body.params[-2:]
    known: dict[Atom, _Moved] = {row: _Moved("add", None)}
    found: dict[Let, _Moved] = {}
    for let in op.body.lets:
        uses = free_vars(let.op).keys() & {column, *known}
        if not uses:
            continue
        moved = _move(let.op, row) if uses == {row} else None
        if moved is not None:
            known[let.vars[0]] = found[let] = moved
        elif isinstance(let.op, Index) and _goes_along(let.op, op, known):
            found[let] = known[let.op.indices[-2]]
        else:
            return None
    return None if {column, *known} & {*op.body.results} else found


def _move(op: Op, row: Var) -> _Moved | None:
    """What a scalar of the body adds to the row's number, or takes from it."""
    if not isinstance(op, Apply) or op.fn not in ("add", "sub"):
        return None
    first, second = op.args
    if first == row and second != row:
        return _Moved(op.fn, second)
    return _Moved("add", first) if second == row and op.fn == "add" else None


def _goes_along(read: Index, op: Sweep, known: dict[Atom, _Moved]) -> bool:
    """Whether a read goes along both axes, in an array that is as wide."""
    column, at = op.body.params[-1], read.indices
    wide = len(at) > 1 and array_type(read.xs).shape[-1] == op.shape[-1]
    rest = {column, *known} & {*at[:-2]}
    return wide and not read.checked and at[-1] == column and at[-2] in known and not rest


# -- One axis becomes two --------------------------------------------------------------------------


@record
class _Divided:
    """What divides the position along the first axis: its quotient, its remainder, and how many of
    each there are."""

    row: Var
    column: Var
    rows: Atom
    width: Atom


def _split(b: Builder, op: Sweep) -> Sweep:
    """The sweep with as many axes as its elements divide their position into, where that pays."""
    while (found := _divided(b, op)) is not None and not _goes_along_all(op, found):
        op = _with_both(b, op, found)
    return op


def _divides(op: Sweep) -> bool:
    """Whether elements that are only stored or reduced divide their position along the first axis,
    and use it for nothing else."""
    return op.stores_or_reduces and not op.scans and divides_position(op)


def _divided(b: Builder, op: Sweep) -> _Divided | None:
    """How elements divide their position along the first axis, if they use it for nothing else."""
    if not _divides(op):
        return None
    place = op.body.params[0]
    uses = [(let.op, let.vars[0]) for let in op.body.lets if place in free_vars(let.op)]
    found = {(op.fn, op.args): var for op, var in uses if isinstance(op, Apply)}
    for rows, width in permutations(factors_of(b, op.shape[0]), 2):
        quotient, rest = (found.get((fn, (place, width))) for fn in ("floordiv", "mod"))
        if len(uses) == 2 and quotient is not None and rest is not None:
            return _Divided(quotient, rest, rows, width)
    return None


def _goes_along_all(op: Sweep, found: _Divided) -> bool:
    """Whether every read that depends on the position goes along memory with it."""
    place, *others = op.body.params
    both, shape = (found.row, found.column, *others), (found.rows, found.width, *op.shape[1:])
    lets = [let for let in op.body.lets if {*both}.isdisjoint(let.vars)]
    return goes_along(both, shape, lets)


def _along_memory(op: Sweep) -> Sweep:
    """A sweep that only combines, in any order, with the last axis along which most reads go from
    an element to its neighbour in memory."""
    if len(op.shape) < 2 or is_ordered(op) or not op.only_reduces:
        return op
    crossing = [crossings([axis], op.body.lets) for axis in op.body.params]
    if min(crossing) == crossing[-1]:
        return op
    best = crossing.index(min(crossing))
    order = [*(k for k in range(len(op.shape)) if k != best), best]
    params = tuple(op.body.params[k] for k in order)
    body = Lambda(params, op.body.lets, op.body.results)
    return Sweep(tuple(op.shape[k] for k in order), body, op.sinks)


def _with_both(b: Builder, op: Sweep, found: _Divided) -> Sweep:
    """The sweep with an axis for each."""
    others = op.body.params[1:]
    inside = b.inner()
    row, column = inside.param("i", i64, found.rows), inside.param("j", i64, found.width)
    rest = [inside.param(var.name, i64, e) for var, e in zip(others, op.shape[1:], strict=True)]
    own: dict[Var, Atom] = {found.row: row, found.column: column}
    own.update(zip(others, rest, strict=True))
    renaming = Substitution(own, lambda var, type_: inside.var(var.name, type_))
    for let in op.body.lets:
        if own.keys().isdisjoint(let.vars):
            inside.inline_let(let, renaming)
    body = inside.close([row, column, *rest], [renaming.atom(x) for x in op.body.results])
    return Sweep((found.rows, found.width, *op.shape[1:]), body, op.sinks)
