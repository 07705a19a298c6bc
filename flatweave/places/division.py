"""Several devices share a call: how a program is divided, and the same bits everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from flatweave.array_ir import interp
from flatweave.array_ir.syntax import Program
from flatweave.base.dtypes import DType
from flatweave.base.errors import ArgumentError
from flatweave.base.records import record
from flatweave.ops import Callback, CallKernel, Check, Generate, Index, Map, Reduce
from flatweave.passes.monoid import monoid
from flatweave.scalar.ops import TABLE
from flatweave.terms.build import Builder
from flatweave.terms.control import Apply
from flatweave.terms.syntax import ArrayType, Atom, Const, Lambda, Let, Op, Var
from flatweave.terms.traverse import atoms_in, free_vars, lambdas_in, walk_lets

# Whether a program gives the same bits on every target.
#
# map (a => mul a 2.0) [xs]         the same: products are rounded alike
# reduce (maximum f32) -inf [xs]    the same: nothing is rounded, in any order
# reduce (add f32) 0.0 [xs]         not: each target groups the elements in its own way
# map (exp f32) [xs]                not: each has another exp


CHOOSING = frozenset({"minimum", "maximum", "select", "lt", "le", "gt", "ge", "eq", "ne", "and",
                      "or", "not"})  # fmt: skip
"""Scalar functions that give one of their operands, or compare: nothing is rounded."""


def agrees(program: Program) -> bool:
    """Whether all targets give the same bits."""
    return all(_is_exact(let.op) for let in walk_lets(program.fn))


def _is_exact(op: Op) -> bool:
    match op:
        case Apply(fn=name, args=args):
            return TABLE[name].ulps == 0 or not any(_is_float(arg) for arg in args)
        case Callback() | CallKernel():
            return False
    operator: Lambda | None = getattr(op, "fn", None)
    if operator is None or not any(_is_float(atom) for atom in _folded(op)):
        return True
    return all(isinstance(let.op, Apply) and let.op.fn in CHOOSING for let in operator.lets)


def _folded(op: Op) -> Iterator[Atom]:
    """The operands that an op combines in a target's order."""
    for name in ("neutral", "dest"):
        yield from getattr(op, name, ())


def _is_float(atom: Atom) -> bool:
    dtype = atom.type.dtype if isinstance(atom.type, ArrayType) else atom.type
    return isinstance(dtype, DType) and dtype.is_float


# How a program is divided along the first axis of its arrays: what its parts give, and what of
# it.
#
#     f(n: i64, xs: f32[n]):            division_of(..)
#       ys = map g [xs]                   extents {n}: each part gets some rows of xs
#       s = reduce (add f32) [0.0] [ys]   results: rows that are concatenated, and a sum
#       in ys, s                          of sums
#
# Only maps and reductions are: an element of a result depends on the elements in its own row.


ROWS = "rows"
SAME = "same"


@record(eq=True)
class Folded:
    """Some results of a program, by number, which `fn` combines."""

    fn: Lambda
    results: tuple[int, ...]


@record(eq=True)
class Division:
    """Which parameters are extents that are divided, which are arrays, and what becomes of the
    results of the parts: concatenated, those of any part, or combined."""

    extents: frozenset[int]
    arrays: frozenset[int]
    kinds: tuple[str, ...]
    folds: tuple[Folded, ...]

    def rows(self, args: Sequence[Any]) -> int | None:
        """How many rows there are to divide; None where arrays differ in that."""
        found = {int(args[number]) for number in self.extents}
        return found.pop() if len(found) == 1 else None

    def part(self, args: Sequence[Any], begin: int, end: int) -> list[Any]:
        """The arguments with these rows alone."""
        part = list(args)
        for number in self.extents:
            part[number] = end - begin
        for number in self.arrays:
            part[number] = args[number][begin:end]
        return part

    def joined(self, parts: Sequence[Sequence[Any]]) -> list[Any]:
        """The results of the whole, from those of all parts in order."""
        found = [
            np.concatenate(column) if kind == ROWS else column[0]
            for kind, column in zip(self.kinds, zip(*parts, strict=True), strict=True)
        ]
        for fold in self.folds:
            program = Program("combined", fold.fn)
            total = [parts[0][k] for k in fold.results]
            for part in parts[1:]:
                total = interp.run(program, [*total, *(part[k] for k in fold.results)])
            for k, value in zip(fold.results, total, strict=True):
                found[k] = value
        return found


def division_of(program: Program) -> Division:
    """How a program is divided; raises ArgumentError where it is not."""
    return _Dividing(program).division()


class _Dividing:
    """Follows what is divided through a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.extents = _divided_extents(program)
        arrays = [each for each in program.fn.params if isinstance(each.type, ArrayType)]
        self.rows = {each for each in arrays if self.is_divided(each)}
        self.folds: list[tuple[Reduce, tuple[Var, ...]]] = []

    def is_divided(self, atom: Atom) -> bool:
        """Whether the first axis of an array is the divided one."""
        return isinstance(atom.type, ArrayType) and atom.type.shape[0] in self.extents

    def division(self) -> Division:
        """Raises ArgumentError."""
        for let in self.program.fn.lets:
            if not self._follows(let):
                raise _refused(self.program, let)
        params, results = self.program.fn.params, self.program.fn.results
        folded = {var for _, variables in self.folds for var in variables}
        if not self.extents or not folded <= set(results):
            raise _refused(self.program, None)
        return Division(
            frozenset(k for k, param in enumerate(params) if param in self.extents),
            frozenset(k for k, param in enumerate(params) if param in self.rows),
            tuple(ROWS if result in self.rows else SAME for result in results),
            tuple(
                Folded(op.fn, tuple(results.index(var) for var in variables))
                for op, variables in self.folds
            ),
        )

    def _follows(self, let: Let) -> bool:
        """Whether a let does the same on some rows as on all."""
        op = let.op
        beside = {*atoms_in(op), *(atom for fn in lambdas_in(op) for atom in _read(fn))}
        partial = self.extents | self.rows | {v for _, made in self.folds for v in made}
        match op:
            case Map() if all(map(self.is_divided, op.xs)):
                self.rows.update(let.vars)
                return not {*atoms_in(op)} & partial - {*op.xs} and not _read(op.fn) & partial
            case Reduce() if all(map(self.is_divided, op.xs)):
                self.folds.append((op, let.vars))
                is_free = not free_vars(op.fn) and not {*op.neutral} & partial
                return is_free and not monoid(Builder(), op.fn, op.neutral).initial
            case Generate(shape=(first, *rest)) if first in self.extents:
                self.rows.update(let.vars)
                return not {*rest} & partial and self._reads_own_row(op.fn)
            case Apply() | Check() if beside & partial <= self.extents:
                return not beside & partial or _holds_for_parts(op, self.extents)
        return not beside & partial

    def _reads_own_row(self, fn: Lambda) -> bool:
        """Whether a function of the row's number reads that row of divided arrays, and nothing else
        of them."""
        row = fn.params[0]
        for let in walk_lets(fn):
            op = let.op
            if isinstance(op, Index) and op.xs in self.rows:
                if op.indices[0] is not row or row in op.indices[1:]:
                    return False
            elif row in atoms_in(op):
                return False
        return row not in fn.results and not _read(fn) & self.extents


def _read(fn: Lambda) -> set[Atom]:
    """What is read in a function: extents in the types of arrays are not."""
    atoms = {atom for let in walk_lets(fn) for atom in atoms_in(let.op)}
    inner = [each for let in walk_lets(fn) for each in lambdas_in(let.op)]
    return atoms.union(fn.results, *(each.results for each in inner))


def _divided_extents(program: Program) -> frozenset[Var]:
    """The first extents of the arrays that are mapped or reduced, and those that equal them."""
    found: set[Atom] = set()
    equal: list[set[Atom]] = []
    for let in program.fn.lets:
        if isinstance(let.op, Map | Reduce):
            types = [x.type for x in let.op.xs]
            found.update(each.shape[0] for each in types if isinstance(each, ArrayType))
        elif isinstance(let.op, Generate):
            found.add(let.op.shape[0])
        elif isinstance(let.op, Apply) and let.op.fn == "eq":
            equal.append(set(let.op.args))
    for _ in equal:
        for pair in equal:
            if pair & found:
                found |= pair
    return frozenset(atom for atom in found if atom in program.fn.params)  # type: ignore[misc]


def _holds_for_parts(op: Any, extents: frozenset[Var]) -> bool:
    """Whether a condition on divided extents holds for each part if it does for the whole: two are
    equal, or there is anything at all."""
    if isinstance(op, Check):
        return True
    left, right = op.args if len(op.args) == 2 else (None, None)
    nothing = isinstance(right, Const) and right.value == 0
    return (op.fn == "eq" and {left, right} <= extents) or (op.fn in ("gt", "ne") and nothing)


def _refused(program: Program, let: Let | None) -> ArgumentError:
    return ArgumentError(
        f"devices=[..] cannot divide {program.name}: only maps and reductions along the first axis "
        "of arrays of one length are.",
        where=let.where if let else None,
        remedy="Jit that part alone for several devices; a reduction starts from what is neutral "
        "to its operator, and is a result as it is.",
    )
