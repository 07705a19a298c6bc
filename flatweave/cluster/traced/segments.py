"""Segments as plain scans: a scan over pairs of a flag and an element, whose operator begins anew.

    (f, a) (g, b) = (f or g, b if g else a fn b)

So segments need no rule of their own (`rules/scan.py`): what lies before a chunk is such a pair.
Where the elements are rows that are combined element by element, so are the flags (`columns.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import bool_, i64
from flatweave.cluster.traced.folds import filled, on_rows
from flatweave.ops import Filter, Generate, Index, Map, ReduceSegments, Scan
from flatweave.ops.rows import array_type
from flatweave.terms.build import Builder, index
from flatweave.terms.control import Apply, Cast, If
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Var, types_of
from flatweave.terms.traverse import walk_lets

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
            case ReduceSegments(neutral=neutral) if _are_scalars(neutral):
                op = let.op
                values = _scanned(b, Scan(op.fn, op.neutral, op.xs, starts=(op.starts,)), ())
                lets.append(Let(let.vars, Filter(_ends(b, op.starts), values), let.where))
            case _:
                lets.append(let)
    return Program(program.name, Lambda(program.fn.params, tuple(lets), program.fn.results))


def _are_scalars(atoms: Sequence[Atom]) -> bool:
    return not any(isinstance(atom.type, ArrayType) for atom in atoms)


def scan_of_pairs(b: Builder, op: Scan, row: tuple[Atom, ...] = ()) -> Map:
    """What a scan of segments gives. Elements and flags are scalars, or rows of this shape, each
    place of which has segments of its own."""
    values = _scanned(b, op, row)

    def element(inside: Builder, flag: Var, *x: Var) -> Sequence[Atom]:
        return _either(inside, flag, op.neutral, x) if op.exclusive else x

    fn = b.function([bool_, *types_of(op.neutral)], element)
    return Map(_lifted(b, fn, row), (*op.starts, *values))


def _scanned(b: Builder, op: Scan, row: tuple[Atom, ...]) -> tuple[Var, ...]:
    """The scan over pairs, without its flags; a segment's first element has `neutral` in it."""
    types = types_of(op.neutral)

    def first(inside: Builder, flag: Var, *x: Var) -> Sequence[Atom]:
        args = [*x, *op.neutral] if op.reverse else [*op.neutral, *x]
        return _either(inside, flag, inside.inline(op.fn, args), x)

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
    """Whether an element is the last one of its segment: another one begins behind it, or none."""
    (n,) = array_type(starts).shape

    def ends(inside: Builder, i: Var) -> Sequence[Atom]:
        behind, last = inside.add(i, index(1)), inside.sub(n, index(1))
        begins = inside.emit(Index(starts, (inside.apply("minimum", behind, last),), False))[0]
        return (inside.apply("or", inside.apply("eq", i, last), begins),)

    return b.emit(Generate((n,), b.function([i64], ends)))[0]


def _either(
    b: Builder, flag: Atom, then: Sequence[Atom], other: Sequence[Atom]
) -> tuple[Atom, ...]:
    return tuple(b.apply("select", flag, x, y) for x, y in zip(then, other, strict=True))


def _chosen(
    b: Builder, flag: Atom, kept: Sequence[Atom], fn: Lambda, args: Sequence[Atom]
) -> tuple[Atom, ...]:
    """What is kept where the flag holds, else `fn args`: called only there, if it may fail."""
    if all(isinstance(let.op, Apply | Cast) for let in walk_lets(fn)):
        return _either(b, flag, kept, b.inline(fn, args))
    then, other = b.inner(), b.inner()
    called = other.close([], other.inline(fn, args))
    return b.emit(If(flag, then.close([], list(kept)), called))
