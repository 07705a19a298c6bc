"""Telescope: differences of neighbours are added up by one difference.

    ends(n: i64, offsets: i64[n]) =>
        rows: i64 = sub n 1
        ys: i64[rows] = sweep [rows] (i: i64 =>
            j: i64 = add i 1
            z: i64 = index offsets [j] checked=false
            a: i64 = index offsets [i] checked=false
            size: i64 = sub z a
            end: i64 = prefix (add i64) [0] [size]
            in end) [store]
        in ys
    ==>
    ends(n: i64, offsets: i64[n]) =>
        rows: i64 = sub n 1
        some: bool = gt rows 0
        first: i64 = if some (() => index offsets [0] checked=false) (() => 0)
        ys: i64[rows] = sweep [rows] (i: i64 =>
            j: i64 = add i 1
            z: i64 = index offsets [j] checked=false
            end: i64 = sub z first
            in end) [store]
        in ys

The law: f(1) - f(0) + .. + f(i + 1) - f(i) is f(i + 1) - f(0), whatever f is. Integers wrap, and
so do both sides of it, as long as differences and sums are of one width. Differences of i32 that
are added up as i64 are left alone: one that has wrapped is another number there. So are floats.

Where such sums are the ends of rows, a sweep that locates its positions among them knows f at its
row: that is where the row begins, and f(0).

    s, start = locate ends 0 p
    a = index offsets [s]                           a = add start first
    k = sub p start                        ==>      q = add p first
    q = add a k

So what stands at these offsets is read at one position after the other. That is what a program on
plain arrays in compressed rows (CSR) has in common with one on a Ragged.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.array_ir.forms import FLAT
from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record
from flatweave.ops import Index, Locate, Prefix, Store, Sweep
from flatweave.passes.array_pass import array_pass
from flatweave.passes.operators import component_functions
from flatweave.passes.rewrite import Rewriter
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast, If
from flatweave.terms.linear import Sums
from flatweave.terms.shifted import Makers, is_next, makers_of
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var, constant
from flatweave.terms.traverse import needed_for

PLAIN = (Apply, Cast, Index)
"""What is evaluated once more, on the host: the function at 0."""


@array_pass(takes=(FLAT,))
def telescope(program: Program) -> Program:
    """prefix (add) [0] [sub f(i+1) f(i)]   ==>   sub f(i+1) f(0)"""
    walk = _Telescope()
    return Program(program.name, walk.program(program.fn))


@record
class Sum:
    """A sum of differences up to index i: `end`, the term f(i + 1), and f(0).

    An exclusive one has not come to `end` yet: it is `start`, the term f(i), less f(0).
    """

    i: Var
    start: Atom
    end: Atom
    made: Makers
    first: Atom
    exclusive: bool

    def difference(self) -> Apply:
        return Apply("sub", (self.start if self.exclusive else self.end, self.first))


class _Telescope(Rewriter):
    """The walk; `ends` are the arrays of ends that it has made."""

    def __init__(self) -> None:
        super().__init__(self._rule)
        self.ends: dict[Atom, Sum] = {}

    def _rule(self, b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        if not isinstance(op, Sweep) or len(op.shape) != 1:
            return None
        located = _at_starts(b, op, self.ends)
        sums = {} if op.reverse else _sums(b, located or op)
        if not sums:
            return None if located is None else b.emit(located, let.vars[0].name)
        made = _without_scans(located or op, sums)
        atoms = b.emit(made, let.vars[0].name)
        self._note(made, atoms, sums)
        return atoms

    def _note(self, op: Sweep, atoms: Sequence[Var], sums: dict[Var, Sum]) -> None:
        """Remember which of the arrays are ends of rows."""
        groups = op.binders_by_sink(tuple(atoms))
        for sink, taken, vars_ in zip(op.sinks, op.portions(), groups, strict=True):
            found = sums.get(taken[0]) if isinstance(taken[0], Var) else None
            if isinstance(sink, Store) and found is not None and not found.exclusive:
                self.ends[vars_[0]] = found


# -- sums of differences --------------------------------------------------------------------------


def _sums(b: Builder, op: Sweep) -> dict[Var, Sum]:
    """The scans of a sweep that add up differences of neighbours; emits their first terms."""
    (i,), made = op.body.params, makers_of(op.body.lets)
    found: dict[Var, Sum] = {}
    firsts: dict[Atom, Atom | None] = {}
    for let in op.body.lets:
        pair = _neighbours(let.op, i, made) if isinstance(let.op, Prefix) else None
        if pair is None or not isinstance(let.op, Prefix):
            continue
        if pair[0] not in firsts:
            firsts[pair[0]] = _at_zero(b, op, pair[0])
        first = firsts[pair[0]]
        if first is not None:
            found[let.vars[0]] = Sum(i, *pair, made, first, let.op.exclusive)
    return found


def _neighbours(op: Prefix, i: Var, made: Makers) -> tuple[Atom, Atom] | None:
    """f(i) and f(i + 1) of a running sum of their differences."""
    if len(op.args) != 1 or op.starts or op.initial:
        return None
    (size,), (zero,) = op.args, op.neutral
    dtype = size.type
    if component_functions(op.fn) != ["add"] or not isinstance(dtype, DType):
        return None
    if not dtype.is_integer or zero != constant(0, dtype):
        return None
    distance = made.get(size) if isinstance(size, Var) else None
    if not isinstance(distance, Apply) or distance.fn != "sub":
        return None
    behind, before = distance.args
    return (before, behind) if is_next(i, behind, made, i, before, made) else None


def _at_zero(b: Builder, op: Sweep, before: Atom) -> Atom | None:
    """A term of a sweep's index at index 0, as the host finds it; 0 where there is no index."""
    (i,), (count,) = op.body.params, op.shape
    needed = needed_for(op.body.lets, [before])
    if not all(isinstance(let.op, PLAIN) for let in needed):
        return None
    assert isinstance(before.type, DType)
    some, none = b.inner(optional=True), b.inner(optional=True)
    first = some.close([], some.inline(Lambda((i,), needed, (before,)), [index(0)]))
    there = b.apply("gt", count, index(0))
    return b.emit(If(there, first, none.close([], [constant(0, before.type)])), "first")[0]


def _without_scans(op: Sweep, sums: dict[Var, Sum]) -> Sweep:
    """The sweep with a difference in the place of each sum."""
    lets = []
    for let in op.body.lets:
        found = sums.get(let.vars[0]) if let.vars else None
        lets.append(Let(let.vars, found.difference(), let.where) if found else let)
    return _with(op, lets)


def _with(op: Sweep, lets: Sequence[Let]) -> Sweep:
    """A sweep with other lets in its body."""
    made: Sweep = op.replace(body=Lambda(op.body.params, tuple(lets), op.body.results))
    return made


# -- positions in such rows -----------------------------------------------------------------------


def _at_starts(b: Builder, op: Sweep, known: dict[Atom, Sum]) -> Sweep | None:
    """The sweep with f(s) of each row s as where the row begins; None where it has none."""
    lets: list[Let] = []
    made, sums, changed = makers_of(op.body.lets), Sums(b), False
    rows: list[tuple[Sum, Var, Var]] = []
    for let in op.body.lets:
        if isinstance(let.op, Locate) and let.op.ends in known and not let.op.skip:
            s, start = let.vars
            rows.append((known[let.op.ends], s, start))
        begins = _start_of_row(let, rows, made)
        if begins is not None:
            let, changed = Let(let.vars, Apply("add", begins), let.where), True
        lets += sums.shortened(let) if rows else [let]
    return _with(op, lets) if changed else None


def _start_of_row(
    let: Let, rows: Sequence[tuple[Sum, Var, Var]], made: Makers
) -> tuple[Atom, Atom] | None:
    """Where a row begins and f(0), if a let computes f at that row."""
    if len(let.vars) != 1 or let.vars[0].type is not i64 or not isinstance(let.op, PLAIN):
        return None
    for ends, s, start in rows:
        if is_next(ends.i, ends.end, ends.made, s, let.vars[0], made):
            return start, ends.first
    return None
