"""Split scatters: what is scattered one array after the other is not joined first.

    f(n: i64, m: i64, k: i64, dest: f32[k], a: i64[n], b: i64[m], xs: f32[n], ys: f32[m]) =>
        s: i64 = add n m
        at: i64[s] = concat s [a, b]
        vs: f32[s] = concat s [xs, ys]
        r: f32[k] = permute (add f32) [] [dest] at [vs]
        in r
    ==>
    f(n: i64, m: i64, k: i64, dest: f32[k], a: i64[n], b: i64[m], xs: f32[n], ys: f32[m]) =>
        q: f32[k] = permute (add f32) [] [dest] a [xs]
        r: f32[k] = permute (add f32) [] [q] b [ys]
        in r

The law: elements meet their places in order, and those of the first part come first. Each part is
then computed where it is scattered; nobody reads the joined arrays any more. What is mapped over
joined arrays is mapped over the parts.

Leaves alone: arrays that somebody else reads, too, which are there anyway; many parts, each of
which would be a pass of its own; parts that are not known to be of one length.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from flatweave.array_ir.syntax import Program
from flatweave.array_ir.verify import TRACED
from flatweave.ops import Concat, Map, Permute, Scatter
from flatweave.ops.rows import array_type
from flatweave.passes.array_pass import array_pass
from flatweave.passes.rewrite import emit, rewrite
from flatweave.terms.build import Builder
from flatweave.terms.syntax import Atom, Lambda, Let, Op
from flatweave.terms.traverse import atoms_in, lambdas_in

MOST_PARTS = 8

Parts = Sequence[tuple[Atom, ...]]
"""The arrays of each part."""


@array_pass(takes=(TRACED,), about=lambda op: isinstance(op, Concat))
def split_scatters(program: Program) -> Program:
    """permute fn dest (concat a b) (concat xs ys)   ==>   permute fn (permute fn dest a xs) b ys"""
    uses = Counter(_atoms(program.fn))
    once = {atom for atom, count in uses.items() if count == 1}

    def rule(b: Builder, op: Op, let: Let) -> Sequence[Atom] | None:
        match op:
            case Map(xs=xs, depth=1, barrier=False) if _single(let.op, once):
                return _mapped(b, op, _parts(b, xs), [var.name for var in let.vars])
            case Permute() | Scatter() if _single(let.op, once):
                return _scattered(b, op, _parts(b, (op.indices, *op.xs)))
            case _:
                return None

    return rewrite(program, rule)


def _mapped(b: Builder, op: Map, parts: Parts, names: Sequence[str]) -> Sequence[Atom] | None:
    """map f (concat a b)   ==>   concat (map f a) (map f b)"""
    if not parts:
        return None
    made = [emit(b, Map(b.copy(op.fn), part), names) for part in parts]
    extent = array_type(op.xs[0]).shape[0]
    return [b.emit(Concat(extent, column), name)[0]
            for column, name in zip(zip(*made, strict=True), names, strict=True)]  # fmt: skip


def _scattered(b: Builder, op: Permute | Scatter, parts: Parts) -> Sequence[Atom] | None:
    if not parts:
        return None
    dest = op.dest
    for indices, *xs in parts:
        again = {"fn": b.copy(op.fn)} if isinstance(op, Permute) else {}
        dest = b.emit(op.replace(dest=dest, indices=indices, xs=tuple(xs), **again))
    return dest


def _single(op: Op, once: set[Atom]) -> bool:
    """Whether nobody else reads an operation's arrays."""
    match op:
        case Permute() | Scatter():
            return all(x in once for x in (op.indices, *op.xs))
        case Map():
            return all(x in once for x in op.xs)
        case _:
            return False


def _parts(b: Builder, xs: Sequence[Atom]) -> Parts:
    """The parts of arrays that are all joined of parts of the same lengths; else none."""
    joined = [made.xs for x in xs if isinstance(made := b.definition(x), Concat)]
    if len(joined) < len(xs) or len(joined[0]) > MOST_PARTS:
        return ()
    lengths = {tuple(array_type(part).shape[0] for part in parts) for parts in joined}
    return tuple(zip(*joined, strict=True)) if len(lengths) == 1 else ()


def _atoms(fn: Lambda) -> list[Atom]:
    """Every use of an atom in a function, those inside its lambdas included."""
    found = list(fn.results)
    for let in fn.lets:
        found += atoms_in(let.op)
        for inner in lambdas_in(let.op):
            found += _atoms(inner)
    return found
