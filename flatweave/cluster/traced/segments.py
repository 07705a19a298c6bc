"""Segments as plain scans: a scan over pairs of a flag and an element, whose operator begins anew.

    (f, a) (g, b) = (f or g, b if g else a fn b)

So segments need no rule of their own (`rules/scan.py`): what lies before a chunk is such a pair.
"""

from __future__ import annotations

from collections.abc import Sequence

from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import bool_, i64
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
            case Scan(starts=(starts,), xs=xs) if array_type(xs[0]).rank == 1:
                made = _scanned(b, let.op, starts)
                lets.append(Let(let.vars, _last(b, let.op, starts, made), let.where))
            case ReduceSegments(neutral=neutral) if _are_scalars(neutral):
                op = let.op
                scan = Scan(op.fn, op.neutral, op.xs, starts=(op.starts,))
                values = _scanned(b, scan, op.starts)
                lets.append(Let(let.vars, Filter(_ends(b, op.starts), values), let.where))
            case _:
                lets.append(let)
    return Program(program.name, Lambda(program.fn.params, tuple(lets), program.fn.results))


def _are_scalars(atoms: Sequence[Atom]) -> bool:
    return not any(isinstance(atom.type, ArrayType) for atom in atoms)


def _scanned(b: Builder, op: Scan, starts: Atom) -> tuple[Var, ...]:
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

    begun = b.emit(Map(b.function([bool_, *types], first), (starts, *op.xs)))
    combine = b.function([bool_, *types] * 2, pairs)
    scan = Scan(combine, (NO, *op.neutral), (starts, *begun), op.exclusive, op.reverse)
    return b.emit(scan)[1:]


def _last(b: Builder, op: Scan, starts: Atom, values: Sequence[Var]) -> Map:
    """What the scan gives: without the element itself, a segment begins with `neutral`."""

    def element(inside: Builder, flag: Var, *x: Var) -> Sequence[Atom]:
        return _either(inside, flag, op.neutral, x) if op.exclusive else x

    return Map(b.function([bool_, *types_of(op.neutral)], element), (starts, *values))


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
