"""Folds and segments along an axis in chunks become reductions and scans of rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flatweave.algorithms.operator import select
from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import bool_, i64
from flatweave.ops import Filter, Generate, Index, Map, Reduce, ReduceSegments, Scan
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Var, array_type, types_of
from flatweave.terms.traverse import Substitution, free_vars, needed_for, scalars_only, walk_lets

# Reductions inside of an element, along an axis in chunks, become reductions of rows.
#
# ys = generate [c] (j =>
#     xs = generate [n] (i => f i j)
#     t = reduce (fn) [ne] [xs]
#     in g t)
#
# m = generate [n, c] (i, j => f i j) r = reduce (a, b => map (fn) [a, b]) [generate [c] (j =>
# ne)] [m] ys = generate [c] (j => g (index r [j]))


def without_folds(b: Builder, let: Let, spaces: Collection[Atom]) -> Let | tuple[Atom, ...]:
    """A `generate` or `map` whose elements reduce nothing along axes in chunks, or what its results
    are then; what these need is emitted. The let itself, where it has no such reduction."""
    op = _indexed(b, let)
    if op is None:
        return let
    folds = [x for x in op.fn.lets if isinstance(x.op, Reduce) and _space(x.op) in spaces]
    if not folds:
        return let
    element = _Element(op)
    if not all(element.is_plain(fold.op) for fold in folds):  # type: ignore[arg-type]
        return let
    for fold in folds:
        element.fold(b, fold)
    if all(atom in element.found for atom in op.fn.results):
        return tuple(element.found[atom] for atom in op.fn.results)  # type: ignore[index]
    fn = b.function([i64] * len(op.shape), lambda inside, *at: element.results(inside, at))
    return Let(let.vars, Generate(op.shape, fn), let.where)


def _indexed(b: Builder, let: Let) -> Generate | None:
    """A `map` over elements as a `generate` that reads them."""
    op = let.op
    if not isinstance(op, Map):
        return op if isinstance(op, Generate) else None
    if any(array_type(x).rank != op.depth for x in op.xs):
        return None

    def element(inside: Builder, *at: Var) -> Sequence[Atom]:
        xs = [inside.emit(Index(x, at, checked=False))[0] for x in op.xs]
        return inside.inline(op.fn, xs)

    return Generate(op.shape(), b.function([i64] * op.depth, element))


def _space(op: Reduce) -> Atom | None:
    types = [array_type(x) for x in op.xs]
    return types[0].shape[0] if all(type_.rank == 1 for type_ in types) else None


class _Element:
    """The element function of a `generate`; `found` has what is known of its results as arrays."""

    def __init__(self, op: Generate) -> None:
        self.op = op
        self.lets = {var: let for let in op.fn.lets for var in let.vars}
        self.found: dict[Var, Var] = {}

    def is_plain(self, op: Reduce) -> bool:
        """Whether the reduced array is computed elementwise."""
        own = {*self.lets, *self.op.fn.params}
        plain = all(self._is_by_row(x) for x in op.xs)
        return plain and not any(var in own for var in free_vars(op.fn))

    def _is_by_row(self, x: Atom) -> bool:
        if x not in self.lets:
            return True
        op = self.lets[x].op  # type: ignore[index]
        arrays = [v for v in free_vars(op) if v in self.lets and isinstance(v.type, ArrayType)]
        if isinstance(op, Generate):
            return len(op.shape) == 1 and not arrays
        if not isinstance(op, Map) or not set(arrays) <= set(op.xs):
            return False
        return all(map(self._is_by_row, op.xs))

    def fold(self, b: Builder, let: Let) -> None:
        """One reduction, as a reduction of rows."""
        op, shape = let.op, self.op.shape
        assert isinstance(op, Reduce)
        b.where = let.where
        roots = [v for x in op.xs for v in self._scalars(x)]

        def elements(inside: Builder, i: Var, *at: Var) -> Sequence[Atom]:
            known = self._known(inside, at, roots)
            return [self._value(inside, x, i, known) for x in op.xs]

        def neutral(inside: Builder, *at: Var) -> Sequence[Atom]:
            known = self._known(inside, at, op.neutral)
            return [known.atom(atom) for atom in op.neutral]

        count = array_type(op.xs[0]).shape[0]
        rows = b.emit(Generate((count, *shape), b.function([i64] * (1 + len(shape)), elements)))
        first = b.emit(Generate(shape, b.function([i64] * len(shape), neutral)))
        made = b.emit(Reduce(on_rows(b, op.fn, shape), first, rows, op.known))
        self.found.update(zip(let.vars, made, strict=True))

    def results(self, b: Builder, at: Sequence[Var]) -> Sequence[Atom]:
        """What an element is, given what was folded."""
        known = self._known(b, at, self.op.fn.results)
        return [known.atom(atom) for atom in self.op.fn.results]

    def _known(self, b: Builder, at: Sequence[Var], roots: Sequence[Atom]) -> Substitution:
        """What the lets that `roots` need are at an index."""
        known = b.inlining(Lambda(self.op.fn.params, (), ()), at)
        lets = [let for let in self.op.fn.lets if not any(var in self.found for var in let.vars)]
        needed = needed_for(lets, roots)
        read = {v for let in needed for v in free_vars(let.op)} | set(roots)
        for var, array in self.found.items():
            if var in read:
                known.mapping[var] = b.emit(Index(array, tuple(at), checked=False))[0]
        for let in needed:
            b.inline_let(let, known)
        return known

    def _scalars(self, x: Atom) -> list[Var]:
        """The scalars of other lets that the element of an array computed inside reads."""
        if x not in self.lets:
            return []
        op = self.lets[x].op  # type: ignore[index]
        inner = [v for y in op.xs for v in self._scalars(y)] if isinstance(op, Map) else []
        return inner + [v for v in free_vars(op) if not isinstance(v.type, ArrayType)]

    def _value(self, b: Builder, x: Atom, i: Var, known: Substitution) -> Atom:
        """Element i of an array that is computed inside, or stands outside."""
        if x not in self.lets:
            return _row(b, known.atom(x), i)
        let = self.lets[x]  # type: ignore[index]
        op = let.op
        assert isinstance(op, Generate | Map)
        args = [i] if isinstance(op, Generate) else [self._value(b, y, i, known) for y in op.xs]
        results = b.inline(op.fn, args, known)
        return next(atom for var, atom in zip(let.vars, results, strict=True) if var is x)


def _row(b: Builder, xs: Atom, i: Var) -> Atom:
    """Element i of an array, or row i."""
    shape = array_type(xs).shape[1:]
    if not shape:
        return b.emit(Index(xs, (i,), checked=False))[0]

    def element(inside: Builder, *at: Var) -> Sequence[Atom]:
        return inside.emit(Index(xs, (i, *at), checked=False))

    return b.emit(Generate(shape, b.function([i64] * len(shape), element)))[0]


def on_rows(b: Builder, fn: Lambda, row: tuple[Atom, ...]) -> Lambda:
    """The operator on rows that applies one on elements to each column."""
    types = [ArrayType(type_, row) for type_ in types_of(fn.params)]  # type: ignore[arg-type]
    depth = len(row)
    return b.function(types, lambda inside, *rows: inside.emit(Map(inside.copy(fn), rows, depth)))


def filled(b: Builder, row: tuple[Atom, ...], values: Sequence[Atom]) -> tuple[Var, ...]:
    """Rows of this shape, each of the same value throughout."""
    return b.emit(Generate(row, b.function([i64] * len(row), lambda *_: values)))


# Segments as plain scans: a scan over pairs of a flag and an element, whose operator begins anew.
#
#     (f, a) (g, b) = (f or g, b if g else a fn b)
#
# So segments need no separate rule (`rules.py`): the prefix before a chunk is such a pair.
# Where the elements are rows that are combined element by element, so are the flags
# (`prepare.py`).


NO = Const(False, bool_)


def without_segments(program: Program) -> Program:
    """A program whose scans and reductions of segments of scalars are plain scans."""
    b = Builder()
    lets: list[Let] = []
    for let in program.fn.lets:
        b.where, b.lets = let.where, lets
        match let.op:
            case Scan(starts=(_,), xs=xs) if array_type(xs[0]).rank == 1:
                lets.append(Let(let.vars, scan_of_pairs(b, let.op), let.where))
            case ReduceSegments(neutral=neutral) if scalars_only(neutral):
                op = let.op
                values = _scanned(b, Scan(op.fn, op.neutral, op.xs, starts=(op.starts,)), ())
                lets.append(Let(let.vars, Filter(_ends(b, op.starts), values), let.where))
            case _:
                lets.append(let)
    return Program(program.name, Lambda(program.fn.params, tuple(lets), program.fn.results))


def scan_of_pairs(b: Builder, op: Scan, row: tuple[Atom, ...] = ()) -> Map:
    """The result of a scan of segments. Elements and flags are scalars, or rows of this shape, each
    column of which has separate segments."""
    values = _scanned(b, op, row)

    def element(inside: Builder, flag: Var, *x: Var) -> Sequence[Atom]:
        return select(inside, flag, op.neutral, x) if op.exclusive else x

    fn = b.function([bool_, *types_of(op.neutral)], element)
    return Map(_lifted(b, fn, row), (*op.starts, *values))


def _scanned(b: Builder, op: Scan, row: tuple[Atom, ...]) -> tuple[Var, ...]:
    """The scan over pairs, without its flags; a segment's first element has `neutral` in it."""
    types = types_of(op.neutral)

    def first(inside: Builder, flag: Var, *x: Var) -> Sequence[Atom]:
        args = [*x, *op.neutral] if op.reverse else [*op.neutral, *x]
        return select(inside, flag, inside.inline(op.fn, args), x)

    def pairs(inside: Builder, *params: Var) -> Sequence[Atom]:
        (f, *a), (g, *c) = params[: len(params) // 2], params[len(params) // 2 :]
        begins, kept = (f, a) if op.reverse else (g, c)
        both = inside.apply("or", f, g)
        return both, *_chosen(inside, begins, kept, op.fn, [*a, *c])

    entered = _lifted(b, b.function([bool_, *types], first), row)
    begun = b.emit(Map(entered, (*op.starts, *op.xs)))
    combine = _lifted(b, b.function([bool_, *types] * 2, pairs), row)
    neutral: Sequence[Atom] = (NO, *op.neutral)
    if row:
        neutral = filled(b, row, neutral)
    scan = Scan(combine, tuple(neutral), (*op.starts, *begun), op.exclusive, op.reverse)
    return b.emit(scan)[1:]


def _lifted(b: Builder, fn: Lambda, row: tuple[Atom, ...]) -> Lambda:
    return on_rows(b, fn, row) if row else fn


def _ends(b: Builder, starts: Atom) -> Var:
    """Whether an element is the last of its segment: another begins after it, or the array ends."""
    (n,) = array_type(starts).shape

    def ends(inside: Builder, i: Var) -> Sequence[Atom]:
        behind, last = inside.add(i, index(1)), inside.sub(n, index(1))
        begins = inside.emit(Index(starts, (inside.apply("minimum", behind, last),), False))[0]
        return (inside.apply("or", inside.apply("eq", i, last), begins),)

    return b.emit(Generate((n,), b.function([i64], ends)))[0]


def _chosen(
    b: Builder, flag: Atom, kept: Sequence[Atom], fn: Lambda, args: Sequence[Atom]
) -> tuple[Atom, ...]:
    """What is kept where the flag holds, else `fn args`: called only there, if it may fail."""
    if all(isinstance(let.op, Apply | Cast) for let in walk_lets(fn)):
        return select(b, flag, kept, b.inline(fn, args))
    return b.choose(flag, lambda _: kept, lambda c: c.inline(fn, args))
