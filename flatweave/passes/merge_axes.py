"""The last two axes become one axis if they are contiguous in memory.

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
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.array_ir.syntax import Program
from flatweave.array_ir.verify import FLAT
from flatweave.base.dtypes import i64
from flatweave.base.records import record
from flatweave.ops import Index, Reshape, Sweep
from flatweave.passes.array_pass import array_pass
from flatweave.passes.rewrite import rewrite
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply
from flatweave.terms.rules import array_type
from flatweave.terms.syntax import Atom, Let, Op, Var
from flatweave.terms.traverse import Substitution, free_vars


@array_pass(takes=(FLAT,), about=lambda op: isinstance(op, Sweep) and len(op.shape) > 2)
def merge_axes(program: Program) -> Program:
    """Merge the last axes of sweeps over three or more, where all reads go along both."""
    return rewrite(program, _merged)


@record
class _Moved:
    """How rows are moved: what is added to their number, or taken from it; nothing for None."""

    fn: str
    rows: Atom | None


def _merged(b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
    if not isinstance(op, Sweep) or len(op.shape) < 3 or op.reverse:
        return None
    moves = _moves(op) if op.only_stores else None
    if moves is None or not _gains(op):
        return None
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
    found = b.emit(Sweep((*outer, extent), body, op.sinks))
    return [b.emit(Reshape(xs, op.shape))[0] for xs in found]


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
