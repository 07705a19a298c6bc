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

So the values at these offsets are read at consecutive positions. A program on plain arrays in
compressed rows (CSR) and one on a Ragged have this in common.

Of f in i32 the ends stay sums, and what a row's f is depends on whether some f wrapped. Sizes are
not negative, so none did if f(0) and all sizes together are at most what an i32 can be:

                                                    left = sub 2147483647 count
    sweep [count] (p =>                             exact = le first left
    s, start = locate ends 0 p                      sweep [count] (p =>
    a = index offsets [s]                  ==>      b = add start first
    c = cast i64 a                                  c = select exact b (cast i64 a)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from flatweave.access import Value, arguments_of
from flatweave.access.analyse import Accesses
from flatweave.array_ir.syntax import FLAT, Program
from flatweave.base.dtypes import DType, i64
from flatweave.base.records import record
from flatweave.ops import Index, Locate, Prefix, Sweep
from flatweave.passes.rewrite import Rewriter, array_pass
from flatweave.terms.bounds import Sum
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast
from flatweave.terms.operators import component_functions
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var, constant, scalar_type
from flatweave.terms.traverse import needed_for

PLAIN = (Apply, Cast, Index)
"""What is evaluated once more, on the host: the function at 0."""


@array_pass(takes=(FLAT,), about=lambda op: isinstance(op, Prefix))
def telescope(program: Program) -> Program:
    """prefix (add) [0] [sub f(i+1) f(i)]   ==>   sub f(i+1) f(0)"""
    walk = _Telescope()
    return Program(program.name, walk.program(program.fn))


@record
class Ends:
    """A sum of differences up to index i: `end`, the term f(i + 1), and f(0).

    An exclusive one has not come to `end` yet: it is `start`, the term f(i), less f(0).
    """

    i: Var
    start: Atom
    end: Atom
    known: Accesses
    first: Atom
    exclusive: bool

    def difference(self) -> Apply:
        return Apply("sub", (self.start if self.exclusive else self.end, self.first))


class _Telescope(Rewriter):
    """The walk; `ends` are the arrays of ends that it has made."""

    def __init__(self) -> None:
        super().__init__(self._rule)
        self.ends: dict[Atom, Ends] = {}
        self.narrow: dict[Atom, Narrow] = {}

    def _rule(self, b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        if not isinstance(op, Sweep) or len(op.shape) != 1:
            return None
        located = _at_starts(b, op, self.ends)
        located = _at_narrow_starts(b, located or op, self.narrow) or located
        scans = op.scans and not op.reverse
        sums = _sums(b, located or op) if scans else {}
        narrow = _narrow_sums(op) if scans else {}
        if not sums and not narrow:
            return None if located is None else b.emit(located, let.vars[0].name)
        made = _without_scans(located or op, sums)
        atoms = b.emit(made, let.vars[0].name)
        for taken, array in _stored(made, atoms):
            if taken in sums and not sums[taken].exclusive:
                self.ends[array] = sums[taken]
            if taken in narrow:
                self.narrow[array] = narrow[taken]
        return atoms


def _stored(op: Sweep, atoms: Sequence[Var]) -> list[tuple[Var, Var]]:
    """What a sweep stores, and the arrays of it."""
    groups = zip(op.sinks, op.portions(), op.binders_by_sink(tuple(atoms)), strict=True)
    stored = [(taken[0], vars_[0]) for sink, taken, vars_ in groups if sink.at_own_position]
    return [(taken, array) for taken, array in stored if isinstance(taken, Var)]


# -- sums of differences --------------------------------------------------------------------------


def _sums(b: Builder, op: Sweep) -> dict[Var, Ends]:
    """The scans of a sweep that add up differences of neighbours; emits their first terms."""
    (i,), known = op.body.params, Accesses(op.body.params, op.body.lets)
    found: dict[Var, Ends] = {}
    firsts: dict[Atom, Atom | None] = {}
    for let in op.body.lets:
        pair = _neighbours(let.op, i, known) if isinstance(let.op, Prefix) else None
        if pair is None or not isinstance(let.op, Prefix):
            continue
        if pair[0] not in firsts:
            firsts[pair[0]] = _at_zero(b, op, pair[0])
        first = firsts[pair[0]]
        if first is not None:
            found[let.vars[0]] = Ends(i, *pair, known, first, let.op.exclusive)
    return found


def _neighbours(op: Prefix, i: Var, known: Accesses) -> tuple[Atom, Atom] | None:
    """f(i) and f(i + 1) of a running sum of their differences."""
    size = _added(op)
    return None if size is None else known.neighbours(size, i)


def _added(op: Prefix) -> Atom | None:
    """The integer that a running sum adds up."""
    if len(op.args) != 1 or op.starts or op.initial:
        return None
    (size,), (zero,) = op.args, op.neutral
    dtype = size.type
    if component_functions(op.fn) != ["add"] or not isinstance(dtype, DType):
        return None
    return size if dtype.is_integer and zero == constant(0, dtype) else None


def _next(i: Var) -> Value:
    return Sum({i: 1}, 1)


def _at_zero(b: Builder, op: Sweep, before: Atom) -> Atom | None:
    """A term of a sweep's index at index 0, as the host finds it; 0 where there is no index."""
    (i,), (count,) = op.body.params, op.shape
    needed = needed_for(op.body.lets, [before])
    if not all(isinstance(let.op, PLAIN) for let in needed):
        return None
    assert isinstance(before.type, DType)
    there, none = b.apply("gt", count, index(0)), constant(0, before.type)
    fn = Lambda((i,), needed, (before,))
    return b.choose(there, lambda c: c.inline(fn, [index(0)]), lambda _: [none], "first")[0]


def _without_scans(op: Sweep, sums: dict[Var, Ends]) -> Sweep:
    """The sweep with each sum replaced by a difference."""
    lets = []
    for let in op.body.lets:
        found = sums.get(let.vars[0]) if let.vars else None
        lets.append(Let(let.vars, found.difference(), let.where) if found else let)
    return _with(op, lets)


def _with(op: Sweep, lets: Sequence[Let]) -> Sweep:
    """A sweep with other lets in its body."""
    return op.replace(body=Lambda(op.body.params, tuple(lets), op.body.results))


# -- positions in such rows -----------------------------------------------------------------------


def _at_starts(b: Builder, op: Sweep, known: dict[Atom, Ends]) -> Sweep | None:
    """The sweep with f(s) of each row s as where the row begins; None where it has none."""
    rows = [
        (known[let.op.ends], let.vars) for let in op.body.lets
        if isinstance(let.op, Locate) and let.op.ends in known and not let.op.skip
    ]  # fmt: skip
    if not rows:
        return None
    values = Accesses([*op.body.params, *(vars_[0] for _, vars_ in rows)], op.body.lets)
    begins = [_start_of_row(let, rows, values) for let in op.body.lets]
    if not any(begins):
        return None
    lets = [Let(let.vars, Apply("add", at), let.where) if at else let
            for let, at in zip(op.body.lets, begins, strict=True)]  # fmt: skip
    values = Accesses(op.body.params, lets)
    return _with(op, [short for let in lets for short in shortened_sum(b, values, let)])


def _start_of_row(
    let: Let, rows: Sequence[tuple[Ends, tuple[Var, ...]]], known: Accesses
) -> tuple[Atom, Atom] | None:
    """Where a row begins and f(0), if a let computes f at that row."""
    if len(let.vars) != 1 or let.vars[0].type is not i64 or not isinstance(let.op, PLAIN):
        return None
    for ends, (s, start) in rows:
        if known.moved(known.of(let.vars[0]), s, _next(ends.i)) == ends.known.of(ends.end):
            return start, ends.first
    return None


def shortened_sum(b: Builder, known: Accesses, let: Let) -> list[Let]:
    """The lets that add up what is left of a sum in which something goes away."""
    op = let.op
    if not isinstance(op, Apply) or op.fn not in ("add", "sub") or let.vars[0].type is not i64:
        return [let]
    (var,), left = let.vars, _parts(known.of(let.vars[0]))
    before = {term for arg in op.args for term in _parts(known.of(arg))}
    atoms = [(known.atom(term), n) for term, n in left.items()]
    once = {*left.values()} <= {1, -1} and 1 in left.values()
    if len(left) == len(before) or not 1 < len(left) <= 4 or not once:
        return [let]
    (first, _), *others = sorted(atoms, key=lambda part: -part[1])
    lets: list[Let] = []
    for k, (atom, n) in enumerate(others, 1):
        if first is None or atom is None:
            return [let]
        total = var if k == len(others) else b.var(var.name, i64)
        lets.append(Let((total,), Apply("add" if n == 1 else "sub", (first, atom)), let.where))
        first = total
    return lets


def _parts(value: Value) -> dict[Value, int]:
    """The terms of a sum, and its constant."""
    parts: dict[Value, int] = {Sum({term: 1}): n for term, n in value.terms.items()}
    return {**parts, Sum({}, value.more): 1} if value.more else parts


# -- ends that are sums of narrower differences ---------------------------------------------------


@record
class Narrow:
    """The ends of rows between f(i) and f(i + 1), terms of a dtype narrower than their sums."""

    op: Sweep
    start: Atom
    end: Atom
    dtype: DType
    known: Accesses


def _narrow_sums(op: Sweep) -> dict[Var, Narrow]:
    """The sums of a sweep, as i64, of differences of neighbours in fewer bits."""
    (i,), known = op.body.params, Accesses(op.body.params, op.body.lets)
    found: dict[Var, Narrow] = {}
    for let in op.body.lets:
        if not isinstance(let.op, Prefix) or let.op.exclusive:
            continue
        size = _added(let.op)
        wide = None if size is None else arguments_of(known.of(size), "cast.i64")
        narrow = None if wide is None else known.atom(wide[0])
        pair = None if narrow is None else known.neighbours(narrow, i)
        if pair is not None and (dtype := scalar_type(pair[0])).is_integer and dtype.bits < 64:
            found[let.vars[0]] = Narrow(op, *pair, dtype, known)
    return found


def _at_narrow_starts(b: Builder, op: Sweep, known: dict[Atom, Narrow]) -> Sweep | None:
    """The sweep with f(s) of each row s, cast, as where the row begins if no f has wrapped."""
    rows = [
        (known[let.op.ends], let.vars) for let in op.body.lets
        if _is_at_own_position(let.op, op) and let.op.ends in known
    ]  # fmt: skip
    if not rows:
        return None
    values = Accesses([*op.body.params, *(vars_[0] for _, vars_ in rows)], op.body.lets)
    lets: list[Let] = []
    for let in op.body.lets:
        lets += _chosen_start(b, op.shape[0], let, rows, values) or [let]
    return _with(op, lets) if len(lets) > len(op.body.lets) else None


def _is_at_own_position(op: Op, sweep: Sweep) -> TypeGuard[Locate]:
    """Whether the row of each of a sweep's own positions is located: these are below the last
    end, so that the sizes up to there are no more than the sweep's extent."""
    return isinstance(op, Locate) and not op.skip and op.position == sweep.body.params[0]


def _chosen_start(
    b: Builder, count: Atom, let: Let, rows: Sequence[tuple[Narrow, tuple[Var, ...]]],
    known: Accesses,
) -> list[Let]:  # fmt: skip
    """The lets that choose where a row begins, for one that casts f at that row; none for any
    other."""
    if not isinstance(let.op, Cast) or let.op.dtype is not i64:
        return []
    for ends, (s, start) in rows:
        (i,) = ends.op.body.params
        if known.moved(known.of(let.op.arg), s, _next(i)) != ends.known.of(ends.end):
            continue
        if any(_is_choice(op, start, let.vars[0], known) for op in known.made.values()):
            continue
        first = _at_zero(b, ends.op, ends.start)
        if first is None:
            continue
        first = b.cast(first, i64)
        exact = b.apply("le", first, b.sub(index(int(ends.dtype.high)), count))
        begins, as_said = b.var("begins", i64), b.var(let.vars[0].name, i64)
        return [
            Let((begins,), Apply("add", (start, first)), let.where),
            Let((as_said,), let.op, let.where),
            Let(let.vars, Apply("select", (exact, begins, as_said)), let.where),
        ]
    return []


def _is_choice(op: Op, start: Var, as_said: Var, known: Accesses) -> bool:
    """Whether an op chooses already between a row's start plus something and what f is there."""
    if not isinstance(op, Apply) or op.fn != "select" or op.args[2] != as_said:
        return False
    return known.of(op.args[1]).terms.get(start) == 1
