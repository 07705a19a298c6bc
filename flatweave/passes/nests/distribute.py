"""Element functions distributed over their hard operations, and the rules that lift these.

    distribute(b, [n], fn)      what is left of fn for each row, what all rows need emitted in b
    @rule(Scan)                 declares what a hard operation becomes (`*_rules.py`)

A search in the ends of a row's sources becomes one in the ends of all rows' sources:

    sizes of rows  [2, 1], [3]     ends  [2, 3], [3]     ends of all  [2, 3, 6]
    locate ends p   ==>   locate (ends of all) (begin of row + p), less what is before the row

It replaces the search in place, also in functions of the row's elements: ends of all rows are
stored, so that an element function with searches needs no private memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flatweave.base.dtypes import i64
from flatweave.base.errors import Unsupported
from flatweave.ops import HOST_BODIES, Generate, Index, Locate, Map, Nest, Reshape, Sort, Span
from flatweave.passes.nests.hard import (
    by_keys,
    hoisted,
    is_array,
    is_hard,
    keys_of,
    may_fail,
    needs_memory,
    repeated,
)
from flatweave.passes.nests.rows import Rows
from flatweave.passes.nests.segments import (
    Segments,
    at,
    each,
    in_rounds,
    is_in_rounds,
    is_nested,
    or_zero,
)
from flatweave.passes.rewrite import numbered, tested
from flatweave.terms.build import Builder, index
from flatweave.terms.control import If
from flatweave.terms.syntax import Atom, Lambda, Let, Op, Var, array_type
from flatweave.terms.traverse import Substitution, free_vars, lambdas_in, map_field, walk_lets


class Searches:
    """The ends that a row's function searches in, each moved together once."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.found: dict[Atom, tuple[Atom, Segments]] = {}

    def are_in(self, op: Op, renaming: Substitution) -> bool:
        """Whether an operation, or a function in it, searches in an array of the row."""
        inner = (let.op for fn in lambdas_in(op) for let in walk_lets(fn))
        return any(
            isinstance(each, Locate) and self.rows.varies(renaming.atom(each.ends))
            for each in (op, *inner)
        )

    def _is_own(self, op: Op) -> bool:
        return isinstance(op, Locate) and self.rows.varies(op.ends)

    def moved(self, b: Builder, op: Op) -> Op:
        """An operation with the searches in its functions made in the ends of all rows."""
        made: Op = map_field(op, lambda atom: atom, lambda fn: self._function(b, fn))
        return made

    def _function(self, b: Builder, fn: Lambda) -> Lambda:
        if not any(self._is_own(let.op) for let in walk_lets(fn)):
            return fn
        inside = b.inner(optional=True)
        renaming = Substitution()
        params = inside.params_like(fn.params, renaming)
        for let in fn.lets:
            inside.where = let.where or inside.where
            if isinstance(let.op, Locate) and self._is_own(let.op):
                results = self.search(inside, renaming.op(let.op))
                renaming.mapping.update(zip(let.vars, results, strict=True))
            else:
                moved = self.moved(inside, let.op)
                inside.inline_let(Let(let.vars, moved, let.where), renaming)
        return inside.close(params, [renaming.atom(result) for result in fn.results])

    def search(self, b: Builder, op: Locate) -> tuple[Atom, Atom]:
        """The source of a position of the current row, and where it begins in the row."""
        rows = self.rows
        if op.ends not in self.found:
            self.found[op.ends] = self._all_ends(op.ends)
        ends, base = self.found[op.ends]
        begin = rows.start(base)
        before = rows.start(rows.segments(array_type(op.ends).shape))
        of, start = b.emit(Locate(ends, 0, b.add(begin, op.position)), "s")
        return b.sub(b.sub(of, before), index(op.skip)), b.sub(start, begin)

    def _all_ends(self, ends: Atom) -> tuple[Atom, Segments]:
        """The ends of all rows' sources, counted from the first row on, and how they are cut."""
        rows = self.rows
        segments, (flat,) = rows.line([ends])
        base = rows.segments((self._last(ends),))

        def moved(c: Builder, p: Atom) -> Atom:
            row, _ = segments.locate(c, p)
            end = at(c, flat, p)
            return c.add(base.span(c, row)[0], end)

        return each(rows.b, segments.total, moved, "ends"), base

    def _last(self, ends: Atom) -> Atom:
        """The last end of a row, or 0: the variable that is the extent of arrays of that length."""
        (extent,) = array_type(ends).shape
        body = self.rows.body
        for let in body.lets:
            match let.op:
                case If(then=Lambda(lets=(Let(op=Index(xs=xs)),))) if xs is ends:
                    return let.vars[0]
        there = body.apply("gt", extent, index(0))
        return or_zero(body, there, lambda c: at(c, ends, c.sub(extent, index(1))))


Rule = Callable[[Rows, Any], Sequence[Atom]]
Lifted = Callable[[Builder, Op], Sequence[Atom]]
"""What a nest of the host gives, emitted into its body."""
RULES: dict[type[Op], Rule] = {}
"""What a hard operation of an element function becomes: its results for one row."""


def rule(*ops: type[Op]) -> Callable[[Rule], Rule]:
    """Declare the rule of some operations."""

    def declare(made: Rule) -> Rule:
        RULES.update(dict.fromkeys(ops, made))
        return made

    return declare


def host_body(
    b: Builder, fn: Lambda, renaming: Substitution, nest: Lifted | None = None
) -> list[Atom]:
    """Emit the lets of a body of the host, lifted; its results. `nest` says what its nests give."""
    for let in fn.lets:
        host_let(b, let, renaming, nest)
    return [renaming.atom(result) for result in fn.results]


def host_let(b: Builder, let: Let, renaming: Substitution, nest: Lifted | None = None) -> None:
    """Emit a let of the host, lifted."""
    nest = nest or lifted
    b.where = let.where or b.where
    if not is_nested(let.op):
        b.inline_let(let, renaming)
        return
    if needs_memory(let.op):
        before, op = hoisted(let.op)
        for each in before:
            host_let(b, each, renaming, nest)
        let = Let(let.vars, op, let.where)
    if isinstance(let.op, HOST_BODIES):
        results: Sequence[Atom] = b.emit(_control(b, let.op, renaming, nest), let.vars[0].name)
    elif is_in_rounds(let.op):
        rounds = b.inner()
        results = in_rounds(rounds, renaming.op(let.op))
        own = Substitution(fresh=renaming.fresh)
        for each in rounds.lets:
            host_let(b, each, own, nest)
        results = [own.atom(result) for result in results]
    else:
        results = nest(b, renaming.op(let.op))
    renaming.mapping.update(zip(let.vars, results, strict=True))


def _control(b: Builder, op: Op, renaming: Substitution, nest: Lifted) -> Op:
    """A branch or loop of the host with its bodies lifted."""

    def body(fn: Lambda) -> Lambda:
        inside = b.inner(optional=True)
        inner = Substitution(renaming.mapping, lambda var, type_: b.var(var.name, type_))
        params = inside.params_like(fn.params, inner)
        return inside.close(params, host_body(inside, fn, inner, nest))

    made: Op = map_field(op, renaming.atom, body)
    return made


def lifted(b: Builder, op: Op) -> Sequence[Atom]:
    """The results of an operation of the host whose element function needs memory."""
    match op:
        case Generate(shape=shape, fn=fn):
            rows, results = distribute(b, shape, fn)
            return rows.results(results)
        case Map():
            made = as_generate(b, op)
            return lifted(b, made)
        case Nest():
            return _nest(b, op)
        case Sort() if needs_memory(op):
            keys = lifted(b, keys_of(op))
            return b.emit(by_keys(keys, op.xs))[len(keys) :]
        case _ if not needs_memory(op):
            return b.emit(op)
    raise _no_operator(op, b)


def _no_operator(op: Op, b: Builder) -> Unsupported:
    return Unsupported(
        f"{op.name} with an operator that needs memory.", where=b.where,
        remedy="Compute it beforehand with fw.map, and combine its results.",
    )  # fmt: skip


def as_generate(b: Builder, op: Map) -> Generate:
    """map fn xs   as   generate shape (i => fn (xs i))"""
    shape = op.shape()
    inside = b.inner()
    at = [inside.param("i", i64, extent) for extent in shape]
    elements = [element(inside, x, at) for x in op.xs]
    return Generate(shape, inside.close(at, inside.inline(op.fn, elements)))


def element(b: Builder, array: Atom, at: Sequence[Atom]) -> Atom:
    """The element or row at leading indices."""
    shape = array_type(array).shape[len(at) :]
    inside = b.inner()
    rest = [inside.param("j", i64, extent) for extent in shape]
    (value,) = inside.emit(Index(array, (*at, *rest), checked=False))
    if not shape:
        b.lets.extend(inside.lets)
        b.own.update(inside.own)
        return value
    return b.emit(Generate(shape, inside.close(rest, [value])), "row")[0]


def distribute(
    b: Builder, shape: Sequence[Atom], fn: Lambda, optional: bool = False
) -> tuple[Rows, list[Atom]]:
    """An element function over all rows: what is left of it, and its results.

    Where it is `optional` there may be no rows, and what fails must not be done outside of them.
    """
    rows = Rows(b, shape)
    fn = numbered(fn, fn.params[0])
    searches = Searches(rows)
    renaming = rows.body.inlining(fn, rows.params)
    own = set(fn.params)
    stored = repeated(fn)
    for let in fn.lets:
        add(rows, let, renaming, own, searches, optional, not stored.isdisjoint(let.vars))
    return rows, [_own(rows, renaming.atom(result)) for result in fn.results]


def _own(rows: Rows, result: Atom) -> Atom:
    """A result of each row; an array that is the same for all is copied into a row."""
    if rows.varies(result) or not is_array(result):
        return result
    return element(rows.body, result, ())


def add(
    rows: Rows, let: Let, renaming: Substitution, own: set[Var], searches: Searches,
    optional: bool = False, stored: bool = False,
) -> None:
    """One let of an element function: done outside, left to each row, or lifted by its rule, as
    those are that must be `stored`."""
    rows.b.where = rows.body.where = let.where or rows.body.where
    if not optional and _is_invariant(let, own):
        host_let(rows.b, let, renaming)
        return
    if needs_memory(let.op):
        before, op = hoisted(let.op)
        for each in before:
            add(rows, each, renaming, own, searches, optional)
        let = Let(let.vars, op, let.where)
    own.update(let.vars)
    if searches.are_in(let.op, renaming):
        op = renaming.op(let.op)
        if isinstance(op, Locate):
            renaming.mapping.update(zip(let.vars, searches.search(rows.body, op), strict=True))
            return
        let = Let(let.vars, searches.moved(rows.body, op), let.where)
    if isinstance(let.op, Index) and let.op.checked:
        renaming.mapping[let.vars[0]] = _tested(rows.body, renaming.op(let.op))
        return
    if not stored and not is_hard(let, own):
        rows.body.inline_let(let, renaming)
        return
    op = renaming.op(let.op)
    if is_in_rounds(op):
        rounds = rows.body.inner()
        results = in_rounds(rounds, op)
        inner = Substitution(fresh=renaming.fresh)
        own = set(rows.body.own)
        for each in rounds.lets:
            add(rows, each, inner, own, searches, optional)
        renaming.mapping.update(zip(let.vars, map(inner.atom, results), strict=True))
        return
    if needs_memory(op) and not isinstance(op, Sort):
        raise _no_operator(op, rows.b)
    found = RULES.get(type(op))
    if found is None:
        raise Unsupported(
            f"{op.name} inside an element function is not supported yet.", where=let.where,
            remedy="Write it on whole arrays outside the map.",
        )  # fmt: skip
    renaming.mapping.update(zip(let.vars, found(rows, op), strict=True))


def _tested(b: Builder, op: Index) -> Atom:
    """A read with its test before it: rows make their tests whether or not values need the read."""
    return at(b, op.xs, *tested(b, op.indices, array_type(op.xs).shape, op.row))


def _is_invariant(let: Let, own: set[Var]) -> bool:
    """Whether a let on arrays is the same for all rows, and can be done outside of them."""
    op = let.op
    if not op.traced or isinstance(op, Span) or may_fail(op):
        return False
    return not any(var in own for var in free_vars(op))


def _nest(b: Builder, op: Nest) -> list[Atom]:
    """A nest whose rows are of varying lengths: the results, flat, and where their rows begin."""
    rows, results = distribute(b, (op.count,), op.fn)
    lengths, values = results[: len(op.lengths)], results[len(op.lengths) :]
    bound: list[Atom] = [b.add(op.count, index(1))]
    for length in lengths:
        segments = rows.segments((length,))
        bound += [segments.total, segments.offsets_in(b)]
    totals: dict[int, Atom] = {}  # as the first array of a group has it
    for group, value in zip(op.groups, values, strict=True):
        if group < 0:
            bound += rows.results([value])
            continue
        flat = rows.flat_rows(value, lengths[group])
        extent, *rest = array_type(flat).shape
        total = bound[1 + 2 * group] = totals.setdefault(group, extent)
        bound.append(flat if extent == total else b.emit(Reshape(flat, (total, *rest)))[0])
    return bound
